"""Operators of neural networks against numpy and torch: normalisation, pooling, borders."""

import numpy as np
import op_cases
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.relay import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional


def by_torch(function):
    """A reference of numpy arrays from a function of torch's tensors."""
    return lambda *arrays: function(*map(torch.from_numpy, arrays)).numpy()


CLOSE = {"rtol": 1e-4, "atol": 1e-5}


@pytest.mark.parametrize("axis", [1, -1, 0, 3])
def test_bias_add(axis):
    x = rand(2, 3, 4, 5)
    b = rand(x.shape[axis], seed=1)
    shape = [1] * 4
    shape[axis] = -1
    check(lambda d, c: relay.nn.bias_add(d, c, axis=axis), lambda d, c: d + c.reshape(shape), x, b)
    check(
        lambda d, c: relay.nn.prelu(d, c, axis=axis),
        lambda d, c: np.where(d > 0, d, d * c.reshape(shape)),
        x,
        b,
    )


def test_bias_types():
    t = result_type(relay.nn.bias_add, TensorType((2, 3)), relay.IncompleteType())
    assert t == TensorType((2, 3))
    with pytest.raises(tenon.error.DiagnosticError, match="unable to show"):
        result_type(relay.nn.bias_add, TensorType((2, 3)), TensorType((4,)))
    with pytest.raises(tenon.error.DiagnosticError, match="axis 2 is out of range"):
        result_type(lambda x, b: relay.nn.bias_add(x, b, 2), TensorType((2, 3)), TensorType((3,)))


def test_leaky_relu():
    check(
        lambda x: relay.nn.leaky_relu(x, alpha=0.1),
        by_torch(lambda x: F.leaky_relu(x, 0.1)),
        rand(3, 4),
    )
    assert relay.nn.leaky_relu(relay.var("x")).attrs.alpha == 0.01


@pytest.mark.parametrize("axis", [-1, 0, 1, -2])
def test_softmax(axis):
    x = rand(2, 3, 5) * 50
    check(lambda d: relay.nn.softmax(d, axis), by_torch(lambda d: F.softmax(d, axis)), x, **CLOSE)
    check(
        lambda d: relay.nn.fast_softmax(d, axis=axis),
        by_torch(lambda d: F.softmax(d, axis)),
        x,
        **CLOSE,
    )
    check(
        lambda d: relay.nn.log_softmax(d, axis),
        by_torch(lambda d: F.log_softmax(d, axis)),
        x,
        **CLOSE,
    )


def test_softmax_types():
    n = tenon.tir.Var("n", "int32")
    assert result_type(relay.nn.softmax, TensorType((n, 4))) == TensorType((n, 4))
    with pytest.raises(tenon.error.DiagnosticError, match="axis 2 is out of range"):
        result_type(lambda x: relay.nn.softmax(x, 2), TensorType((2, 3)))


@pytest.mark.parametrize("axis", [1, -1])
@pytest.mark.parametrize("center, scale", [(True, True), (False, True), (True, False)])
def test_batch_norm(axis, center, scale):
    x = rand(2, 3, 4, 3)
    vectors = [rand(3, low=0.1, seed=i) for i in range(1, 5)]
    shape = [1] * 4
    shape[axis] = -1

    def reference(x, *rest):
        gamma, beta, mean, var = (v.reshape(shape) for v in rest)
        y = (x - mean) / np.sqrt(var + 1e-3)
        y = y * gamma if scale else y
        return [y + beta if center else y, rest[2], rest[3]]

    def make(*args):
        how = {"axis": axis, "epsilon": 1e-3, "center": center, "scale": scale}
        return relay.nn.batch_norm(*args, **how).astuple()

    check(make, reference, x, *vectors, **CLOSE)
    wrapped = relay.nn.batch_norm(*[relay.var(c) for c in "abcde"])
    assert isinstance(wrapped, relay.TupleWrapper) and len(wrapped) == 3
    assert wrapped[0].tuple_value.attrs.epsilon == 1e-5


def test_layer_norm():
    x, g, b = rand(2, 3, 8), rand(8, seed=1), rand(8, seed=2)
    check(
        relay.nn.layer_norm, by_torch(lambda x, g, b: F.layer_norm(x, (8,), g, b)), x, g, b, **CLOSE
    )
    x, g, b = rand(2, 4, 3), rand(4, seed=1), rand(4, seed=2)

    def along_1(x, g, b):
        y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-2)
        return y * g[:, None] + b[:, None]

    check(lambda *a: relay.nn.layer_norm(*a, axis=1, epsilon=1e-2), along_1, x, g, b, **CLOSE)


