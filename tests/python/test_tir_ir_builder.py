"""Statements built by running Python: tenon.tir.ir_builder."""

import numpy as np
import pytest
import tenon
from tenon import te, tir


def test_for_if_else():
    ib = tir.ir_builder.create()
    n = te.size_var("n")
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope((i % 2) == 0):
            A[i] = A[i] + 1
        with ib.else_scope():
            A[0] = A[i] + 2
    loop = ib.get()
    assert isinstance(loop, tir.For)
    cond = loop.body
    assert isinstance(cond.condition, tir.EQ)
    assert cond.then_case.indices[0].same_as(i)
    assert [int(x) for x in cond.else_case.indices] == [0]
    # the buffer is declared once, around both branches
    assert str(loop).count("A = T.Buffer((1,))") == 1


def test_names_kinds_and_types_of_loops():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 4) as i, ib.for_range(2, tir.const(8, "int64"), kind="unroll") as j:
        ib.emit(tir.call_extern("int32", "f", i, j))
    outer = ib.get()
    inner = outer.body
    assert (outer.loop_var.name, inner.loop_var.name) == ("i", "j")
    assert (outer.loop_var.dtype, inner.loop_var.dtype) == ("int32", "int64")
    assert inner.kind == tir.ForKind.UNROLLED
    assert int(inner.extent) == 6
    with pytest.raises(ValueError, match="Unknown kind"):
        ib.for_range(0, 4, kind="sideways")
    with pytest.raises(NotImplementedError, match="Infer loop_var dtype failed"):
        ib.for_range(0, tir.Var("x", "float32"))


def test_scopes_bind_what_follows():
    ib = tir.ir_builder.create()
    tx = te.thread_axis("threadIdx.x")
    ib.scope_attr(tx, "thread_extent", te.var("n"))
    p = ib.allocate("float32", (4, 4), name="p", scope="shared")
    x = ib.let("x", te.var("m") * 2)
    p[tx, 1] = 1.0
    p[5] = 2.0  # counted over all elements
    p[x, 0] = 3.0
    attr = ib.get()
    assert isinstance(attr, tir.AttrStmt) and isinstance(attr.value, tir.Max)
    alloc = attr.body
    assert isinstance(alloc, tir.Allocate)
    assert alloc.buffer_var.type_annotation.storage_scope == "shared"
    assert isinstance(alloc.body, tir.LetStmt)
    stores = alloc.body.body.seq
    assert stores[0].indices[0].same_as(tx.var)
    assert [int(i) for i in stores[1].indices] == [1, 1]


def test_misuse_is_named():
    ib = tir.ir_builder.create()
    with pytest.raises(RuntimeError, match="else_scope can only follow an if_scope"):
        ib.else_scope()
    p = ib.allocate("float32", 4)
    with pytest.raises(ValueError, match="data type does not match content type int32 vs float32"):
        p[0] = 1
    with pytest.raises(TypeError, match="expected a statement"):
        ib.emit(3)
    ib.for_range(0, 4)
    with pytest.raises(RuntimeError, match="cannot call get inside construction scope"):
        ib.get()


def test_empty_scopes_do_nothing():
    ib = tir.ir_builder.create()
    with ib.if_scope(te.var("n") > 0):
        pass
    with ib.new_scope():
        ib.let("x", 1)
    seq = ib.get()
    assert isinstance(seq.seq[0].then_case, tir.Evaluate)
    assert isinstance(seq.seq[1].body, tir.Evaluate)


def collatz(n):
    steps = 0
    while n > 1:
        n = 3 * n + 1 if n % 2 else n // 2
        steps += 1
    return steps


def test_extern_with_a_while_loop_runs():
    def build(out):
        ib = tir.ir_builder.create()
        result = ib.buffer_ptr(out)
        with ib.for_range(0, out.shape[0], kind="parallel") as n:
            i = ib.allocate("int32", (1,), name="i", scope="local")
            a = ib.allocate("int32", (1,), name="a", scope="local")
            i[0] = 0
            a[0] = n
            with ib.while_loop(a[0] > 1):
                with ib.if_scope(tir.floormod(a[0], 2) == 1):
                    a[0] = 3 * a[0] + 1
                with ib.else_scope():
                    a[0] = a[0] >> 1
                i[0] += 1
            result[n] = i[0]
        return ib.get()

    C = te.extern((30,), [], lambda ins, outs: build(outs[0]), name="collatz", dtype="int32")
    f = tenon.build(te.create_prim_func([C]), target="stackvm")
    out = tenon.nd.array(np.zeros(30, "int32"))
    f(out)
    assert list(out.numpy()) == [collatz(n) for n in range(30)]


def test_buffer_of_a_builder_variable():
    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, 4) as i:
        B = ib.allocate("float32", 8, name="B", scope="shared")
        ib.scope_attr(B, "double_buffer_scope", 1)
        ib.scope_attr(B.asobject(), "volatile_scope", 1)
        B[i] = A[i]
        ib.emit(tir.call_extern("int32", "f", B, B.asobject(), B.asobject().access_ptr("rw")))
    buffer = B.asobject()
    assert isinstance(buffer, tir.Buffer) and buffer.data.name == "B"
    attr = ib.get().body.body
    assert attr.node.same_as(buffer.data) and attr.body.node.same_as(buffer.data)
    # a buffer among the arguments is its pointer
    _, first, second, access = attr.body.body[1].value.args
    assert first.same_as(buffer.data) and second.same_as(buffer.data)
    assert access.op.name == "tir.tvm_access_ptr" and access.args[1].same_as(buffer.data)


def test_parameters_from_builder_variables():
    ib = tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    A[2] = 1.0
    body = ib.get()
    # the variable is a pointer of unknown extent, its buffer a tensor
    pointer = tir.PrimFunc([A], body)
    assert pointer.params[0].same_as(A.asobject().data) and not pointer.buffer_map
    tensor = tir.PrimFunc([A.asobject()], body)
    assert tensor.buffer_map[tensor.params[0]].same_as(A.asobject())


def test_call_writes_what_differs_between_virtual_threads():
    vx = te.thread_axis("vthread")
    ib = tir.ir_builder.create()
    ib.scope_attr(vx, "virtual_thread", 2)
    A = ib.allocate("float32", 4, name="A", scope="shared")
    C = ib.allocate("float32", 4, name="C", scope="shared")
    A[0] = vx + 1.0
    pointers = A.asobject().access_ptr("r"), C.asobject().access_ptr("w")
    ib.emit(tir.call_extern("int32", "run", *pointers))
    mod = tenon.IRModule.from_expr(tir.PrimFunc([], ib.get()))
    body = tir.transform.InjectVirtualThread()(mod)["main"].body
    sizes = {}
    tir.stmt_functor.post_order_visit(
        body,
        lambda n: (
            sizes.update({n.buffer_var.name: int(n.extents[0])})
            if isinstance(n, tir.Allocate)
            else None
        ),
    )
    # one array for both would hold only the last thread's result
    assert sizes == {"A": 8, "C": 8}
