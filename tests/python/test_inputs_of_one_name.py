"""Programs whose inputs share a name: bound by position, told apart, or refused where only the name
is given."""

import json

import graphs
import numpy as np
import pytest
import tenon
from tenon import relay, te
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
A, B = np.full(4, 5, "float32"), np.full(4, 1, "float32")


def program():
    a, b = relay.var("x", shape=(4,)), relay.var("x", shape=(4,))
    return tenon.IRModule.from_expr(relay.Function([a, b], a - b * relay.const(2.0)))


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
def test_create_executor(kind):
    run = relay.create_executor(kind, program(), tenon.cpu(), "llvm").evaluate()
    np.testing.assert_array_equal(run(A, B).numpy(), A - 2 * B)
    np.testing.assert_array_equal(run(B, A).numpy(), B - 2 * A)
    for args, kwargs in (((A,), {"x": B}), ((), {"x": B})):
        with pytest.raises(ValueError, match="share the name x: give those by position"):
            run(*args, **kwargs)


def test_built_models():
    gmod = graph_executor.GraphModule(relay.build(program(), "llvm")["default"](tenon.cpu()))
    gmod.run(x=A, x_1=B)
    np.testing.assert_array_equal(gmod.get_output(0).numpy(), A - 2 * B)
    exe = relay.vm.compile(program(), "llvm")
    assert exe.get_function_params("main") == ["x", "x_1"]
    vm = VirtualMachine(exe, tenon.cpu())
    np.testing.assert_array_equal(vm.run(x_1=B, x=A).numpy(), A - 2 * B)
    vm.set_one_input("main", "x_1", B)
    vm.set_one_input("main", x=A)
    np.testing.assert_array_equal(vm.invoke("main").numpy(), A - 2 * B)
    compiled = tenon.compile(program(), target="llvm")
    assert list(compiled.inputs) == ["x", "x_1"] and compiled.executor == "graph"
    np.testing.assert_array_equal(compiled(A, B), A - 2 * B)
    np.testing.assert_array_equal(compiled(x_1=B, x=A), A - 2 * B)


def test_compiled_for_the_virtual_machine():
    a, b = (relay.var("x", shape=(relay.Any(),)) for _ in range(2))
    mod = tenon.IRModule.from_expr(relay.Function([a, b], a - b * relay.const(2.0)))
    compiled = tenon.compile(mod, target="llvm")
    assert list(compiled.inputs) == ["x", "x_1"] and compiled.executor == "vm"
    np.testing.assert_array_equal(compiled(A, B), A - 2 * B)
    np.testing.assert_array_equal(compiled(x_1=B, x=A), A - 2 * B)


def test_tensor_programs():
    a, b = te.placeholder((4,), name="x"), te.placeholder((4,), name="x")
    c = te.compute((4,), lambda i: a[i] - b[i], name="c")
    compiled = tenon.compile(te.create_prim_func([a, b, c]), target="llvm")
    assert len(compiled.inputs) == 3
    out = tenon.nd.empty((4,))
    compiled(tenon.nd.array(A), tenon.nd.array(B), out)
    np.testing.assert_array_equal(out.numpy(), A - B)


def test_graphs_of_others():
    graph = json.loads(graphs.add_graph())
    graph["nodes"][1]["name"] = "x"
    gmod = graph_executor.create(json.dumps(graph), graphs.add_module(), tenon.cpu())
    x = np.arange(6, dtype="float32")
    params = tenon.runtime.save_param_dict({"x": x})
    for call in (
        lambda: gmod.set_input("x", x),
        lambda: gmod.get_input("x"),
        lambda: gmod.get_input_index("x"),
        lambda: gmod.set_input_zero_copy("x", tenon.nd.array(x)),
        lambda: gmod.load_params(params),
    ):
        with pytest.raises(ValueError, match='several inputs are called "x"'):
            call()
    gmod.set_input(0, x)
    gmod.set_input(1, x * 2)
    gmod.run()
    np.testing.assert_array_equal(gmod.get_output(1).numpy(), x * 3)
