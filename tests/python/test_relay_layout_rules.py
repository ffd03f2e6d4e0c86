"""Operators that follow a layout: the program computes the same numbers, and nothing is transformed
between them."""

import numpy as np
import pytest
import tenon
from layout_programs import blocked, function, run_passes, transforms
from tenon import relay
from tenon.relay import transform

RNG = np.random.default_rng(3)


def const(*shape, dtype="float32"):
    if dtype == "float32":
        return relay.const(RNG.uniform(0.5, 1.5, shape).astype(dtype))
    return relay.const(RNG.integers(-9, 9, shape).astype(dtype))


X = relay.var("x", shape=(2, 6, 5, 4))
Q = relay.var("q", shape=(2, 6, 5, 4), dtype="int8")
SCALE, ZERO = relay.const(0.5), relay.const(2)


def conv(x):
    return relay.nn.conv2d(x, const(8, 6, 3, 3), padding=(1, 1), channels=8, kernel_size=(3, 3))


def quantized(x, transposed=False):
    op = relay.qnn.op.conv2d_transpose if transposed else relay.qnn.op.conv2d
    shape = (6, 8, 3, 3) if transposed else (8, 6, 3, 3)
    scales = relay.const(RNG.uniform(0.01, 0.03, 8).astype("float32"))
    kernel = {"channels": 8, "kernel_size": (3, 3), "padding": (1, 1)}
    none = relay.const(0)
    y = op(x, const(*shape, dtype="int8"), ZERO, none, SCALE, scales, **kernel)
    factors = relay.const(0.5 * scales.data.numpy())
    return relay.qnn.op.requantize(y, factors, none, SCALE, ZERO, axis=1, out_dtype="int8")


def norm(name, axis, vectors=2):
    own = [const(8) for _ in range(vectors)]
    return lambda y: getattr(relay.nn, name)(y, *own, axis=axis)


def beside(y):
    pair = [y, y], [SCALE] * 2, [ZERO] * 2, relay.const(0.75), ZERO
    return relay.qnn.op.concatenate(
        *(relay.Tuple(p) if isinstance(p, list) else p for p in pair), 1
    )


FLOATS = {
    "batch_norm": lambda y: norm("batch_norm", 1, 4)(y)[0],
    "layer_norm": norm("layer_norm", 1),
    "layer_norm of the last but two": norm("layer_norm", -3),
    "instance_norm": norm("instance_norm", 1),
    "l2_normalize": lambda y: relay.nn.l2_normalize(y, 0.001, axis=[1, -2]),
    "group_norm": lambda y: relay.nn.group_norm(y, const(8), const(8), num_groups=2, axis=1),
}
BYTES = {
    "add": lambda y: relay.qnn.op.add(y, y, SCALE, ZERO, SCALE, ZERO, relay.const(1.0), ZERO),
    "concatenate": beside,
    "mul": lambda y: relay.qnn.op.mul(
        y, relay.const(np.int8([3])), SCALE, ZERO, SCALE, ZERO, SCALE, ZERO
    ),
}


def value(func, data):
    mod = tenon.IRModule({"main": func})
    mod = transform.InferType()(mod)
    return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(data).numpy()


def converted(program, op, layout, data):
    """The program where `op` works in `layout`, which computes what it computed."""
    before = run_passes(function(program))
    after = run_passes(before, transform.ConvertLayout({op: layout}))
    assert after.ret_type == before.ret_type
    np.testing.assert_allclose(value(after, data), value(before, data), rtol=1e-4, atol=1e-4)
    return [t for t in transforms(after) if t[0][:2] in ("NC", "NH") or t[0].startswith("HWN")]


@pytest.mark.parametrize("name", FLOATS)
def test_norms_follow(name):
    data = RNG.uniform(-1, 1, (2, 6, 5, 4)).astype("float32")
    program = relay.nn.relu(FLOATS[name](conv(X)))
    there_and_back = [("NCHW", "NHWC"), ("NHWC", "NCHW")]
    assert converted(program, "nn.conv2d", ["NHWC", "default"], data) == there_and_back
    # once images are not the first axis, only norms over the numbers of one position follow
    moved = converted(program, "nn.conv2d", ["HWNC", "HWIO"], data)
    assert moved == [("NCHW", "HWNC"), ("HWNC", "NCHW")]


