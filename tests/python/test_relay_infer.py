"""Type inference: types of all expressions, sharing of what does not change, errors with places."""

import re

import pytest
import tenon
from tenon import IRModule, relay
from tenon.relay import FuncType, TensorType, TupleType, scalar_type
from tenon.relay.transform import InferType, InferTypeLocal

VERSION = '#[version = "0.0.5"]\n'


def infer(text):
    return InferType()(relay.fromtext(VERSION + text))


def infer_expr(expr):
    return InferType()(IRModule({"main": relay.Function([], expr)}))["main"].body


def result(text, name="main"):
    return infer(text)[name].checked_type.ret_type


def test_every_expression_gets_its_type():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    total = relay.add(x, y)
    both = relay.Tuple([total, relay.const(1)])
    func = relay.Function([x, y], relay.TupleGetItem(both, 0))
    mod = IRModule({"main": func})
    typed = InferType()(mod)["main"]
    t = TensorType((2, 3), "float32")
    assert typed.checked_type == FuncType([t, TensorType((3,))], t)
    assert typed.ret_type == t and typed.body.checked_type == t
    assert typed.body.tuple_value.checked_type == TupleType([t, scalar_type("int32")])
    assert typed.body.tuple_value.fields[0].args[0].same_as(typed.params[0])
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        _ = total.checked_type
    assert mod["main"].ret_type is None
    assert mod.get_global_var("main").checked_type == typed.checked_type


def test_types_of_arguments():
    x, y = relay.var("x", shape=(10, 10)), relay.var("y", shape=(1, 10))
    call = InferType()(IRModule.from_expr(relay.add(x, y)))["main"].body
    assert list(call.type_args) == [TensorType((10, 10)), TensorType((1, 10))]


def test_what_is_typed_stays_itself():
    mod = infer("def @f(%x: Tensor[(4,), float32]) { add(nn.relu(%x), 1f) }")
    assert InferType()(mod).same_as(mod)
    old = mod["f"]
    new = relay.Function(old.params, relay.exp(old.body))
    typed = InferType()(IRModule({"f": new}))["f"]
    assert typed.body.args[0].same_as(old.body)
    assert typed.params[0].same_as(old.params[0])


def test_shared_expressions_stay_shared():
    x = relay.var("x", shape=(2,))
    y = relay.exp(x)
    body = infer_expr(relay.add(y, relay.nn.relu(y)))
    assert body.args[0].same_as(body.args[1].args[0])


def test_let_function_and_recursion():
    assert result("def @main(%x: int32) { let %y = 1; let %z = %y + %x; (%z, %y) }") == TupleType(
        [scalar_type("int32")] * 2
    )
    text = """
    def @main(%n: int32) {
      let %sum = fn(%i, %acc) {
        if (%i == 0) { %acc } else { %sum(%i - 1, %acc + 2f) }
      };
      %sum(%n, 0f)
    }"""
    assert result(text) == scalar_type("float32")
    mutual = """
    def @even(%n) { if (%n == 0) { True } else { @odd(%n - 1) } }
    def @odd(%n: int64) { if (%n == 0i64) { False } else { @even(%n) } }
    """.replace("%n == 0)", "%n == 0i64)").replace("%n - 1)", "%n - 1i64)")
    assert infer(mutual)["even"].checked_type == FuncType(
        [scalar_type("int64")], scalar_type("bool")
    )


def test_polymorphism():
    text = """
    def @id[A](%x: A) -> A { %x }
    def @apply[A, B](%f: fn(A) -> B, %x: A) -> B { %f(%x) }
    def @main(%x: int32) {
      let %g = fn[A](%y: A) -> A { %y };
      (%g(%x), %g(2f), @id(@id)(%x), @apply(@id, 1i8))
    }"""
    mod = infer(text)
    names = ["int32", "float32", "int32", "int8"]
    assert mod["main"].checked_type.ret_type == TupleType([scalar_type(n) for n in names])
    assert "@id" in mod.astext()
    call = mod["main"].body.body.fields[3]
    assert [str(t) for t in call.type_args] == [str(scalar_type("int8"))] * 2


