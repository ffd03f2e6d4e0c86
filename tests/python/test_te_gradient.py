"""Gradients of tensor expressions, against differences of their values."""

import numpy as np
import pytest
import tenon
from tenon import te, tir

HAS_LLVM = bool(tenon._core.get_global_func("target.llvm_version_major")())
TARGET = "llvm" if HAS_LLVM else "stackvm"
rng = np.random.default_rng(11)


def compiled(inputs, output):
    built = tenon.build(te.create_schedule(output.op), [*inputs, output], TARGET, name="f")

    def call(values):
        out = tenon.nd.array(np.zeros([int(i) for i in output.shape], str(output.dtype)))
        built["f"](*[tenon.nd.array(v) for v in values], out)
        return out.numpy()

    return call


def evaluate(inputs, values, output):
    return compiled(inputs, output)(values)


def shape_of(t):
    return tuple(int(i) for i in t.shape)


def check(output, inputs, low=0.3, high=0.9, rtol=1e-5, delta=1e-5, head=True):
    """With a random head, and without, in float64."""
    values = [rng.uniform(low, high, shape_of(t)) for t in inputs]
    n = len(shape_of(output))
    forward = compiled(inputs, output)
    heads = [None]
    if head:
        heads.append(te.placeholder((2, *shape_of(output)), "float64", name="head"))
    for h in heads:
        given = rng.uniform(-1, 1, shape_of(h)) if h is not None else None
        grads = te.gradient(output, inputs, h)
        assert len(grads) == len(inputs)
        for k, (x, grad) in enumerate(zip(inputs, grads, strict=True)):
            jacobian = np.zeros(shape_of(output) + shape_of(x))
            for at in np.ndindex(*shape_of(x)):
                both = []
                for sign in (1, -1):
                    moved = [v.copy() for v in values]
                    moved[k][at] += sign * delta
                    both.append(moved)
                slope = [forward(v) for v in both]
                jacobian[(..., *at)] = (slope[0] - slope[1]) / (2 * delta)
            want = jacobian if given is None else np.tensordot(given, jacobian, n)
            extra = ([h], [given]) if h is not None else ([], [])
            got = evaluate([*inputs, *extra[0]], [*values, *extra[1]], grad)
            np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-6)
    return grads


def placeholder(*shape, name="x"):
    return te.placeholder(shape, "float64", name=name)


def reduces(t):
    """Axes that are summed over in what computes the tensor."""
    return [int(a.dom.extent) for a in t.op.reduce_axis]


UNARY = {
    "exp": te.exp,
    "log": te.log,
    "sigmoid": te.sigmoid,
    "sqrt": te.sqrt,
    "rsqrt": te.rsqrt,
    "tanh": te.tanh,
    "sin": te.sin,
    "cos": te.cos,
    "tan": te.tan,
    "sinh": te.sinh,
    "cosh": te.cosh,
    "asin": te.asin,
    "acos": te.acos,
    "atan": te.atan,
    "asinh": te.asinh,
    "atanh": te.atanh,
    "log2": te.log2,
    "log10": te.log10,
    "log1p": te.log1p,
    "erf": te.erf,
    "abs": te.abs,
    "power": lambda v: te.power(v, tir.const(2.5, "float64")),
    "self_power": lambda v: te.power(v, v),
    "quotient": lambda v: v / (v * v + tir.const(1.0, "float64")),
    "max": lambda v: te.max(v, tir.const(0.6, "float64")),
    "min": lambda v: te.min(v * v, v * tir.const(0.6, "float64")),
    "select": lambda v: tir.Select(v > tir.const(0.6, "float64"), v * v, -v),
    "if_then_else": lambda v: te.if_then_else(v > tir.const(0.6, "float64"), v * v, v),
    "floor": lambda v: te.floor(v) * v + te.round(v),
    "cast": lambda v: v.astype("int32").astype("float64") + v * v,
}


@pytest.mark.parametrize("name", UNARY)
def test_elementwise(name):
    x = placeholder(5)
    y = te.compute((5,), lambda i: UNARY[name](x[i]), name="y")
    check(y, [x])


