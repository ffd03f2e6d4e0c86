"""The steps of an ahead-of-time build one by one: main, and what is known of functions."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.ir.memory_pools import AllocatedPoolInfo, ConstantPoolInfo, WorkspacePoolInfo
from tenon.relay.backend import Executor, aot
from tenon.script import tir as T
from tenon.target.codegen import llvm_version_major

PROGRAM = """#[version = "0.0.5"]
def @plus_one(%x: Tensor[(5, 7), float32]) { %x }
def @times(%x: Tensor[(5, 7), float32], %y: Tensor[(5, 7), float32]) { %x }
def @main(%a: Tensor[(5, 7), float32]) -> Tensor[(5, 7), float32] {
  %0 = (%a,);
  %1 = call_lowered(@plus_one, %0);
  %2 = (%1, %a);
  call_lowered(@times, %2)
}
"""
TARGET = tenon.target.Target("c")
CONFIG = tenon.target.make_compilation_config(tenon.transform.PassContext(), TARGET)
CALLS = {
    aot.CallType.Packed: 'T.call_packed("plus_one", T.tvm_stack_make_array(a_buffer.data, ',
    aot.CallType.CPacked: 'T.call_cpacked("plus_one", T.tvm_stack_make_array(a_buffer.data, ',
    aot.CallType.Unpacked: "plus_one(a_buffer.data, value1)",
}


def lowered(calls, config=CONFIG, text=PROGRAM):
    return aot.AOTLowerMain("test_mod", config, calls)(tenon.parser.fromtext(text))


@pytest.mark.parametrize("calls", aot.CallType)
def test_main_calls_operators(calls):
    main = lowered(calls)["__tvm_main__"]
    assert CALLS[calls] in main.script()
    assert main.attrs["global_symbol"] == "test_mod___tvm_main__"
    assert bool(main.attrs["runner_function"]) and list(main.attrs["devices"]) == []
    assert [v.name for v in main.params] == ["a", "output"]
    assert main.attrs["input_vars"][0].same_as(main.params[0])
    assert main.attrs["output_vars"][0].same_as(main.params[1])
    with_target = lowered(calls, TARGET)["__tvm_main__"]
    assert with_target.attrs["target"].kind.name == main.attrs["target"].kind.name == "c"


@T.prim_func
def plus_one(x: T.Buffer((5, 7), "float32"), y: T.Buffer((5, 7), "float32")):
    T.func_attr({"global_symbol": "plus_one", "tir.noalias": True})
    for i, j in T.grid(5, 7):
        y[i, j] = x[i, j] + T.float32(1)


@T.prim_func
def times(x: T.Buffer((5, 7), "float32"), y: T.Buffer((5, 7), "float32"),
          z: T.Buffer((5, 7), "float32")):  # fmt: skip
    T.func_attr({"global_symbol": "times", "tir.noalias": True})
    for i, j in T.grid(5, 7):
        z[i, j] = x[i, j] * y[i, j]


@pytest.mark.skipif(llvm_version_major(allow_none=True) is None, reason="runs code of LLVM")
@pytest.mark.parametrize("calls", [aot.CallType.Packed, aot.CallType.CPacked])
def test_main_runs(calls):
    main = lowered(calls, tenon.target.Target("llvm"))["__tvm_main__"]
    parts = {"plus_one": plus_one, "times": times}
    if calls == aot.CallType.CPacked:  # by symbols, in one piece of code
        library = tenon.build(tenon.IRModule({**parts, "__tvm_main__": main}), target="llvm")
    else:
        library = tenon.build(tenon.IRModule({"__tvm_main__": main}), target="llvm")
        library.import_module(tenon.build(tenon.IRModule(parts), target="llvm"))
    a = np.arange(35, dtype="float32").reshape(5, 7)
    out = tenon.nd.empty((5, 7))
    library["test_mod___tvm_main__"](tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), (a + 1) * a)


def test_kernels_that_were_fused():
    x = relay.var("x", shape=(4, 4))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.exp(x))))
    mod = relay.transform.FuseOps(0)(relay.transform.InferType()(mod))
    main = aot.AOTLowerMain("m", TARGET, aot.CallType.Unpacked)(mod)["__tvm_main__"]
    assert "exp(x_buffer.data, value1)" in main.script()


def test_what_functions_need():
    mod = lowered(aot.CallType.CPacked)
    mod["plus_one_tir"] = plus_one.with_attr("target", TARGET)
    infos = aot.CreateFunctionMetadata(mod, 16, 1)
    assert {str(name) for name in infos} == {"__tvm_main__", "plus_one_tir"}

    def sizes(info):
        maps = (info.workspace_sizes, info.io_sizes, info.constant_sizes)
        return [int(size) for one in maps for size in one.values()]

    assert sizes(infos["__tvm_main__"]) == [144, 280, 0]  # 35 floats, in words of 8 bytes
    assert sizes(infos["plus_one_tir"]) == [0, 280, 0]
    (func,) = infos["__tvm_main__"].tir_primfuncs.values()
    tenon.ir.assert_structural_equal(func, mod["__tvm_main__"])
    pools = [
        AllocatedPoolInfo(WorkspacePoolInfo("sram", [TARGET]), 256),
        AllocatedPoolInfo(ConstantPoolInfo("flash", [TARGET], []), 64),
    ]
    planned = aot.CreateFunctionMetadata(mod.with_attr("pool_args", pools), 16, 1)
    assert sizes(planned["__tvm_main__"]) == [400, 280, 64]
    assert sizes(planned["plus_one_tir"]) == [0, 280, 0]
    assert str(TARGET.kind) == "c"
    with pytest.raises(ValueError, match="pool_args: expected an AllocatedPoolInfo at 1"):
        aot.CreateFunctionMetadata(mod.with_attr("pool_args", [pools[0], TARGET]), 16, 1)
    with pytest.raises(TypeError, match="pool_args: expected a list of pools"):
        aot.CreateFunctionMetadata(mod.with_attr("pool_args", TARGET), 16, 1)
    bare = tenon.IRModule({"plus_one": plus_one})
    with pytest.raises(ValueError, match="expected the attribute target at each function"):
        aot.CreateFunctionMetadata(bare, 16, 1)
    with TARGET:
        assert sizes(aot.CreateFunctionMetadata(bare, 16, 1)["plus_one"]) == [0, 280, 0]


def test_what_is_known_of_main():
    executor = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    found = aot.CreateExecutorMetadata(lowered(aot.CallType.Unpacked), "test_mod", executor, 16, 1)
    assert [str(n) for n in found.inputs] == ["a"] and [str(n) for n in found.outputs] == ["output"]
    (kind,) = found.input_tensor_types
    assert kind == relay.TensorType((5, 7), "float32")
    told = (found.executor, found.mod_name, found.interface_api, found.unpacked_api)
    assert told == ("aot", "test_mod", "c", True)
    assert (found.workspace_alignment, found.constant_alignment) == (16, 1)
    assert (found.workspace_bytes, found.io_bytes, found.constant_bytes) == (144, 280, 0)
    with pytest.raises(ValueError, match="the module has no tensor program __tvm_main__"):
        aot.CreateExecutorMetadata(tenon.IRModule({"f": plus_one}), "m", executor, 16, 1)
    odd = tenon.IRModule({"__tvm_main__": plus_one})
    with pytest.raises(ValueError, match="__tvm_main__ has no attribute input_vars"):
        aot.CreateExecutorMetadata(odd, "m", executor, 16, 1)


def test_what_cannot_be_lowered():
    with pytest.raises(ValueError, match="cannot run relay.If"):
        lowered(aot.CallType.CPacked, text="""#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %c: bool) { if (%c) { %x } else { %x } }""")  # fmt: skip
    with pytest.raises(tenon.error.DiagnosticError, match="2 arguments are too many"):
        lowered(aot.CallType.CPacked, text=PROGRAM.replace("(%a,)", "(%a, %a)"))
    with pytest.raises(ValueError, match="expected a CallType, got 3"):
        lowered(3)
    with pytest.raises(TypeError, match="expected a CompilationConfig, got IRModule"):
        lowered(aot.CallType.CPacked, tenon.IRModule({}))
