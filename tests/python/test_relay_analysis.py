"""Variables, operators, sizes and forms of Relay programs; modules of expressions; visitors."""

import pytest
import tenon
from tenon import IRModule, relay, tir
from tenon.relay import FuncType, TensorType, TupleType, TypeVar, analysis, scalar_type
from tenon.relay.analysis import Feature
from tenon.relay.transform import InferType

VERSION = '#[version = "0.0.5"]\n'


def parse(text):
    return relay.fromtext(VERSION + text)


def names(vars_):
    return [str(v.name_hint) for v in vars_]


# ---- variables ----


def test_variables():
    x, y, z, w = (relay.var(n, shape=()) for n in "xyzw")
    let = relay.Let(x, relay.add(y, z), relay.add(x, y))
    assert names(analysis.free_vars(let)) == ["y", "z"]
    assert names(analysis.bound_vars(let)) == ["x"]
    assert set(names(analysis.all_vars(let))) == {"x", "y", "z"}
    func = relay.Function([w], relay.add(w, let))
    assert names(analysis.free_vars(func)) == ["y", "z"]
    assert names(analysis.bound_vars(func)) == ["w", "x"]
    assert len(analysis.free_vars(relay.Tuple([]))) == 0


def test_variables_of_patterns():
    mod = parse("""
    type L[A] { Cons(A, L[A]), Nil, }
    def @main(%l: L[int32]) { match? (%l) { Cons(%h, %t) => %h } }""")
    assert names(analysis.bound_vars(mod["main"])) == ["l", "h", "t"]
    assert names(analysis.free_vars(mod["main"].body)) == ["l"]


def test_type_variables():
    a, b = TypeVar("a"), TypeVar("b")
    t = FuncType([a], TupleType([a, b]), [a])
    assert names(analysis.all_type_vars(t)) == ["a", "b"]
    assert names(analysis.free_type_vars(t)) == ["b"]
    assert names(analysis.bound_type_vars(t)) == ["a"]
    x = relay.Var("x", a)
    assert names(analysis.free_type_vars(x)) == ["a"]
    func = relay.Function([x], x, b, [a])
    assert names(analysis.free_type_vars(func)) == ["b"]
    mod = parse("type L[A] { Cons(A, L[A]), Nil, }")
    cons = mod.get_type("L")[1]
    assert names(analysis.bound_type_vars(cons, mod)) == ["A"]


# ---- form ----


def test_well_formed():
    x, y = relay.var("x", shape=()), relay.var("y", shape=())
    one = relay.const(1.0)
    assert analysis.well_formed(relay.Function([x], relay.add(x, one)))
    assert analysis.well_formed(relay.add(x, y))  # free variables are fine
    assert not analysis.well_formed(relay.Function([x, x], x))
    let = relay.Let(x, one, x)
    assert analysis.well_formed(let)
    assert not analysis.well_formed(relay.Let(x, one, relay.Let(x, one, x)))
    assert not analysis.well_formed(relay.Tuple([let, relay.Let(x, y, x)]))
    assert analysis.well_formed(relay.Tuple([let, let]))
    assert not analysis.well_formed(relay.Tuple([let, x]))
    f, n = relay.var("f"), relay.var("n", shape=())
    recursive = relay.Let(f, relay.Function([n], relay.Call(f, [n])), relay.Call(f, [one]))
    assert analysis.well_formed(recursive)
    chain = one
    for _ in range(50_000):
        v = relay.var("v")
        chain = relay.Let(v, relay.exp(one), chain)
    assert analysis.well_formed(chain)


