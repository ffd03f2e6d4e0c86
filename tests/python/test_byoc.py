"""Functions for other code generators: relay.ext.NAME gets them when a program is built."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay.op.contrib import get_pattern_table, register_pattern_table
from tenon.relay.testing.byoc import CcompilerAnnotator

SHAPE = (4, 5)


def external(func, compiler, symbol):
    for key, value in {"Primitive": 1, "Compiler": compiler, "global_symbol": symbol}.items():
        func = func.with_attr(key, value)
    return func


def variables(*names):
    return [relay.var(name, shape=SHAPE) for name in names]


def arrays(*names):
    return {name: np.random.rand(*SHAPE).astype("float32") for name in names}


def run_graph(mod, inputs, folder, executor="graph"):
    lib = relay.build(mod, "llvm", executor=relay.backend.Executor(executor))
    path = str(folder / f"{executor}.so")
    lib.export_library(path)
    g = graph_executor.GraphModule(tenon.runtime.load_module(path)["default"](tenon.cpu()))
    g.run(**inputs)
    return g.get_output(0).numpy()


def run_vm(mod, inputs, folder):
    code, lib = relay.vm.compile(mod, "llvm").save()
    path = str(folder / "vm.so")
    lib.export_library(path, fcompile=False)
    exe = tenon.runtime.vm.Executable.load_exec(code, tenon.runtime.load_module(path))
    machine = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    return machine.invoke("main", **{k: tenon.nd.array(v) for k, v in inputs.items()}).numpy()


RUNS = {
    "graph": run_graph,
    "aot": lambda *args: run_graph(*args, executor="aot"),
    "vm": run_vm,
}


def two_functions():
    a, b, c = variables("a", "b", "c")
    first = external(relay.Function([a, b], relay.add(a, b)), "ccompiler", "ccompiler_0")
    second = external(relay.Function([c], relay.exp(c)), "ccompiler", "ccompiler_1")
    x, y = variables("x", "y")
    both = relay.Tuple([relay.Call(first, [x, y]), relay.Call(second, [x])])
    return tenon.IRModule.from_expr(relay.Function([x, y], relay.concatenate(both, 0)))


@pytest.mark.parametrize("level", [0, 3])
@pytest.mark.parametrize("run", RUNS)
def test_function_literals(run, level, tmp_path):
    given = arrays("x", "y")
    with tenon.transform.PassContext(opt_level=level):
        got = RUNS[run](two_functions(), given, tmp_path)
    want = np.concatenate([given["x"] + given["y"], np.exp(given["x"])])
    np.testing.assert_allclose(got, want, rtol=1e-5)


def partitioned(func):
    mod = relay.transform.MergeCompilerRegions()(tenon.IRModule.from_expr(func))
    return relay.transform.PartitionGraph()(mod)


@pytest.mark.parametrize("run", RUNS)
def test_partitioned_with_constant(run, tmp_path):
    given = arrays("x", "y", "z")
    x, y = variables("x", "y")
    begin = lambda e: relay.op.annotation.compiler_begin(e, "ccompiler")  # noqa: E731
    product = relay.multiply(begin(x), begin(relay.const(given["z"])))
    end = relay.op.annotation.compiler_end(product, "ccompiler")
    mod = partitioned(relay.Function([x, y], relay.subtract(relay.exp(end), y)))
    assert mod["tvmgen_default_ccompiler_main_0"].attrs["Compiler"] == "ccompiler"
    got = RUNS[run](mod, {"x": given["x"], "y": given["y"]}, tmp_path)
    np.testing.assert_allclose(got, np.exp(given["x"] * given["z"]) - given["y"], rtol=1e-5)


def test_annotator_marks_add_to_multiply(tmp_path):
    given = arrays("x", "a", "b", "c")
    x, a, b, c = variables("x", "a", "b", "c")
    func = relay.Function([x, a, b, c], relay.multiply(relay.subtract(relay.add(x, a), b), c))
    mod = partitioned(CcompilerAnnotator().visit(func))
    inner = mod["tvmgen_default_ccompiler_main_0"]
    assert len(inner.params) == 4
    assert inner.body.op.name == "multiply"
    got = run_graph(mod, given, tmp_path)
    want = (given["x"] + given["a"] - given["b"]) * given["c"]
    np.testing.assert_allclose(got, want, rtol=1e-5)


SOURCE = """
#include <stdint.h>
#include <tvm/runtime/c_runtime_api.h>
static const float* factors;
static int calls;
int __init_SYMBOL(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* handle) {
  factors = ((DLTensor*)args[0].v_handle)->data;
  return n == 1 && ++calls == 1 ? 0 : -1;
}
int SYMBOL(TVMValue* args, int* codes, int n, TVMValue* ret, int* ret_code, void* handle) {
  DLTensor *x = args[0].v_handle, *y = args[1].v_handle;
  for (int i = 0; i < 20; ++i) ((float*)y->data)[i] = ((float*)x->data)[i] * factors[i];
  return 0;
}
"""


def with_told_constant(factors):
    @tenon.register_func("relay.ext.test_factors", override=True)
    def generate(func):
        symbol = func.attrs["global_symbol"]
        names = [symbol, f"__init_{symbol}"]
        code = SOURCE.replace("SYMBOL", symbol)
        make = tenon.get_global_func("runtime.CSourceModuleCreate")
        return make(code, "c", names, [f"{symbol}_const_0"])

    a, x = variables("a", "x")
    scale = relay.Function([a], relay.multiply(a, relay.const(factors)))
    call = relay.Call(external(scale, "test_factors", "factors_0"), [x])
    return tenon.IRModule.from_expr(relay.Function([x], relay.negative(call)))


@pytest.mark.parametrize("run", ["graph", "vm"])
def test_constants_are_told_once(run, tmp_path):
    given = arrays("x", "factors")
    mod = with_told_constant(given["factors"])
    got = RUNS[run](mod, {"x": given["x"]}, tmp_path)
    np.testing.assert_allclose(got, -given["x"] * given["factors"], rtol=1e-5)


def test_constants_are_not_told_to_what_is_called_directly():
    mod = with_told_constant(arrays("f")["f"])
    with pytest.raises(NotImplementedError, match="factors_0 wants to be told its constants"):
        relay.build(mod, "llvm", executor=relay.backend.Executor("aot"))


def test_module_may_be_compiled_already():
    @tenon.register_func("relay.ext.test_built", override=True)
    def generate(func):
        n = tenon.te.placeholder(SHAPE, name="x")
        out = tenon.te.compute(SHAPE, lambda i, j: n[i, j] + 7.0)
        prim = tenon.te.create_prim_func([n, out])
        return tenon.build(prim, target="llvm", name=func.attrs["global_symbol"])

    a, x = variables("a", "x")
    call = relay.Call(external(relay.Function([a], relay.exp(a)), "test_built", "b_0"), [x])
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], call)), "llvm")
    g = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    given = arrays("x")
    g.run(**given)
    np.testing.assert_allclose(g.get_output(0).numpy(), given["x"] + 7, rtol=1e-6)


def build_one(func):
    x = relay.var("x", shape=SHAPE)
    return relay.build(tenon.IRModule.from_expr(relay.Function([x], relay.Call(func, [x]))), "llvm")


def test_unknown_generator():
    a = relay.var("a", shape=SHAPE)
    with pytest.raises(
        ValueError, match='the global function "relay.ext.nobody" is not registered'
    ):
        build_one(external(relay.Function([a], relay.exp(a)), "nobody", "n_0"))


def test_generator_without_module():
    tenon.register_func("relay.ext.test_none", lambda func: 5, override=True)
    a = relay.var("a", shape=SHAPE)
    with pytest.raises(TypeError, match="expected a runtime.Module for n_0, got"):
        build_one(external(relay.Function([a], relay.exp(a)), "test_none", "n_0"))


def test_no_symbol():
    a = relay.var("a", shape=SHAPE)
    func = relay.Function([a], relay.exp(a)).with_attr("Compiler", "ccompiler")
    with pytest.raises(ValueError, match="has no attribute global_symbol"):
        build_one(func.with_attr("Primitive", 1))


def test_symbol_of_two_functions():
    a, b, x = variables("a", "b", "x")
    first = external(relay.Function([a], relay.exp(a)), "ccompiler", "same")
    second = external(relay.Function([b], relay.tanh(b)), "ccompiler", "same")
    body = relay.add(relay.Call(first, [x]), relay.Call(second, [x]))
    with pytest.raises(ValueError, match='two different functions have the global_symbol "same"'):
        relay.build(tenon.IRModule.from_expr(relay.Function([x], body)), "llvm")


def test_const_loader_refuses_what_it_cannot_tell():
    make = tenon.get_global_func("runtime.ConstLoaderModuleCreate")
    loader = make({"c": tenon.nd.array(np.ones(3, "float32"))}, {"sym": ["c"]})
    assert loader.type_key == "const_loader"
    with pytest.raises(AttributeError, match='has the function "__init_sym"'):
        loader["sym"]
    with pytest.raises(TypeError, match="expected a map from symbol to names"):
        make({}, {"sym": "c"})


def test_pattern_tables():
    pattern = relay.dataflow_pattern.is_op("exp")(None)

    @register_pattern_table("test_tables")
    def table():
        return [("test_tables.exp", pattern)]

    assert get_pattern_table("test_tables") == table()
    assert get_pattern_table("nobody") is None
