"""Passes leave a call as it is where what they would make of it has another type or is wrong."""

import numpy as np
import pytest
import tenon
from tenon import relay

RNG = np.random.default_rng(0)


def const(*shape, dtype="float32"):
    values = RNG.integers(1, 4, shape) if dtype.startswith("int") else RNG.random(shape) + 0.5
    return relay.const(np.asarray(values).astype(dtype))


def run(mod, arrays, level=0):
    with tenon.transform.PassContext(opt_level=level):
        f = relay.create_executor("graph", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    got = f(*arrays)
    return [got.numpy()] if hasattr(got, "numpy") else [g.numpy() for g in got]


def check(passes, params, body, levels=(3, 4), steps=0):
    """The program gives the same after the passes, and at all levels."""
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    mod = relay.transform.InferType()(mod)
    arrays = [
        np.asarray(RNG.integers(-9, 9, t.concrete_shape)).astype(t.dtype)
        for t in (p.type_annotation for p in params)
    ]
    want = run(mod, arrays)
    with tenon.transform.PassContext(opt_level=4):
        after = relay.transform.InferType()(tenon.transform.Sequential(passes)(mod))
    for got in [run(after, arrays), *(run(mod, arrays, level) for level in levels)]:
        for a, b in zip(got, want, strict=True):
            assert (a.shape, a.dtype) == (b.shape, b.dtype)
            atol = max(steps, 1e-4 * max(1, np.abs(b).max(initial=0)))
            np.testing.assert_allclose(a, b, rtol=1e-4, atol=atol)
    return after


T = relay.transform


def depthwise(x, multiplier, channels=4):
    return relay.nn.conv2d(
        x,
        const(3, 3, channels, multiplier),
        groups=channels,
        channels=channels * multiplier,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWOI",
    )


@pytest.mark.parametrize("multiplier", [1, 2, 4])
def test_scale_behind_depthwise_with_multiplier(multiplier):
    x = relay.var("x", shape=(1, 5, 5, 4))
    y = relay.multiply(depthwise(x, multiplier), const(4 * multiplier))
    check([T.BackwardFoldScaleAxis()], [x], y)


@pytest.mark.parametrize("multiplier", [1, 2, 4])
def test_scale_before_depthwise_with_multiplier(multiplier):
    x = relay.var("x", shape=(1, 5, 5, 4))
    y = depthwise(relay.multiply(x, const(4)), multiplier)
    check([T.ForwardFoldScaleAxis()], [x], y)


@pytest.mark.parametrize("groups", [1, 2, 4, 8])
@pytest.mark.parametrize("layout", ["OIHW", "IOHW"])
def test_scale_around_groups(groups, layout):
    x = relay.var("x", shape=(1, 8, 5, 5))
    o, i = 16, 8 // groups
    shape = (o, i, 3, 3) if layout == "OIHW" else (i, o, 3, 3)
    y = relay.nn.conv2d(
        relay.multiply(x, const(8, 1, 1)),
        const(*shape),
        groups=groups,
        channels=o,
        kernel_size=(3, 3),
        kernel_layout=layout,
    )
    y = relay.multiply(y, const(o, 1, 1))
    check([T.BackwardFoldScaleAxis(), T.ForwardFoldScaleAxis()], [x], y)


@pytest.mark.parametrize("width", [((0, 0), (1, 2)), ((0, 0), (0, 0)), ((1, 0), (0, 0))])
def test_scale_and_pad_of_its_axis(width):
    x = relay.var("x", shape=(1, 4, 6, 6))
    y = relay.nn.conv2d(x, const(4, 4, 3, 3), channels=4, kernel_size=(3, 3))
    y = relay.nn.pad(y, (*width, (0, 1), (0, 0)))
    c = 4 + sum(width[1])
    check([T.BackwardFoldScaleAxis()], [x], relay.multiply(y, const(c, 1, 1)))
    z = relay.nn.pad(relay.multiply(x, const(4, 1, 1)), (*width, (0, 1), (0, 0)))
    z = relay.nn.conv2d(z, const(4, c, 3, 3), channels=4, kernel_size=(3, 3))
    check([T.ForwardFoldScaleAxis()], [x], z)


def dequantize(x, scale=0.5, axis=-1):
    scale = np.float32(scale)
    return relay.qnn.dequantize(
        x, relay.const(scale), relay.const(np.zeros(scale.shape, "int32")), axis=axis
    )


def quantize(x):
    return relay.qnn.quantize(x, relay.const(np.float32(2.0)), relay.const(0), out_dtype="int8")


@pytest.mark.parametrize("scales", [0.5, [0.5, 0.25, 1.0]])
@pytest.mark.parametrize("bias", [(3,), (1, 3), (2, 3), (4, 2, 3), (1,), (2, 1), (5, 1, 1, 1), ()])
def test_fake_quantization_of_sums_that_broadcast(bias, scales):
    x, w = relay.var("x", shape=(2, 4), dtype="int8"), const(3, 4, dtype="int8")
    y = relay.nn.dense(dequantize(x), dequantize(w, scales, axis=0), units=3)
    b = const(*bias)
    for total in (relay.add(y, b), relay.add(b, y)):
        check([T.FakeQuantizationToInteger()], [x], quantize(total), steps=1)


def parallel_in_lets(layer, weights, data):
    x = relay.var("x", shape=data)
    ys = [relay.var(f"y{i}") for i in range(3)]
    ws = [relay.var(f"w{i}") for i in range(3)]
    params = [relay.var(f"p{i}", shape=weights) for i in range(3)]
    body = relay.Tuple(ys)
    for y, w, p in reversed(list(zip(ys, ws, params, strict=True))):
        body = relay.Let(w, relay.nn.relu(p), relay.Let(y, layer(x, w), body))
    return [x, *params], body


@pytest.mark.parametrize("kind", ["Conv2D", "Dense", "BatchMatmul"])
def test_parallel_layers_of_variables_that_are_bound_later(kind):
    layer, weights, data = {
        "Conv2D": (
            lambda x, w: relay.nn.conv2d(x, w, kernel_size=(1, 1), channels=2),
            (2, 4, 1, 1),
            (1, 4, 3, 3),
        ),
        "Dense": (lambda x, w: relay.nn.dense(x, w, units=5), (5, 4), (3, 4)),
        "BatchMatmul": (relay.nn.batch_matmul, (2, 5, 4), (2, 3, 4)),
    }[kind]
    params, body = parallel_in_lets(layer, weights, data)
    make = getattr(T, f"CombineParallel{kind}")
    check([make(2)], params, body, levels=())
    if kind == "Dense":
        check([make(2, False)], params, body, levels=())


@pytest.mark.parametrize("shape", [(0, 3, 4), (2, 0, 4), (2, 3, 0)])
def test_passes_that_reshape_what_is_empty(shape):
    x = relay.var("x", shape=shape)
    y = relay.reshape(relay.transpose(x, (2, 1, 0)), (5, 0, 7), allowzero=True)
    check([T.SimplifyExpr()], [x], relay.reshape(y, shape[::-1], allowzero=True))
    check([T.SimplifyExpr()], [x], relay.reshape(relay.expand_dims(x, 1), shape, allowzero=True))
    check([T.SimplifyExpr()], [x], relay.squeeze(relay.expand_dims(x, 0), [0]))


def slice_of(x, begin, end):
    return relay.strided_slice(x, [0, begin], [4, end])


@pytest.mark.parametrize("right", [True, False])
def test_parts_of_several_splits_are_not_the_whole(right):
    """The place of a part counts, not its number in its split."""
    x = relay.var("x", shape=(4, 6))
    at = [2, 4] if right else [1, 3]
    a, b = relay.split(x, [2, 4], 1), relay.split(x, at, 1)
    for parts in (
        [a[0], b[1], a[2]],
        [slice_of(x, 0, 2), b[1], slice_of(x, 4, 6)],
        [slice_of(x, 0, 2), b[1], a[2]],
    ):
        after = check([T.SimplifyExpr()], [x], relay.concatenate(parts, 1))
        assert isinstance(after["main"].body, relay.Var) == right


def test_extents_beyond_32_bits_are_not_others():
    n = relay.const(np.array([2**31 + 1], "int64"))
    mod = tenon.IRModule.from_expr(relay.Function([], relay.zeros(n, "int8")))
    mod = T.InferType()(T.DynamicToStatic()(mod))
    assert "2147483647" not in mod.astext(show_meta_data=False)


@pytest.mark.parametrize("channels", [3, 5, 20])
@pytest.mark.parametrize("given", [False, True])
@pytest.mark.parametrize("op", ["add", "maximum", "multiply", "divide"])
def test_channels_that_were_added_stay_finite(op, given, channels):
    """Operands that are infinite do not reach the channels that fill vectors: 0 times them is not a
    number."""
    x, y = relay.var("x", shape=(1, 3, 6, 6)), relay.var("y", shape=(1, 1, 1, 1))
    many = {"multiply": np.inf, "divide": 0.0}.get(op, np.inf)
    other = y if given else relay.const(np.float32(many))
    a = relay.nn.conv2d(x, const(channels, 3, 3, 3), channels=channels, kernel_size=(3, 3))
    a = relay.nn.conv2d(
        getattr(relay, op)(relay.nn.relu(a), other),
        const(16, channels, 3, 3),
        channels=16,
        kernel_size=(3, 3),
    )
    mod = tenon.IRModule.from_expr(relay.Function([x, y], a))
    arrays = [np.ones((1, 3, 6, 6), "float32"), np.full((1, 1, 1, 1), many, "float32")]
    for target in ("llvm", "llvm -mcpu=x86-64"):
        with tenon.transform.PassContext(opt_level=3):
            f = relay.create_executor("graph", mod=mod, device=tenon.cpu(), target=target)
            got = f.evaluate()(*arrays).numpy()
        assert (got == np.inf).all()
