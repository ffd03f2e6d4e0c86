"""Relay's nodes from Python: construction, fields, structural comparison, JSON, deep graphs."""

import numpy as np
import pytest
import tenon
from tenon import ir, relay


def two_layers():
    x = relay.var("x", shape=(2, 3))
    w = relay.var("w", shape=(3, 3))
    op = relay.var("f")
    inner = relay.Call(op, [x, w])
    return relay.Function([op, x, w], relay.Tuple([inner, inner]))


def test_var():
    x = relay.var("x", shape=(1, 2), dtype="float16")
    assert x.name_hint == "x" and x.type_annotation == relay.TensorType((1, 2), "float16")
    assert x.type_annotation.concrete_shape == (1, 2)
    assert relay.var("y", "int32").type_annotation == relay.scalar_type("int32")
    assert relay.var("z").type_annotation is None
    with pytest.raises(ValueError, match="Can only specify either"):
        relay.var("x", "int32", shape=())
    with pytest.raises(ValueError, match="has not populated the checked_type for this node"):
        x.checked_type  # noqa: B018


@pytest.mark.parametrize(
    "value, dtype, want",
    [
        (3, None, "int32"),
        (True, None, "bool"),
        (1.5, None, "float32"),
        (1.5, "float16", "float16"),
        ([1, 2], None, "int32"),
        (np.float64(2.0), None, "float32"),
        (np.zeros(3, "float64"), None, "float64"),
        (np.zeros(3, "int8"), "int64", "int64"),
    ],
)
def test_const(value, dtype, want):
    c = relay.const(value, dtype)
    assert isinstance(c, relay.Constant) and c.data.dtype == want
    np.testing.assert_array_equal(c.data.numpy(), np.asarray(value))


def test_const_of_something_else():
    with pytest.raises(ValueError, match="value has to be scalar or NDArray"):
        relay.const("text")


def test_tuple_and_wrapper():
    x, y = relay.var("x"), relay.var("y")
    t = relay.Tuple([x, y])
    assert len(t) == 2 and t[1].same_as(y)
    with pytest.raises(IndexError, match="Tuple index out of range"):
        t[2]
    pair = relay.TupleWrapper(relay.var("t"), 2)
    a, b = pair
    assert isinstance(a, relay.TupleGetItem) and (a.index, b.index) == (0, 1)
    assert a.tuple_value.same_as(pair.tuple_value)
    assert relay.Tuple([pair]).fields[0].same_as(pair.tuple_value)
    assert pair.astuple().same_as(pair.tuple_value)


def test_wrong_classes():
    x = relay.var("x")
    with pytest.raises(TypeError, match=r"Call\.args: element 1: expected RelayExpr, got IntImm"):
        relay.Call(x, [x, 1])
    with pytest.raises(TypeError, match=r"Function\.params: element 0: expected relay\.Var"):
        relay.Function([relay.const(1)], x)
    with pytest.raises(TypeError, match="RelayExpr"):
        relay.Let(x, 1, x)
    with pytest.raises(ValueError, match="index out of bounds: -1"):
        relay.TupleGetItem(x, -1)
    with pytest.raises(TypeError, match='convert "1" with `const` first'):
        x + 1


def test_equality_follows_binding_and_sharing():
    ir.assert_structural_equal(two_layers(), two_layers())
    assert ir.structural_hash(two_layers()) == ir.structural_hash(two_layers())
    f = relay.var("f")
    x = relay.var("x")
    shared = relay.Call(f, [x])
    once = relay.Function([f, x], relay.Tuple([shared, shared]))
    twice = relay.Function([f, x], relay.Tuple([relay.Call(f, [x]), relay.Call(f, [x])]))
    assert not ir.structural_equal(once, twice)
    assert not ir.structural_equal(relay.var("x"), relay.var("x"))
    assert ir.structural_equal(relay.var("x"), relay.var("y"), map_free_vars=True)
    same = relay.Var(x.vid)
    assert ir.structural_equal(relay.Tuple([x]), relay.Tuple([same]))
    let = [relay.Let(v, relay.const(1), v) for v in (relay.var("a"), relay.var("b"))]
    assert ir.structural_equal(*let)
    typed = relay.Let(relay.var("a", "int32"), relay.const(1), relay.var("a"))
    assert not ir.structural_equal(let[0], typed)


