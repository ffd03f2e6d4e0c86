"""tir.stmt_functor: visiting, transforming, substituting, renewing definitions."""

import pytest
import tenon
from tenon import tir
from tenon.ir import assert_structural_equal
from tenon.script import tir as T
from tenon.tir import stmt_functor


@T.prim_func
def scale(a: T.handle, B: T.Buffer((16,), "float32")):
    n = T.int32()
    A = T.match_buffer(a, (n,))
    for i in T.serial(16):
        if i < n:
            B[i] = A[i] * T.float32(2)


def names(program, visit=stmt_functor.post_order_visit):
    seen = []
    visit(program, lambda node: seen.append(type(node).__name__))
    return seen


def test_post_order_shows_what_is_computed_operands_first():
    assert names(scale.body) == (
        "IntImm IntImm Var Var LT BufferLoad FloatImm Mul BufferStore IfThenElse For".split()
    )
    x = tir.Var("x", "int32")
    assert names((x + 1) * (x + 1)) == ["Var", "IntImm", "Add", "IntImm", "Add", "Mul"]
    shared = x + 1
    assert names(shared * shared) == ["Var", "IntImm", "Add", "Mul"]
    assert names(tir.exp(x.astype("float32"))) == ["Var", "Cast", "Call"]


def test_pre_order_can_leave_parts_out():
    seen = []

    def visit(node):
        seen.append(type(node).__name__)
        return not isinstance(node, tir.LT | tir.BufferStore)

    stmt_functor.pre_order_visit(scale.body, visit)
    assert seen == ["For", "IntImm", "IntImm", "IfThenElse", "LT", "BufferStore"]


def test_an_exception_in_a_visitor_stops():
    seen = []

    def visit(node):
        seen.append(node)
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        stmt_functor.post_order_visit(scale.body, visit)
    assert len(seen) == 1


def test_transform():
    double = stmt_functor.ir_transform(
        scale.body,
        None,
        lambda op: tir.FloatImm("float32", 4) if op.value == 2 else None,
        ["FloatImm"],
    )
    values = []
    stmt_functor.post_order_visit(
        double, lambda node: values.append(node.value) if isinstance(node, tir.FloatImm) else None
    )
    assert values == [4]
    assert stmt_functor.ir_transform(scale.body, None, lambda op: None).same_as(scale.body)


def test_transform_before_what_is_below():
    calls = []

    def before(op):
        calls.append(type(op).__name__)
        return tir.Evaluate(0) if isinstance(op, tir.IfThenElse) else None

    out = stmt_functor.ir_transform(scale.body, before, None, ["tir.For", "tir.IfThenElse"])
    assert calls == ["For", "IfThenElse"]
    assert isinstance(out.body, tir.Evaluate)
    with pytest.raises(TypeError, match="expected a statement, an expression or None, got"):
        stmt_functor.ir_transform(scale.body, lambda op: "text", None)


def test_substitute():
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert_structural_equal(stmt_functor.substitute(x * 2 + y, {x: y + 1}), (y + 1) * 2 + y)
    assert stmt_functor.substitute(tir.Var("z", "int64") + 0 * x, {x: 3}) is not None
    with pytest.raises(tenon.TVMError, match="x is of type int32, its replacement of type float32"):
        stmt_functor.substitute(x, {x: tir.Var("f", "float32")})
    with pytest.raises(TypeError, match="key 0: expected tir.Var"):
        stmt_functor.substitute(x, {tir.const(1): y})
    untouched = x + 1
    assert stmt_functor.substitute(untouched, {y: x}).same_as(untouched)


def test_buffers_follow_their_pointer():
    buffer = scale.buffer_map[scale.params[1]]
    data = tir.Var("other", buffer.data.type_annotation)
    body = stmt_functor.substitute(scale.body, {buffer.data: data})
    store = body.body.then_case
    assert store.buffer.data.same_as(data) and not store.buffer.same_as(buffer)
    with pytest.raises(TypeError, match="needs a variable as data pointer"):
        stmt_functor.substitute(scale.body, {buffer.data: tir.call_extern("handle", "f")})


@T.prim_func
def local(n: T.int32):
    data = T.allocate([n], "float32")
    A = T.Buffer((n,), "float32", data=data)
    for i in range(n):
        A[i] = A[i] + T.float32(1)


def test_buffers_follow_their_extents():
    n = local.params[0]
    body = stmt_functor.substitute(local.body, {n: 8})
    store = body.body.body
    assert int(store.buffer.shape[0]) == 8
    assert store.buffer.same_as(store.value.a.buffer)  # still one buffer
    assert local.body.body.body.buffer.shape[0].same_as(n)
    new = stmt_functor.renew_defs(local)
    assert new.body.body.body.buffer.shape[0].same_as(new.params[0])


def test_renew_defs():
    new = stmt_functor.renew_defs(scale)
    assert_structural_equal(new, scale)
    assert not any(a.same_as(b) for a, b in zip(new.params, scale.params, strict=True))
    a, b = new.buffer_map[new.params[0]], new.buffer_map[new.params[1]]
    old = scale.buffer_map[scale.params[0]]
    assert not a.same_as(old) and not a.data.same_as(old.data)
    assert not a.shape[0].same_as(old.shape[0])
    store = new.body.body.then_case
    assert store.buffer.same_as(b) and store.value.a.buffer.same_as(a)
    assert new.body.body.condition.b.same_as(a.shape[0])
    assert store.indices[0].same_as(new.body.loop_var)
    assert not new.body.loop_var.same_as(scale.body.loop_var)


def test_deep_programs():
    x = tir.Var("x", "int32")
    e = x
    for _ in range(100000):
        e = e + x
    count = []
    stmt_functor.post_order_visit(e, lambda node: count.append(1))
    assert len(count) == 100001
    with pytest.raises(RuntimeError, match="nested too deeply"):
        stmt_functor.substitute(e, {x: x + 1})


def test_places_of_statements():
    span = tenon.ir.Span(tenon.ir.SourceName("kernel.py"), 3, 3, 1, 9)
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.Evaluate(0), span=span)
    assert loop.span.same_as(span) and loop.span.line == 3
    assert tir.Evaluate(0).span is None and loop.loop_var.same_as(i)
