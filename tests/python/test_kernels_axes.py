"""Convolutions of lines, images and volumes, ordinary and transposed: numbers beside float64, and
that those of lines and volumes have their channels in blocks."""

import itertools

import numpy as np
import pytest
import tenon
from built import kernels_of
from tenon import relay
from tenon.contrib import graph_executor

TARGETS = ["llvm", "llvm -mcpu=haswell", "llvm -mcpu=x86-64"]
CONV = {1: relay.nn.conv1d, 2: relay.nn.conv2d, 3: relay.nn.conv3d}
TRANSPOSED = {1: relay.nn.conv1d_transpose, 2: relay.nn.conv2d_transpose}
TRANSPOSED[3] = relay.nn.conv3d_transpose


def convolution(x, w, steps, pads, dilation, groups=1):
    """In float64; pads are the same before and after."""
    n = x.ndim - 2
    x = np.pad(x.astype("float64"), [(0, 0), (0, 0), *((p, p) for p in pads)])
    reach = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], dilation, strict=True)]
    out = [(s - r) // t + 1 for s, r, t in zip(x.shape[2:], reach, steps, strict=True)]
    y = np.zeros((x.shape[0], w.shape[0], *out))
    each, made = w.shape[1], w.shape[0] // groups
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = [
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, o, s in zip(tap, dilation, out, steps, strict=True)
        ]
        for g in range(groups):
            part = x[(slice(None), slice(g * each, (g + 1) * each), *at)].reshape(
                x.shape[0], each, -1
            )
            rows = slice(g * made, (g + 1) * made)
            found = np.einsum("nip,oi->nop", part, w[(rows, slice(None), *tap)].astype("float64"))
            y[:, rows] += found.reshape(x.shape[0], made, *out)
    assert y.ndim == n + 2
    return y


def transposed(x, w, steps, pads, more):
    """Each element of data puts a kernel's worth into the result; w is IO..."""
    shape = [
        (s - 1) * t + k + m
        for s, t, k, m in zip(x.shape[2:], steps, w.shape[2:], more, strict=True)
    ]
    y = np.zeros((x.shape[0], w.shape[1], *shape))
    for tap in itertools.product(*map(range, w.shape[2:])):
        at = [
            slice(t, t + (s - 1) * step + 1, step)
            for t, s, step in zip(tap, x.shape[2:], steps, strict=True)
        ]
        found = np.einsum("ni...,io->no...", x.astype("float64"), w[(..., *tap)].astype("float64"))
        y[(slice(None), slice(None), *at)] += found
    cut = [slice(p, s - p) for p, s in zip(pads, shape, strict=True)]
    return y[(slice(None), slice(None), *cut)]


def compiled(make, x, target):
    """Result and kernels of relu(make(x)) + 1."""
    v = relay.var("x", shape=x.shape)
    y = make(v)
    y = relay.nn.relu(y) + relay.const(np.float32(1))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(relay.Function([v], y)), target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=x)
    return m.get_output(0).numpy(), kernels_of(lib)


def close(got, want):
    want = np.maximum(want, 0) + 1
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-6 * np.abs(want).max())


