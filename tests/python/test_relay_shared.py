"""What programs take for granted of nodes, text and modules of other releases."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.ir import structural_equal, structural_hash
from tenon.relay import analysis


def test_empty_tuples_are_one():
    """Whether the empty tuple is one object or several does not count; for others it does."""
    v, unit = relay.Var("v"), relay.Tuple([])
    shared, several = relay.Let(v, unit, unit), relay.Let(v, relay.Tuple([]), relay.Tuple([]))
    assert structural_equal(shared, several)
    assert structural_hash(shared) == structural_hash(several)
    one = relay.Tuple([relay.const(1)])
    pairs = relay.Tuple([one, one]), relay.Tuple([one, relay.Tuple([one.fields[0]])])
    assert not structural_equal(*pairs)
    assert structural_hash(pairs[0]) != structural_hash(pairs[1])
    assert not structural_equal(unit, one)
    assert not structural_equal(one, unit)


def test_text():
    number = relay.parse_expr('#[version = "0.0.5"]\n-42i')
    assert number.data.dtype == "int32"
    assert int(number.data.numpy()) == -42
    bound = relay.parse_expr('#[version = "0.0.5"]\nlet %x : _ = 1; %x')
    assert bound.var.type_annotation is None
    for wrong in ("1u", "3000000000i", "1i7"):
        with pytest.raises(tenon.error.DiagnosticError, match="suffix|unrepresentable"):
            relay.parse_expr(f'#[version = "0.0.5"]\n{wrong}')


def test_attributes_for_tests():
    attrs = tenon.ir.make_node("attrs.TestAttrs", name="a", padding=(3, 4))
    assert (attrs.axis, str(attrs.name), [int(p) for p in attrs.padding]) == (10, "a", [3, 4])
    assert [int(p) for p in tenon.ir.make_node("attrs.TestAttrs", name="b").padding] == [0, 0]
    assert attrs.func is None
    with pytest.raises(TypeError, match="name"):
        tenon.ir.make_node("attrs.TestAttrs")


def test_a_relation_without_a_function():
    tp = relay.TypeVar("t", relay.TypeKind.Type)
    relation = relay.TypeRelation(None, [tp], 1, None)
    assert relation.func is None
    kind = relay.FuncType([tp], relay.TupleType([tp]), [tp], [relation])
    assert analysis.check_kind(kind) == relay.TypeKind.Type


def test_modules():
    x = relay.var("x", shape=(2,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(relay.nn.relu(x))))
    assert analysis.count_layers(mod, ["nn.relu"]) == 2
    other = relay.Function([x], x)
    with pytest.raises(ValueError, match="Duplicate global function name main"):
        mod._add("main", other)
    mod._add("main", other, True)
    mod._add("more", relay.Function([x], relay.exp(x)))
    assert structural_equal(mod["main"], other)
    assert {str(v.name_hint) for v in mod.get_global_vars()} == {"main", "more"}


def test_constants_by_other_names():
    assert relay.op.const is relay.const
    made = relay.nn.Constant(tenon.nd.array(np.float32([1])))
    assert isinstance(made, relay.Constant)


def test_arrays_of_another_type(caplog):
    """What a program binds itself may have another element type; a build says no."""
    x, y = relay.var("x", shape=(3,), dtype="int32"), relay.var("y", shape=(3,), dtype="int64")
    func = relay.Function([x, y], x + y)
    wide = {"x": np.arange(3, dtype="int64")}
    bound = relay.build_module.bind_params_by_name(func, wide)
    assert "params: x is declared as Tensor[(3), int32], the array given is" in caplog.text.replace(
        "(3,)", "(3)"
    )
    mod = tenon.IRModule.from_expr(bound)
    got = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(np.int64([1, 2, 3]))
    assert got.numpy().tolist() == [1, 3, 5]
    with pytest.raises(ValueError, match="params: x is declared as"):
        relay.build_module.bind_params_by_name(func, wide, strict=True)
    with pytest.raises(ValueError, match="params: x is declared as"):
        relay.build_module.bind_params_by_name(func, {"x": np.zeros(4, "int32")})
    with pytest.raises(ValueError, match="params: x is declared as"):
        relay.build(tenon.IRModule.from_expr(func), "llvm", params=wide)


def test_inlined_values():
    """A function that is a value takes the place of its variable; what others call has its own."""
    x, p = relay.var("x", shape=(2,)), relay.var("p", shape=(), dtype="bool")
    inner = relay.var("t", shape=(2,))
    twice = relay.Let(inner, x + x, relay.nn.relu(inner))
    functions = {
        relay.GlobalVar("f"): relay.Function([x], twice).with_attr("Inline", 1),
        relay.GlobalVar("g"): relay.Function([x], relay.exp(x)).with_attr("Inline", 1),
    }
    f, g = functions
    y = relay.var("y", shape=(2,))
    body = relay.Call(relay.If(p, f, g), [y]) + relay.Call(f, [y]) * relay.Call(f, [y + y])
    mod = tenon.IRModule(functions)
    mod["main"] = relay.Function([p, y], body)
    mod = relay.transform.InferType()(mod)
    now = relay.transform.InferType()(relay.transform.Inline()(mod))
    assert [str(v.name_hint) for v in now.get_global_vars()] == ["main"]
    assert analysis.well_formed(now["main"])
    data = np.float32([-1, 2])
    for choice in (True, False):
        run = [relay.create_executor("debug", mod=m).evaluate()(choice, data) for m in (mod, now)]
        np.testing.assert_array_equal(run[0].numpy(), run[1].numpy())
