"""What an executor returns is the caller's: writing to it changes neither program nor arguments."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")
C = np.arange(4, dtype="float32")


def bodies():
    x, const = relay.var("x", shape=(4,)), relay.const(C)
    yield "constant", x, const
    yield "argument", x, x
    yield "part of a constant", x, relay.reshape(const, (2, 2))
    yield "part of an argument", x, relay.reshape(x, (2, 2))
    yield "tuple", x, relay.Tuple([x, relay.Tuple([const, x]), relay.add(x, const)])
    yield "branches", x, relay.If(relay.less(relay.const(0), relay.const(1)), const, x)
    yield "twice the same", x, relay.Tuple([relay.add(x, const)] * 2)


def leaves(value):
    return [value] if isinstance(value, tenon.nd.NDArray) else [t for v in value for t in leaves(v)]


@pytest.mark.parametrize("kind", ["debug", "vm", "graph", "aot"])
@pytest.mark.parametrize("name, x, body", list(bodies()), ids=[b[0] for b in bodies()])
def test_writing_into_a_result(kind, name, x, body):
    if name == "branches" and kind in ("graph", "aot"):
        kind = "vm"  # these run programs without branches
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    run = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
    given = tenon.nd.array(np.full(4, 7, "float32"))
    first = [t.numpy() for t in leaves(run(given))]
    for _ in range(2):
        result = leaves(run(given))
        for got, want in zip(result, first, strict=True):
            np.testing.assert_array_equal(got.numpy(), want)
        for t in result:
            t[:] = 99
    np.testing.assert_array_equal(given.numpy(), np.full(4, 7))
    assert tenon.ir.structural_equal(mod["main"].body, body)


@pytest.mark.parametrize("name, x, body", list(bodies()), ids=[b[0] for b in bodies()])
def test_inputs_that_stay(name, x, body):
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    vm.set_input("main", np.full(4, 7, "float32"))
    first = [t.numpy() for t in leaves(vm.invoke("main"))]
    for t in leaves(vm.invoke("main")):
        t[:] = 99
    for got, want in zip(leaves(vm.invoke("main")), first, strict=True):
        np.testing.assert_array_equal(got.numpy(), want)


def test_outputs_of_a_graph_that_are_inputs():
    x, w = relay.var("x", shape=(4,)), relay.var("w", shape=(4,))
    body = relay.Tuple([x, w, relay.reshape(w, (2, 2))])
    lib = relay.build(
        tenon.IRModule.from_expr(relay.Function([x, w], body)), "llvm", params={"w": C}
    )
    gmods = [graph_executor.GraphModule(lib["default"](tenon.cpu())) for _ in range(2)]
    for gmod in gmods:
        gmod.set_input("x", C + 1)
    for _ in range(2):
        for gmod in gmods:
            gmod.run()
            for i, want in enumerate((C + 1, C, C.reshape(2, 2))):
                np.testing.assert_array_equal(gmod.get_output(i).numpy(), want)
                gmod.get_output(i)[:] = 99
    bound = tenon.nd.array(np.zeros(4, "float32"))
    gmods[0].set_output_zero_copy(0, bound)
    gmods[0].run()
    np.testing.assert_array_equal(bound.numpy(), C + 1)
    assert gmods[0].get_output(0).same_as(bound)


def test_long_lists():
    """A list of 30,000 references to one argument does not recurse."""
    mod = tenon.IRModule()
    mod.import_from_std("prelude.rly")
    text = """#[version = "0.0.5"]
def @repeat(%n: int32, %x: Tensor[(4), float32], %l: List[Tensor[(4), float32]])
    -> List[Tensor[(4), float32]] {
  if (less(0, %n)) { @repeat(subtract(%n, 1), %x, Cons(%x, %l)) } else { %l }
}
def @main(%n: int32, %x: Tensor[(4), float32]) { @repeat(%n, %x, Nil) }
"""
    mod = relay.parse(text, "test", mod)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    given = tenon.nd.array(C)
    value, n = vm.run(np.int32(30000), given), 0
    value[0][:] = 99
    while len(value) == 2:
        value, n = value[1], n + 1
    assert n == 30000
    np.testing.assert_array_equal(given.numpy(), C)
