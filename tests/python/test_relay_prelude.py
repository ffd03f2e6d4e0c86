"""The prelude: its types and functions, in modules of programs."""

import pytest
import tenon
from tenon import IRModule, relay
from tenon.relay import FuncType, TupleType, TypeVar, scalar_type
from tenon.relay.prelude import Prelude
from tenon.relay.testing import make_nat_expr, run_opt_pass
from tenon.relay.transform import InferType


@pytest.fixture(scope="module")
def typed():
    prelude = Prelude()
    prelude.mod.import_from_std("nat.rly")
    return InferType()(prelude.mod)


def test_types_of_functions(typed):
    a, b = TypeVar("a"), TypeVar("b")
    lst = typed.get_global_type_var("List")
    tree = typed.get_global_type_var("Tree")
    option = typed.get_global_type_var("Option")
    ab, integer = FuncType([a], b), scalar_type("int32")
    expected = {
        "id": FuncType([a], a, [a]),
        "map": FuncType([ab, lst(a)], lst(b), [a, b]),
        "foldr": FuncType([FuncType([a, b], b), b, lst(a)], b, [a, b]),
        "foldl": FuncType([FuncType([a, b], a), a, lst(b)], a, [a, b]),
        "zip": FuncType([lst(a), lst(b)], lst(TupleType([a, b])), [a, b]),
        "rev": FuncType([lst(a)], lst(a), [a]),
        "sum": FuncType([lst(integer)], integer),
        "length": FuncType([lst(a)], integer, [a]),
        "size": FuncType([tree(a)], integer, [a]),
        "tmap": FuncType([ab, tree(a)], tree(b), [a, b]),
        "unfoldr": FuncType([FuncType([a], option(TupleType([a, b]))), a], lst(b), [a, b]),
        "iterate": FuncType([FuncType([a], a), integer], FuncType([a], a), [a]),
    }
    for name, t in expected.items():
        tenon.ir.assert_structural_equal(typed[name].checked_type, t)


def test_programs_with_lists():
    prelude = Prelude()
    mod = prelude.mod
    _, cons, nil = mod.get_type("List")
    x = relay.var("x", "int32")
    items = cons(x, cons(relay.const(2), nil()))
    y = relay.var("y", "int32")
    half = relay.Function([y], relay.equal(y, relay.const(1)))
    mod["main"] = relay.Function([x], relay.Call(prelude.map, [half, items]))
    result = InferType()(mod)["main"].checked_type.ret_type
    assert result == mod.get_global_type_var("List")(scalar_type("bool"))
    mod["main"] = relay.Function([x], relay.Call(prelude.hd, [cons(cons(x, nil()), nil())]))
    assert InferType()(mod)["main"].body.checked_type.args[0] == scalar_type("int32")


def test_import_once():
    mod = IRModule()
    first = Prelude(mod)
    second = Prelude(mod)
    assert first.map.same_as(second.map)
    with pytest.raises(ValueError, match=r"no file 'none.rly'.*prelude.rly"):
        mod.import_from_std("none.rly")
    assert first.get_name("tensor_t", "int8") == "tensor_int8_t"


def test_natural_numbers(typed):
    prelude = Prelude()
    prelude.mod.import_from_std("nat.rly")
    prelude.mod["main"] = relay.Function([], make_nat_expr(prelude, 3))
    mod = InferType()(prelude.mod)
    assert mod["main"].checked_type.ret_type == mod.get_global_type_var("nat")()
    double = typed["nat_double"].checked_type
    assert double.arg_types[0] == double.ret_type


def test_passes_with_the_prelude():
    x = relay.var("x", "int32")
    assert run_opt_pass(x, InferType(), import_prelude=True).checked_type == scalar_type("int32")


def test_text_reads_back(typed):
    again = relay.parse(typed.astext())
    tenon.ir.assert_structural_equal(InferType()(again), typed)


def test_constructors_by_their_tags(typed):
    for name in ("List", "Option", "nat", "Tree"):
        for constructor in typed.get_type(name)[1:]:
            assert typed.get_constructor(constructor.tag).same_as(constructor)
    with pytest.raises(ValueError, match="the module has no constructor with tag -1"):
        typed.get_constructor(-1)
    with pytest.raises(ValueError, match="no constructor with tag 0"):
        IRModule().get_constructor(0)
    with pytest.raises(TypeError):
        typed.get_constructor("Cons")