def test_instance_and_group_norm():
    x, g, b = rand(2, 4, 3, 5), rand(4, seed=1), rand(4, seed=2)
    check(
        relay.nn.instance_norm,
        by_torch(lambda x, g, b: F.instance_norm(x, weight=g, bias=b)),
        x,
        g,
        b,
        **CLOSE,
    )
    for groups in 1, 2, 4:
        check(
            lambda *a, groups=groups: relay.nn.group_norm(*a, num_groups=groups),
            by_torch(lambda x, g, b, groups=groups: F.group_norm(x, groups, g, b)),
            x,
            g,
            b,
            **CLOSE,
        )
    check(
        lambda *a: relay.nn.group_norm(*a, num_groups=2, axis=3),
        lambda x, g, b: (
            F.group_norm(
                torch.from_numpy(x).permute(0, 3, 1, 2), 2, torch.from_numpy(g), torch.from_numpy(b)
            )
            .permute(0, 2, 3, 1)
            .numpy()
        ),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        g,
        b,
        **CLOSE,
    )
    with pytest.raises(tenon.error.DiagnosticError, match="4 channels do not make 3 groups"):
        result_type(
            lambda *a: relay.nn.group_norm(*a, num_groups=3),
            TensorType((1, 4, 2)),
            TensorType((4,)),
            TensorType((4,)),
        )


@pytest.mark.parametrize("axis", [None, [1], [0, -1]])
def test_l2_normalize(axis):
    def reference(x):
        s = (x * x).sum(axis=tuple(axis) if axis else None, keepdims=True)
        return x / np.sqrt(np.maximum(s, 0.5))

    check(lambda x: relay.nn.l2_normalize(x, 0.5, axis), reference, rand(2, 3, 4), **CLOSE)


def test_lrn():
    x = rand(1, 7, 2, 3)
    check(
        lambda x: relay.nn.lrn(x, size=3, axis=1, bias=1.5, alpha=0.3, beta=0.6),
        by_torch(lambda x: F.local_response_norm(x, 3, 0.3, 0.6, 1.5)),
        x,
        **CLOSE,
    )
    assert relay.nn.lrn(relay.var("x")).attrs.alpha == 1e-5
    assert "alpha=" in relay.nn.lrn(relay.var("x")).astext()
    with pytest.raises(tenon.error.DiagnosticError, match="size must be positive"):
        result_type(lambda x: relay.nn.lrn(x, size=0), TensorType((1, 2, 3)))


def test_dropout():
    x = rand(2, 3)
    check(lambda d: relay.nn.dropout(d).tuple_value, lambda d: [d, np.ones_like(d)], x)
    item = relay.nn.dropout(relay.var("x"), rate=0.1)
    assert isinstance(item, relay.TupleGetItem) and item.index == 0
    assert item.tuple_value.attrs.rate == 0.1
    assert len(relay.nn.dropout_raw(relay.var("x"))) == 2


def test_batch_flatten():
    for shape in (2, 3, 4, 5), (3, 4), (3,):
        check(relay.nn.batch_flatten, lambda x: x.reshape(x.shape[0], -1), rand(*shape))
    n = tenon.tir.Var("n", "int32")
    t = result_type(relay.nn.batch_flatten, TensorType((n, 2, 3)))
    assert t == TensorType((n, 6))


# ---- pooling ----

