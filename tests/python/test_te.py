"""Tensor expressions and the programs they become."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import from_source


def matmul(n):
    x = te.placeholder((n, n), name="X")
    y = te.placeholder((n, n), name="Y")
    k = te.reduce_axis((0, n), name="k")
    z = te.compute((n, n), lambda i, j: te.sum(x[i, k] * y[k, j], axis=k))
    return te.create_prim_func([x, y, z])


MATMUL = """\
@T.prim_func
def main(X: T.Buffer((37, 37), "float32"), Y: T.Buffer((37, 37), "float32"), \
compute: T.Buffer((37, 37), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    # with T.block("root"):
    for i, j, k in T.grid(37, 37, 37):
        with T.block("compute"):
            v_i, v_j, v_k = T.axis.remap("SSR", [i, j, k])
            T.reads(X[v_i, v_k], Y[v_k, v_j])
            T.writes(compute[v_i, v_j])
            with T.init():
                compute[v_i, v_j] = T.float32(0.0)
            compute[v_i, v_j] = compute[v_i, v_j] + X[v_i, v_k] * Y[v_k, v_j]"""


def test_matmul_is_the_documented_text():
    text = matmul(37).script()
    assert text[text.index("@T") :] == MATMUL
    tenon.ir.assert_structural_equal(from_source(text), matmul(37))


def test_intermediate_results_are_allocated_by_the_root_block():
    a = te.placeholder((10,), name="A")
    b = te.compute((10,), lambda i: a[i] * 2.0 + 1, name="B")
    c = te.compute((10,), lambda i: b[i] + a[9 - i], name="B")
    text = te.create_prim_func([a, c]).script()
    assert "B_1 = T.alloc_buffer((10,))" in text
    assert 'with T.block("B"):' in text and 'with T.block("B_1"):' in text
    tenon.ir.assert_structural_equal(from_source(text), te.create_prim_func([a, c]))


def test_reduction_of_several_values():
    argmax = te.comm_reducer(
        lambda a, b: (tir.Select(a[1] >= b[1], a[0], b[0]), tir.Select(a[1] >= b[1], a[1], b[1])),
        lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)),
    )
    index, value = te.placeholder((5, 10), "int32", "I"), te.placeholder((5, 10), name="V")
    k = te.reduce_axis((0, 10), "k")
    results = te.compute((5,), lambda i: argmax((index[i, k], value[i, k]), axis=k), name="T")
    assert [t.dtype for t in results] == ["int32", "float32"]
    func = te.create_prim_func([index, value, *results])
    text = func.script()
    # the old values of both are read before either is written
    assert text.index("v_T_v1: T.float32 =") < text.index("T_v0[v_i] = v_T_v0")
    tenon.ir.assert_structural_equal(from_source(text), func)


def test_scalars_and_symbolic_shapes():
    n = te.var("n")
    a = te.placeholder((n, 4), name="A")
    k = te.reduce_axis((0, 4), "k")
    b = te.compute((n,), lambda i: te.max(a[i, k], axis=k), name="B")
    text = te.create_prim_func([a, b]).script()
    assert "n = T.int32()" in text and "A = T.match_buffer(var_A, (n, 4))" in text
    zero = te.compute((), lambda: tir.const(3, "int32"), name="z")
    assert "vi = T.axis.spatial(1, 0)" in te.create_prim_func([zero]).script()


def test_elements_and_identity():
    a = te.placeholder((2, 3), name="A")
    assert a.shape[0] == 2 and a.ndim == 2 and a.dtype == "float32"
    assert isinstance(a[0, 1].asobject(), tir.ProducerLoad)
    assert isinstance(a[0][1].asobject(), tir.ProducerLoad)
    assert a == a.op.output(0) and len({a, a.op.output(0)}) == 1
    with pytest.raises(ValueError, match="Need to provide 2 index in tensor but 1 was provided"):
        a(0)


def test_mistakes():
    a = te.placeholder((10,), name="A")
    k = te.reduce_axis((0, 10), "k")
    with pytest.raises(tenon.TVMError, match="only allowed at the top level of compute"):
        te.compute((3,), lambda i: te.sum(a[k], axis=k) + 1)
    with pytest.raises(ValueError, match="fcompute do not match dimension, ndim=2"):
        te.compute((3, 3), lambda i: a[i])
    with pytest.raises(ValueError, match="placeholder A is used but is not among"):
        te.create_prim_func([te.compute((10,), lambda i: a[i])])
    with pytest.raises(TypeError, match="argument 0: expected a Tensor or Var"):
        te.create_prim_func([3])
    with pytest.raises(ValueError, match="should return PrimExpr or Stmt"):
        te.extern((10,), [a], lambda ins, outs: None)


def test_extern_becomes_an_opaque_block():
    a = te.placeholder((10,), name="A")

    def copy(ins, outs):
        i = tir.Var("i", "int32")
        return tir.For(i, 0, 10, 0, tir.BufferStore(outs[0], ins[0].vload([i]), [i]))

    c = te.extern((10,), [a], copy, name="C")
    func = te.create_prim_func([a, c])
    text = func.script()
    assert "A = T.match_buffer(var_A, (10,), offset_factor=1)" in text
    assert 'with T.block("C"):\n        T.reads()\n        T.writes()\n' in text
    tenon.ir.assert_structural_equal(from_source(text), func)


def test_tags():
    with te.tag_scope(tag="elemwise"):
        t = te.compute((4,), lambda i: i * 2)
    assert t.op.tag == "elemwise"
    assert te.compute((4,), lambda i: i, tag="other").op.tag == "other"


# ---- types of indices ----


def test_index_type_of_everything():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, 7 - j] + 1.0, name="B")
    func = te.create_prim_func([A, B], index_dtype_override="int64")
    A64 = te.placeholder((tir.const(4, "int64"), tir.const(8, "int64")), name="A")
    B64 = te.compute(A64.shape, lambda i, j: A64[i, tir.const(7, "int64") - j] + 1.0, name="B")
    tenon.ir.assert_structural_equal(func, te.create_prim_func([A64, B64]))
    func = te.create_prim_func([A64, B64], index_dtype_override="int32")
    assert "T.int64" not in func.script()


def test_index_type_of_values_stays():
    n = te.var("n", "int32")
    A = te.placeholder((n,), "int32", name="A")
    X = te.placeholder((16,), "float32", name="X")
    B = te.compute((n,), lambda i: i + n + A[i], name="B")
    C = te.compute((n,), lambda i: X[A[i]], name="C")
    func = te.create_prim_func([n, A, X, B, C], index_dtype_override="int64")
    assert func.params[0].dtype == "int64"
    buffers = [func.buffer_map[p] for p in func.params[1:]]
    assert [b.dtype for b in buffers] == ["int32", "float32", "int32", "float32"]
    assert all(b.shape[0].dtype == "int64" for b in buffers)
    types = set()
    tir.stmt_functor.post_order_visit(
        func.body,
        lambda e: types.update(
            [e.loop_var.dtype]
            if isinstance(e, tir.For)
            else [i.dtype for i in e.indices]
            if isinstance(e, tir.BufferLoad | tir.BufferStore)
            else []
        ),
    )
    assert types == {"int64"}
    a, x = np.array([3, 0, 15], "int32"), np.arange(16, dtype="float32")
    b, c = tenon.nd.empty((3,), "int32"), tenon.nd.empty((3,))
    built = tenon.build(func, target="stackvm")
    built(3, tenon.nd.array(a), tenon.nd.array(x), b, c)
    np.testing.assert_array_equal(b.numpy(), np.arange(3) + 3 + a)
    np.testing.assert_array_equal(c.numpy(), x[a])


def test_index_type_of_reductions():
    A = te.placeholder((6, 5), name="A")
    k = te.reduce_axis((0, 5), "k")
    B = te.compute((6,), lambda i: te.sum(A[i, k], axis=k), name="B")
    func = te.create_prim_func([A, B], index_dtype_override="int64")
    text = func.script()
    assert "T.grid(T.int64(6), T.int64(5))" in text and "T.init()" in text
    a, b = np.random.default_rng(1).random((6, 5), "float32"), tenon.nd.empty((6,))
    tenon.build(func, target="stackvm")(tenon.nd.array(a), b)
    np.testing.assert_allclose(b.numpy(), a.sum(1), rtol=1e-5)


def test_index_type_mistakes():
    A = te.placeholder((4,), name="A")
    with pytest.raises(ValueError, match="index type: expected a signed integer"):
        te.create_prim_func([A, te.compute((4,), lambda i: A[i])], index_dtype_override="float32")


# ---- tensors in any layout ----


def free_layouts(index_type=None):
    a, w = (te.placeholder((4, 4), name=n) for n in "AW")
    b = te.compute(
        (4, 4), lambda i, j: a[i, j] * w[j, i], name="B", attrs={"layout_free_placeholders": [w]}
    )
    c = te.compute(
        (4, 4),
        lambda i, j: b[i, j] + w[i, j],
        name="C",
        attrs={"layout_free_placeholders": [b, w], "other": 1},
    )
    return te.create_prim_func([a, w, c], index_dtype_override=index_type)


@pytest.mark.parametrize("index_type", [None, "int64"])
def test_parameters_in_any_layout_are_said_of_the_function(index_type):
    func = free_layouts(index_type)
    assert [int(i) for i in func.attrs["layout_free_buffers"]] == [1]
    root = func.body.block
    blocks = [func_block(stmt) for stmt in root.body.seq]
    assert len(blocks[0].annotations) == 0 and int(blocks[1].annotations["other"]) == 1
    (inner,) = blocks[1].annotations["layout_free_placeholders"]
    assert inner.same_as(root.alloc_buffers[0])  # of the type of indices that all of it has
    tenon.ir.assert_structural_equal(tenon.script.from_source(func.script()), func)


def func_block(stmt):
    while isinstance(stmt, tir.For):
        stmt = stmt.body
    return stmt.block


def test_mistakes_in_layout_free_placeholders():
    a = te.placeholder((4,), name="A")
    other = te.placeholder((4,), name="other")
    for given, error, text in [
        ([other], ValueError, "of B: nothing reads or computes other"),
        ([1], TypeError, "of B: expected tensors, got"),
        (1, TypeError, "of B: expected an array of tensors"),
    ]:
        attrs = {"layout_free_placeholders": given}
        b = te.compute((4,), lambda i: a[i], name="B", attrs=attrs)
        with pytest.raises(error, match=text):
            te.create_prim_func([a, b])


def test_how_tensors_are_shown():
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    b = te.compute((4,), lambda i: te.sum(a[i, k], axis=k), name="B")
    c = te.compute((4,), lambda i: b[i] * 2.0, name="C")
    assert str(a) == "Tensor(shape=[4, 8], op.name=A)"
    assert str(a.op) == "placeholder(A, shape=[4, 8], dtype=float32)"
    assert str(c.op.body[0]) == "B[i] * T.float32(2.0)"
    assert str(c.op).startswith("compute(C, body=[B[i] * T.float32(2.0)], axis=[T.iter_var(i,")
    assert "[A[i, k]]" in str(b.op.body[0])


def test_extents_may_be_whole_floats():
    A = te.placeholder((64 / 2, 4.0), name="A")
    B = te.compute((32 / 8, 4), lambda i, j: A[i, j] * 2)
    assert [int(e) for e in (*A.shape, *B.shape)] == [32, 4, 4, 4]
    assert B.shape[0].dtype == "int32"
    with pytest.raises(ValueError, match="expected a whole number as an extent, got 2.5"):
        te.compute((5 / 2,), lambda i: A[i, 0])


@pytest.mark.parametrize("shape", [(4,), ()])
def test_reduction_of_no_elements(shape):
    """The first value is stored though the block of a sum would not run."""
    a, i, j = (
        te.placeholder((*shape, 0, 3), name="a"),
        te.reduce_axis((0, 0)),
        te.reduce_axis((0, 3)),
    )
    total = te.compute(shape, lambda *at: te.sum(a[(*at, i, j)], axis=[i, j]), name="total")
    least = te.compute(shape, lambda *at: te.min(a[(*at, i, j)], axis=[i, j]), name="least")
    out = [tenon.nd.array(np.full(shape, 7.0, "float32")) for _ in range(2)]
    func = te.create_prim_func([a, total, least])
    tenon.build(func, target="stackvm", name="main")["main"](
        tenon.nd.array(np.zeros((*shape, 0, 3), "float32")), *out
    )
    np.testing.assert_array_equal(out[0].numpy(), np.zeros(shape))
    np.testing.assert_array_equal(out[1].numpy(), np.full(shape, np.finfo("float32").max))
    sch = tir.Schedule(func)
    if shape:
        sch.parallel(sch.get_loops("total")[0])


def test_reduction_of_no_elements_to_two_results():
    a, k = te.placeholder((4, 0), name="a"), te.reduce_axis((0, 0))
    both = te.comm_reducer(
        lambda x, y: (x[0] + y[0], x[1] * y[1]),
        lambda s, t: (tir.const(0, s), tenon.tir.const(1, t)),
    )
    results = te.compute((4,), lambda i: both((a[i, k], a[i, k]), axis=k), name="r")
    out = [tenon.nd.array(np.full(4, 7.0, "float32")) for _ in range(2)]
    tenon.build(te.create_prim_func([a, *results]), target="stackvm", name="main")["main"](
        tenon.nd.array(np.zeros((4, 0), "float32")), *out
    )
    assert [list(x.numpy()) for x in out] == [[0] * 4, [1] * 4]
