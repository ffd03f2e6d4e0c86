"""Convolutions with channels in blocks: numbers for random problems, and the loops they run in."""

import re

import numpy as np
import pytest
import tenon
from built import kernels_of
from tenon import relay
from tenon.contrib import graph_executor

schedule = tenon.get_global_func("kernels.schedule")


def scheduled(lib):
    """The kernels' programs as they are scheduled for AVX-512 and two threads."""
    return "\n".join(schedule(f, 64, 32, 2).script() for f in kernels_of(lib).values())


def reference(x, w, stride, pads, dilation, groups=1):
    """Convolution of NCHW by OIHW in float64."""
    top, left, bottom, right = pads
    x = np.pad(x.astype("float64"), ((0, 0), (0, 0), (top, bottom), (left, right)))
    oc, ic, kh, kw = w.shape
    oh = (x.shape[2] - (kh - 1) * dilation[0] - 1) // stride[0] + 1
    ow = (x.shape[3] - (kw - 1) * dilation[1] - 1) // stride[1] + 1
    out = np.zeros((x.shape[0], oc, oh, ow))
    each = oc // groups
    for y in range(kh):
        for z in range(kw):
            rows = slice(y * dilation[0], y * dilation[0] + (oh - 1) * stride[0] + 1, stride[0])
            cols = slice(z * dilation[1], z * dilation[1] + (ow - 1) * stride[1] + 1, stride[1])
            for g in range(groups):
                o = slice(g * each, (g + 1) * each)
                part = x[:, g * ic : (g + 1) * ic, rows, cols]
                out[:, o] += np.einsum("nchw,oc->nohw", part, w[o, :, y, z])
    return out