def test_acosh():
    x = placeholder(3)
    check(te.compute((3,), lambda i: te.acosh(x[i])), [x], low=1.5, high=3)


def test_two_inputs_and_shared():
    x, y = placeholder(2, 3), placeholder(3, name="y")
    a = te.compute((2, 3), lambda i, j: x[i, j] * y[j], name="a")
    b = te.compute((2, 3), lambda i, j: a[i, j] * a[i, 2 - j] + x[i, j], name="b")
    check(b, [x, y])


def test_matmul_stays_a_matmul():
    a, b = placeholder(3, 4, name="a"), placeholder(5, 4, name="b")
    k = te.reduce_axis((0, 4), name="k")
    c = te.compute((3, 5), lambda i, j: te.sum(a[i, k] * b[j, k], axis=k), name="c")
    check(c, [a, b])
    head = placeholder(3, 5, name="head")
    da, db = te.gradient(c, [a, b], head)
    assert reduces(da) == [5] and reduces(db) == [3]
    whole, _ = te.gradient(c, [a, b])
    assert reduces(whole) == [] and shape_of(whole) == (3, 5, 3, 4)


def test_dense_relu():
    x, w, bias = placeholder(3, 4), placeholder(5, 4, name="w"), placeholder(5, name="bias")
    k = te.reduce_axis((0, 4), name="k")
    dense = te.compute((3, 5), lambda i, j: te.sum(x[i, k] * w[j, k], axis=k), name="dense")
    zero = tir.const(0.0, "float64")
    relu = te.compute((3, 5), lambda i, j: te.max(dense[i, j] + bias[j], zero), name="relu")
    check(relu, [x, w, bias], low=-0.9)
    ij = te.reduce_axis((0, 3)), te.reduce_axis((0, 5))
    loss = te.compute((), lambda: te.sum(relu[ij] * relu[ij], axis=ij), name="loss")
    check(loss, [x, w, bias], low=-0.9, head=False)


@pytest.mark.parametrize("stride", [1, 2, 3])
def test_conv(stride):
    x, w = placeholder(2, 9, 8), placeholder(3, 2, 3, 2, name="w")
    c, p, q = te.reduce_axis((0, 2)), te.reduce_axis((0, 3)), te.reduce_axis((0, 2))
    rows, columns = (9 - 3) // stride + 1, (8 - 2) // stride + 1
    y = te.compute(
        (3, rows, columns),
        lambda o, i, j: te.sum(
            x[c, i * stride + p, j * stride + q] * w[o, c, p, q], axis=[c, p, q]
        ),
        name="y",
    )
    check(y, [x, w])
    head = placeholder(3, rows, columns, name="head")
    (dx,) = te.gradient(y, [x], head)
    assert sorted(reduces(dx)) == sorted([3, 3, 2])  # channels and window: not rows and columns
    values = [rng.uniform(size=shape_of(t)) for t in (x, w, head)]
    want = np.zeros(shape_of(x))
    for i, j, a, b in np.ndindex(rows, columns, 3, 2):
        want[:, i * stride + a, j * stride + b] += np.einsum(
            "o,oc->c", values[2][:, i, j], values[1][:, :, a, b]
        )
    np.testing.assert_allclose(evaluate([x, w, head], values, dx), want, rtol=1e-10)


def test_padding_and_pooling():
    x = placeholder(6)
    zero = tir.const(0.0, "float64")
    padded = te.compute(
        (8,), lambda i: te.if_then_else(te.all(i >= 1, i < 7), x[i - 1], zero), name="padded"
    )
    k = te.reduce_axis((0, 3), name="k")
    pooled = te.compute((6,), lambda i: te.sum(padded[i + k], axis=k), name="pooled")
    check(pooled, [x])
    top = te.compute((6,), lambda i: te.max(padded[i + k], axis=k), name="top")
    check(top, [x])
    low = te.compute((3,), lambda i: te.min(x[i * 2 + k % 2], axis=k), name="low")
    check(low, [x])


