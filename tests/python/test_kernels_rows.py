"""Programs that work row by row: reductions over several axes, norms over images and groups."""

import numpy as np
import pytest
import tenon
from machines import runnable
from tenon import relay
from tenon.contrib import graph_executor, utils

TARGETS = runnable(["llvm", "llvm -mcpu=haswell", "llvm -mcpu=skylake-avx512", "llvm -mcpu=x86-64"])


def run(expr, inputs, target="llvm", opt_level=3):
    f = relay.Function(relay.analysis.free_vars(expr), expr)
    with tenon.transform.PassContext(opt_level=opt_level):
        lib = relay.build(tenon.IRModule.from_expr(f), target=target)
    if target == "c":  # source: compiled by exporting it
        folder = utils.tempdir()
        lib.export_library(folder.relpath("lib.so"))
        lib = tenon.runtime.load_module(folder.relpath("lib.so"))
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(**inputs)
    return model.get_output(0).numpy()


def numbers(*shape, dtype="float32", seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(shape).astype(dtype)
    return rng.integers(-100, 100, shape).astype(dtype)


SHAPES = [
    ((2, 3, 28, 28), (2, 3)),
    ((2, 3, 28, 28), None),
    ((3, 5, 13, 11), (0, 2, 3)),
    ((3, 5, 13, 11), (1, 2)),
    ((3, 5, 13, 11), (0, 3)),
    ((2, 37, 7, 7), (2, 3)),
    ((4, 3, 3, 3), (0, 2, 3)),
    ((2, 2, 5, 9, 31), (1, 3, 4)),
    ((2, 1, 57, 1), (2, 3)),
    ((5, 1, 1, 2), None),
    ((1000,), None),
    ((17, 1, 29), (0, 1, 2)),
]


@pytest.mark.parametrize("target", TARGETS)
def test_reductions_over_several_axes(target):
    names = ["sum", "max", "min", "mean", "prod"]
    for i, (shape, axes) in enumerate(SHAPES):
        x, v, keepdims = numbers(*shape), relay.var("x", shape=shape), i % 2 == 0
        for name in names if target == "llvm" else names[i % 5 : i % 5 + 1]:
            got = run(getattr(relay, name)(v, axis=axes, keepdims=keepdims), {"x": x}, target)
            want = getattr(np, name)(x.astype("float64"), axis=axes, keepdims=keepdims)
            scale = np.abs(x).sum() if name in ("sum", "mean") else 1
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6 * scale, err_msg=name)


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float16", "float64"])
def test_reductions_of_other_types(dtype):
    for shape, axes in SHAPES[:6]:
        x, v = numbers(*shape, dtype=dtype), relay.var("x", shape=shape, dtype=dtype)
        for name in ("max", "min"):
            got = run(getattr(relay, name)(v, axis=axes), {"x": x})
            np.testing.assert_array_equal(got, getattr(np, name)(x, axis=axes))
        if dtype in ("int8", "int32", "int64"):
            got = run(relay.sum(v, axis=axes), {"x": x})
            np.testing.assert_array_equal(got, x.sum(axis=axes, dtype=dtype))


def test_what_follows_a_reduction_of_all():
    x, v = numbers(37, 91), relay.var("x", shape=(37, 91))
    got = run(relay.exp(relay.mean(v)) * relay.const(2.0), {"x": x})
    np.testing.assert_allclose(got, np.exp(x.astype("float64").mean()) * 2, rtol=1e-5)
    got = run(v - relay.max(v), {"x": x})
    np.testing.assert_array_equal(got, x - x.max())


def test_infinities_stay_in_their_row():
    x = numbers(2, 3, 7, 19)
    x[0, 1, 6, 18], x[1, 2, 0, 0], x[1, 0, 3, 3] = np.inf, -np.inf, np.inf
    v = relay.var("x", shape=x.shape)
    np.testing.assert_array_equal(run(relay.max(v, axis=(2, 3)), {"x": x}), x.max(axis=(2, 3)))
    got = run(relay.sum(v, axis=(2, 3)), {"x": x})
    np.testing.assert_allclose(got, x.sum(axis=(2, 3), dtype="float64"), rtol=1e-4, atol=1e-4)


