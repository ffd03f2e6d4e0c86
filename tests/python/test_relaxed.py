"""relay.backend.precision: products of bfloat16 where they are allowed."""

import pathlib

import numpy as np
import pytest
import tenon
from tenon import relay, te
from tenon.contrib import graph_executor

FLAGS = set(pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[-1].split("\n")[0].split())
TILES = pytest.mark.skipif("amx_bf16" not in FLAGS, reason="no AMX")
PAIRS = pytest.mark.skipif("avx512_bf16" not in FLAGS, reason="no AVX512-BF16")
NEEDS = {"haswell": "avx2", "cooperlake": "avx512_bf16", "sapphirerapids": "amx_bf16"}
TOLERANCE = 2e-2  # of the largest result


def weight(seed, *shape):
    scale = np.sqrt(2 / np.prod(shape[1:]))
    return relay.const(np.random.default_rng(seed).normal(0, scale, shape).astype("float32"))


def run(body, data, cpu, precision):
    config = {"relay.backend.precision": precision} if precision else {}
    function = relay.Function(relay.analysis.free_vars(body), body)
    with tenon.transform.PassContext(opt_level=3, config=config):
        lib = relay.build(tenon.IRModule.from_expr(function), f"llvm -mcpu={cpu}")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    g.set_input("x", data)
    g.run()
    return g.get_output(0).numpy(), lib.get_lib().get_source("asm")


def layers(rows, features=96, units=70):
    """Dense layers with what follows them."""
    x = relay.var("x", shape=(rows, features))
    y = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, weight(1, 64, features)), weight(2, 64)))
    return relay.nn.dense(y, weight(3, units, 64)), (rows, features)


def network(size, stride):
    """Convolutions of 3 x 3 and 1 x 1 and a residual sum."""
    x = relay.var("x", shape=(1, 32, size, size))
    args = {"channels": 64, "kernel_size": (3, 3), "padding": (1, 1), "strides": (stride, stride)}
    y = relay.nn.relu(relay.nn.conv2d(x, weight(4, 64, 32, 3, 3), **args))
    z = relay.nn.conv2d(y, weight(5, 64, 64, 1, 1), channels=64, kernel_size=(1, 1))
    return relay.nn.relu(relay.add(z, y)), (1, 32, size, size)


def conv(x, seed, into, out, kernel=1, stride=1, groups=1):
    """A convolution with bias and an activation that knows zero."""
    pad, shape = kernel // 2, (out, into // groups, kernel, kernel)
    window = {"kernel_size": (kernel, kernel), "padding": (pad, pad), "strides": (stride, stride)}
    y = relay.nn.conv2d(x, weight(seed, *shape), channels=out, groups=groups, **window)
    return relay.clip(relay.nn.bias_add(y, weight(seed + 100, out)), 0, 6)


def mobile(size, channels, wide, stride):
    """Expansion, depthwise convolution, projection and a sum, as in MobileNets."""
    x = relay.var("x", shape=(1, 3, size, size))
    y = conv(x, 7, 3, channels, 3, 2)
    z = conv(conv(y, 8, channels, wide), 9, wide, wide, 3, stride, wide)
    z = conv(z, 10, wide, channels)
    z = relay.add(z, y) if stride == 1 else z
    return relay.nn.global_avg_pool2d(conv(z, 11, channels, 40)), (1, 3, size, size)


def branches(size, channels):
    """Branches that are pooled, concatenated and added up, as in SqueezeNet, U-Net and ResNet."""
    x = relay.var("x", shape=(1, 20, size, size))
    y = relay.nn.max_pool2d(conv(x, 12, 20, channels), (3, 3), (2, 2), padding=(1, 1))
    z = relay.concatenate([conv(y, 13, channels, 32), conv(y, 14, channels, channels, 3)], 1)
    both = relay.add(conv(z, 15, 32 + channels, 48, 3, 2), conv(z, 16, 32 + channels, 48, 1, 2))
    gate = relay.multiply(both, relay.sigmoid(both))
    up = relay.nn.upsampling(gate, 2, 2)
    pooled = relay.nn.avg_pool2d(conv(up, 17, 48, 24), (2, 2), (2, 2))
    return relay.nn.relu(relay.subtract(pooled, relay.const(0.5))), (1, 20, size, size)


def image(size, channels, kernel, stride):
    """A first convolution, of few channels."""
    x = relay.var("x", shape=(2, channels, size, size))
    return conv(x, 18, channels, 48, kernel, stride), (2, channels, size, size)


