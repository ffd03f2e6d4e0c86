"""Constants as part of the code of kernels: options of the context and of executors."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay.backend import Executor

LINK = {"relay.FuseOps.link_params": True}


def model():
    """A program, its parameters, an input and the result."""
    rng = np.random.default_rng(0)
    x, w, b = (relay.var(n, shape=s) for n, s in [("x", (2, 8)), ("w", (4, 8)), ("b", (4,))])
    # the same numbers twice, in one kernel; a tuple; a table of small integers
    y = relay.nn.relu(relay.nn.dense(x, w) + b) * b
    i = relay.const(np.array([3, 0], "int8"))
    z = relay.concatenate(
        [relay.take(y, relay.cast(i, "int32"), axis=1), relay.ones((2, 3), "float32")], 1
    )
    params = {"w": rng.random((4, 8), "float32"), "b": rng.random(4, "float32")}
    value = rng.random((2, 8), "float32")
    full = np.maximum(value @ params["w"].T + params["b"], 0) * params["b"]
    want = np.concatenate([full[:, [3, 0]], np.ones((2, 3), "float32")], 1)
    return tenon.IRModule.from_expr(relay.Function([x, w, b], z)), params, value, want


def build(target, level=3, config=None, **how):
    mod, params, _, _ = model()
    with tenon.transform.PassContext(opt_level=level, config=config or {}):
        return relay.build(mod, target, params=params, **how)


def check(lib):
    _, _, value, want = model()
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    module.set_input("x", value)
    module.run()
    np.testing.assert_allclose(module.get_output(0).numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
@pytest.mark.parametrize("level", [0, 3])
def test_option_of_the_context(target, level):
    assert build(target, level).get_params()
    lib = build(target, level, LINK)
    assert not lib.get_params()
    check(lib)


def test_option_of_the_executor(tmp_path):
    lib = build("c", executor=Executor("graph", {"link-params": True}))
    assert not lib.get_params()
    lib.export_library(tmp_path / "model.so")
    check(tenon.runtime.load_module(tmp_path / "model.so"))


def test_ahead_of_time():
    lib = build("llvm", config=LINK, executor=Executor("aot", {"link-params": False}))
    assert not lib.get_params()
    check(lib)


def test_virtual_machine():
    mod, params, value, want = model()
    with tenon.transform.PassContext(opt_level=3, config=LINK):
        exe = relay.vm.compile(mod, "llvm", params=params)
    assert not exe.constants
    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu(0))
    np.testing.assert_allclose(vm.run(value).numpy(), want, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float64"])
def test_types(dtype):
    data = np.array([[1, 0], [3, 7]]).astype(dtype)
    x = relay.var("x", shape=(2,), dtype="int32")
    func = relay.Function([x], relay.take(relay.const(data), x, axis=0))
    with tenon.transform.PassContext(opt_level=3, config=LINK):
        lib = relay.build(tenon.IRModule.from_expr(func), "llvm")
    assert not lib.get_params()
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    module.set_input("x", np.array([1, 0], "int32"))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), data[[1, 0]])


def test_code_of_other_devices_cannot_hold_them():
    with pytest.raises(NotImplementedError, match="target opencl cannot hold constants"):
        build("opencl", config=LINK)
