"""Passes that make closures and lifetimes explicit: programs mean the same afterwards."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import transform
from tenon.relay.backend import vm as relay_vm
from tenon.runtime.vm import VirtualMachine

PROGRAM = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @map(%f: fn (int32) -> int32, %l: List[int32]) -> List[int32] {
  match (%l) { Cons(%x, %r) => Cons(%f(%x), @map(%f, %r)), Nil => Nil, }
}
def @sum(%l: List[int32]) -> int32 {
  match (%l) { Cons(%x, %r) => add(%x, @sum(%r)), Nil => 0, }
}
def @main(%x: int32, %n: int32) -> (int32, int32, int32) {
  let %loop = fn (%i: int32, %s: int32) -> int32 {
    if (less(%i, %n)) { %loop(add(%i, 1), add(%s, %x)) } else { %s }
  };
  let %plus = fn (%a: int32) -> fn (int32) -> int32 {
    fn (%b: int32) -> int32 { add(add(%a, %b), %n) }
  };
  let %f = %plus(%x);
  let %l = @map(%f, Cons(%x, Cons(%n, Nil)));
  let %r = ref(%x);
  let %w = ref_write(%r, add(ref_read(%r), %n));
  (%loop(0, 0), @sum(%l), ref_read(%r))
}
"""


def results(mod, *args):
    vm = VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())
    return [int(v.numpy()) for v in vm.run(*args)]


@pytest.mark.parametrize(
    "passes",
    [
        [],
        [transform.LambdaLift()],
        [transform.EtaExpand(True, True), transform.LambdaLift()],
        [transform.ToANormalForm(), transform.ManifestLifetimes()],
        [transform.FuseOps(0), transform.ToANormalForm(), transform.InlinePrimitives()],
    ],
    ids=["none", "lift", "expand and lift", "lifetimes", "primitives"],
)
def test_the_program_means_the_same(passes):
    mod = relay.parse(PROGRAM)
    for one in passes:
        mod = transform.InferType()(one(transform.InferType()(mod)))
    if len(passes) < 3:
        assert results(mod, np.int32(5), np.int32(3)) == [15, 5 + 5 + 3 + 5 + 3 + 3, 8]
    relay.analysis.well_formed(mod["main"])


def test_kernels_stand_where_they_are_called():
    mod = transform.InferType()(relay.parse(PROGRAM))
    mod = transform.ToANormalForm()(transform.FuseOps(0)(mod))
    text = transform.InlinePrimitives()(mod).astext(show_meta_data=False)
    assert "Primitive=1" in text and "let %k" not in text


def test_counts_of_lifted_functions():
    """As many functions as closures, and the one that makes each that captures something."""
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    inner = relay.Function([x], x + y)
    made = relay.Function([y], inner)(relay.ones(shape=(2,), dtype="float32"))
    body = relay.Call(made, [relay.zeros(shape=(2,), dtype="float32")])
    mod = tenon.IRModule.from_expr(relay.Function([], body))
    assert len(transform.LambdaLift()(mod).functions) == 3
    plain = relay.Function([x], relay.Function([y], y + y)(x))
    assert len(transform.LambdaLift()(tenon.IRModule.from_expr(plain)).functions) == 2


def test_kill_has_no_value():
    x = relay.var("x", shape=(2,))
    op = tenon.get_global_func("relay.op.memory._make.kill")
    kind = relay.testing.run_infer_type(relay.Function([x], op(x))).body.checked_type
    assert isinstance(kind, relay.TupleType) and len(kind.fields) == 0
