"""Quantized operators and the passes over them, against arithmetic of numbers."""

import re
import tempfile

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

rng = np.random.default_rng(8)
TARGETS = ["llvm", "c"]


def run(body, inputs, target="llvm"):
    """The value of an expression over variables, built for a target."""
    variables = relay.analysis.free_vars(body)
    module = tenon.IRModule.from_expr(relay.Function(variables, body))
    lib = relay.build(module, target)
    if target == "c":
        with tempfile.TemporaryDirectory() as folder:
            lib.export_library(f"{folder}/lib.so")
            lib = tenon.runtime.load_module(f"{folder}/lib.so")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    for name, value in inputs.items():
        g.set_input(name, value)
    g.run()
    return g.get_output(0).numpy()


def var(name, value):
    return relay.var(name, shape=value.shape, dtype=str(value.dtype))


def real(q, scale, zero):
    return (q.astype("int64") - zero) * np.float64(scale)


def quantize(x, scale, zero, dtype):
    i = np.iinfo(dtype)
    return np.clip(np.floor(x / scale + 0.5) + zero, i.min, i.max).astype(dtype)


def integers(shape, dtype):
    i = np.iinfo(dtype)
    return rng.integers(i.min, i.max + 1, shape).astype(dtype)


def f32(x):
    return relay.const(np.array(x, "float32"))


def i32(x):
    return relay.const(np.array(x, "int32"))


@pytest.mark.parametrize("target", TARGETS)
def test_quantize_and_dequantize(target):
    x = rng.normal(0, 40, (2, 3, 4)).astype("float32")
    scale, zero = np.array([0.5, 1.5, 0.25], "float32"), np.array([1, 2, 3], "int32")
    q = relay.qnn.op.quantize(var("x", x), f32(scale), i32(zero), axis=1, out_dtype="uint8")
    wanted = np.clip(np.round(x / scale[:, None]) + zero[:, None], 0, 255).astype("uint8")
    np.testing.assert_array_equal(run(q, {"x": x}, target), wanted)
    back = relay.qnn.op.dequantize(q, f32(scale), i32(zero), axis=1)
    numbers = (wanted.astype("int32") - zero[:, None]) * scale[:, None]
    np.testing.assert_array_equal(run(back, {"x": x}, target), numbers.astype("float32"))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype,zero", [("int8", -128), ("int8", 3), ("uint8", 0), ("int16", 7)])