def test_kinds():
    kind = relay.TypeKind
    a, s = TypeVar("a"), TypeVar("s", kind.ShapeVar)
    tensor = TensorType((1, 2))
    for good in (tensor, a, TupleType([a, tensor]), FuncType([a], tensor), relay.RefType(a)):
        assert analysis.check_kind(good) == kind.Type
    assert analysis.check_kind(s) == kind.ShapeVar
    for bad in (TupleType([s]), FuncType([s], a), FuncType([a], s), relay.RefType(s)):
        with pytest.raises(tenon.error.DiagnosticError, match="Incorrect kind"):
            analysis.check_kind(bad)
    mod = parse("type L[A] { Cons(A, L[A]), Nil, }")
    var = mod.get_global_type_var("L")
    assert analysis.check_kind(var) == kind.AdtHandle
    assert analysis.check_kind(var(a), mod) == kind.Type
    assert analysis.check_kind(mod[var], mod) == kind.TypeData
    with pytest.raises(TypeError, match="expected 1 type arguments, got 2"):
        analysis.check_kind(var(a, a), mod)
    with pytest.raises(TypeError, match="must be a GlobalTypeVar"):
        analysis.check_kind(relay.TypeCall(a, []))


def test_constants():
    one = relay.const(1)
    assert analysis.check_constant(one)
    assert analysis.check_constant(relay.Tuple([one, relay.Tuple([one])]))
    assert not analysis.check_constant(relay.Tuple([one, relay.var("x")]))


def test_unmatched_cases():
    mod = parse("""
    type L[A] { Cons(A, L[A]), Nil, }
    def @main(%l: L[int32]) { match? (%l) { Cons(_, Cons(_, Nil)) => 2 } }""")
    left = analysis.unmatched_cases(mod["main"].body, mod)
    _, cons, nil = mod.get_type("L")
    assert len(left) == 3
    assert {str(p.constructor.name_hint) for p in left} == {"Cons", "Nil"}
    ends = [p.patterns[1] for p in left if p.constructor == cons]
    assert {p.constructor.same_as(nil) for p in ends} == {True, False}


# ---- operators ----