MODELS = {
    "one row": layers(1),
    "33 rows": layers(33),
    "64 rows": layers(64),
    "28 rows": layers(28, 128, 256),
    "13 rows": layers(13, 64, 33),
    "odd features": layers(16, 63),
    "images of 28": network(28, 1),
    "images of 7": network(7, 1),
    "images of 10": network(10, 2),
    "images of 64": network(64, 2),
    "mobile, 16 and 96": mobile(32, 16, 96, 1),
    "mobile, 24 and 144": mobile(30, 24, 144, 1),
    "mobile, 32 and 48": mobile(18, 32, 48, 2),
    "mobile, 12 and 72": mobile(14, 12, 72, 1),
    "branches of 64": branches(28, 64),
    "branches of 16": branches(12, 16),
    "branches of 20": branches(20, 20),
    "image, 7 x 7": image(35, 3, 7, 2),
    "image, 5 x 5": image(33, 1, 5, 1),
    "image, 9 x 9": image(40, 2, 9, 3),
    "image, 1 x 1": image(32, 4, 1, 1),
    "lines of 37": image(37, 3, 3, 1),
}


CASES = [("haswell", "64 rows"), ("cooperlake", "33 rows"), ("cooperlake", "one row")]
CASES += [("haswell", "branches of 16"), ("cooperlake", "mobile, 24 and 144")]


@pytest.mark.parametrize(("cpu", "model"), [*CASES, *(("sapphirerapids", m) for m in MODELS)])
def test_results_stay_near(model, cpu):
    if NEEDS[cpu] not in FLAGS:
        pytest.skip(f"no {NEEDS[cpu]}")
    body, shape = MODELS[model]
    x = np.random.default_rng(6).normal(size=shape).astype("float32")
    exact, _ = run(body, x, cpu, None)
    relaxed, _ = run(body, x, cpu, "relaxed")
    assert np.abs(relaxed - exact).max() < TOLERANCE * np.abs(exact).max()
    if cpu == "haswell":
        np.testing.assert_array_equal(relaxed, exact)


@pytest.mark.parametrize(
    ("cpu", "model", "instruction"),
    [
        pytest.param("cooperlake", "64 rows", "vdpbf16ps", marks=PAIRS),
        pytest.param("sapphirerapids", "64 rows", "tdpbf16ps", marks=TILES),
        pytest.param("sapphirerapids", "images of 28", "tdpbf16ps", marks=TILES),
        pytest.param("sapphirerapids -mattr=-amx-bf16", "64 rows", "vdpbf16ps", marks=TILES),
    ],
)
def test_instructions(cpu, model, instruction):
    body, shape = MODELS[model]
    x = np.zeros(shape, "float32")
    assert f"\t{instruction}" in run(body, x, cpu, "relaxed")[1]


def test_it_is_a_choice():
    body, shape = MODELS["64 rows"]
    for cpu in [c for c, flag in NEEDS.items() if flag in FLAGS][-1:]:
        assert "bf16ps" not in run(body, np.zeros(shape, "float32"), cpu, None)[1]
        assert "bf16ps" not in run(body, np.zeros(shape, "float32"), cpu, "exact")[1]


@TILES
def test_two_threads_have_registers_of_their_own():
    """The loop over panels runs in the pool, each thread of which sets its registers up."""
    m, n, k = 96, 512, 256
    a = te.placeholder((m, k), "bfloat16", name="A")
    w = te.placeholder((n // 32, k // 2, 32, 2), "bfloat16", name="W")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (m, n),
        lambda i, j: te.sum(
            a[i, r].astype("float32") * w[j // 32, r // 2, j % 32, r % 2].astype("float32"), axis=r
        ),
        name="C",
    )
    f = tenon.get_global_func("kernels.schedule")(te.create_prim_func([a, w, c]), 64, 32, 2, 2)
    assert "T.parallel" in f.script()
    mod = tenon.build(f, target="llvm", name="main")
    rng = np.random.default_rng(7)
    x, y = (rng.normal(size=s).astype("float32") for s in ((m, k), (n, k)))
    bits = [(v.view("uint32") >> 16).astype("uint16") for v in (x, y)]
    packed = bits[1].reshape(n // 32, 32, k // 2, 2).transpose(0, 2, 1, 3).copy()
    args = [tenon.nd.empty(s, "bfloat16") for s in (a.shape, w.shape)]
    args[0].copyfrom(bits[0])
    args[1].copyfrom(packed)
    got = tenon.nd.empty((m, n), "float32")
    mod["main"](*args, got)
    x, y = ((v.astype("uint32") << 16).view("float32") for v in bits)
    np.testing.assert_allclose(got.numpy(), x @ y.T, rtol=1e-4, atol=1e-3)


def test_other_words_are_refused():
    body, shape = layers(4)
    with pytest.raises(ValueError, match='expected "exact" or "relaxed", got "fast"'):
        run(body, np.zeros(shape, "float32"), "haswell", "fast")