def test_what_is_out_of_range_is_cut_off(target, dtype, zero):
    large = np.array([1e30, np.inf, 3e7, 12582913, 12582912, 4194305, 40000], "float32")
    x = np.concatenate([large, -large, np.array([0.5, -0.5, 1.5, 2.5, -2.5, 1e-40], "float32")])
    q = relay.qnn.op.quantize(var("x", x), f32(1), i32(zero), out_dtype=dtype)
    limits = np.iinfo(dtype)
    wanted = np.clip(np.round(x.astype("float64")) + zero, limits.min, limits.max)
    np.testing.assert_array_equal(run(q, {"x": x}, target), wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
def test_nan_is_the_least_number(target, dtype):
    """Whatever its sign, which operations do not define."""
    x = np.array([0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000], "uint32").view("float32")
    q = relay.qnn.op.quantize(var("x", x), f32(0.5), i32(1), out_dtype=dtype)
    limits = np.iinfo(dtype)
    assert run(q, {"x": x}, target).tolist() == [limits.min] * 3 + [limits.max]
    if limits.bits == 8:
        x = np.arange(limits.min, limits.max + 1).astype(dtype)
        numbers = f32(0.1), i32(limits.min + 9), f32(0.05), i32(limits.min + 99)
        y = run(relay.qnn.op.log(var("x", x), *numbers), {"x": x}, target)
        assert (y[:10] == limits.min).all() and (np.diff(y[10:]) >= 0).all() and y[-1] > y[10]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("scales", [[0.01], [0.01, 0.02, 0.005], [0.00001, 0.02, 3.5]])
def test_requantize(target, dtype, scales):
    x = rng.integers(-40000, 40000, (2, 3, 5)).astype("int32")
    x[0, 0, :2] = 2**31 - 1, -(2**31)
    scale = np.array(scales if len(scales) > 1 else scales[0], "float32")
    y = relay.qnn.op.requantize(
        var("x", x), f32(scale), i32(0), f32(1.7), i32(7), axis=1, out_dtype=dtype
    )
    factor = (scale / np.float32(1.7)).astype("float64")
    factor = factor[:, None] if factor.ndim else factor
    got = run(y, {"x": x}, target)
    np.testing.assert_allclose(got.astype("int64"), quantize(x * factor, 1, 7, dtype), atol=0)


def test_requantize_rounds_halves_as_it_is_told():
    x = np.array([1, 3, 5, -1, -3, -5], "int32")
    for rounding, wanted in {
        "UPWARD": [1, 2, 3, 0, -1, -2],
        "TONEAREST": [1, 2, 3, -1, -2, -3],
    }.items():
        y = relay.qnn.op.requantize(
            var("x", x), f32(0.5), i32(0), f32(1), i32(0), rounding=rounding
        )
        assert run(y, {"x": x}).tolist() == wanted


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "zx,zw,groups,layout",
    [(3, 0, 1, "NCHW"), (-128, 5, 1, "NCHW"), (7, 0, 4, "NCHW"), (0, 0, 1, "NHWC")],
)
def test_conv2d(target, zx, zw, groups, layout):
    x, w = integers((1, 4, 6, 5), "int8"), integers((8, 4 // groups, 3, 2), "int8")
    data, kernel = x, w
    if layout == "NHWC":
        data, kernel = x.transpose(0, 2, 3, 1), w.transpose(2, 3, 1, 0)
    y = relay.qnn.op.conv2d(
        var("x", data),
        relay.const(kernel),
        i32(zx),
        i32(zw),
        f32(0.5),
        f32(0.25),
        kernel_size=(3, 2),
        channels=8,
        strides=(2, 1),
        padding=(1, 0, 1, 1),
        groups=groups,
        data_layout=layout,
        kernel_layout="OIHW" if layout == "NCHW" else "HWIO",
    )
    padded = np.pad(x.astype("int32") - zx, ((0, 0), (0, 0), (1, 1), (0, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 2), (2, 3))[:, :, ::2]
    n, c = groups, 4 // groups
    windows = windows.reshape(1, n, c, *windows.shape[2:])
    weight = (w.astype("int32") - zw).reshape(n, 8 // n, c, 3, 2)
    total = np.einsum("bgchwij,gocij->bgohw", windows, weight).reshape(1, 8, 3, 5)
    if layout == "NHWC":
        total = total.transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(run(y, {"x": data}, target), total)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("zero,k", [(0, 20), (9, 20), (0, 3), (0, 7)])
def test_matrices(target, zero, k):
    x, w = integers((3, k), "uint8"), integers((6, k), "int8")
    total = (x.astype("int32") - 100) @ (w.astype("int32") - zero).T
    scales = (f32(0.5), f32(0.25))
    y = relay.qnn.op.dense(var("x", x), relay.const(w), i32(100), i32(zero), *scales, units=6)
    np.testing.assert_array_equal(run(y, {"x": x}, target), total)
    y = relay.qnn.op.dense(var("x", x), var("w", w), i32(100), i32(zero), *scales, units=6)
    np.testing.assert_array_equal(run(y, {"x": x, "w": w}, target), total)
    y = relay.qnn.op.batch_matmul(
        var("x", x[None]), var("w", w[None]), i32(100), i32(zero), *scales
    )
    np.testing.assert_array_equal(run(y, {"x": x[None], "w": w[None]}, target)[0], total)


@pytest.mark.parametrize(
    "kinds", [("int8", "int8"), ("uint8", "int8"), ("int8", "uint8"), ("uint8", "uint8")]
)
def test_sums_of_bytes_are_calls_in_c(kinds):
    x, w = integers((2, 11), kinds[0]), integers((3, 11), kinds[1])
    y = relay.nn.dense(var("x", x), relay.const(w), out_dtype="int32")
    total = x.astype("int32") @ w.astype("int32").T
    np.testing.assert_array_equal(run(y, {"x": x}, "c"), total)
    module = tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))
    signs = sorted((kind[0].replace("i", "s") for kind in kinds), reverse=True)
    assert f"dot_{signs[0]}8{signs[1]}8_(&" in relay.build(module, "c").lib.get_source()


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_sums_and_products(target, dtype):
    a, b = integers((40, 30), dtype), integers((40, 30), dtype)
    quanta = (f32(0.05), i32(4), f32(0.31), i32(-7 if dtype == "int8" else 90), f32(0.4), i32(11))
    zb = -7 if dtype == "int8" else 90
    x, y = real(a, 0.05, 4), real(b, 0.31, zb)
    for name, numbers in {"add": x + y, "subtract": x - y, "mul": x * y}.items():
        op = getattr(relay.qnn.op, name)
        got = run(op(var("a", a), var("b", b), *quanta), {"a": a, "b": b}, target)
        exact = np.clip(numbers / 0.4 + 11, np.iinfo(dtype).min, np.iinfo(dtype).max)
        assert np.abs(got - exact).max() < 0.502, name


@pytest.mark.parametrize("target", TARGETS)
def test_concatenate(target):
    a, b = integers((2, 3), "int8"), integers((2, 5), "int8")
    y = relay.qnn.op.concatenate(
        relay.Tuple([var("a", a), var("b", b)]),
        relay.Tuple([f32(0.5), f32(0.25)]),
        relay.Tuple([i32(1), i32(2)]),
        f32(0.5),
        i32(1),
        axis=1,
    )
    wanted = np.concatenate([a, quantize(real(b, 0.25, 2), 0.5, 1, "int8")], 1)
    np.testing.assert_array_equal(run(y, {"a": a, "b": b}, target), wanted)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_tables(target, dtype):
    x = np.arange(256).astype("uint8").view(dtype).reshape(4, 64)
    zero = 3 if dtype == "int8" else 128
    functions = {"tanh": np.tanh, "sigmoid": lambda v: 1 / (1 + np.exp(-v)), "exp": np.exp}
    functions["hardswish"] = lambda v: v * np.clip(v + 3, 0, 6) / 6
    for name, function in functions.items():
        op = getattr(relay.qnn.op, name)
        y = op(var("x", x), f32(0.03), i32(zero), f32(0.02), i32(5))
        exact = np.clip(
            function(real(x, 0.03, zero)) / 0.02 + 5, *(np.iinfo(dtype).min, np.iinfo(dtype).max)
        )
        assert np.abs(run(y, {"x": x}, target) - exact).max() < 0.502, name


@pytest.mark.parametrize("target", TARGETS)
def test_softmax(target):
    x = integers((7, 10), "int8")
    y = relay.qnn.op.softmax(var("x", x), f32(0.05), i32(4), f32(1 / 256), i32(-128), axis=1)
    e = np.exp(real(x, 0.05, 4))
    exact = np.clip(e / e.sum(1, keepdims=True) * 256 - 128, -128, 127)
    assert np.abs(run(y, {"x": x}, target) - exact).max() < 0.51


@pytest.mark.parametrize("padding", [(0, 0), (1, 1)])
@pytest.mark.parametrize("counted", [True, False])
def test_avg_pool(padding, counted):
    x = integers((1, 6, 6, 3), "int8")
    y = relay.qnn.op.avg_pool2d(
        var("x", x),
        f32(0.5),
        i32(3),
        f32(0.4),
        i32(-5),
        pool_size=(2, 2),
        strides=(2, 2),
        padding=padding,
        dilation=(1, 1),
        count_include_pad=counted,
    )
    p = padding[0]
    numbers = np.pad(real(x, 0.5, 3), ((0, 0), (p, p), (p, p), (0, 0)))
    ones = np.pad(np.ones(x.shape), ((0, 0), (p, p), (p, p), (0, 0)), constant_values=counted)
    split = (1, numbers.shape[1] // 2, 2, numbers.shape[2] // 2, 2, 3)
    mean = numbers.reshape(split).sum((2, 4)) / ones.reshape(split).sum((2, 4))
    exact = np.clip(mean / 0.4 - 5, -128, 127)
    assert np.abs(run(y, {"x": x}) - exact).max() < 0.502


def fake(op, *arrays, scale=0.05, zero=3, out=(0.1037, -4)):
    """quantize(op(dequantize(x), ...)) over variables a, b."""
    args = [
        relay.qnn.op.dequantize(var(n, x), f32(scale), i32(zero))
        for n, x in zip("ab", arrays, strict=False)
    ]
    body = relay.qnn.op.quantize(op(*args), f32(out[0]), i32(out[1]), out_dtype="int8")
    return relay.Function(relay.analysis.free_vars(body), body)


OPERATORS = {
    "add": (relay.add, 2),
    "subtract and cut off": (lambda a, b: relay.clip(relay.subtract(a, b), -1, 2), 2),
    "multiply and relu": (lambda a, b: relay.nn.relu(relay.multiply(a, b)), 2),
    "factor": (lambda a: relay.multiply(a, relay.const(0.3)), 1),
    "mean": (lambda a: relay.mean(a, axis=[2, 3]), 1),
    "global mean": (relay.nn.global_avg_pool2d, 1),
    "pools": (
        lambda a: relay.nn.avg_pool2d(relay.nn.max_pool2d(a, (2, 2), (1, 1)), (2, 2), (2, 2)),
        1,
    ),
    "moves": (
        lambda a: relay.reshape(
            relay.transpose(relay.nn.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1))), (0, 2, 3, 1)), (-1,)
        ),
        1,
    ),
    "softmax": (lambda a: relay.nn.softmax(a, axis=1), 1),
    "tanh": (relay.tanh, 1),
    "concatenate": (lambda a, b: relay.concatenate([a, b], 1), 2),
    "rows": (lambda a, b: relay.max(relay.concatenate([a, b], 1), axis=1), 2),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_fake_quantization(name):
    op, n = OPERATORS[name]
    arrays = [integers((1, 4, 8, 8), "int8") for _ in range(n)]
    module = tenon.IRModule.from_expr(fake(op, *arrays))
    whole = relay.transform.FakeQuantizationToInteger()(relay.transform.InferType()(module))
    left = []
    relay.analysis.post_order_visit(
        whole["main"], lambda e: left.append(e.op.name) if isinstance(e, relay.Call) else None
    )
    floats = {"qnn.dequantize", "qnn.quantize"}
    # a mean of a maximum is quantized between the two in no model
    assert not floats & set(left) or name == "pools", left
    inputs = dict(zip("ab", arrays, strict=False))
    with tenon.transform.PassContext(disabled_pass=["FakeQuantizationToInteger"]):
        exact = run(fake(op, *arrays).body, inputs)
    got = run(fake(op, *arrays).body, inputs)
    difference = np.abs(got.astype("int32") - exact)
    assert difference.max() <= 1 and (difference != 0).mean() < 0.02


def test_per_channel_weights_and_bias():
    x, w = integers((1, 4, 6, 6), "int8"), integers((3, 4, 3, 3), "int8")
    scale = rng.uniform(0.01, 0.1, 3).astype("float32")
    bias = rng.normal(0, 3, 3).astype("float32")
    a = relay.qnn.op.dequantize(var("a", x), f32(0.05), i32(-9))
    b = relay.qnn.op.dequantize(relay.const(w), f32(scale), i32(0), axis=0)
    y = relay.nn.conv2d(a, b, padding=(1, 1), channels=3, kernel_size=(3, 3))
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(bias)))
    body = relay.qnn.op.quantize(y, f32(0.7), i32(-128))
    with tenon.transform.PassContext(disabled_pass=["FakeQuantizationToInteger"]):
        exact = run(body, {"a": x})
    for target in TARGETS:
        got = run(body, {"a": x}, target)
        assert np.abs(got.astype("int32") - exact).max() <= 1
        assert (got != exact).mean() < 0.02


