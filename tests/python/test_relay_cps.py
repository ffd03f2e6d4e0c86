"""Continuation passing style: a program that is brought there and back gives the same."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import transform
from tenon.relay.prelude import Prelude

HEADER = '#[version = "0.0.5"]\n'
THREE = np.array(3, "int32")


def round_trip(mod, *args):
    """The same numbers; no function in between returns before it has called its continuation."""
    mod = transform.InferType()(mod)
    want = relay.create_executor("debug", mod=mod).evaluate()(*args)
    there = mod.clone()
    there["main"] = transform.to_cps(mod["main"], there)
    there = transform.InferType()(there)
    func = there["main"]
    answer = func.type_params[0]
    assert func.checked_type.ret_type == answer
    assert func.params[-1].checked_type.ret_type == answer
    back = there.clone()
    back["main"] = transform.un_cps(func)
    back = transform.InferType()(back)
    assert back["main"].checked_type == mod["main"].checked_type
    got = relay.create_executor("debug", mod=back).evaluate()(*args)
    return there, want, got


def same(text, *args):
    there, want, got = round_trip(relay.parse(HEADER + text), *args)
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    return there


PROGRAMS = {
    "recursion": """
def @main(%n: int32) -> int32 { @fib(%n) }
def @fib(%n: int32) -> int32 { if (less(%n, 2)) { %n } else { @fib(%n - 1) + @fib(%n - 2) } }
""",
    "closures": """
def @main(%n: int32) -> int32 {
  let %adder = fn (%a: int32) -> (fn (int32) -> int32) { fn (%b: int32) -> int32 { %a * 10 + %b } };
  let %five = %adder(%n);
  let %twice = fn (%f: fn (int32) -> int32, %x: int32) -> int32 { %f(%f(%x)) };
  %twice(%five, 2) + %five(4)
}
""",
    "branches that go on": """
def @one(%x: int32) -> int32 { %x + 1 }
def @main(%n: int32) -> int32 {
  let %a = if (greater(%n, 1)) { @one(%n) } else { %n * 7 };
  let %b = if (greater(%a, %n)) { let %c = %a + %a; @one(%c) } else { 0 };
  %a * 100 + %b
}
""",
    "the order of writes": """
def @main(%n: int32) -> int32 {
  let %r = ref(%n);
  let %put = fn (%x: int32) -> int32 {
    let %old = ref_read(%r);
    let %_ = ref_write(%r, %old * 10 + %x);
    %old
  };
  let %a = %put(1);
  let %b = %put(2);
  let %now = ref_read(%r);
  %now + %a + %b
}
""",
    "loops": """
def @main(%n: int32) -> int32 {
  let %loop = fn (%i: int32, %sum: int32) -> int32 {
    if (equal(%i, 0)) { %sum } else { %loop(%i - 1, %sum + %i) }
  };
  %loop(%n, 0)
}
""",
    "functions in tuples": """
def @one(%x: int32) -> int32 { %x + 1 }
def @main(%n: int32) -> int32 {
  let %pair = (@one, fn (%x: int32) -> int32 { %x * %x });
  let %f = %pair.0;
  let %g = %pair.1;
  %f(%g(%n))
}
""",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name):
    same(PROGRAMS[name], THREE)


def test_siblings_have_names_of_their_own():
    text = PROGRAMS["recursion"] + "def @fib_cps(%n: int32) -> int32 { %n }\n"
    names = {v.name_hint for v in same(text, THREE).get_global_vars()}
    assert names == {"main", "fib", "fib_cps", "fib_cps_"}


def test_calls_at_the_end_hand_on_the_continuation():
    there = same(PROGRAMS["loops"], THREE)
    functions = []

    def visit(e):
        if isinstance(e, relay.Function):
            functions.append(e)

    relay.analysis.post_order_visit(there["main"], visit)
    assert len(functions) == 2


def test_data_and_polymorphic_functions():
    prelude = Prelude(tenon.IRModule())
    mod = prelude.mod
    _, cons, nil = mod.get_type("List")
    x, y = relay.var("x", shape=(), dtype="int32"), relay.var("y", shape=(), dtype="int32")
    items = cons(x, cons(relay.add(x, x), nil()))
    square = relay.Function([y], relay.multiply(y, y))
    a, b = relay.var("a", shape=(), dtype="int32"), relay.var("b", shape=(), dtype="int32")
    total = relay.Function([a, b], relay.add(a, b))
    made = mod.get_global_var("map")(square, items)
    folded = mod.get_global_var("foldl")(total, relay.const(1), made)
    mod["main"] = relay.Function([x], folded)
    _, want, got = round_trip(mod, THREE)
    assert int(got.numpy()) == int(want.numpy()) == 1 + 9 + 36


def test_polymorphic_functions_keep_their_parameters():
    t = relay.TypeVar("t")
    x, f = relay.var("x", t), relay.var("f", relay.FuncType([t], t))
    twice = relay.Function([f, x], f(f(x)), t, [t])
    made = transform.to_cps(twice)
    assert [str(v.name_hint) for v in made.type_params] == ["answer", "t"]
    typed = transform.InferType()(tenon.IRModule.from_expr(made))["main"]
    assert len(typed.checked_type.arg_types) == 3


def test_a_result_that_is_computed_at_once():
    x = relay.var("x", shape=(2,))
    func = transform.un_cps(transform.to_cps(relay.Function([x], relay.exp(x))))
    ones = np.ones(2, "float32")
    got = relay.create_executor("debug").evaluate(func)(ones).numpy()
    np.testing.assert_allclose(got, np.exp(ones), rtol=1e-6)


def test_what_cannot_be():
    mod = transform.InferType()(relay.parse(HEADER + PROGRAMS["recursion"]))
    with pytest.raises(tenon.TVMError, match="fib"):
        transform.to_cps(mod["main"])
    with pytest.raises(TypeError, match=r"expected relay\.Function, got relay\.Var"):
        transform.to_cps(relay.var("x"))
    for func in (mod["main"], relay.Function([], relay.const(1))):
        with pytest.raises(ValueError, match="un_cps: expected a function whose last argument"):
            transform.un_cps(func)