def test_types():
    n = tenon.tir.Var("n", "int32")
    t = relay.TensorType((n, relay.Any(), 3), "int8")
    assert t == relay.TensorType((n, relay.Any(), 3), "int8")
    assert t != relay.TensorType((n, relay.Any(), 4), "int8")
    assert relay.ty.is_dynamic(t) and not relay.ty.is_dynamic(relay.TensorType((n,)))
    assert relay.ty.is_dynamic(relay.TupleType([t]))
    a = relay.TypeVar("a")
    f = relay.FuncType([a], relay.RefType(a), [a])
    b = relay.TypeVar("b")
    assert f == relay.FuncType([b], relay.RefType(b), [b])
    assert relay.TupleType([]) != relay.TupleType([relay.IncompleteType()])
    with pytest.raises(TypeError, match="extent 0: expected an integer, got float32"):
        relay.TensorType((1.5,))


def list_type():
    head, a = relay.GlobalTypeVar("List"), relay.TypeVar("a")
    nil = relay.Constructor("Nil", [], head)
    cons = relay.Constructor("Cons", [a, head(a)], head)
    return head, relay.TypeData(head, [a], [nil, cons]), nil, cons


def test_algebraic_data_types():
    head, data, nil, cons = list_type()
    assert head(relay.scalar_type("int32")).func == head
    assert (nil.tag & 0xFFFFFF, cons.tag & 0xFFFFFF) == (0, 1) and nil.tag >> 24 == cons.tag >> 24
    mod = tenon.IRModule({}, {head: data})
    assert mod[head].same_as(data) and mod.get_type("List")[2].same_as(cons)
    call = cons(relay.const(1), nil())
    assert isinstance(call, relay.Call) and call.op.same_as(cons)
    rest = relay.var("rest")
    clauses = [
        relay.Clause(
            relay.PatternConstructor(cons, [relay.PatternWildcard(), relay.PatternVar(rest)]),
            rest,
        ),
        relay.Clause(relay.PatternTuple([]), call),
    ]
    match = relay.Match(call, clauses, complete=False)
    assert not match.complete and match.clauses[0].lhs.patterns[1].var.same_as(rest)
    ir.assert_structural_equal(data, list_type()[1])


def test_json_keeps_everything():
    head, data, nil, cons = list_type()
    x = relay.var("x", shape=(2, relay.Any()))
    ref = relay.RefCreate(x)
    body = relay.Tuple(
        [
            relay.RefRead(ref),
            relay.RefWrite(ref, x),
            relay.If(relay.const(True), x, x),
            relay.const(np.arange(3)),
            relay.Match(nil(), [relay.Clause(relay.PatternConstructor(cons), x)]),
        ]
    )
    f = relay.Function([x], body, attrs={"Primitive": 1})
    mod = tenon.IRModule({"main": f}, {head: data})
    again = ir.load_json(ir.save_json(mod))
    ir.assert_structural_equal(again, mod)
    assert again["main"].attrs["Primitive"] == 1


def test_scope_builder():
    sb = relay.ScopeBuilder()
    cond, x = relay.var("cond", "bool"), relay.var("x")
    with sb.if_scope(cond):
        sb.ret(sb.let("a", x))
    with sb.else_scope():
        sb.ret((x, x))
    v = sb.get()
    assert isinstance(v, relay.If) and isinstance(v.true_branch, relay.Let)
    assert isinstance(v.false_branch, relay.Tuple)
    sb = relay.ScopeBuilder()
    with pytest.raises(RuntimeError, match="no return value set"):
        sb.get()
    sb.ret(x)
    with pytest.raises(RuntimeError, match="already set"):
        sb.ret(x)