LIST = """
type List[A] { Cons(A, List[A]), Nil, }
def @map[A, B](%f: fn(A) -> B, %l: List[A]) -> List[B] {
  match (%l) { Cons(%x, %rest) => Cons(%f(%x), @map(%f, %rest)), Nil => Nil }
}
"""


def test_data_types():
    text = LIST + "def @main(%x: int32) { @map(fn(%y) { %y == 1 }, Cons(%x, Nil)) }"
    mod = infer(text)
    var = mod.get_global_type_var("List")
    assert mod["main"].checked_type.ret_type == var(scalar_type("bool"))
    cons = mod.get_type("List")[1]
    assert cons.checked_type.ret_type.func == var
    pair = """
    def @main(%p: (int32, float32)) { match (%p) { (%a, %b) => (%b, %a) } }"""
    assert result(pair) == TupleType([scalar_type("float32"), scalar_type("int32")])


def test_references_and_if():
    text = """
    def @main(%c: bool) {
      let %r = ref(1f);
      let %u = ref_write(%r, 2f);
      (if (%c) { ref_read(%r) } else { 3f }, %u)
    }"""
    assert result(text) == TupleType([scalar_type("float32"), TupleType([])])


def test_any():
    text = "def @main(%x: Tensor[(?, 3), float32], %y: Tensor[(1, 3), float32]) { add(%x, %y) }"
    assert result(text) == TensorType((relay.Any(), 3))
    branches = """
    def @main(%c: bool, %x: Tensor[(?, 3), float32], %y: Tensor[(2, 3), float32]) {
      if (%c) { %x } else { %y }
    }"""
    assert result(branches) == TensorType((relay.Any(), 3))


def test_types_found_late():
    """What is called is known only after its body was seen."""
    z, x = relay.var("z"), relay.var("x", shape=(2, 2))
    part = relay.split(relay.nn.relu(z), 2)[1] if hasattr(relay, "split") else relay.nn.relu(z)
    call = relay.Call(relay.Function([z], part), [x])
    assert len(infer_expr(call).checked_type.shape) == 2
    t = relay.var("t")
    first = relay.Call(relay.Function([t], relay.TupleGetItem(t, 0)), [relay.Tuple([x, x])])
    assert infer_expr(first).checked_type == TensorType((2, 2))


def test_local():
    x = relay.var("x", shape=(2, 3))
    assert InferTypeLocal(relay.exp(relay.add(x, x))) == TensorType((2, 3))
    body = infer_expr(relay.exp(x))
    assert InferTypeLocal(relay.nn.relu(body)) == TensorType((2, 3))
    inner = relay.add(x, x)
    outer = relay.sum(inner, axis=1)
    kind = InferTypeLocal(outer)
    assert outer.checked_type.same_as(kind) and kind == TensorType((2,))
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        inner.checked_type  # noqa: B018  the type of what is asked only
    assert InferTypeLocal(outer) == kind and infer_expr(outer).args[0].checked_type is not None
    wrong = relay.nn.dense(x, relay.var("y", shape=(4, 5)))
    with pytest.raises(tenon.error.DiagnosticError):
        InferTypeLocal(wrong)
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        wrong.checked_type  # noqa: B018


def test_relation_of_a_program():
    def relation(types, attrs):
        if not isinstance(types[0], TensorType):
            return None
        return TupleType([types[0], types[0]])

    relay.op.op.register("test.twice")
    op = relay.op.get("test.twice")
    op.set_num_inputs(1)
    op.add_type_rel("TestTwice", relation)
    x = relay.var("x", shape=(5,))
    t = TensorType((5,))
    assert infer_expr(relay.Call(op, [x])).checked_type == TupleType([t, t])
    late = relay.var("late")
    call = relay.Call(relay.Function([late], relay.Call(op, [late])), [x])
    assert infer_expr(call).checked_type == TupleType([t, t])

    def failing(types, attrs):
        raise KeyError("from the relation")

    relay.op.op.register("test.failing")
    op = relay.op.get("test.failing")
    op.set_num_inputs(1)
    op.add_type_rel("TestFailing", failing)
    with pytest.raises(KeyError, match="from the relation"):
        infer_expr(relay.Call(op, [x]))


