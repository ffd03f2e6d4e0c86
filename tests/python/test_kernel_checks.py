"""Kernels of a compiled model check their arguments, whoever calls them: one table for each."""

import json
import re
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor


def build(dtype="float32"):
    x = relay.var("x", shape=(2, 1, 4), dtype=dtype)
    y = relay.var("y", shape=(2, 3, 4), dtype=dtype)
    return relay.build(
        tenon.IRModule.from_expr(relay.Function([x, y], relay.nn.relu(x + y))), "llvm"
    )


def kernel_name(lib):
    names = [node["attrs"]["func_name"] for node in json.loads(lib.get_graph_json())["nodes"][2:]]
    assert len(names) == 1
    return names[0]


def kernel(lib):
    return lib.get_lib().get_function(kernel_name(lib))


def arrays(*shapes, dtype="float32"):
    return [tenon.nd.array(np.ones(shape, dtype)) for shape in shapes]


GOOD = ((2, 1, 4), (2, 3, 4), (2, 3, 4))


def test_correct_arguments():
    args = arrays(*GOOD)
    kernel(build())(*args)
    np.testing.assert_array_equal(args[2].numpy(), 2)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("shape", [(2, 3, 5), (3, 3, 4), (2, 3), (2, 3, 4, 1), ()])
def test_shapes(place, shape):
    args = arrays(*[shape if i == place else s for i, s in enumerate(GOOD)])
    want = re.escape(str(GOOD[place]))
    message = f"is expected to be a compact tensor of float32 with shape {want}"
    with pytest.raises(tenon.TVMError, match=message):
        kernel(build())(*args)


@pytest.mark.parametrize("place", range(3))
@pytest.mark.parametrize("dtype", ["float64", "int32", "float16"])
def test_types(place, dtype):
    args = arrays(*GOOD)
    args[place] = tenon.nd.array(np.ones(GOOD[place], dtype))
    with pytest.raises(tenon.TVMError, match="a compact tensor of float32"):
        kernel(build())(*args)


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_numbers_of_arguments(count):
    args = arrays(*GOOD, GOOD[2])[:count]
    with pytest.raises(tenon.TVMError, match="num_args should be 3"):
        kernel(build())(*args)


@pytest.mark.parametrize("other", [3, 2.5, None, "text"])
def test_other_arguments(other):
    args = arrays(*GOOD)
    args[1] = other
    with pytest.raises(tenon.TVMError, match=r"arg\.\w+ is expected to be a compact tensor"):
        kernel(build())(*args)


def from_numpy(array):
    """A tensor over an array's memory, strides included."""
    return tenon.nd.from_dlpack(array.__dlpack__())


def test_strides():
    fn = kernel(build())
    x, y, out = arrays(*GOOD)
    turned = from_numpy(np.ones((4, 3, 2), "float32").T)
    with pytest.raises(tenon.TVMError, match="compact tensor"):
        fn(x, turned, out)
    with pytest.raises(tenon.TVMError, match="compact tensor"):
        fn(x, y, turned)
    fn(from_numpy(np.ones((2, 2, 4), "float32")[:, :1][[0, 1]]), y, out)
    single = np.lib.stride_tricks.as_strided(np.ones(8, "float32"), (2, 1, 4), (16, 400, 4))
    fn(from_numpy(single), y, out)  # the stride of an axis of one element does not matter
    np.testing.assert_array_equal(out.numpy(), 2)


def test_the_library_hides_the_checking_function(tmp_path):
    lib, path = build(), str(tmp_path / "model.so")
    lib.export_library(path)
    loaded = tenon.runtime.load_module(path)
    with pytest.raises(tenon.TVMError, match="num_args should be 3"):
        loaded.get_function(kernel_name(lib), True)()
    module = graph_executor.GraphModule(loaded["default"](tenon.cpu()))
    module.set_input("x", np.ones((2, 1, 4), "float32"))
    module.set_input("y", np.ones((2, 3, 4), "float32"))
    module.run()
    np.testing.assert_array_equal(module.get_output(0).numpy(), 2)
    done = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True)
    if done.returncode == 0:
        assert "check_tensors" not in done.stdout


def test_dynamic_kernels_check_themselves():
    n = relay.Any()
    x, y = relay.var("x", shape=(n, 4)), relay.var("y", shape=(n, 4))
    mod = tenon.IRModule.from_expr(relay.Function([x, y], x + y))
    executable = relay.vm.compile(mod, "llvm")
    vm = tenon.runtime.vm.VirtualMachine(executable, tenon.cpu())
    found = vm.run(np.ones((3, 4), "float32"), np.ones((3, 4), "float32"))
    np.testing.assert_array_equal(found.numpy(), 2)
    with pytest.raises(tenon.TVMError):
        vm.run(np.ones((3, 4), "float32"), np.ones((2, 4), "float32"))


def test_programs_of_users_name_the_part_that_is_wrong():
    te = tenon.te
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1, name="B")
    fn = tenon.build(te.create_schedule(b.op), [a, b], "llvm")
    with pytest.raises(tenon.TVMError, match=r"arg\.A\.shape\[0\]"):
        fn(*arrays((5,), (4,)))
