"""Memory lent for reading only is never written: by copies, kernels or executors."""

import graphs
import numpy as np
import pytest
import tenon
from tenon import relay, te
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine
from tenon.target.codegen import llvm_version_major

needs_llvm = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
N = 6


def lent(source=None):
    """A tensor over an array that may not be written, and the array."""
    array = np.arange(N, dtype="float32") if source is None else source
    array.flags.writeable = False
    return tenon._core.from_dlpack(array), array


def refused(call, *args, match="read-only"):
    with pytest.raises(ValueError, match=match):
        call(*args)


def test_copies():
    t, array = lent()
    other = tenon.nd.array(np.ones(N, "float32"))
    refused(other.copyto, t)
    refused(t.copyfrom, other)
    refused(t.copyfrom, np.ones(N, "float32"))
    refused(t.__setitem__, slice(None), other)
    refused(t.__setitem__, slice(None), 3)
    refused(t[2:4].copyfrom, other[2:4])
    refused(tenon.get_global_func("runtime.TensorCopyFromBytes"), t, None, 4 * N)
    wide = tenon.nd.array(np.ones(N, "float64"))
    refused(tenon.get_global_func("runtime.TensorConvert"), wide, t)
    np.testing.assert_array_equal(array, np.arange(N))
    np.testing.assert_array_equal(t.copyto(tenon.cpu()).numpy(), np.arange(N))


def test_memory_of_bytes():
    data = bytes(range(24))
    t, _ = lent(np.frombuffer(data, "float32"))
    refused(tenon.nd.array(np.zeros(N, "float32")).copyto, t)
    assert data == bytes(range(24))


def kernel(target):
    x = te.placeholder((N,), name="x")
    return tenon.build(te.create_prim_func([x, te.compute((N,), lambda i: x[i] + 1)]), target)


@pytest.mark.parametrize("target", [pytest.param("llvm", marks=needs_llvm), "stackvm"])
def test_kernels(target, tmp_path):
    add = kernel(target)
    t, array = lent()
    out = tenon.nd.empty((N,))
    add(t, out)
    np.testing.assert_array_equal(out.numpy(), array + 1)
    refused(add, t, t, match="argument 1 is a read-only tensor, and the function writes to it")
    np.testing.assert_array_equal(array, np.arange(N))
    np.zeros(N, "float32").tofile(tmp_path / "zeros")
    mapped, _ = lent(np.memmap(tmp_path / "zeros", "float32", "r"))
    refused(add, out, mapped)  # and not the end of the process
    refused(add.time_evaluator(add.entry_name, tenon.cpu()), out, mapped)


@needs_llvm
def test_graph_executor():
    gmod = graph_executor.create(graphs.add_graph(), graphs.add_module(), tenon.cpu())
    t, array = lent()
    gmod.set_input_zero_copy("x", t)
    gmod.set_input("w", t)
    gmod.run()
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), array + array)
    refused(gmod.set_output_zero_copy, 1, t)
    refused(gmod.get_output, 1, t)
    refused(gmod.get_input("x").copyfrom, np.ones(N, "float32"))
    gmod.set_input("x", np.ones(N, "float32"))
    gmod.run()
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), array + 1)
    np.testing.assert_array_equal(array, np.arange(N))


@needs_llvm
def test_outputs_that_are_inputs_stay_read_only():
    x = relay.var("x", shape=(2, 3))
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], relay.reshape(x, (6,)))), "llvm")
    gmod = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    t, array = lent(np.arange(6, dtype="float32").reshape(2, 3))
    gmod.set_input_zero_copy("x", t)
    gmod.run()
    out = gmod.get_output(0)
    np.testing.assert_array_equal(out.numpy(), np.arange(6))
    try:
        out.copyfrom(np.zeros(6, "float32"))
    except ValueError as err:
        assert "read-only" in str(err)
    np.testing.assert_array_equal(array.reshape(6), np.arange(6))


@needs_llvm
def test_virtual_machine():
    x = relay.var("x", shape=(N,))
    exe = relay.vm.compile(tenon.IRModule.from_expr(relay.Function([x], x + x)), "llvm")
    vm = VirtualMachine(exe, tenon.cpu())
    t, array = lent()
    np.testing.assert_array_equal(vm.run(t).numpy(), array + array)
    refused(vm.invoke_with_outputs, "main", {"x": t}, [t])
    np.testing.assert_array_equal(array, np.arange(N))