def random_case(rng, n, transposing):
    ic, oc = int(rng.choice([1, 3, 8, 12, 16, 32])), int(rng.choice([1, 2, 7, 8, 13, 16, 32]))
    groups = 1
    if not transposing and rng.random() < 0.5:
        oc = ic
        groups = ic if rng.random() < 0.5 else 4 if ic % 4 == 0 else 1
    kernel = [int(k) for k in rng.integers(1, 5, n)]
    steps = [int(s) for s in rng.integers(1, 4, n)]
    dilation = [1] * n if transposing else [int(d) for d in rng.choice([1, 1, 2], n)]
    size = [int(s) for s in rng.integers(7, 15, n)]
    pads = [
        int(rng.integers(0, (k - 1) * d // 2 + 1)) for k, d in zip(kernel, dilation, strict=True)
    ]
    return ic, oc, groups, kernel, steps, dilation, size, pads


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_random_convolutions(n, target):
    rng = np.random.default_rng(n)
    for _ in range(3):
        ic, oc, groups, kernel, steps, dilation, size, pads = random_case(rng, n, False)
        x = rng.standard_normal((2, ic, *size)).astype("float32")
        w = rng.standard_normal((oc, ic // groups, *kernel)).astype("float32")
        how = {"strides": steps, "padding": pads * 2, "dilation": dilation, "groups": groups}
        how |= {"channels": oc, "kernel_size": kernel}
        got, _ = compiled(lambda v: CONV[n](v, relay.const(w), **how), x, target)  # noqa: B023
        close(got, convolution(x, w, steps, pads, dilation, groups))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_random_convolutions_of_any_extents(n, target):
    """One program for all sizes and batches: whole tiles, a part of one, and both."""
    rng = np.random.default_rng(30 + n)
    for case in range(4):
        ic, oc, groups, kernel, steps, dilation, size, pads = random_case(rng, n, False)
        w = rng.standard_normal((oc, ic // groups, *kernel)).astype("float32")
        how = {"strides": steps, "padding": pads * 2, "dilation": dilation, "groups": groups}
        how |= {"channels": oc, "kernel_size": kernel}
        batch = relay.Any() if case % 2 else 2
        v = relay.var("v", shape=(batch, ic, *[relay.Any()] * n))
        y = relay.nn.relu(CONV[n](v, relay.const(w), **how)) + relay.const(np.float32(1))
        exe = relay.vm.compile(tenon.IRModule.from_expr(relay.Function([v], y)), target)
        vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
        for add in (0, 1, 5, 13):
            x = rng.standard_normal((2, ic, *[s + add for s in size])).astype("float32")
            close(vm.run(x).numpy(), convolution(x, w, steps, pads, dilation, groups))


def test_images_with_dynamic_extents_are_tiled():
    """The sums of a tile stay in registers, and what follows is computed on them; the last tile of
    a row has separate code."""
    x = relay.var("x", shape=(1, 16, relay.Any(), relay.Any()))
    w = relay.const(np.ones((16, 16, 3, 3), "float32"))
    y = relay.nn.relu(relay.nn.conv2d(x, w, channels=16, kernel_size=(3, 3), padding=(1, 1)))
    seen = []

    @tenon.instrument.pass_instrument
    class Look:
        def run_after_pass(self, mod, info):
            text = mod.script() if info.name == "tir.LoopPartition" else ""
            if "pad_temp" in text:
                seen.append(text)

    with tenon.transform.PassContext(opt_level=3, instruments=[Look()]):
        relay.vm.compile(tenon.IRModule.from_expr(relay.Function([x], y)), "llvm -mcpu=haswell")
    assert len(seen) == 1
    assert seen[0].count('conv2d = T.allocate([96], "float32", "local")') == 2
    assert seen[0].count("T.allocate") == 3


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_random_transposed_convolutions(n, target):
    rng = np.random.default_rng(10 + n)
    for _ in range(2):
        ic, oc, _, kernel, steps, _, size, pads = random_case(rng, n, True)
        more = [int(rng.integers(0, s)) for s in steps]
        x = rng.standard_normal((2, ic, *size)).astype("float32")
        w = rng.standard_normal((ic, oc, *kernel)).astype("float32")
        how = {"strides": steps, "padding": pads * 2, "output_padding": more, "channels": oc}
        how |= {"kernel_size": kernel, "kernel_layout": "IO" + "DHW"[3 - n :]}
        got, _ = compiled(lambda v: TRANSPOSED[n](v, relay.const(w), **how), x, target)  # noqa: B023
        close(got, transposed(x, w, steps, pads, more))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_random_transposed_convolutions_of_any_extents(n):
    """One program for all sizes and batches; it has ordinary convolutions only."""
    rng = np.random.default_rng(20 + n)
    for _ in range(3):
        ic, oc, _, kernel, steps, _, size, pads = random_case(rng, n, True)
        more = [int(rng.integers(0, s)) for s in steps]
        w = rng.standard_normal((ic, oc, *kernel)).astype("float32")
        how = {"strides": steps, "padding": pads * 2, "output_padding": more, "channels": oc}
        how |= {"kernel_size": kernel, "kernel_layout": "IO" + "DHW"[3 - n :]}
        v = relay.var("v", shape=(relay.Any(), ic, *[relay.Any()] * n))
        y = relay.nn.relu(TRANSPOSED[n](v, relay.const(w), **how)) + relay.const(np.float32(1))
        mod = tenon.IRModule.from_expr(relay.Function([v], y))
        with tenon.target.Target("llvm"):
            legal = relay.transform.Legalize()(relay.transform.InferType()(mod))
        assert f"nn.conv{n}d_transpose" not in legal.astext(False)
        exe = relay.vm.compile(mod, "llvm")
        vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
        for batch, add in ((1, 0), (2, 3)):
            x = rng.standard_normal((batch, ic, *[s + add for s in size])).astype("float32")
            close(vm.run(x).numpy(), transposed(x, w, steps, pads, more))


@pytest.mark.parametrize("n", [1, 3])
def test_lines_and_volumes_have_blocks(n):
    rng = np.random.default_rng(0)
    size = (40,) if n == 1 else (4, 6, 10)
    x = rng.standard_normal((1, 32, *size)).astype("float32")
    w = rng.standard_normal((2, 32, 32, *[3] * n)).astype("float32")

    def two(v):
        for one in w:
            v = CONV[n](v, relay.const(one), padding=[1] * n, channels=32, kernel_size=[3] * n)
        return v

    got, kernels = compiled(two, x, "llvm -mcpu=haswell")
    text = "\n".join(f.script() for f in kernels.values())
    assert "layout_transform" not in "".join(k for k in kernels if "conv" in k)
    assert "% 8" in text and sum("conv" in k for k in kernels) == 2
    middle = convolution(x, w[0], [1] * n, [1] * n, [1] * n).astype("float32")
    close(got, convolution(middle, w[1], [1] * n, [1] * n, [1] * n))


def test_a_dilated_kernel_that_sees_zeros_mostly():
    """Rows and columns of the kernel that lie in the border for all of an image are left out."""
    rng = np.random.default_rng(0)
    for size, kernel, dilation, pads, steps in [
        ((9, 9), (3, 3), (12, 12), (12, 12), (1, 1)),
        ((9, 20), (3, 3), (9, 4), (9, 4), (1, 1)),
        ((7, 7), (5, 3), (4, 1), (8, 1), (1, 1)),
        ((7, 8), (5, 5), (4, 5), (8, 10), (2, 3)),
        ((6, 6), (2, 2), (1, 1), (3, 3), (4, 5)),
    ]:
        x = rng.standard_normal((1, 16, *size)).astype("float32")
        w = rng.standard_normal((16, 16, *kernel)).astype("float32")
        how = {"padding": pads * 2, "dilation": dilation, "strides": steps}
        how |= {"channels": 16, "kernel_size": kernel}
        got, _ = compiled(lambda v: relay.nn.conv2d(v, relay.const(w), **how), x, "llvm")  # noqa: B023
        close(got, convolution(x, w, steps, pads, dilation))