def test_function_attributes_and_params():
    x = relay.var("x")
    f = relay.Function([x], x).with_attr("Compiler", "mine").set_params({"w": relay.const(2)})
    assert f.attrs["Compiler"] == "mine" and f.get_params()["w"].numpy() == 2
    call = f(relay.const(1))
    assert call.op.same_as(f) and len(call.args) == 1


@pytest.mark.parametrize("make", ["call", "let"])
def test_deep_graphs(make):
    f, x = relay.var("f"), relay.var("x")

    def chain():
        e = x
        for _ in range(100_000):
            e = relay.Call(f, [e]) if make == "call" else relay.Let(relay.var("v"), x, e)
        return e

    a, b = chain(), chain()
    assert ir.structural_equal(a, b)
    assert ir.structural_hash(a) == ir.structural_hash(b)
    assert ir.structural_equal(ir.load_json(ir.save_json(a)), b, map_free_vars=True)


def test_names_of_functions_show_as_such():
    mod = tenon.IRModule.from_expr(relay.const(1))
    assert str(mod.get_global_vars()) == "[GlobalVar(main)]"


def test_copies_with_fields():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3,))
    place = relay.Span(relay.SourceName("model"), 1, 1, 2, 2)
    device = tenon.target.VirtualDevice(tenon.cpu())
    cond, one = relay.const(True), relay.const(1.0)
    pair = relay.Tuple([x, y])
    ref = relay.RefCreate(x)
    cases = [
        (relay.ConstantWithFields, one, {"data": tenon.nd.array(np.float32(2))}),
        (relay.TupleWithFields, pair, {"fields": [y]}),
        (relay.VarWithFields, x, {"type_annotation": relay.TensorType((4,))}),
        (relay.CallWithFields, x + y, {"args": [y, y]}),
        (relay.LetWithFields, relay.Let(x, one, x), {"value": cond, "variable": y, "body": y}),
        (relay.IfWithFields, relay.If(cond, x, y), {"true_branch": y}),
        (relay.TupleGetItemWithFields, relay.TupleGetItem(pair, 0), {"index": 1}),
        (relay.RefCreateWithFields, ref, {"value": y}),
        (relay.RefReadWithFields, relay.RefRead(ref), {"ref": x}),
        (relay.RefWriteWithFields, relay.RefWrite(ref, x), {"value": y}),
        (relay.FunctionWithFields, relay.Function([x], x), {"body": one, "ty_params": []}),
    ]
    names = {"variable": "var", "ty_params": "type_params"}
    for make, node, fields in cases:
        assert make(node).same_as(node)
        copy = make(node, **fields, virtual_device=device, span=place)
        assert type(copy) is type(node) and not copy.same_as(node) and node.span is None
        assert copy.span.same_as(place) and copy.virtual_device_.same_as(device)
        for name, value in fields.items():
            assert ir.structural_equal(getattr(copy, names.get(name, name)), value, True)
    assert relay.VarWithFields(x, span=place).vid.same_as(x.vid)
    with pytest.raises(AttributeError, match=r"relay\.Var has no field 'op'"):
        relay.CallWithFields(x, op=x)
    with pytest.raises(TypeError, match="fields: element 0: expected RelayExpr, got IntImm"):
        relay.TupleWithFields(pair, fields=[3])


def test_tuple_wrappers_have_the_place_of_what_they_wrap():
    place = relay.Span(relay.SourceName("model"), 1, 1, 2, 2)
    call = relay.CallWithFields(
        relay.op.split(relay.var("x", shape=(4,)), 2).tuple_value, span=place
    )
    assert relay.TupleWrapper(call, 2).span.same_as(place)
    assert relay.TupleWrapper(call, 2)[1].span.same_as(place)