def test_no_level_leaves_quantized_operators():
    """Nothing computes them: the pass that replaces them is not an optimization."""
    x, w = integers((2, 8), "int8"), integers((3, 8), "int8")
    y = relay.qnn.op.dense(var("x", x), relay.const(w), i32(2), i32(0), f32(0.1), f32(0.2), units=3)
    with tenon.transform.PassContext(opt_level=0):
        found = run(y, {"x": x})
    np.testing.assert_array_equal(found, (x.astype("int32") - 2) @ w.astype("int32").T)


def test_errors():
    x = relay.var("x", shape=(2, 3), dtype="float32")
    with pytest.raises(tenon.error.DiagnosticError, match="does not fit axis 1"):
        infer(relay.qnn.op.quantize(x, f32([1, 2]), i32(0), axis=1))
    with pytest.raises(tenon.error.DiagnosticError, match="expected an integer"):
        infer(relay.qnn.op.quantize(x, f32(1), i32(0), out_dtype="float32"))
    with pytest.raises(tenon.error.DiagnosticError, match="expected integers"):
        infer(relay.qnn.op.dense(x, x, i32(0), i32(0), f32(1), f32(1), units=2))
    q = relay.var("q", shape=(2, 3), dtype="int32")
    huge = relay.qnn.op.requantize(q, f32(1e30), i32(0), f32(1e-30), i32(0))
    with pytest.raises(ValueError, match="quotient of the scales is inf"):
        run(huge, {})