def blocked(x, block):
    n, c, h, w = x.shape
    return np.ascontiguousarray(
        x.reshape(n, c // block, block, h, w).transpose(0, 1, 3, 4, 2), "float32"
    )


def packed(w, in_block, out_block):
    o, i, kh, kw = w.shape
    w = w.reshape(o // out_block, out_block, i // in_block, in_block, kh, kw)
    return np.ascontiguousarray(w.transpose(0, 2, 4, 5, 3, 1), "float32")


class Problem:
    def __init__(self, n, ic, hw, oc, kernel, stride=(1, 1), pads=(0, 0, 0, 0), dilation=(1, 1)):
        self.n, self.ic, self.hw, self.oc, self.kernel = n, ic, hw, oc, kernel
        self.stride, self.pads, self.dilation = stride, pads, dilation

    def __repr__(self):
        return (
            f"{self.n}x{self.ic}x{self.hw}->{self.oc} k{self.kernel} s{self.stride} "
            f"p{self.pads} d{self.dilation}"
        )


def run(p, blocks, target="llvm", tail="bias relu", planar=False):
    """Builds and runs; compares with numpy; gives the kernels' programs."""
    ib, ob = blocks
    rng = np.random.default_rng(0)
    x = rng.standard_normal((p.n, p.ic, *p.hw))
    w = rng.standard_normal((p.oc, p.ic, *p.kernel))
    want = reference(x, w, p.stride, p.pads, p.dilation)
    data = {"x": x.astype("float32") if planar else blocked(x, ib), "w": packed(w, ib, ob)}
    args = [relay.var(k, shape=v.shape) for k, v in data.items()]
    y = relay.nn.contrib_conv2d_nchwc(
        *args,
        strides=p.stride,
        padding=p.pads,
        dilation=p.dilation,
        channels=p.oc,
        kernel_size=p.kernel,
        data_layout="NCHW" if planar else f"NCHW{ib}c",
        kernel_layout=f"OIHW{ib}i{ob}o",
        out_layout=f"NCHW{ob}c",
    )
    if "bias" in tail:
        b = rng.standard_normal(p.oc)
        data["b"] = b.reshape(1, -1, 1, 1, ob).astype("float32")
        args.append(relay.var("b", shape=data["b"].shape))
        y, want = y + args[-1], want + b.reshape(1, -1, 1, 1)
    if "residual" in tail:
        r = rng.standard_normal(want.shape)
        data["r"] = blocked(r, ob)
        args.append(relay.var("r", shape=data["r"].shape))
        y, want = y + args[-1], want + r
    if "relu" in tail:
        y, want = relay.nn.relu(y), np.maximum(want, 0)
    if "nchw" in tail:
        y = relay.layout_transform(y, f"NCHW{ob}c", "NCHW")
    lib = relay.build(tenon.IRModule.from_expr(relay.Function(args, y)), target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(**data)
    got = m.get_output(0).numpy()
    if "nchw" not in tail:
        got = got.transpose(0, 1, 4, 2, 3).reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max(), err_msg=str(p))
    return scheduled(lib)


def random_problem(rng, blocks):
    kernel = tuple(int(k) for k in rng.choice([1, 2, 3, 5], 2))
    dilation = tuple(int(d) for d in rng.choice([1, 1, 2], 2))
    pads = tuple(int(p) for p in rng.integers(0, 3, 4))
    hw = tuple(
        int(rng.integers((k - 1) * d + 1, 40)) for k, d in zip(kernel, dilation, strict=True)
    )
    ic, oc = (int(b * rng.integers(1, 6)) for b in blocks)
    stride = tuple(int(s) for s in rng.choice([1, 1, 2, 3], 2))
    return Problem(int(rng.integers(1, 3)), ic, hw, oc, kernel, stride, pads, dilation)


TAILS = ["", "bias relu", "bias residual relu", "residual", "bias nchw"]


@pytest.mark.parametrize("seed", range(12))
def test_random_problems(seed):
    rng = np.random.default_rng(seed)
    blocks = tuple(int(b) for b in rng.choice([4, 8, 16], 2))
    run(random_problem(rng, blocks), blocks, tail=TAILS[seed % len(TAILS)])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("target", ["llvm -mcpu=haswell", "llvm -mcpu=x86-64-v2"])
def test_narrow_vectors(seed, target):
    if not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    rng = np.random.default_rng(100 + seed)
    blocks = (8, 8) if "haswell" in target else (4, 4)
    run(random_problem(rng, blocks), blocks, target, TAILS[seed % len(TAILS)])


def test_interpreter():
    run(Problem(1, 8, (5, 7), 8, (3, 3), pads=(1, 1, 1, 1)), (8, 8), "stackvm")


@pytest.mark.parametrize("size", [7, 8, 13, 14, 17, 35, 56])
def test_sizes_of_networks(size):
    text = run(Problem(1, 32, (size, size), 64, (3, 3), pads=(1, 1, 1, 1)), (16, 16))
    assert 'scope="local"' in text and "conv2d_init" in text and "T.unroll(" in text


def test_planar_images_with_few_channels():
    run(Problem(1, 3, (31, 33), 32, (7, 7), (2, 2), (3, 3, 3, 3)), (3, 16), planar=True)


def test_result_of_two_uses_is_kept():
    """The sums are a result of the program themselves: nothing may be left in registers only."""
    p = Problem(1, 16, (9, 9), 16, (3, 3))
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((1, 16, 9, 9)), rng.standard_normal((16, 16, 3, 3))
    args = [relay.var("x", shape=(1, 1, 9, 9, 16)), relay.var("w", shape=(1, 1, 3, 3, 16, 16))]
    y = relay.nn.contrib_conv2d_nchwc(
        *args,
        channels=16,
        kernel_size=(3, 3),
        data_layout="NCHW16c",
        kernel_layout="OIHW16i16o",
        out_layout="NCHW16c",
    )
    f = relay.Function(args, relay.Tuple([y, relay.exp(y * relay.const(0.01)), relay.nn.relu(y)]))
    lib = relay.build(tenon.IRModule.from_expr(f), target="llvm")
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=blocked(x, 16), w=packed(w, 16, 16))
    want = reference(x, w, p.stride, p.pads, p.dilation)
    for i, r in enumerate([want, np.exp(want * 0.01), np.maximum(want, 0)]):
        got = m.get_output(i).numpy().transpose(0, 1, 4, 2, 3).reshape(want.shape)
        np.testing.assert_allclose(got, r, rtol=1e-4, atol=1e-3)


def depthwise(n, channels, hw, kernel, stride, pads, block, target="llvm"):
    rng = np.random.default_rng(0)
    x = rng.standard_normal((n, channels, *hw))
    w = rng.standard_normal((channels, 1, *kernel))
    want = np.clip(reference(x, w, stride, pads, (1, 1), channels), 0, 6)
    data = {"x": blocked(x, block), "w": packed(w, 1, block)}
    args = [relay.var(k, shape=v.shape) for k, v in data.items()]
    y = relay.nn.contrib_depthwise_conv2d_nchwc(
        *args,
        strides=stride,
        padding=pads,
        channels=channels,
        groups=channels,
        kernel_size=kernel,
        data_layout=f"NCHW{block}c",
        kernel_layout=f"OIHW1i{block}o",
        out_layout=f"NCHW{block}c",
    )
    f = relay.Function(args, relay.clip(y, 0, 6))
    lib = relay.build(tenon.IRModule.from_expr(f), target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(**data)
    got = m.get_output(0).numpy().transpose(0, 1, 4, 2, 3).reshape(want.shape)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4)
    return scheduled(lib)


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
@pytest.mark.parametrize("seed", range(6))
def test_depthwise(seed, target):
    rng = np.random.default_rng(seed)
    block = 8 if "haswell" in target else int(rng.choice([4, 8, 16]))
    kernel = tuple(int(k) for k in rng.choice([3, 5, 2], 2))
    stride = tuple(int(s) for s in rng.choice([1, 2], 2))
    pads = tuple(int(p) for p in rng.integers(0, 3, 4))
    hw = tuple(int(v) for v in rng.integers(7, 40, 2))
    channels = int(block * rng.integers(1, 8))
    text = depthwise(int(rng.integers(1, 3)), channels, hw, kernel, stride, pads, block, target)
    assert 'scope="local"' in text


@pytest.mark.parametrize("target", ["llvm", "llvm -mcpu=haswell"])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("size, window, step, border", [(13, 3, 2, 1), (8, 2, 2, 0), (9, 5, 1, 2)])
def test_pooling(size, window, step, border, largest, target):
    """A tile of pixels stays in registers; the border is made band by band."""
    data = np.random.default_rng(0).standard_normal((2, 32, size, size)).astype("float32")
    x = relay.var("x", shape=blocked(data, 16).shape)
    pool = relay.nn.max_pool2d if largest else relay.nn.avg_pool2d
    y = pool(x, (window, window), (step, step), padding=(border, border), layout="NCHW16c")
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], y)), target=target)
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(x=blocked(data, 16))
    pads = [(0, 0), (0, 0), (border, border), (border, border)]
    edge = np.pad(data, pads, constant_values=-np.inf if largest else 0)
    inside = np.pad(np.ones_like(data), pads)
    n = (size + 2 * border - window) // step + 1
    cut = [slice(i, i + (n - 1) * step + 1, step) for i in range(window)]
    parts = np.stack([edge[:, :, a, b] for a in cut for b in cut])
    counts = np.stack([inside[:, :, a, b] for a in cut for b in cut]).sum(0)
    want = parts.max(0) if largest else parts.sum(0) / counts
    np.testing.assert_allclose(model.get_output(0).numpy(), blocked(want, 16), 1e-5, 1e-5)
    assert 'scope="local"' in scheduled(lib)
    assert "T.unroll" in scheduled(lib)