POOLS = {
    1: (F.max_pool1d, F.avg_pool1d),
    2: (F.max_pool2d, F.avg_pool2d),
    3: (F.max_pool3d, F.avg_pool3d),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("ceil", [False, True])
@pytest.mark.parametrize("size, stride, pad", [(2, 2, 0), (3, 2, 1), (3, 1, 1)])
def test_pool(n, ceil, size, stride, pad):
    x = rand(2, 3, *[8, 7, 6][:n])
    largest, mean = POOLS[n]
    args = {"pool_size": size, "strides": stride, "padding": pad, "ceil_mode": ceil}
    check(
        lambda d: getattr(relay.nn, f"max_pool{n}d")(d, **args),
        by_torch(lambda d: largest(d, size, stride, pad, ceil_mode=ceil)),
        x,
    )
    for count in False, True:
        check(
            lambda d, count=count: getattr(relay.nn, f"avg_pool{n}d")(
                d, **args, count_include_pad=count
            ),
            by_torch(
                lambda d, count=count: mean(
                    d, size, stride, pad, ceil_mode=ceil, count_include_pad=count
                )
            ),
            x,
            **CLOSE,
        )


def test_pool_dilation_and_layouts():
    x = rand(1, 4, 9, 8)
    want = F.max_pool2d(torch.from_numpy(x), (2, 3), (1, 2), (1, 0), (2, 3)).numpy()

    def make(layout):
        return lambda d: relay.nn.max_pool2d(d, (2, 3), (1, 2), (2, 3), (1, 0), layout=layout)

    check(make("NCHW"), lambda d: want, x)
    check(
        make("NHWC"),
        lambda d: want.transpose(0, 2, 3, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
    )

    def blocked(a):
        n, c, h, w = a.shape
        return np.ascontiguousarray(a.reshape(n, c // 2, 2, h, w).transpose(0, 1, 3, 4, 2))

    check(make("NCHW2c"), lambda d: blocked(want), blocked(x))


def test_avg_pool_counts():
    """Elements that a dilated window finds outside of data do not count."""
    x = np.arange(1, 7, dtype="float32").reshape(1, 1, 6)

    def reference(count):
        padded = np.concatenate([[0, 0], x[0, 0], [0]])
        out = []
        for start in range(0, 9 - 4, 2):
            places = [start, start + 2, start + 4]
            inside = [p for p in places if count or 2 <= p < 8]
            out.append(sum(padded[p] for p in places) / len(inside))
        return np.array(out, "float32").reshape(1, 1, -1)

    for count in False, True:
        check(
            lambda d, count=count: relay.nn.avg_pool1d(d, 3, 2, 2, (2, 1), count_include_pad=count),
            lambda d, count=count: reference(count),
            x,
        )


def test_pool_integers():
    x = np.array([[[-5, 3, 7, -9]]], "int8")
    check(lambda d: relay.nn.max_pool1d(d, 3, 1, 1, 1), lambda d: np.array([[[3, 7, 7, 7]]]), x)


def test_pool_types():
    n, any_ = tenon.tir.Var("n", "int32"), relay.Any()

    def pool(shape, **args):
        args = {"pool_size": 2, **args}
        return result_type(lambda x: relay.nn.max_pool2d(x, **args), TensorType(shape))

    assert pool((n, 10, 224, 224), strides=2) == TensorType((n, 10, 112, 112))
    assert isinstance(pool((1, 3, any_, 8)).shape[2], tenon.tir.Any)
    for shape, args, message in [
        ((1, 3, 8), {}, "does not have the layout NCHW"),
        ((1, 3, 8, 8), {"layout": "NCXY"}, "layout"),
        ((1, 3, 8, 8), {"strides": 0}, "must be positive"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            pool(shape, **args)


def test_pool_signatures():
    import inspect

    assert str(inspect.signature(relay.nn.max_pool2d)) == (
        "(data, pool_size=(1, 1), strides=(1, 1), dilation=(1, 1), padding=(0, 0), "
        "layout='NCHW', out_layout='', ceil_mode=False)"
    )
    assert str(inspect.signature(relay.nn.adaptive_avg_pool1d)) == (
        "(data, output_size=None, layout='NCW', out_layout='')"
    )
    attrs = relay.nn.avg_pool2d(relay.var("x"), 3, padding=(1, 2)).attrs
    assert list(attrs.pool_size) == [3, 3] and list(attrs.padding) == [1, 2, 1, 2]


ADAPTIVE = {
    1: (F.adaptive_max_pool1d, F.adaptive_avg_pool1d),
    2: (F.adaptive_max_pool2d, F.adaptive_avg_pool2d),
    3: (F.adaptive_max_pool3d, F.adaptive_avg_pool3d),
}


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 5, (4, 7, 2)])
def test_adaptive_pool(n, size):
    x = rand(2, 3, *[8, 7, 6][:n])
    size = size[:n] if isinstance(size, tuple) else (size,) * n
    for kind, reference in zip(("max", "avg"), ADAPTIVE[n], strict=True):
        check(
            lambda d, kind=kind: getattr(relay.nn, f"adaptive_{kind}_pool{n}d")(d, size),
            by_torch(lambda d, reference=reference: reference(d, size)),
            x,
            **CLOSE,
        )
    check(getattr(relay.nn, f"adaptive_avg_pool{n}d"), lambda d: d, x)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_global_pool(n):
    x = rand(2, 3, *[8, 7, 6][:n])
    axes = tuple(range(2, 2 + n))
    for kind, reference in ("max", np.max), ("avg", np.mean):
        check(
            getattr(relay.nn, f"global_{kind}_pool{n}d"),
            lambda d, reference=reference: reference(d, axis=axes, keepdims=True),
            x,
            **CLOSE,
        )
    t = result_type(
        lambda d: relay.nn.global_avg_pool2d(d, layout="NHWC"),
        TensorType((1, relay.Any(), 8, 4)),
    )
    assert t == TensorType((1, 1, 1, 4))


# ---- borders ----


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pad(mode):
    widths = ((0, 0), (1, 2), (2, 1))
    args = {"constant_values": 3} if mode == "constant" else {}
    call = relay.nn.pad(relay.var("x"), widths, 3.0, mode)
    assert call.attrs.pad_mode == mode and isinstance(call.args[1], relay.Constant)
    check(
        lambda x, v: relay.nn.pad(x, widths, v, mode),
        lambda x, v: np.pad(x, widths, mode, **args),
        rand(2, 3, 4),
        np.array(3, "float32"),
    )


def test_pad_cuts_off():
    check(
        lambda x, v: relay.nn.pad(x, ((-1, 1), (0, -2)), v),
        lambda x, v: np.pad(x[1:, :-2], ((0, 1), (0, 0)), constant_values=7),
        rand(3, 4),
        np.array(7, "int32"),
    )


def test_pad_types():
    def f(shape, widths):
        return result_type(
            lambda x, v: relay.nn.pad(x, widths, v), TensorType(shape), TensorType((), "int32")
        )

    n = tenon.tir.Var("n", "int32")
    assert tenon.ir.structural_equal(f((n, 2), ((1, 1), (2, 3))), TensorType((n + 2, 7)))
    with pytest.raises(tenon.error.DiagnosticError, match="as many pad width pairs"):
        f((2, 3), ((1, 1),))
    with pytest.raises(tenon.error.DiagnosticError, match="should be a pair"):
        f((2, 3), ((1, 1), (1, 2, 3)))


@pytest.mark.parametrize("mode", ["SYMMETRIC", "REFLECT"])
def test_mirror_pad(mode):
    widths = ((1, 1), (2, 3))
    check(
        lambda x: relay.nn.mirror_pad(x, widths, mode),
        lambda x: np.pad(x, widths, mode.lower()),
        rand(3, 4),
    )


def test_through_the_library_as_one_program():
    """A pool of a normalised tensor has several stages; all of them are in one kernel."""
    x = rand(1, 4, 6, 6)
    got = op_cases.compute(lambda d: relay.nn.softmax(d, 1), x, target="llvm")
    np.testing.assert_allclose(got.sum(axis=1), np.ones((1, 6, 6)), rtol=1e-5)


# ---- losses ----


def test_cross_entropy():
    logits, t = rand(3, 4), rand(3, 4, low=0.0, seed=1)
    p = F.softmax(torch.from_numpy(logits), 1).numpy()
    check(
        relay.nn.cross_entropy, lambda p, t: -(t * np.log(p)).sum() / 3, p, t, rtol=1e-4, atol=1e-5
    )
    check(
        relay.nn.cross_entropy_with_logits,
        lambda x, t: -(t * x).sum() / 3,
        logits,
        t,
        rtol=1e-4,
        atol=1e-5,
    )
    with pytest.raises(tenon.error.DiagnosticError, match="differ in shape"):
        result_type(relay.nn.cross_entropy, TensorType((2, 3)), TensorType((2, 4)))


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize("shape", [(3, 4), (2, 4, 3), (2, 4, 2, 3)])
def test_nll_loss(reduction, shape):
    x, w = rand(*shape), rand(4, low=0.1, seed=1)
    t = np.random.default_rng(0).integers(0, 4, (shape[0], *shape[2:]))
    t.flat[0] = 1
    check(
        lambda x, t, w: relay.nn.nll_loss(x, t, w, reduction, ignore_index=1),
        by_torch(lambda x, t, w: F.nll_loss(x, t, w, reduction=reduction, ignore_index=1)),
        x,
        t,
        w,
        rtol=1e-4,
        atol=1e-5,
    )


def test_dilate():
    def reference(x):
        out = np.full((2, 7), 5, "float32")
        out[:, ::3] = x
        return out

    check(lambda x: relay.nn.dilate(x, (1, 3), 5.0), reference, rand(2, 3))
    with pytest.raises(tenon.error.DiagnosticError, match="expected 2 numbers"):
        result_type(lambda x: relay.nn.dilate(x, (1,)), TensorType((2, 3)))
