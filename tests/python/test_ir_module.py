"""Modules, functions and operators of the IR."""

import pickle

import pytest
import tenon
from tenon import ir, relay, tir


def prim_func(text="T.evaluate(0)", name="main"):
    """A small function from its script."""
    parse = tenon.get_global_func("script.Parse")
    source = f"@T.prim_func\ndef {name}(a: T.handle):\n    {text}\n"
    return parse(source, "test.py", 1, 0, None)


@pytest.fixture
def func():
    return prim_func()


def test_functions_by_name(func):
    mod = tenon.IRModule({"main": func})
    assert isinstance(mod, ir.IRModule) and mod["main"].same_as(func)
    var = mod.get_global_var("main")
    assert isinstance(var, ir.GlobalVar) and mod[var].same_as(func)
    assert [v.name_hint for v in mod.get_global_vars()] == ["main"]
    assert "main" in mod and var in mod and "other" not in mod
    mod["other"] = prim_func("T.evaluate(1)")
    mod[ir.GlobalVar("abc")] = func
    assert [str(v.name_hint) for v, _ in mod.functions_items()] == ["abc", "main", "other"]
    mod["main"] = prim_func("T.evaluate(2)")  # the GlobalVar stays
    assert mod.get_global_var("main").same_as(var) and not mod["main"].same_as(func)
    mod.update_func(var, func)
    assert mod["main"].same_as(func)
    del mod["other"]
    mod.remove("abc")
    assert len(mod.functions) == 1
    with pytest.raises(ValueError, match="nothing"):
        mod.get_global_var("nothing")
    with pytest.raises((ValueError, KeyError)):
        mod["nothing"]
    with pytest.raises(TypeError, match="Expect functions to be"):
        tenon.IRModule({1: func})
    with pytest.raises(TypeError):
        mod["main"] = 3


def test_expressions_become_functions_of_their_free_variables():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    mod = tenon.IRModule()
    mod["main"] = relay.Call(relay.Function([x], x + x), [y])
    assert list(mod["main"].params) == [y]
    other = relay.Function([x], x)
    mod["main"] = other
    assert mod["main"].same_as(other)
    with pytest.raises(TypeError, match="expected BaseFunc, got GlobalVar"):
        mod["other"] = mod.get_global_var("main")


def test_clone_update_and_attributes(func):
    mod = tenon.IRModule({"main": func}, attrs={"key": "value"})
    other = mod.clone()
    other["more"] = func
    assert "more" not in mod and "more" in other
    mod.update(other)
    mod.update({"third": func})
    assert {str(v.name_hint) for v in mod.get_global_vars()} == {"main", "more", "third"}
    assert mod.get_attr("key") == "value" and mod.get_attr("none") is None
    changed = mod.with_attr("key", "new").with_attrs({"a": 1, "b": [1, 2]})
    assert changed.get_attr("key") == "new" and changed.get_attr("a").value == 1
    assert mod.get_attr("key") == "value" and changed.without_attr("a").get_attr("a") is None
    assert not mod.with_attrs({}).same_as(mod)


def test_from_expr(func):
    mod = ir.IRModule.from_expr(func)
    assert [v.name_hint for v in mod.get_global_vars()] == ["main"]
    named = ir.IRModule.from_expr(func.with_attr("global_symbol", "given"))
    assert [v.name_hint for v in named.get_global_vars()] == ["given"]


def test_type_definitions():
    name = ir.GlobalTypeVar("Pair")
    mod = tenon.IRModule(type_definitions={name: relay.TypeData(name, [], [])})
    assert mod.get_global_type_var("Pair").name_hint == "Pair"
    assert len(mod.get_global_type_vars()) == 1
    other = relay.TypeData(ir.GlobalTypeVar("Other"), [], [])
    mod["Other"] = other
    assert mod[mod.get_global_type_var("Other")].same_as(other)
    for wrong in (ir.PrimType("int32"), None, 1):
        with pytest.raises(TypeError, match="type definition: expected|expected Type"):
            tenon.IRModule(type_definitions={name: wrong})
    with pytest.raises(ValueError, match="nothing"):
        mod.get_global_type_var("nothing")


def test_structure_and_pickle(func):
    mod = tenon.IRModule({"main": func})
    again = pickle.loads(pickle.dumps(mod))
    ir.assert_structural_equal(again, mod)
    assert ir.structural_hash(again) == ir.structural_hash(mod)
    ir.assert_structural_equal(ir.load_json(ir.save_json(mod)), mod)
    assert not ir.structural_equal(mod, tenon.IRModule({"other": func}))
    assert "main" in mod.astext() and "main" in str(mod)


def test_attributes_of_functions(func):
    assert isinstance(func, ir.BaseFunc)
    changed = func.with_attr("a", 1).with_attr({"b": "x", "c": [1]})
    assert changed.attrs["a"].value == 1 and changed.attrs["b"] == "x"
    assert "a" not in changed.without_attr("a").attrs
    assert func.attrs is None or "a" not in func.attrs
    assert ir.CallingConv.DEVICE_KERNEL_LAUNCH == 2


def test_operators():
    exp = ir.Op.get("tir.exp")
    assert exp.name == "tir.exp" and exp.same_as(ir.Op.get("tir.exp")) and exp.num_inputs == 1
    assert "tir.exp" in ir.Op.list_op_names()
    assert pickle.loads(pickle.dumps(exp)).same_as(exp)
    with pytest.raises((AttributeError, ValueError, tenon.TVMError), match="tir.no_such_op"):
        ir.Op.get("tir.no_such_op")
    with pytest.raises(RuntimeError, match="use get instead"):
        ir.Op()
    assert tir.Call("float32", exp, [1.0]).op.same_as(exp)


def test_operator_attributes():
    ir.register_op_attr("test.op", "TNumber", 5)

    @ir.register_op_attr("test.op", "TFunction")
    def function(x):
        return x + 1

    op = ir.Op.get("test.op")
    assert function(1) == 2 and op.get_attr("TFunction")(1) == 2
    assert int(op.get_attr("TNumber")) == 5
    assert op.has_attr("TNumber") and not op.has_attr("TOther") and op.get_attr("TOther") is None
    op.set_attr("TNumber", 6, plevel=11)
    assert int(op.get_attr("TNumber")) == 6
    op.reset_attr("TNumber")
    assert not op.has_attr("TNumber")
    op.add_argument("x", "Tensor", "the input")
    op.set_num_inputs(1)
    op.set_support_level(3)
    op.set_attrs_type_key("DictAttrs")
    assert op.arguments[0].name == "x" and op.arguments[0].description == "the input"
    assert (op.num_inputs, op.support_level, op.attrs_type_key) == (1, 3, "DictAttrs")
