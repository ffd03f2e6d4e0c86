"""Convolutions of bytes by tiles: exact sums at the ends of the ranges, on narrow vectors too."""

import numpy as np
import pytest
import tenon
from built import kernels_of
from tenon import relay
from tenon.contrib import graph_executor
from test_kernels_bytes import CPUS, f32, i32, integers, real, reference_conv

PAIRS = [cpu for cpu in ("x86-64", "haswell", "skylake-avx512") if cpu in CPUS]


def convolution(x, w, zero, pad, weight_zero=0):
    var = relay.var("x", shape=x.shape, dtype=str(x.dtype))
    body = relay.qnn.op.conv2d(
        var,
        relay.const(w),
        i32(zero),
        i32(weight_zero),
        f32(0.5),
        f32(0.25),
        kernel_size=(3, 3),
        channels=w.shape[0],
        padding=(pad, pad),
    )
    return relay.Function([var], body)


def run(function, x, cpu, mode="auto"):
    """The result, and whether it came by tiles."""
    config = {"relay.backend.winograd": mode}
    with tenon.transform.PassContext(opt_level=3, config=config):
        lib = relay.build(tenon.IRModule.from_expr(function), f"llvm -mcpu={cpu}")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.run(x=x)
    return g.get_output(0).numpy(), any("winograd" in name for name in kernels_of(lib))


def filled(value, shape, dtype):
    return np.full(shape, value, dtype)


@pytest.mark.parametrize("mode", ["auto", "f2"])
@pytest.mark.parametrize("cpu", PAIRS)
@pytest.mark.parametrize(
    ("channels", "size", "pad", "data"),
    [
        ((32, 48), (31, 29), 1, "uint8"),
        ((64, 32), (18, 35), 0, "int8"),
        ((96, 96), (14, 15), 2, "uint8"),
    ],
)
def test_sums_are_exact(cpu, channels, size, pad, data, mode):
    x = integers(1, (2, channels[0], *size), data)
    w = integers(2, (channels[1], channels[0], 3, 3), "int8")
    zero = 7 if data == "uint8" else -128
    got, tiles = run(convolution(x, w, zero, pad), x, cpu, mode)
    assert tiles
    np.testing.assert_array_equal(got, reference_conv(real(x, zero), w, 1, pad, 1, 1))


@pytest.mark.parametrize("cpu", PAIRS)
@pytest.mark.parametrize("channels", [7, 15, 31])
def test_channels_that_fill_no_group(cpu, channels):
    x, w = integers(3, (1, channels, 8, 9), "uint8"), integers(4, (32, channels, 3, 3), "int8")
    got, _ = run(convolution(x, w, 3, 1), x, cpu)
    np.testing.assert_array_equal(got, reference_conv(real(x, 3), w, 1, 1, 1, 1))


@pytest.mark.parametrize("cpu", PAIRS)
@pytest.mark.parametrize("data", ["uint8", "int8"])
@pytest.mark.parametrize("weight", [-128, 127])
@pytest.mark.parametrize("channels", [32, 112, 128])
def test_ends_of_the_ranges(cpu, data, weight, channels):
    """Of 128 channels sums may have more than the 26 bits that tiles of 4 x 4 leave."""
    ends = np.iinfo(data)
    w = filled(weight, (32, channels, 3, 3), "int8")
    w[1::2, 1::2] = -w[1::2, 1::2] - 1  # other signs
    for value in (ends.min, ends.max):
        x = filled(value, (1, channels, 28, 30), data)
        got, tiles = run(convolution(x, w, 0, 1), x, cpu)
        assert tiles
        np.testing.assert_array_equal(got, reference_conv(real(x, 0), w, 1, 1, 1, 1))


@pytest.mark.parametrize("cpu", PAIRS)
def test_alternating_ends(cpu):
    """What the transforms of data and weight make largest."""
    x = np.where(np.indices((1, 64, 22, 22)).sum(0) % 2, 255, 0).astype("uint8")
    w = np.where(np.indices((32, 64, 3, 3)).sum(0) % 2, 127, -128).astype("int8")
    got, tiles = run(convolution(x, w, 0, 1), x, cpu)
    assert tiles
    np.testing.assert_array_equal(got, reference_conv(real(x, 0), w, 1, 1, 1, 1))


@pytest.mark.parametrize("cpu", PAIRS)
def test_the_option_turns_them_off(cpu):
    x, w = integers(1, (1, 32, 30, 30), "uint8"), integers(2, (32, 32, 3, 3), "int8")
    got, tiles = run(convolution(x, w, 3, 1), x, cpu, "off")
    assert not tiles
    np.testing.assert_array_equal(got, reference_conv(real(x, 3), w, 1, 1, 1, 1))


@pytest.mark.parametrize("cpu", PAIRS)
def test_weights_with_a_zero_point_go_without_tiles(cpu):
    x, w = integers(1, (1, 32, 30, 30), "uint8"), integers(2, (32, 32, 3, 3), "uint8")
    got, _ = run(convolution(x, w, 3, 1, weight_zero=128), x, cpu)
    np.testing.assert_array_equal(got, reference_conv(real(x, 3), real(w, 128), 1, 1, 1, 1))


@pytest.mark.skipif("cascadelake" not in CPUS, reason="no VNNI")
def test_instructions_for_bytes_are_faster():
    x, w = integers(1, (1, 32, 30, 30), "uint8"), integers(2, (32, 32, 3, 3), "int8")
    got, tiles = run(convolution(x, w, 3, 1), x, "cascadelake")
    assert not tiles
    np.testing.assert_array_equal(got, reference_conv(real(x, 3), w, 1, 1, 1, 1))


def test_types_are_checked():
    x = relay.var("x", shape=(1, 2, 8, 8, 16), dtype="uint8")
    w = relay.var("w", shape=(4, 4, 2, 32, 16), dtype="int16")
    call = relay.nn.contrib_conv2d_winograd_NCHWc(
        x, w, 2, channels=32, kernel_size=(3, 3), padding=(1, 1), out_dtype="int32"
    )
    with pytest.raises(tenon.TenonError, match="int16 weights of layout HWOIxo2i"):
        relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, w], call)))
