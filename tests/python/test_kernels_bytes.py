"""Products of bytes: layouts, instructions, and the same sums on all processors."""

import numpy as np
import pytest
import tenon
from machines import CPUS
from tenon import relay
from tenon.contrib import graph_executor
from tenon.script import from_source

KINDS = [("uint8", "int8"), ("int8", "int8"), ("uint8", "uint8")]


def integers(seed, shape, dtype):
    i = np.iinfo(dtype)
    return np.random.default_rng(seed).integers(i.min, i.max + 1, shape).astype(dtype)


def compiled(body, data, cpu, disabled=()):
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tenon.transform.PassContext(opt_level=3, disabled_pass=disabled):
        lib = relay.build(tenon.IRModule.from_expr(function), f"llvm -mcpu={cpu}")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.set_input("x", data)
    g.run()
    return g.get_output(0).numpy(), lib.get_lib()


def i32(x):
    return relay.const(np.array(x, "int32"))


def f32(x):
    return relay.const(np.array(x, "float32"))


def real(q, zero):
    return q.astype("int64") - zero


def reference_conv(x, w, stride, pad, dilation, groups):
    """Sums of int64; zeros around."""
    n, c, h, width = x.shape
    o, i, kh, kw = w.shape
    x = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)])
    oh = (h + 2 * pad - dilation * (kh - 1) - 1) // stride + 1
    ow = (width + 2 * pad - dilation * (kw - 1) - 1) // stride + 1
    out = np.zeros((n, o, oh, ow), "int64")
    x = x.reshape(n, groups, c // groups, *x.shape[2:])
    w = w.reshape(groups, o // groups, i, kh, kw)
    for a in range(kh):
        for b in range(kw):
            part = x[..., a * dilation :, b * dilation :]
            part = part[..., : (oh - 1) * stride + 1 : stride, : (ow - 1) * stride + 1 : stride]
            out += np.einsum("ngcyx,goc->ngoyx", part, w[..., a, b]).reshape(out.shape)
    return out


CONVOLUTIONS = [  # channels in and out, size, kernel, stride, padding, dilation, groups
    (32, 48, 9, 3, 1, 1, 1, 1),
    (16, 32, 7, 1, 1, 0, 1, 1),
    (3, 16, 11, 3, 2, 1, 1, 1),
    (64, 16, 8, 3, 1, 2, 2, 1),
    (32, 32, 10, 3, 2, 1, 1, 32),
    (32, 64, 6, 3, 1, 1, 1, 2),
    (10, 6, 5, 3, 1, 1, 1, 1),
    (64, 128, 14, 3, 1, 1, 1, 1),
    (96, 64, 7, 1, 1, 0, 1, 1),
    (96, 96, 10, 3, 2, 1, 1, 96),
]


CASES = [
    (cpu, problem, *kind)
    for cpu in CPUS
    for i, problem in enumerate(CONVOLUTIONS)
    for kind in KINDS
    if i == 0 or (cpu in ("haswell", *CPUS[-2:]) and kind == KINDS[i % 2])
]


@pytest.mark.parametrize(("cpu", "problem", "data", "weight"), CASES)
def test_convolutions_are_exact(cpu, problem, data, weight):
    c, o, size, kernel, stride, pad, dilation, groups = problem
    zero, weight_zero = (3 if data == "uint8" else -128), (128 if weight == "uint8" else 0)
    x = integers(1, (1, c, size, size), data)
    w = integers(2, (o, c // groups, kernel, kernel), weight)
    body = relay.qnn.op.conv2d(
        relay.var("x", shape=x.shape, dtype=data),
        relay.const(w),
        i32(zero),
        i32(weight_zero),
        f32(0.5),
        f32(0.25),
        kernel_size=(kernel, kernel),
        channels=o,
        strides=(stride, stride),
        padding=(pad, pad),
        dilation=(dilation, dilation),
        groups=groups,
    )
    got, _ = compiled(body, x, cpu)
    want = reference_conv(real(x, zero), real(w, weight_zero), stride, pad, dilation, groups)
    np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(
    "shape", [(1, 784, 100), (33, 64, 40), (5, 20, 7), (2, 30, 64), (28, 96, 64), (16, 128, 256)]
)
@pytest.mark.parametrize(("data", "weight"), KINDS)
def test_dense_layers_are_exact(shape, data, weight, cpu):
    rows, features, units = shape
    zero, weight_zero = (7 if data == "uint8" else -5), (128 if weight == "uint8" else 0)
    x, w = integers(3, (rows, features), data), integers(4, (units, features), weight)
    x[0], w[0] = np.iinfo(data).max, np.iinfo(weight).min  # where sums of 16 bits would not do
    body = relay.qnn.op.dense(
        relay.var("x", shape=x.shape, dtype=data),
        relay.const(w),
        i32(zero),
        i32(weight_zero),
        f32(0.5),
        f32(0.25),
        units=units,
    )
    got, _ = compiled(body, x, cpu)
    np.testing.assert_array_equal(got, real(x, zero) @ real(w, weight_zero).T)


def dense_code(cpu):
    x, w = integers(5, (16, 64), "int8"), integers(6, (32, 64), "int8")
    var = relay.var("x", shape=x.shape, dtype="int8")
    args = i32(0), i32(0), f32(1), f32(1)
    body = relay.qnn.op.dense(var, relay.const(w), *args, units=32)
    return compiled(body, x, cpu)[1].get_source("asm")


@pytest.mark.parametrize("cpu", [c for c in CPUS if c in ("alderlake", "cascadelake")])
def test_there_is_an_instruction_for_it(cpu):
    assert "vpdpbusd" in dense_code(cpu)


@pytest.mark.skipif("sapphirerapids" not in CPUS, reason="no AMX")
def test_matrix_registers_multiply_bytes():
    assert "tdpbusd" in dense_code("sapphirerapids")
    assert "tdpbusd" not in dense_code("sapphirerapids -mattr=-amx-int8")


@pytest.mark.skipif("haswell" not in CPUS, reason="no AVX2")
def test_convolutions_without_it_are_of_words():
    x, w = integers(7, (1, 16, 6, 6), "uint8"), integers(8, (16, 16, 3, 3), "int8")
    var = relay.var("x", shape=x.shape, dtype="uint8")
    args = i32(0), i32(0), f32(1), f32(1)
    body = relay.qnn.op.conv2d(
        var, relay.const(w), *args, kernel_size=(3, 3), channels=16, padding=(0, 0)
    )
    code = compiled(body, x, "haswell")[1].get_source("asm")
    loop = code[code.index("vpmaddwd") :].split("vpmaddwd")
    assert not any("vpsllw" in part or "vpsraw" in part for part in loop)  # nothing is split


@pytest.mark.skipif("haswell" not in CPUS, reason="no AVX2")
def test_without_it_pairs_are_multiplied():
    code = dense_code("haswell")
    assert "vpmaddwd" in code
    assert "vpdpbusd" not in code


def test_dot_wants_groups_of_small_integers():
    module = from_source(
        "from tenon.script import tir as T\n"
        "@T.prim_func\n"
        "def main(A: T.Buffer((16,), 'int32')):\n"
        "    A[0:4] = T.dot(A[0:4], A[0:4], A[0:4])\n"
    )
    with pytest.raises(tenon.TenonError, match="tir.dot: expected sums of int32"):
        tenon.build(module, target="llvm")


@pytest.mark.parametrize(("a", "b", "n"), [("int8", "int8", 3), ("uint8", "int16", 2)])
def test_dot_of_other_groups(a, b, n):
    module = from_source(
        "from tenon.script import tir as T\n"
        "@T.prim_func\n"
        f"def main(A: T.Buffer(({4 * n},), '{a}'), B: T.Buffer(({4 * n},), '{b}'),\n"
        "         C: T.Buffer((4,), 'int32')):\n"
        f"    C[0:4] = T.dot(C[0:4], A[0:{4 * n}], B[0:{4 * n}])\n"
    )
    mod = tenon.build(module, target="llvm", name="main")
    x, y, z = integers(7, 4 * n, a), integers(8, 4 * n, b), np.arange(4, dtype="int32")
    got = tenon.nd.array(z)
    mod["main"](tenon.nd.array(x), tenon.nd.array(y), got)
    want = z + (x.astype(int) * y).reshape(4, n).sum(1)
    np.testing.assert_array_equal(got.numpy(), want)


def requantized(y, channels, zero):
    scale = relay.const(np.linspace(0.0003, 0.0009, channels).astype("float32"))
    return relay.qnn.op.requantize(
        y,
        scale,
        i32(0),
        f32(0.4),
        i32(zero),
        axis=1,
        compute_dtype="float32",
        out_dtype="uint8",
    )


@pytest.mark.parametrize("cpu", CPUS)
def test_channels_that_fill_no_vectors(cpu):
    """They grow by zeros, up to the next convolution: bit by bit the same."""
    x = integers(1, (1, 12, 9, 9), "uint8")
    y = relay.var("x", shape=x.shape, dtype="uint8")
    for i, (c, o, kernel) in enumerate([(12, 100, 1), (100, 58, 3), (58, 23, 1)]):
        w = relay.const(integers(i, (o, c, kernel, kernel), "int8"))
        args = i32(3 * i), i32(0), f32(1), f32(1)
        y = relay.qnn.op.conv2d(y, w, *args, kernel_size=(kernel, kernel), channels=o)
        y = requantized(y, o, 3 * i + 3)
        if i == 0:
            y = relay.nn.max_pool2d(y, pool_size=(3, 3))
    got, _ = compiled(y, x, cpu)
    want, _ = compiled(y, x, cpu, ["PadChannelsToVector", "AlterOpLayout"])
    np.testing.assert_array_equal(got, want)
    assert len(np.unique(got)) > 50


@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize(("channels", "kernel"), [(1, 3), (3, 7), (3, 14)])
def test_few_channels_at_the_ends_of_the_ranges(cpu, channels, kernel):
    """Floats hold sums of 3 x 7 x 7 products, those of 3 x 14 x 14 only with smaller weights."""
    w = np.full((24, channels, kernel, kernel), -128, "int8")
    w[1::2] = 127
    w[2::3, :, ::2] = 3
    for value in (0, 255):
        x = np.full((1, channels, 19, 17), value, "uint8")
        x[:, :, ::5, ::3] = 254 - value // 2
        body = relay.qnn.op.conv2d(
            relay.var("x", shape=x.shape, dtype="uint8"),
            relay.const(w),
            i32(255 - value),
            i32(0),
            f32(0.5),
            f32(0.25),
            kernel_size=(kernel, kernel),
            channels=24,
            padding=(2, 2),
        )
        want = reference_conv(real(x, 255 - value), w, 1, 2, 1, 1)
        np.testing.assert_array_equal(compiled(body, x, cpu)[0], want)


@pytest.mark.skipif("skylake-avx512" not in CPUS, reason="no AVX-512")
def test_few_channels_are_multiplied_as_floats():
    def kernels(weight):
        x, w = integers(1, (1, 3, 30, 30), "uint8"), np.full((16, 3, 16, 16), weight, "int8")
        var = relay.var("x", shape=x.shape, dtype="uint8")
        body = relay.nn.conv2d(var, relay.const(w), kernel_size=(16, 16), out_dtype="int32")
        return compiled(body, x, "skylake-avx512")[1].get_source("asm")

    assert "vpmaddwd" in kernels(-128)  # sums beyond 2^24
    assert "vpmaddwd" not in kernels(80)
