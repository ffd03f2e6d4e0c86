"""FuseDepthwiseBlock: convolutions around a depthwise one as one kernel: numbers for random
problems on
several processors, the loops they run in, and where it is not done."""

import numpy as np
import pytest
import tenon
from built import kernels_of
from machines import runnable
from tenon import relay
from tenon.contrib import graph_executor
from test_kernels_conv import reference

schedule = tenon.get_global_func("kernels.schedule")
rng = np.random.default_rng(0)
FREE = 1 << 20  # lanes: products take no time, so that bands pay wherever bytes are saved

ACTIVATIONS = {
    "relu": (relay.nn.relu, lambda v: np.maximum(v, 0)),
    "relu6": (lambda e: relay.clip(e, 0, 6), lambda v: np.clip(v, 0, 6)),
    "silu": (lambda e: e * relay.sigmoid(e), lambda v: v / (1 + np.exp(-v))),
    "hardswish": (
        lambda e: e * relay.clip(e + relay.const(3.0), 0, 6) / relay.const(6.0),
        lambda v: v * np.clip(v + 3, 0, 6) / 6,
    ),
    "shift": (lambda e: e + relay.const(1.5), lambda v: v + 1.5),  # 0 does not stay 0
}


class Block:
    """Expansion, depthwise convolution and maybe projection; what it is in Relay and in numpy."""

    def __init__(self, n, ic, hw, mid, oc, **how):
        self.shape = (n, ic, *hw)
        self.mid, self.oc, self.first = mid, oc, how.get("first", ((1, 1), (1, 1), (0, 0, 0, 0)))
        self.kernel, self.stride = how.get("kernel", (3, 3)), how.get("stride", (1, 1))
        self.pads, self.act = how.get("pads", (1, 1, 1, 1)), how.get("act", "relu6")
        self.residual = how.get("residual", False)

    def __repr__(self):
        return f"{self.shape}-{self.mid}-{self.oc} {self.first} {self.kernel} {self.act}"

    def make(self):
        """@return the module, its input, the result that numpy gives"""
        rng = np.random.default_rng(1)
        data = rng.standard_normal(self.shape)
        x = relay.var("x", shape=self.shape)
        act, np_act = ACTIVATIONS[self.act]

        def conv(e, v, size_out, kernel, stride, pads, groups=1):
            w = rng.standard_normal((size_out, v.shape[1] // groups, *kernel))
            w = (w / np.sqrt(w[0].size)).astype("float32")
            b = rng.standard_normal(size_out).astype("float32")
            e = relay.nn.conv2d(
                e,
                relay.const(w),
                channels=size_out,
                kernel_size=kernel,
                strides=stride,
                padding=pads,
                groups=groups,
            )
            v = reference(v, w, stride, pads, (1, 1), groups) + b[:, None, None]
            return relay.nn.bias_add(e, relay.const(b)), v

        e, v = conv(x, data, self.mid, *self.first)
        e, v = act(e), np_act(v)
        e, v = conv(e, v, self.mid, self.kernel, self.stride, self.pads, self.mid)
        e, v = act(e), np_act(v)
        if self.oc:
            e, v = conv(e, v, self.oc, (1, 1), (1, 1), (0, 0, 0, 0))
        if self.residual:
            e, v = e + x, v + data
        return tenon.IRModule.from_expr(e), data.astype("float32"), v


def in_bands(mod, cpu, convolutions, threads=1):
    """With the smallest cache in which a band of so many convolutions behind the first has room."""
    mark = "convolutions=2" if convolutions == 2 else "clear_border"
    target = tenon.target.Target(f"llvm -mcpu={cpu}")
    with tenon.transform.PassContext(opt_level=3, config={"relay.backend.bands": "off"}):
        mod, _ = relay.optimize(mod, target)
    mod = relay.transform.InferType()(mod)
    for kib in range(4, 64, 2):
        out = relay.transform.FuseDepthwiseBlock(threads, kib << 10, FREE)(mod)
        if mark in out.astext(show_meta_data=False):
            return out
    raise AssertionError("no bands")


def check(block, cpu, threads=1):
    """@return the program in Relay's text, the kernels"""
    mod, data, want = block.make()
    mod = in_bands(mod, cpu, 2 if block.oc else 1, threads)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=f"llvm -mcpu={cpu}")
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=data)
    np.testing.assert_allclose(m.get_output(0).numpy(), want, rtol=1e-4, atol=1e-4)
    return mod.astext(show_meta_data=False), kernels_of(lib)


