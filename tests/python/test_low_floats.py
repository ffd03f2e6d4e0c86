"""bfloat16 and the 8-bit floats: programs with them run on every target of the host."""

import numpy as np
import pytest
import tenon
from tenon import te
from tenon.script import tir as T

TARGETS = ["llvm", "c", "stackvm"]


def build(program, args, target, tmp_path):
    built = tenon.build(program, args, target=target)
    if target != "c":
        return built
    path = str(tmp_path / "lib.so")
    built.export_library(path)
    return tenon.runtime.load_module(path)


def to_bf16(values):
    """The bits, rounded to nearest even."""
    bits = np.asarray(values, "float32").view("uint32")
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype("uint16")


def from_bf16(bits):
    return (bits.astype("uint32") << 16).view("float32")


def from_fp8(bits, dtype):
    """The value of each byte, from the definition of the format."""
    exponent_bits, bias = (4, 7) if dtype == "e4m3_float8" else (5, 15)
    mantissa_bits = 7 - exponent_bits
    size = bits.astype("int64") & 0x7F
    exponent, mantissa = size >> mantissa_bits, size & ((1 << mantissa_bits) - 1)
    fraction = mantissa / (1 << mantissa_bits)
    value = np.where(
        exponent == 0, fraction * 2.0 ** (1 - bias), (1 + fraction) * 2.0 ** (exponent - bias)
    )
    if dtype == "e4m3_float8":
        value = np.where(size == 0x7F, np.nan, value)
    else:
        value = np.where(exponent == 31, np.where(mantissa == 0, np.inf, np.nan), value)
    return np.where(bits >> 7 == 1, -value, value)


def tensor(bits, dtype):
    return tenon.nd.empty(bits.shape, dtype).copyfrom(bits)


@pytest.mark.parametrize("target", TARGETS)
def test_bfloat16_computations(target, tmp_path):
    n = 24
    a = te.placeholder((n, n), "bfloat16", name="a")
    b = te.placeholder((n, n), "bfloat16", name="b")
    k, r = te.reduce_axis((0, n)), te.reduce_axis((0, n))
    c = te.compute(
        (n, n), lambda i, j: te.sum(a[i, k].astype("float32") * b[k, j].astype("float32"), k)
    )
    d = te.compute((n, n), lambda i, j: te.max(a[i, r] + b[r, j], r), name="d")
    s = te.create_schedule([c.op, d.op])
    s[c].vectorize(s[c].split(c.op.axis[1], 8)[1])
    s[d].parallel(d.op.axis[0])
    rng = np.random.RandomState(0)
    x, y = to_bf16(rng.randn(n, n)), to_bf16(rng.randn(n, n))
    out_c, out_d = tenon.nd.empty((n, n)), tenon.nd.empty((n, n), "bfloat16")
    build(s, [a, b, c, d], target, tmp_path)(
        tensor(x, "bfloat16"), tensor(y, "bfloat16"), out_c, out_d
    )
    fx, fy = from_bf16(x), from_bf16(y)
    np.testing.assert_allclose(out_c.numpy(), fx @ fy, rtol=1e-5, atol=1e-5)
    sums = from_bf16(to_bf16(fx[:, :, None] + fy[None]))
    np.testing.assert_array_equal(from_bf16(out_d.numpy().view("uint16")), sums.max(1))


@T.prim_func
def choose(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (64,), "bfloat16")
    B = T.match_buffer(b, (64,), "bfloat16")
    C = T.alloc_buffer((64,), "bfloat16")
    for i in range(64):
        with T.block("c"):
            v = T.axis.spatial(64, i)
            C[v] = T.if_then_else(A[v] > T.bfloat16(0), A[v] * T.bfloat16(2.5), T.bfloat16(-1))
    for i in range(64):
        with T.block("b"):
            v = T.axis.spatial(64, i)
            B[v] = T.max(C[v], T.min(T.exp(A[v]), T.bfloat16(0.5)))


@pytest.mark.parametrize("target", TARGETS)
def test_bfloat16_script(target, tmp_path):
    bits = to_bf16(np.random.RandomState(1).randn(64))
    out = tenon.nd.empty((64,), "bfloat16")
    build(choose, None, target, tmp_path)(tensor(bits, "bfloat16"), out)
    x = from_bf16(bits)
    c = np.where(x > 0, from_bf16(to_bf16(x * 2.5)), -1)
    expected = np.maximum(c, np.minimum(np.exp(x), 0.5))
    np.testing.assert_allclose(from_bf16(out.numpy().view("uint16")), expected, rtol=2**-7)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["e4m3_float8", "e5m2_float8"])
def test_8_bit_floats(target, dtype, tmp_path):
    """Every value becomes a float32 and comes back; sums are rounded to nearest even."""
    a = te.placeholder((256,), dtype, name="a")
    wide = te.compute((256,), lambda i: a[i].astype("float32"), name="wide")
    back = te.compute((256,), lambda i: wide[i].astype(dtype), name="back")
    total = te.compute((256,), lambda i: a[i] + a[255 - i], name="total")
    s = te.create_schedule([back.op, total.op])
    bits = np.arange(256).astype("uint8")
    outs = [tenon.nd.empty((256,)), tenon.nd.empty((256,), dtype), tenon.nd.empty((256,), dtype)]
    build(s, [a, wide, back, total], target, tmp_path)(tensor(bits, dtype), *outs)
    values = from_fp8(bits, dtype)
    np.testing.assert_array_equal(outs[0].numpy(), values.astype("float32"))
    ordinary = ~np.isnan(values)
    np.testing.assert_array_equal(outs[1].numpy().view("uint8")[ordinary], bits[ordinary])
    assert np.isnan(from_fp8(outs[1].numpy().view("uint8")[~ordinary], dtype)).all()
    # the nearest of all values
    with np.errstate(invalid="ignore"):
        sums = values + values[::-1]
    got = from_fp8(outs[2].numpy().view("uint8"), dtype)
    known = np.isfinite(sums)
    finite = values[np.isfinite(values)]
    distance = np.abs(finite[None, :] - sums[known][:, None]).min(1)
    np.testing.assert_array_equal(np.abs(got[known] - sums[known]), distance)


def test_8_bit_floats_are_checked_as_arguments():
    """The type of the program is that of the arguments, though memory holds uint8."""
    a = te.placeholder((4,), "e4m3_float8", name="a")
    b = te.compute((4,), lambda i: a[i] + a[i])
    built = tenon.build(te.create_schedule(b.op), [a, b], target="stackvm")
    with pytest.raises(tenon.TVMError, match="dtype is expected to be e4m3_float8"):
        built(tenon.nd.empty((4,), "uint8"), tenon.nd.empty((4,), "e4m3_float8"))