@pytest.mark.parametrize("groups", [2, 3])
def test_groups_of_whole_blocks(groups):
    """Blocks within groups; groups that are not multiples of a block stay as they are."""
    rng = np.random.default_rng(0)
    for each in (16, 12):
        x = rng.standard_normal((1, groups * each, 11, 9)).astype("float32")
        w = rng.standard_normal((groups * 32, each, 3, 3)).astype("float32")
        data = relay.var("x", shape=x.shape)
        y = relay.nn.conv2d(
            data,
            relay.const(w),
            padding=(1, 1),
            channels=groups * 32,
            kernel_size=(3, 3),
            groups=groups,
        )
        with tenon.transform.PassContext(opt_level=3):
            lib = relay.build(tenon.IRModule.from_expr(relay.Function([data], y)), target="llvm")
        m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
        m.run(x=x)
        want = reference(x, w, (1, 1), (1, 1, 1, 1), (1, 1), groups)
        got = m.get_output(0).numpy()
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("seed", range(8))
def test_images_without_blocks(seed):
    """What the level of optimisation leaves in NCHW: any width, any step."""
    rng = np.random.default_rng(seed)
    kernel, stride = (tuple(int(v) for v in rng.choice(c, 2)) for c in ([1, 3, 5], [1, 2]))
    hw = tuple(int(v) for v in rng.integers(8, 45, 2))
    ic, oc = (int(v) for v in rng.integers(1, 40, 2))
    pads = tuple(int(v) for v in rng.integers(0, 3, 4))
    x = rng.standard_normal((1, ic, *hw)).astype("float32")
    w = rng.standard_normal((oc, ic, *kernel)).astype("float32")
    args = [relay.var("x", shape=x.shape), relay.var("w", shape=w.shape)]
    y = relay.nn.conv2d(*args, strides=stride, padding=pads, channels=oc, kernel_size=kernel)
    f = relay.Function(args, relay.nn.relu(y))
    with tenon.transform.PassContext(opt_level=1):
        lib = relay.build(tenon.IRModule.from_expr(f), target="llvm")
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=x, w=w)
    want = np.maximum(reference(x, w, stride, pads, (1, 1)), 0)
    got = m.get_output(0).numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


def test_threads_share_rows_or_channels():
    """Large images are shared by bands of rows, large weights by channels, evenly."""
    text = run(Problem(1, 960, (7, 7), 160, (1, 1)), (16, 16))
    assert int(re.search(r"T\.parallel\((\d+)\)", text).group(1)) >= 2
    by_bands = depthwise(1, 192, (28, 28), (3, 3), (1, 1), (1, 1, 1, 1), 16)
    by_channels = depthwise(1, 960, (7, 7), (3, 3), (1, 1), (1, 1, 1, 1), 16)
    assert "T.parallel(60)" in by_channels
    assert "T.parallel(12" not in by_bands


def test_weights_are_fetched_early():
    """Of a group while those of the one before are used, unless they stay in cache."""
    assert "pragma_prefetch_next" in run(Problem(1, 512, (7, 7), 512, (1, 1)), (16, 16))
    assert "pragma_prefetch_next" not in run(Problem(1, 128, (56, 56), 64, (1, 1)), (16, 16))