@pytest.mark.parametrize("name", FLOATS)
def test_norms_of_blocks(name):
    """An axis that is normalised must be whole; the numbers are the same in any case."""
    x = relay.var("x", shape=(1, 16, 5, 4))
    w = const(8, 16, 3, 3)
    y = relay.nn.conv2d(x, w, padding=(1, 1), channels=8, kernel_size=(3, 3))
    func = run_passes(function(relay.nn.relu(FLOATS[name](y))))
    with blocked("NCHW8c", "OIHW8i"):
        after = run_passes(func, transform.AlterOpLayout())
    assert any("8c" in src for src, _ in transforms(after))
    data = RNG.uniform(-1, 1, (1, 16, 5, 4)).astype("float32")
    np.testing.assert_allclose(value(after, data), value(func, data), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("name", BYTES)
def test_quantized_operators_follow(name, transposed):
    data = RNG.integers(-100, 100, (2, 6, 5, 4)).astype("int8")
    program = BYTES[name](quantized(Q, transposed))
    op = "qnn.conv2d_transpose" if transposed else "qnn.conv2d"
    there_and_back = [("NCHW", "NHWC"), ("NHWC", "NCHW")]
    assert converted(program, op, ["NHWC", "default"], data) == there_and_back


def test_scales_of_channels_stay():
    """A sum with a scale for each channel works on the layout it had."""
    scales = relay.const(np.linspace(0.5, 1, 8).astype("float32"))
    y = quantized(Q)
    program = relay.qnn.op.add(
        y, y, scales, relay.const(np.zeros(8, "int32")), SCALE, ZERO, SCALE, ZERO, lhs_axis=1
    )
    data = RNG.integers(-100, 100, (2, 6, 5, 4)).astype("int8")
    converted(program, "qnn.conv2d", ["NHWC", "default"], data)


# with whether the result is transformed back
REDUCED = {
    "argmax of places": (lambda y: relay.argmax(y, axis=[2, 3]), False),
    "argmin of places": (lambda y: relay.argmin(y, axis=[2, 3], keepdims=True), True),
    "argmax of the others": (lambda y: relay.argmax(y, axis=[0, 1], exclude=True), False),
    "argmax of channels": (lambda y: relay.argmax(y, axis=1), False),
    "argmax of channels and rows": (lambda y: relay.argmax(y, axis=[1, 2]), True),
    "argmin of all": (lambda y: relay.argmin(y), True),
    "squeeze": (lambda y: relay.squeeze(relay.max(y, axis=[2], keepdims=True), axis=[-2]), False),
    "squeeze of two": (
        lambda y: relay.squeeze(relay.max(y, axis=[2, 3], keepdims=True), axis=[3, 2]),
        False,
    ),
    "squeeze of any": (lambda y: relay.squeeze(relay.max(y, axis=[1, 2], keepdims=True)), False),
    "squeeze of none": (lambda y: relay.squeeze(y, axis=[]), True),
    "squeeze of no ones": (lambda y: relay.squeeze(y), True),
}


@pytest.mark.parametrize("name", REDUCED)
def test_axes_that_go(name):
    make, goes_back = REDUCED[name]
    data = RNG.uniform(-1, 1, (2, 6, 5, 4)).astype("float32")
    moved = converted(make(relay.nn.relu(conv(X))), "nn.conv2d", ["NHWC", "default"], data)
    assert (("NHWC", "NCHW") in moved) == goes_back


def test_a_layout_that_is_asked_for_stays():
    """A pooling layer that is to work in NHWC does, whatever the convolution before gives."""
    data = RNG.uniform(-1, 1, (2, 6, 5, 4)).astype("float32")
    x = relay.var("x", shape=(2, 6, 5, 4))
    w = const(3, 3, 4, 8)
    y = relay.nn.conv2d(
        x, w, channels=8, kernel_size=(3, 3), data_layout="NHWC", kernel_layout="HWIO"
    )
    y = relay.nn.max_pool2d(relay.nn.relu(y), pool_size=(2, 2), layout="NHWC")
    wanted = {"nn.conv2d": ["NCHW", "default"], "nn.max_pool2d": ["NHWC"]}
    before = run_passes(function(y))
    after = run_passes(before, transform.ConvertLayout(wanted))
    assert str(after.body.attrs.layout) == "NHWC"
    np.testing.assert_allclose(value(after, data), value(before, data), rtol=1e-4, atol=1e-4)
    wanted["nn.max_pool2d"] = ["default"]
    follows = run_passes(before, transform.ConvertLayout(wanted))
    assert follows.body.op == relay.op.get("layout_transform")
    np.testing.assert_allclose(value(follows, data), value(before, data), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1, 4), (1, 2, 1, 1, 4), (1, 2, 6, 5, 4), (1, 1, 6, 5, 1)]
)
def test_blocks_become_others(shape):
    """An argument that repeats with each block of 4 keeps its layout if blocks of 2 are chosen."""
    x = relay.var("x", shape=(1, 2, 6, 5, 4))
    names = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
    y = relay.nn.conv2d(
        x, const(2, 2, 3, 3, 4, 4), padding=(1, 1), channels=8, kernel_size=(3, 3), **names
    )
    func = run_passes(function(y + const(*shape)))
    with blocked("NCHW2c", "OIHW2i2o"):
        after = run_passes(func, transform.AlterOpLayout())
    assert ("NCHW4c", "NCHW2c") in transforms(after)
    data = RNG.uniform(-1, 1, (1, 2, 6, 5, 4)).astype("float32")
    np.testing.assert_allclose(value(after, data), value(func, data), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("block", [1, 2, 4])
def test_convolutions_in_blocks(block):
    """Only where all channels are whole blocks: 6 of data are none of 4."""
    data = RNG.uniform(-1, 1, (2, 6, 5, 4)).astype("float32")
    y = relay.nn.relu(conv(X))
    y = relay.nn.conv2d(y, const(8, 8, 1, 1), channels=8, kernel_size=(1, 1))
    before = run_passes(function(y))
    wanted = [f"NCHW{block}c", f"OIHW{block}i{block}o"]
    after = run_passes(before, transform.ConvertLayout({"nn.conv2d": wanted}))
    np.testing.assert_allclose(value(after, data), value(before, data), rtol=1e-4, atol=1e-4)
    ops = []

    def visit(e):
        if isinstance(e, relay.Call) and "conv2d" in str(e.op.name):
            ops.append((str(e.op.name), str(e.attrs.data_layout)))

    relay.analysis.post_order_visit(after, visit)
    in_blocks = ("nn.contrib_conv2d_NCHWc", wanted[0])
    assert ops == [("nn.conv2d", "NCHW") if block == 4 else in_blocks, in_blocks]
    grouped = relay.nn.conv2d(
        X, const(6, 3, 3, 3), channels=6, kernel_size=(3, 3), padding=(1, 1), groups=2
    )
    before = run_passes(function(grouped))
    after = run_passes(before, transform.ConvertLayout({"nn.conv2d": wanted}))
    np.testing.assert_allclose(value(after, data), value(before, data), rtol=1e-4, atol=1e-4)