def test_reshape_transpose_concat():
    x = placeholder(4, 6)
    flat = te.compute((24,), lambda i: x[i // 6, i % 6] * x[i // 6, i % 6], name="flat")
    check(flat, [x])
    turned = te.compute((6, 4), lambda i, j: x[j, 5 - i] + x[3 - j, i], name="turned")
    check(turned, [x])
    both = te.compute((8,), lambda i: te.if_then_else(i < 4, x[i, 0], x[7 - i, 1]), name="both")
    check(both, [x])


def test_softmax():
    x = placeholder(2, 5)
    k = te.reduce_axis((0, 5), name="k")
    top = te.compute((2,), lambda i: te.max(x[i, k], axis=k), name="top")
    e = te.compute((2, 5), lambda i, j: te.exp(x[i, j] - top[i]), name="e")
    r = te.reduce_axis((0, 5), name="r")
    total = te.compute((2,), lambda i: te.sum(e[i, r], axis=r), name="total")
    check(te.compute((2, 5), lambda i, j: e[i, j] / total[i], name="softmax"), [x])


def test_product():
    prod = te.comm_reducer(lambda a, b: a * b, lambda t: tir.const(1, dtype=t), name="prod")
    x = placeholder(3, 4)
    k = te.reduce_axis((0, 4), name="k")
    check(te.compute((3,), lambda i: prod(x[i, k] + x[0, k], axis=k), name="p"), [x])


def test_condition_of_a_reduction():
    x = placeholder(4, 4)
    k = te.reduce_axis((0, 4), name="k")
    y = te.compute((4,), lambda i: te.sum(x[i, k] * x[i, k], axis=k, where=k <= i), name="y")
    check(y, [x])


def test_several_results():
    x = placeholder(4)
    a, b = te.compute((4,), lambda i: (x[i] * x[i], te.exp(x[i])), name="ab")
    check(te.compute((4,), lambda i: a[i] * b[3 - i]), [x])


def test_symbolic_extent():
    n = te.var("n")
    x, head = te.placeholder((n,), "float64", name="x"), te.placeholder((n,), "float64", name="h")
    y = te.compute((n,), lambda i: x[i] * x[i])
    (dx,) = te.gradient(y, [x], head)
    built = tenon.build(te.create_schedule(dx.op), [x, head, dx], TARGET, name="f")
    xs, hs = rng.random(7), rng.random(7)
    out = tenon.nd.array(np.zeros(7))
    built["f"](tenon.nd.array(xs), tenon.nd.array(hs), out)
    np.testing.assert_allclose(out.numpy(), 2 * xs * hs)


def test_output_and_strangers():
    x, other = placeholder(3), placeholder(2, name="other")
    y = te.compute((3,), lambda i: x[i] * tir.const(3.0, "float64"), name="y")
    dy, dx, do = te.gradient(y, [y, x, other])
    assert [shape_of(t) for t in (dy, dx, do)] == [(3, 3), (3, 3), (3, 2)]
    np.testing.assert_array_equal(evaluate([x], [np.ones(3)], dy), np.eye(3))
    np.testing.assert_array_equal(evaluate([x], [np.ones(3)], dx), 3 * np.eye(3))
    np.testing.assert_array_equal(evaluate([other], [np.ones(2)], do), np.zeros((3, 2)))


def test_refused():
    x = placeholder(3)
    y = te.compute((3,), lambda i: x[i] * 2)
    with pytest.raises(TypeError, match="floats"):
        te.gradient(te.compute((3,), lambda i: x[i].astype("int32")), [x])
    with pytest.raises(ValueError, match="head"):
        te.gradient(y, [x], placeholder(4, name="head"))
    z = te.compute((3,), lambda i: tir.call_pure_extern("float64", "tgamma", x[i]))
    with pytest.raises(tenon.TVMError, match="call_pure_extern has no derivative"):
        te.gradient(z, [x])
    e = te.extern((3,), [x], lambda i, o: tir.call_packed("f", i[0], o[0]), dtype="float64")
    with pytest.raises(tenon.TVMError, match="is a ExternOp, which has no derivative"):
        te.gradient(e, [x])
