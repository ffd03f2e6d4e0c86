"""Quantised operators from ONNX against numpy."""

import numpy as np
import pytest
from onnx_cases import check

rng = np.random.default_rng(5)


def cut(x, dtype):
    i = np.iinfo(dtype)
    return np.clip(x, i.min, i.max).astype(dtype)


def quantize(x, scale, zero):
    return cut(np.round(x / scale) + zero.astype("float32"), zero.dtype)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "uint16", "int16"])
def test_quantize_and_back(dtype):
    x = rng.normal(0, 40, (2, 3, 4)).astype("float32")
    scale = np.array([0.5, 1.5, 0.25], "float32")
    zero = np.array([1, 2, 3]).astype(dtype)
    y = quantize(x, scale[:, None], zero[:, None])
    check("QuantizeLinear", [x, scale, zero], [y], {1, 2}, axis=1, opset=21)
    back = ((y.astype("int32") - zero[:, None].astype("int32")) * scale[:, None]).astype("float32")
    check("DequantizeLinear", [y, scale, zero], [back], {1, 2}, axis=-2, opset=21)


def test_blocks_and_a_type_without_zero_point():
    x = rng.normal(0, 40, (3, 5)).astype("float32")
    scale = rng.uniform(0.5, 2, (3, 3)).astype("float32")
    wide = np.repeat(scale, 2, 1)[:, :5]
    y = quantize(x, wide, np.zeros((), "int8"))
    how = {"axis": 1, "block_size": 2, "opset": 21}
    check("QuantizeLinear", [x, scale], [y], {1}, output_dtype=3, **how)
    check("DequantizeLinear", [y, scale], [y * wide], {1}, **how)


def test_halves_go_to_the_even_number():
    x = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 300, -300], "float32")
    one, zero = np.array(1, "float32"), np.array(0, "int8")
    check("QuantizeLinear", [x, one, zero], [np.array([0, 2, 2, 0, -2, 127, -128], "int8")], {1, 2})


def test_dynamic():
    x = rng.normal(1, 3, (4, 5)).astype("float32")
    scale = np.array((max(x.max(), 0) - min(x.min(), 0)) / 255, "float32")
    zero = np.array(np.clip(np.round(-min(x.min(), 0) / scale), 0, 255), "uint8")
    check("DynamicQuantizeLinear", [x], [quantize(x, scale, zero), scale, zero], outputs=3)


def test_conv():
    x = rng.integers(0, 255, (1, 2, 5, 5)).astype("uint8")
    w = rng.integers(-100, 100, (3, 2, 3, 3)).astype("int8")
    bias = rng.integers(-500, 500, 3).astype("int32")
    xs, xz = np.array(0.02, "float32"), np.array(120, "uint8")
    ws, wz = np.array([0.01, 0.02, 0.005], "float32"), np.zeros(3, "int8")
    ys, yz = np.array(0.3, "float32"), np.array(128, "uint8")
    padded = np.pad(x.astype("int32") - 120, ((0, 0), (0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), (2, 3))
    total = np.einsum("nchwij,ocij->nohw", windows, w.astype("int32"))
    check("ConvInteger", [x, w, xz], [total.astype("int32")], {1, 2}, pads=[1] * 4)
    real = (total + bias[:, None, None]) * (xs * ws / ys)[:, None, None].astype("float32")
    y = cut(np.round(real) + 128, "uint8")
    given = [x, xs, xz, w, ws, wz, ys, yz, bias]
    check("QLinearConv", given, [y], set(range(1, 9)), pads=[1] * 4, atol=1)


def test_products():
    a = rng.integers(0, 255, (2, 3, 4)).astype("uint8")
    b = rng.integers(-128, 127, (4, 5)).astype("int8")
    az, bz = np.array(113, "uint8"), np.array([1, -2, 3, -4, 5], "int8")
    total = (a.astype("int32") - 113) @ (b.astype("int32") - bz)
    check("MatMulInteger", [a, b, az, bz], [total], {1, 2, 3})
    scales = [np.array(v, "float32") for v in (0.02, 0.01, 0.5)]
    yz = np.array(100, "uint8")
    y = cut(np.round(total * np.float32(0.02 * 0.01 / 0.5)) + 100, "uint8")
    given = [a, scales[0], az, b, scales[1], bz, scales[2], yz]
    check("QLinearMatMul", given, [y], set(range(1, 8)), atol=1)


def test_microsoft():
    a = rng.integers(0, 255, (2, 4)).astype("uint8")
    b = rng.integers(-128, 127, (5, 4)).astype("int8")
    bias = rng.integers(-90, 90, 5).astype("int32")
    s, t, u = (np.array(v, "float32") for v in (0.02, 0.01, 0.5))
    az, bz, yz = np.array(7, "uint8"), np.array(0, "int8"), np.array(9, "uint8")
    total = (a.astype("int32") - 7) @ b.astype("int32").T + bias
    how = {"domain": "com.microsoft", "transB": 1}
    check(
        "QGemm",
        [a, s, az, b, t, bz, bias],
        [(total * (s * t)).astype("float32")],
        {1, 2, 3, 4, 5, 6},
        **how,
    )
    y = cut(np.round(total * np.float32(0.02 * 0.01 / 0.5)) + 9, "uint8")
    check("QGemm", [a, s, az, b, t, bz, bias, u, yz], [y], set(range(1, 9)), atol=1, **how)
    c = rng.integers(0, 255, (2, 4)).astype("uint8")
    real = (a.astype("float32") - 7) * s + (c.astype("float32") - 7) * t
    given = [a, s, az, c, t, az, u, yz]
    wanted = [quantize(real.astype("float32"), u, yz)]
    check("QLinearAdd", given, wanted, {1, 2, 4, 5, 6, 7}, domain="com.microsoft", atol=1)


def test_errors():
    x, s = np.zeros((2, 3), "float32"), np.ones(3, "float32")
    with pytest.raises(ValueError, match="QuantizeLinear .node y0.: axis 7 is out of range"):
        check("QuantizeLinear", [x, s], [], {1}, axis=7)
    with pytest.raises(ValueError, match="inner dimensions"):
        check("MatMulInteger", [x.astype("uint8"), x.astype("uint8")], [])