def normalised(x, axes, epsilon=1e-5):
    x = x.astype("float64")
    mean, var = x.mean(axis=axes, keepdims=True), x.var(axis=axes, keepdims=True)
    return (x - mean) / np.sqrt(var + epsilon)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(2, 6, 28, 28), (1, 4, 7, 5), (3, 2, 19), (2, 4, 3, 5, 7)])
def test_instance_norm(target, shape):
    constant = len(shape) != 4
    x, gamma, beta = numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)
    v, inputs = relay.var("x", shape=shape), {"x": x}
    if constant:
        g, b = relay.const(gamma), relay.const(beta)
    else:
        g, b = (relay.var(n, shape=(shape[1],)) for n in "gb")
        inputs |= {"g": gamma, "b": beta}
    got = run(relay.nn.relu(relay.nn.instance_norm(v, g, b)), inputs, target)
    each = (1, -1) + (1,) * (len(shape) - 2)
    want = normalised(x, tuple(range(2, len(shape)))) * gamma.reshape(each) + beta.reshape(each)
    np.testing.assert_allclose(got, np.maximum(want, 0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape, groups", [((2, 8, 9, 7), 4), ((1, 6, 5, 5), 6), ((2, 6, 33), 1)])
def test_group_norm(target, shape, groups):
    x, gamma, beta = numbers(*shape), numbers(shape[1], seed=1), numbers(shape[1], seed=2)
    v = relay.var("x", shape=shape)
    norm = relay.nn.group_norm(v, relay.const(gamma), relay.const(beta), num_groups=groups)
    grouped = x.reshape(shape[0], groups, -1)
    each = (1, -1) + (1,) * (len(shape) - 2)
    want = normalised(grouped, 2).reshape(shape) * gamma.reshape(each) + beta.reshape(each)
    np.testing.assert_allclose(run(norm, {"x": x}, target), want, rtol=1e-4, atol=1e-4)


def test_rows_are_kept_near_each_other():
    """Mean, variance and result of a group are one loop over groups: nothing of another is held."""
    from tenon import te, topi

    schedule = tenon.get_global_func("kernels.schedule")
    a = te.placeholder((8, 64, 28, 28), name="A")
    text = schedule(te.create_prim_func([a, topi.sum(a, axis=[2, 3])]), 64, 32, 1).script()
    assert 'T_sum_rf = T.alloc_buffer((8, 64, 64), scope="local")' in text
    text = schedule(te.create_prim_func([a, topi.max(a)]), 64, 32, 1).script()
    assert "for u in range(1):" in text and "T.vectorized(16)" in text


ELEMENTWISE = [(3, 4, 7, 7), (2, 5, 13, 11), (127, 301), (1, 12, 33), (99,), (5, 3), (2, 1, 1, 6)]


@pytest.mark.parametrize("target", TARGETS)
def test_elementwise_of_any_extents(target):
    """The last vector is not full; axes that memory runs through as one are one."""
    for shape in ELEMENTWISE:
        x, v = numbers(*shape), relay.var("x", shape=shape)
        np.testing.assert_allclose(run(relay.exp(v), {"x": x}, target), np.exp(x), rtol=1e-6)
        for i in range(len(shape)):
            other = tuple(n if k != i else 1 for k, n in enumerate(shape))
            y = numbers(*other, seed=3)
            got = run(v * relay.var("y", shape=other) + relay.const(1.0), {"x": x, "y": y}, target)
            np.testing.assert_allclose(got, x * y + 1, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", ["int8", "int64", "float16", "bool"])
def test_elementwise_of_other_types(dtype):
    for shape in ELEMENTWISE:
        x, y = numbers(*shape, dtype="int8"), numbers(*shape, dtype="int8", seed=1)
        x, y = (x % 2 == 0, y % 2 == 0) if dtype == "bool" else (x.astype(dtype), y.astype(dtype))
        a, b = (relay.var(n, shape=shape, dtype=dtype) for n in "xy")
        f, g = (relay.logical_xor, np.logical_xor) if dtype == "bool" else (relay.add, np.add)
        np.testing.assert_array_equal(run(f(a, b), {"x": x, "y": y}), g(x, y))


def test_a_transposed_operand_is_not_taken_for_a_row():
    x, y = numbers(3, 7, 13), numbers(3, 13, 7)
    a, b = relay.var("x", shape=x.shape), relay.var("y", shape=y.shape)
    got = run(a + relay.transpose(b, (0, 2, 1)), {"x": x, "y": y})
    np.testing.assert_array_equal(got, x + y.transpose(0, 2, 1))
    part = relay.strided_slice(b, [0, 2, 1], [3, 9, 6])
    got = run(relay.nn.relu(part) * relay.const(2.0), {"y": y})
    np.testing.assert_array_equal(got, np.maximum(y[:, 2:9, 1:6], 0) * 2)


def first_or_last(f, x, axis, last):
    """Index among the elements of the axes in their order, NaN before all numbers."""
    axes = tuple(range(x.ndim)) if axis is None else axis
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    flat = moved.reshape(*moved.shape[: x.ndim - len(axes)], -1)
    return flat.shape[-1] - 1 - f(flat[..., ::-1], axis=-1) if last else f(flat, axis=-1)


@pytest.mark.parametrize("target", [*TARGETS, "c"])
@pytest.mark.parametrize("dtype", ["float32", "int8", "int64", "float16"])
def test_argmax_and_argmin(target, dtype):
    shapes = [((5, 77), (1,)), ((3, 21, 40), (1,)), ((37, 19), (0,)), ((3, 5, 7), None)]
    for i, (shape, axis) in enumerate([*shapes, ((2, 9, 4, 5), (1, 3)), ((1, 3), (0,))]):
        x = numbers(*shape, dtype="int8", seed=i) % 7  # many are equal
        x = x.astype(dtype)
        if dtype[0] == "f":
            x.flat[0], x.flat[-1] = -0.0, np.inf
            x = np.where(numbers(*shape, seed=9) > 2, np.array(np.nan, dtype), x)
        v, last = relay.var("x", shape=shape, dtype=dtype), (i + (dtype == "int8")) % 2 == 0
        name = "argmax" if i < 3 else "argmin"
        how = {"axis": axis, "keepdims": i % 3 == 0, "select_last_index": last}
        got = run(getattr(relay, name)(v, **how), {"x": x}, target)
        want = first_or_last(getattr(np, name), x, axis, last)
        np.testing.assert_array_equal(got.reshape(want.shape), want)


@pytest.mark.parametrize("target", TARGETS)
def test_the_largest_of_no_elements_has_no_index(target):
    v = relay.var("x", shape=(300, 0))
    for name in ("argmax", "argmin"):
        got = run(getattr(relay, name)(v, axis=1), {"x": np.zeros((300, 0), "float32")}, target)
        np.testing.assert_array_equal(got, np.full(300, -1))


def test_softmax_of_extreme_values():
    x = numbers(7, 77) * 30
    x[0, :5], x[1], x[2, 3], x[3, ::2], x[4] = 3e38, -3e38, np.nan, -np.inf, 88
    x[5, 0] = 100  # others underflow
    got = run(relay.nn.softmax(relay.var("x", shape=x.shape)), {"x": x})
    e = np.exp((x - x.max(axis=1, keepdims=True)).astype("float64"))
    np.testing.assert_allclose(got, e / e.sum(axis=1, keepdims=True), rtol=1e-6, atol=1e-37)


@pytest.mark.parametrize("dtype", ["float32", "int8", "int64"])
def test_the_first_few_of_many(dtype):
    """Few are found without sorting; equal ones keep their order."""
    for i, (shape, axis, k) in enumerate(
        [((3, 40), 1, 5), ((33, 4), 0, 8), ((2, 64, 3), 1, 1), ((257,), 0, 64), ((4, 9), -1, 4)]
    ):
        x = numbers(*shape, dtype="int8", seed=i).astype(dtype) % 9
        x = np.sort(x, axis=axis) if i == 3 else x
        v = relay.var("x", shape=shape, dtype=dtype)
        for ascend in (False, True):
            order = np.argsort(x if ascend else -x.astype("int64"), axis=axis, kind="stable")
            best = np.take(order, np.arange(k), axis=axis)
            how = {"k": k, "axis": axis, "is_ascend": ascend}
            got = run(relay.topk(v, ret_type="indices", **how), {"x": x})
            np.testing.assert_array_equal(got, best)
            got = run(relay.topk(v, ret_type="values", **how), {"x": x})
            np.testing.assert_array_equal(got, np.take_along_axis(x, best, axis=axis))


def test_running_sums_along_each_axis():
    x, v = numbers(3, 7, 19), relay.var("x", shape=(3, 7, 19))
    for axis in range(3):
        got = run(relay.cumsum(v, axis=axis), {"x": x})
        np.testing.assert_allclose(got, np.cumsum(x, axis=axis), rtol=1e-4, atol=1e-5)
        got = run(relay.cumprod(v, axis=axis, exclusive=True), {"x": x})
        want = np.delete(np.insert(x, 0, 1, axis=axis), -1, axis=axis)
        np.testing.assert_allclose(got, np.cumprod(want, axis=axis), rtol=1e-4, atol=1e-5)


def test_means_of_nothing():
    """numpy's answers where there are no elements; integers have none."""
    x, none = relay.var("x", shape=(2, 0)), np.zeros((2, 0), "float32")
    for expr in (relay.mean(x, axis=1), relay.variance(x, axis=1)):
        np.testing.assert_array_equal(run(expr, {"x": none}), [np.nan, np.nan])
    assert np.isnan(run(relay.mean(x), {"x": none}))
    np.testing.assert_array_equal(run(relay.mean(x, axis=0), {"x": none}), [])
    one = relay.var("x", shape=(3, 1))
    got = run(relay.variance(one, axis=1, unbiased=True), {"x": np.ones((3, 1), "float32")})
    np.testing.assert_array_equal(got, [np.nan] * 3)
    image = relay.var("x", shape=(1, 2, 0, 4))
    got = run(relay.nn.global_avg_pool2d(image), {"x": np.zeros((1, 2, 0, 4), "float32")})
    np.testing.assert_array_equal(got, np.full((1, 2, 1, 1), np.nan))
    g, b = relay.const(np.ones(0, "float32")), relay.const(np.ones(0, "float32"))
    assert run(relay.nn.layer_norm(x, g, b), {"x": none}).shape == (2, 0)
    whole = relay.var("x", shape=(2, 0), dtype="int32")
    with pytest.raises(ValueError, match="mean: the mean of no elements does not exist in int32"):
        run(relay.mean(whole, axis=1), {"x": none.astype("int32")})


def test_dilation_of_bytes_at_the_border():
    x = numbers(1, 2, 6, 5, dtype="int8") % 50 - 110
    x = x.astype("int8")
    w = np.full((2, 3, 3), -5, "int8")
    w[0, 1, 1] = 100
    v = relay.var("x", shape=x.shape, dtype="int8")
    got = run(relay.image.dilation2d(v, relay.const(w), padding=(1, 1)), {"x": x})
    wide = np.pad(x.astype("int32"), [(0, 0), (0, 0), (1, 1), (1, 1)], constant_values=-(2**20))
    windows = np.lib.stride_tricks.sliding_window_view(wide, (3, 3), axis=(2, 3))
    want = (windows + w[:, None, None].astype("int32")).max(axis=(4, 5)).clip(-128, 127)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("target", TARGETS)
def test_small_powers(target):
    x = np.concatenate([numbers(1, 30), [[0, -0.0, np.inf, -np.inf, np.nan, 1e13, -1e-20]]], axis=1)
    x, v = x.astype("float32"), relay.var("x", shape=(1, 37))
    for n in (2, 3, 4, -1):
        with np.errstate(all="ignore"):
            want = np.power(x.astype("float64"), n).astype("float32")
        got = run(relay.power(v, relay.const(float(n))), {"x": x}, target)
        np.testing.assert_allclose(got, want, rtol=3e-7)


def test_pools_of_volumes():
    x, v = numbers(2, 3, 4, 5, 7), relay.var("x", shape=(2, 3, 4, 5, 7))
    got = run(relay.nn.adaptive_avg_pool3d(v, (1, 1, 1)), {"x": x})
    np.testing.assert_allclose(got, x.mean(axis=(2, 3, 4), keepdims=True), rtol=1e-4, atol=1e-6)
    got = run(relay.nn.adaptive_max_pool3d(v, (1, 1, 1)), {"x": x})
    np.testing.assert_array_equal(got, x.max(axis=(2, 3, 4), keepdims=True))