SHOW = "The Relay type checker is unable to show the following types match"
ERRORS = [
    (
        "def @main(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 4), float32] { %x }",
        SHOW + ".*In particular `Tensor.*dimension 1 conflicts: 4 does not match 3",
    ),
    (
        "def @main(%x: Tensor[(2,), float32]) -> float32 { %x }",
        "has 0 dimensions, while .* has 1 dimensions",
    ),
    ("def @main(%x: float32) { if (%x) { 1 } else { 2 } }", SHOW + ".*`float32`.*`bool`"),
    ("def @main(%x: bool) { if (%x) { 1 } else { 2f } }", SHOW + ".*`int32` .*`float32`"),
    ("def @main(%x) { %x }", "Cannot resolve type.*%x"),
    ("def @main(%x: int32) { %x(1) }", "only expressions with function types can be called"),
    ("def @f(%x: int32) { %x } def @main() { @f(1, 2) }", "too many .*expected 1, found 2"),
    ("def @f(%x: int32) { %x } def @main() { @f() }", "too few .*expected 1, found 0"),
    ("def @f(%x: int32) { %x } def @main() { @f(1f) }", SHOW),
    ("def @main(%x: (int32, bool)) { %x.2 }", "field 2 is taken of a tuple of 2 fields"),
    ("def @main() { let %f = fn(%y) { %y(%y) }; 1 }", "would contain itself"),
    (LIST + "def @main(%l: List[int32]) { match (%l) { Nil => 1 } }", "Cons"),
    (
        "def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4,), float32]) { add(%x, %y) }",
        "Incompatible broadcast type",
    ),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_errors(text, message):
    with pytest.raises(tenon.error.DiagnosticError, match=f"(?s){message}") as info:
        infer(text)
    assert " --> from_string:" in str(info.value) and "^" in str(info.value)


def places(text):
    """First line and place of each error."""
    with pytest.raises(tenon.error.DiagnosticError) as info:
        infer(text)
    shown = re.sub(r"\n(In particular|the type would).*", "", str(info.value))
    return re.findall(r"^(?:error|note): (.*)(?:\n --> from_string:([\d:]+))?", shown, re.M)


MISMATCH = f"{SHOW}."


def test_all_errors_are_shown_and_none_that_follow_from_others():
    text = """def @main(%x: Tensor[(2, 3), float32], %y: Tensor[(4,), float32], %b: bool) {
  %0 = add(%x, %y);
  %1 = nn.relu(%0);
  let %z: int32 = not_equal(%b, %b);
  let %f = fn(%u) { %u(%u) };
  (if (%b) { %1 } else { %0 }, %x.1, %f(%z), %b(1), nn.dense(%1, %x), add(%z, %b))
}
def @other(%q, %r) -> float32 { (%q, 1f).3 }"""
    types = "Tensor[(2, 3), float32]", "Tensor[(4,), float32]"
    assert sorted(places(text), key=lambda e: [int(n) for n in e[1].split(":")]) == [
        (f"add: Incompatible broadcast type {types[0]} and {types[1]}", "3:8"),
        (MISMATCH, "5:19"),
        (MISMATCH, "6:21"),
        (f"a field is taken of what is not a tuple: it has type {types[0]}", "7:32"),
        ("only expressions with function types can be called, found bool", "7:46"),
        (f"add: {SHOW}: int32 and bool: the data types differ", "7:71"),
        (
            "Cannot resolve type of the variable %r: nothing determines it; "
            "give it a type annotation",
            "9:16",
        ),
        ("field 3 is taken of a tuple of 2 fields: (_, float32)", "9:33"),
    ]


def test_errors_of_patterns_arguments_and_recursion():
    match = LIST + "def @main(%l: int32) { match (%l) { Cons(%a, _) => %a + 1, Nil => 2 } }"
    assert places(match) == [(MISMATCH, "7:24")]
    arguments = "def @f(%x: int32, %y: bool) { %x } def @main() { @f(1f, 2) }"
    assert places(arguments) == [(MISMATCH, "2:53"), (MISMATCH, "2:57")]
    recursive = """def @main(%n: int32) {
  let %f: fn(int32) -> float32 = fn(%i: int32) -> int32 { if (%i) { %f(%i) } else { 1 } };
  %f(%n) + 1f
}"""
    assert [at for _, at in places(recursive)] == ["3:34", "3:37", "3:59"]


def test_many_errors_are_counted():
    calls = ", ".join(f"add(%x, {i})" for i in range(30))
    assert len(found := places(f"def @main(%x: float32) {{ ({calls}) }}")) == 21
    assert found[-1] == ("10 more errors are not shown", "")


def test_programs_with_errors_are_left_as_they_were():
    x = relay.var("x", "int32")
    wrong = relay.Tuple([relay.TupleGetItem(x, 0), relay.TupleGetItem(x, 1)])
    mod = tenon.IRModule(
        {"main": relay.Function([x], wrong), "f": relay.Function([], relay.const(1))}
    )
    with pytest.raises(tenon.error.DiagnosticError):
        InferType()(mod)
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        _ = mod.get_global_var("f").checked_type
    x = relay.var("x", shape=(2,))
    built = relay.Tuple([relay.add(x, relay.const(1)), relay.TupleGetItem(x, 0)])
    with pytest.raises(tenon.error.DiagnosticError, match=r"(?s)^error: add: .*error: a field"):
        infer_expr(built)


def test_incomplete_matches_are_allowed_where_said():
    assert result(LIST + "def @main(%l: List[int32]) { match? (%l) { Nil => 1 } }")
    nested = """
    def @main(%l: List[List[int32]]) {
      match (%l) { Cons(Cons(_, Nil), _) => 1, Cons(Nil, _) => 2, Nil => 3 }
    }"""
    with pytest.raises(tenon.error.DiagnosticError, match="(?s)Cons\\(Cons\\(_, Cons\\(_, _\\)\\)"):
        infer(LIST + nested)


def test_long_chains():
    x = relay.var("x", shape=(2,))
    z = relay.var("z")
    chain, late, lets = x, z, x
    for _ in range(100_000):
        chain = relay.exp(chain)
        late = relay.exp(late)
        lets = relay.Let(relay.var("v"), x, lets)
    late = relay.Call(relay.Function([z], late), [x])
    for body in (chain, late, lets):
        assert infer_expr(body).checked_type == TensorType((2,))


def test_function_passes():
    @relay.transform.function_pass(opt_level=0)
    def double(func, mod, ctx):
        return relay.Function(func.params, relay.add(func.body, func.body))

    @relay.transform.function_pass(opt_level=0, name="kept")
    class Keep:
        def transform_function(self, func, mod, ctx):
            return func

    mod = relay.fromtext(VERSION + "def @main(%x: int32) { %x }")
    sequence = relay.transform.Sequential([double, Keep(), InferType()])
    assert sequence(mod)["main"].body.checked_type == scalar_type("int32")
    assert Keep().info.name == "kept"
    assert isinstance(double, relay.transform.FunctionPass)


def test_types_as_text():
    a, t = relay.TypeVar("a"), TensorType((2, relay.Any()), "int8")
    assert str(t) == "TensorType([2, ?], int8)"
    assert str(TupleType([t, a])) == f"TupleTypeNode([{t}, TypeVar(a, 0)])"
    assert str(FuncType([t], a, [a])) == f"FuncType([TypeVar(a, 0)], [{t}], TypeVar(a, 0), [])"
    assert str(relay.RefType(t)) == f"RelayRefTypeNode({t})"
    mod = relay.fromtext(VERSION + LIST)
    name = mod.get_global_type_var("List")
    assert str(name(t)) == f"TypeCallNode(GlobalTypeVar(List, 5), [{t}])"