def infer(body):
    module = tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    return relay.transform.InferType()(module)


def test_a_dense_layer_reads_channels_last_in_c():
    x, w = integers((2, 3, 5, 5), "int8"), integers((4, 3, 3, 3), "int8")
    y = relay.nn.conv2d(var("x", x), relay.const(w), out_dtype="int32")
    y = relay.cast(relay.clip(relay.right_shift(y, i32(9)), -128, 127), "int8")
    y = relay.nn.batch_flatten(y)
    y = relay.nn.dense(y, relay.const(integers((6, 36), "int8")), out_dtype="int32")
    np.testing.assert_array_equal(run(y, {"x": x}, "c"), run(y, {"x": x}))
    module = tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))
    with tenon.transform.PassContext(opt_level=3):
        graph = relay.build(module, "c").get_graph_json()
    assert len(set(re.findall(r"fused\w*layout_transform\w*", graph))) == 1  # of the input
    assert "batch_flatten" not in graph


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, np.inf])
def test_scales_that_are_not_above_zero(scale):
    """The error names the operator and what the scales come to."""
    x = relay.var("x", shape=(2, 3), dtype="int32")
    one, zero = relay.const(np.float32(1)), relay.const(np.int32(0))
    y = relay.qnn.op.requantize(x, relay.const(np.float32(scale)), zero, one, zero)
    with pytest.raises(ValueError) as e:
        relay.build(tenon.IRModule.from_expr(y), "llvm")
    assert f"the quotient of the scales is {scale:g}: expected one above 0" in str(e.value)
    assert "in operator qnn.requantize" in e.value.__notes__