def test_post_order_visit():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    seen = []
    analysis.post_order_visit(relay.Function([x], relay.add(y, y)), seen.append)
    kinds = [type(e).__name__ for e in seen]
    assert kinds == ["Var", "Op", "Call", "Op", "Call", "Function"] or kinds.count("Call") == 2
    assert kinds[-1] == "Function" and sum(e.same_as(y) for e in seen) == 1
    with pytest.raises(ZeroDivisionError):
        analysis.post_order_visit(y, lambda e: 1 // 0)


def test_frequencies_and_layers():
    x = relay.var("x", shape=(2, 4))
    w = relay.var("w", shape=(4, 4))
    y = relay.nn.relu(relay.nn.dense(x, w))
    z = relay.add(relay.nn.dense(y, w), relay.nn.relu(x))
    mod = IRModule.from_expr(z)
    assert analysis.list_op_freqs(mod) == {"nn.dense": 2, "nn.relu": 2, "add": 1}
    assert analysis.count_layers(mod["main"], ["nn.dense"]) == 2
    assert analysis.count_layers(mod["main"], ["nn.dense", "nn.relu", "add"]) == 4
    typed = InferType()(mod)["main"]
    assert analysis.get_total_mac_number(typed) == 2 * (2 * 4 * 4)
    with pytest.raises(ValueError, match="InferType"):
        analysis.get_total_mac_number(mod["main"])
    assert analysis.all_dtypes(typed) == {"float32"}
    t = relay.nn.dense(x, relay.transpose(w, [1, 0])) if hasattr(relay, "transpose") else None
    if t is not None:
        assert analysis.search_fc_transpose(t) == ["w"]


def test_macs_of_convolutions():
    x = relay.var("x", shape=(1, 8, 10, 10))
    w = relay.var("w", shape=(4, 2, 3, 3))
    y = relay.nn.conv2d(x, w, channels=4, kernel_size=(3, 3), groups=4)
    typed = InferType()(IRModule.from_expr(y))["main"]
    assert analysis.get_total_mac_number(typed) == (4 * 8 * 8) * 2 * 9


def test_features():
    x = relay.var("x", shape=())
    y = relay.add(x, relay.const(1.0))
    assert analysis.detect_feature(y) == {
        Feature.fVar, Feature.fOp, Feature.fCall, Feature.fConstant,
    }  # fmt: skip
    assert Feature.fGraph in analysis.detect_feature(relay.Tuple([y, y]))
    mod = parse("""
    def @main(%n: int32) {
      let %f = fn(%i: int32) -> int32 { if (%i == 0) { 0 } else { %f(%i - 1) } };
      %f(%n)
    }""")
    found = analysis.detect_feature(mod)
    assert {Feature.fLet, Feature.fLetRec, Feature.fIf, Feature.fFunction} <= found
    assert analysis.detect_feature(mod, y) >= found


def test_intermediate():
    x = relay.var("x", shape=(2,))
    y = relay.exp(relay.nn.relu(x))
    mod = IRModule.from_expr(y)
    part = analysis.extract_intermdeiate_expr(mod, 0)
    assert part["main"].body.op.name == "nn.relu" and names(part["main"].params) == ["x"]
    assert analysis.extract_intermdeiate_expr(mod, 1)["main"].body.op.name == "exp"
    with pytest.raises(IndexError):
        analysis.extract_intermdeiate_expr(mod, 2)


def test_fused_functions():
    x = relay.var("x", shape=(2, 3))
    y = relay.nn.relu(relay.exp(x))
    mod = relay.transform.FuseOps(2)(InferType()(IRModule.from_expr(relay.nn.softmax(y))))
    found = analysis.extract_fused_functions(mod)
    assert len(found) >= 1
    for var, func in found.items():
        assert isinstance(var, relay.GlobalVar) and int(func.attrs["Primitive"]) == 1
    plain = analysis.extract_fused_functions(IRModule.from_expr(relay.nn.softmax(y)))
    assert len(plain) == len(found)


# ---- modules of expressions ----


def test_from_expr():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = IRModule.from_expr(relay.add(y, x))
    assert names(mod["main"].params) == ["y", "x"]
    assert InferType()(mod)["main"].checked_type.ret_type == TensorType((2,))
    func = relay.Function([x], x).with_attr("global_symbol", "kernel")
    assert "kernel" in IRModule.from_expr(func)
    gv = relay.GlobalVar("f")
    both = IRModule.from_expr(relay.Call(gv, [x]), functions={gv: relay.Function([y], y)})
    assert names(both.get_global_vars()) == ["f", "main"]
    assert InferType()(both)["main"].body.checked_type == TensorType((2,))
    assert IRModule.from_expr(mod).same_as(mod)
    a = TypeVar("a")
    z = relay.Var("z", a)
    assert names(IRModule.from_expr(relay.Tuple([z]))["main"].type_params) == ["a"]
    with pytest.raises(TypeError, match="expected an expression"):
        IRModule.from_expr(scalar_type("int32"))


def test_text_of_tensor_programs():
    body = tir.Evaluate(0)
    mod = IRModule({"run": tir.PrimFunc([], body)})
    assert "def run" in mod.astext()
    assert "def run" in relay.astext(mod["run"].with_attr("global_symbol", "run"))
    assert "def @main" in IRModule.from_expr(relay.const(1)).astext()


# ---- visitors ----


def test_visitor_sees_everything_once():
    class Count(relay.ExprVisitor):
        def __init__(self):
            super().__init__()
            self.calls, self.vars = 0, []

        def visit_call(self, call):
            super().visit_call(call)
            self.calls += 1

        def visit_var(self, var):
            self.vars.append(var)

    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    count = Count()
    count.visit(relay.Function([x], relay.add(y, y)))
    assert count.calls == 2 and names(count.vars) == ["x"]


PROGRAM = """
type L[A] { Cons(A, L[A]), Nil, }
def @main(%l: L[int32], %c: bool, %x: int32) {
  let %r = ref(%x);
  let %w = ref_write(%r, %x);
  %0 = %x + 1;
  let %t = (%0, %0, ref_read(%r));
  let %f = fn(%y: int32) { %y };
  if (%c) { match? (%l) { Cons(%h, _) => %f(%h) } } else { %t.0 }
}
"""


def test_mutator_keeps_what_does_not_change():
    mod = parse(PROGRAM)
    assert relay.ExprMutator().visit(mod["main"]).same_as(mod["main"])


def test_mutator_replaces():
    class Replace(relay.ExprMutator):
        def visit_constant(self, const):
            return relay.const(7)

        def visit_ref_read(self, r):
            return relay.const(3)

    mod = parse(PROGRAM)
    new = Replace().visit(mod["main"])
    assert not new.same_as(mod["main"])
    fields = new.body.body.body.value.fields
    assert fields[0].same_as(fields[1]) and fields[0].args[1].data.numpy() == 7
    assert fields[2].data.numpy() == 3
    assert str(new.body.var.name_hint) == "r" and new.body.value.same_as(mod["main"].body.value)
    tenon.ir.assert_structural_equal(new.params, mod["main"].params)


def test_mutator_of_every_kind():
    class Rename(relay.ExprMutator):
        def __init__(self):
            super().__init__()
            self.names = {}

        def visit_var(self, var):
            return relay.Var("new_" + str(var.name_hint), var.type_annotation)

        def visit_match(self, m):
            m = super().visit_match(m)
            return m

    mod = parse(PROGRAM)
    new = Rename().visit(mod["main"])
    assert all(name.startswith("new_") for name in names(new.params))
    seen = []
    analysis.post_order_visit(new, seen.append)
    kinds = {type(e).__name__ for e in seen}
    assert {"Match", "If", "RefWrite", "RefRead", "Let", "TupleGetItem"} <= kinds


def test_functor_without_methods():
    class Nothing(relay.ExprFunctor):
        pass

    with pytest.raises(NotImplementedError):
        Nothing().visit(relay.const(1))
    with pytest.raises(Exception, match="unhandled case"):
        Nothing().visit(scalar_type("int32"))


def test_type_functors():
    a = TypeVar("a")
    t = FuncType([TupleType([a, TensorType((2,))])], relay.RefType(a), [a])

    class Seen(relay.TypeVisitor):
        def __init__(self):
            super().__init__()
            self.found = []

        def visit_type_var(self, tv):
            self.found.append(tv)

    seen = Seen()
    seen.visit(t)
    assert len(seen.found) == 3

    class Put(relay.TypeMutator):
        def visit_type_var(self, tv):
            return scalar_type("int32")

    assert relay.TypeMutator().visit(t).same_as(t)
    inner = Put().visit(TupleType([relay.RefType(a), TensorType((2,))]))
    assert inner == TupleType([relay.RefType(scalar_type("int32")), TensorType((2,))])
    mod = parse("type L[A] { Cons(A, L[A]), Nil, }")
    var = mod.get_global_type_var("L")
    assert Put().visit(var(a)) == var(scalar_type("int32"))
    assert relay.TypeMutator().visit(mod[var]).same_as(mod[var])


def test_deep_graphs_are_visited_without_recursion():
    x = relay.var("x", shape=(2,))
    deep = x
    for _ in range(3000):
        pair = relay.Tuple([relay.nn.relu(deep), deep])
        deep = relay.TupleGetItem(pair, 0)

    class Count(relay.ExprVisitor):
        calls = 0

        def visit_call(self, call):
            self.calls += 1
            super().visit_call(call)

    class Tanh(relay.ExprMutator):
        def visit_call(self, call):
            return relay.tanh(super().visit_call(call).args[0])

    count = Count()
    count.visit(relay.Function([x], deep))
    assert count.calls == 3000
    changed = Tanh().visit(relay.If(relay.const(True), deep, x))
    count.calls = 0
    count.visit(changed)
    assert count.calls == 3000 and "relu" not in changed.astext(show_meta_data=False)
    assert relay.ExprMutator().visit(deep).same_as(deep)
