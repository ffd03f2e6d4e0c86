"""Dynamic dimensions that are 1, 0 or another number when the program runs."""

import numpy as np
import pytest
import tenon
from tenon import relay

RNG = np.random.default_rng(0)


def run(make, arrays, shapes=None, targets=("llvm",), levels=(0, 3)):
    """What the virtual machine gives with dynamic dimensions, at each level the same."""
    shapes = shapes or [[relay.Any()] * a.ndim for a in arrays]
    params = [
        relay.var(f"x{i}", shape=s, dtype=str(a.dtype))
        for i, (s, a) in enumerate(zip(shapes, arrays, strict=True))
    ]
    mod = tenon.IRModule.from_expr(relay.Function(params, make(*params)))
    found = []
    for target in targets:
        for level in levels:
            with tenon.transform.PassContext(opt_level=level):
                f = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target=target)
                found.append(f.evaluate()(*arrays).numpy())
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-5)
    return found[0]


def random(*shape):
    return RNG.random(shape).astype("float32")


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
@pytest.mark.parametrize("shape", [(1, 4), (3, 1), (1, 1), (4,), (1,), (), (3, 4)])
def test_collapse_sum_like_sums_what_was_repeated(shape, target):
    x, like = random(3, 4), np.zeros(shape, "float32")
    full = (1,) * (2 - like.ndim) + shape
    axes = tuple(i for i in range(2) if full[i] == 1)
    want = x.sum(axes, keepdims=True).reshape(shape)
    np.testing.assert_allclose(
        run(relay.collapse_sum_like, [x, like], targets=[target]), want, rtol=1e-5
    )
    half = run(relay.collapse_sum_like, [x, like], [(3, relay.Any()), [relay.Any()] * len(shape)])
    np.testing.assert_allclose(half, want, rtol=1e-5)


@pytest.mark.parametrize("x, like", [((0, 4), (1, 4)), ((0, 4), (0, 4)), ((3, 0), (3, 1))])
def test_collapse_sum_like_of_nothing(x, like):
    got = run(relay.collapse_sum_like, [random(*x), random(*like)])
    np.testing.assert_array_equal(got, np.zeros(like, "float32"))


def test_gradient_of_a_broadcast():
    x, y = (relay.var(name, shape=[relay.Any()] * 2) for name in "xy")
    mod = tenon.IRModule.from_expr(relay.Function([x, y], relay.multiply(x, y)))
    mod = relay.transform.InferType()(mod)
    mod["main"] = relay.transform.gradient(mod["main"], mode="first_order")
    a, b = random(3, 4), random(3, 1)
    f = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    _, (da, db) = f(a, b)
    np.testing.assert_allclose(da.numpy(), np.broadcast_to(b, a.shape), rtol=1e-6)
    np.testing.assert_allclose(db.numpy(), a.sum(1, keepdims=True), rtol=1e-6)


BATCHES = [(1, 3), (3, 1), (3, 3), (1, 1), (0, 1), (1, 0), (0, 0)]
PRODUCTS = {
    "batch_matmul": relay.nn.batch_matmul,
    "einsum": lambda a, b: relay.einsum([a, b], "bij,bkj->bik"),
}


@pytest.mark.parametrize("n, m", BATCHES)
@pytest.mark.parametrize("op", PRODUCTS)
def test_batches_are_repeated(op, n, m):
    a, b = random(n, 2, 5), random(m, 4, 5)
    want, any_ = np.matmul(a, b.transpose(0, 2, 1)), relay.Any()
    for shapes in [
        None,
        [(any_, 2, 5), (any_, 4, 5)],
        [(any_, 2, 5), (m, 4, 5)],
        [(n, 2, 5), (any_, any_, 5)],
    ]:
        np.testing.assert_allclose(run(PRODUCTS[op], [a, b], shapes), want, rtol=1e-5)


@pytest.mark.parametrize("op", PRODUCTS)
def test_batches_that_do_not_fit(op):
    with pytest.raises(tenon.TenonError):
        run(PRODUCTS[op], [random(2, 2, 5), random(3, 4, 5)])


def test_einsum_of_dots_and_three_operands():
    for shapes in [((1, 3), (4, 1), (4, 3)), ((4, 3), (1, 3), (1, 1)), ((1, 1), (1, 1), (1, 1))]:
        a, b, c = (random(*s) for s in shapes)
        got = run(lambda *x: relay.einsum(list(x), "ij,ij,ij->i"), [a, b, c])
        np.testing.assert_allclose(got, (a * b * c).sum(1), rtol=1e-5)


@pytest.mark.parametrize("place", ["align_corners", "pytorch_half_pixel", "half_pixel"])
@pytest.mark.parametrize("method", ["linear", "nearest_neighbor", "cubic"])
def test_resize_to_one(place, method):
    x = random(1, 1, 4, 5)
    for size in [(1, 1), (1, 5), (3, 1)]:

        def resize(x):
            how = {"method": method, "coordinate_transformation_mode": place}
            return relay.image.resize2d(x, size, rounding_method="round", **how)  # noqa: B023

        want = run(resize, [x], [x.shape])
        assert np.isfinite(want).all()
        np.testing.assert_allclose(run(resize, [x]), want, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("n", [1, 3])
def test_scales_of_a_dynamic_number(n):
    x, scale = random(2, 3), random(n) + np.float32(0.1)
    zero = np.zeros(n, "int32")

    def quantize(x, scale, zero):
        return relay.qnn.quantize(x, scale, zero, axis=1, out_dtype="int8")

    shapes = [(2, 3), (relay.Any(),), (relay.Any(),)]
    got = run(quantize, [x, scale, zero], shapes, levels=(0,))
    assert np.abs(got - np.clip(np.round(x / scale), -128, 127)).max() <= 1


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_shapes_that_do_not_fit_are_refused(kind):
    a, b = (relay.var(name, shape=[relay.Any(), 2]) for name in "ab")
    mod = tenon.IRModule.from_expr(relay.Function([a, b], relay.add(a, b)))
    f = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    with pytest.raises(tenon.error.TenonError):
        f(random(2, 2), random(3, 2))


@pytest.mark.parametrize("kind", ["vm", "debug"])
@pytest.mark.parametrize("mode", ["end", "size"])
@pytest.mark.parametrize("lengths", [(2, 2, 1), (2, 1, 2), (1, 2, 2), (0, 0, 1)])
def test_bounds_of_other_numbers(kind, mode, lengths):
    """Axes beyond the end of begin, end or strides are whole."""
    params = [relay.var("x", shape=(4, 5))]
    params += [relay.var(f"v{i}", shape=(n,), dtype="int64") for i, n in enumerate(lengths)]
    sliced = relay.strided_slice(*params, slice_mode=mode)
    mod = tenon.IRModule.from_expr(relay.Function(params, sliced))
    f = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    x, given = random(4, 5), [v[:n] for v, n in zip(([1, 2], [2, 3], [1, 2]), lengths, strict=True)]
    begin, end, step = (
        [*v, *rest[len(v) :]] for v, rest in zip(given, ([0, 0], [4, 5], [1, 1]), strict=True)
    )
    if mode == "size":
        end = [begin[i] + end[i] if i < lengths[1] else (4, 5)[i] for i in range(2)]
        step = [1, 1]
    want = x[begin[0] : end[0] : step[0], begin[1] : end[1] : step[1]]
    assert (f(x, *(np.array(v, "int64") for v in given)).numpy() == want).all()