BLOCKS = [
    Block(1, 16, (12, 12), 32, 16, residual=True),
    Block(1, 16, (20, 9), 48, 24, act="silu"),
    Block(1, 8, (15, 15), 32, 32, kernel=(5, 5), pads=(2, 2, 2, 2), act="hardswish"),
    Block(1, 16, (21, 13), 32, 16, stride=(2, 2)),
    Block(1, 16, (18, 17), 32, 16, stride=(2, 1), pads=(0, 1, 1, 2), act="shift"),
    Block(1, 16, (14, 11), 32, 0, kernel=(5, 3), pads=(1, 0, 3, 2), act="shift"),
    Block(2, 16, (12, 10), 64, 16, act="relu"),
    Block(3, 16, (16, 10), 48, 0, stride=(2, 2), act="relu"),
    Block(1, 16, (14, 14), 32, 16, pads=(0, 0, 0, 0)),
    Block(1, 3, (28, 28), 32, 16, first=((3, 3), (2, 2), (1, 1, 1, 1))),
    Block(1, 3, (27, 30), 32, 16, first=((3, 3), (2, 2), (0, 0, 1, 1)), stride=(2, 2)),
    Block(1, 8, (12, 16), 64, 16, first=((3, 1), (1, 1), (1, 0, 0, 0)), act="shift"),
]


@pytest.mark.parametrize("block", BLOCKS, ids=repr)
def test_same_numbers(block):
    text, _ = check(block, "native")
    assert text.count("nn.contrib_clear_border") == 1


@pytest.mark.parametrize("cpu", runnable(["x86-64", "haswell", "skylake-avx512"]))
@pytest.mark.parametrize("block", BLOCKS[1:6:2] + BLOCKS[10:11], ids=repr)
def test_same_numbers_on_others(block, cpu):
    check(block, cpu)


@pytest.mark.parametrize("oc", [16, 0])
@pytest.mark.parametrize("threads", [1, 2])
def test_loops(oc, threads):
    """A band at a time, by several threads; nothing of the size of the whole image is between."""
    _, kernels = check(Block(1, 16, (24, 12), 32, oc, kernel=(5, 5), pads=(2, 2, 2, 2)), "native")
    program = next(f for name, f in kernels.items() if "depthwise" in name or "clear" in name)
    text = schedule(program, 64, 32, threads).script()
    bands = text.split("for ")[1]
    assert ("T.parallel" in bands) == (threads > 1)
    # one loop over bands is around all the rest
    assert sum(line.startswith("    for ") for line in text.splitlines()) == 1
    assert text.count('scope="local"') == (3 if oc else 2)


@pytest.mark.parametrize("executor", ["vm", "aot"])
def test_other_executors(executor):
    block = Block(2, 16, (16, 12), 48, 16, stride=(2, 2), act="silu")
    mod, data, want = block.make()
    mod = in_bands(mod, "haswell", 2)
    with tenon.transform.PassContext(opt_level=3):
        got = relay.create_executor(executor, mod, tenon.cpu(), "llvm -mcpu=haswell").evaluate()
    np.testing.assert_allclose(got(data).numpy(), want, rtol=1e-4, atol=1e-4)


def optimized(block, bands):
    mod, _, _ = block.make()
    target = tenon.target.Target("llvm -mcpu=skylake-avx512")
    config = {"relay.backend.bands": bands} if bands else {}
    with tenon.transform.PassContext(opt_level=3, config=config):
        mod, _ = relay.optimize(mod, target)
    return mod.astext(show_meta_data=False)


def test_switch():
    large = Block(1, 16, (112, 112), 96, 24, stride=(2, 2))
    assert "convolutions=2" in optimized(large, None)
    assert "convolutions=2" in optimized(large, "auto")
    assert "clear_border" not in optimized(large, "off")
    with pytest.raises(ValueError, match='expected "auto" or "off", got "f2"'):
        optimized(large, "f2")


def test_what_stays():
    """Values that stay in cache; ones that others read too; what differs from row to row."""
    assert "clear_border" not in optimized(Block(1, 16, (28, 28), 96, 24), "auto")
    for what in ["other reader", "other rows"]:
        weights = [np.ones(s, "float32") for s in ((96, 16, 1, 1), (96, 1, 3, 3), (24, 96, 1, 1))]
        x = relay.var("x", shape=(1, 16, 112, 112))
        a = relay.nn.conv2d(x, relay.const(weights[0]), channels=96, kernel_size=(1, 1))
        if what == "other rows":
            a = a + relay.const(rng.standard_normal((112, 1)).astype("float32"))
        b = relay.nn.conv2d(
            a,
            relay.const(weights[1]),
            channels=96,
            groups=96,
            kernel_size=(3, 3),
            padding=(1, 1),
        )
        c = relay.nn.conv2d(b, relay.const(weights[2]), channels=24, kernel_size=(1, 1))
        out = relay.Tuple([c, relay.nn.relu(a)]) if what == "other reader" else c
        target = tenon.target.Target("llvm -mcpu=skylake-avx512")
        with tenon.transform.PassContext(opt_level=3):
            mod, _ = relay.optimize(tenon.IRModule.from_expr(out), target)
        assert "clear_border" not in mod.astext(show_meta_data=False)
