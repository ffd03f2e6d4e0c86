"""Schedules of tensor expressions: stages, relations of loops, changes of the dataflow, errors."""

import pytest
import tenon
from tenon import te
from tenon.te.schedule import Fuse, Schedule, Singleton, Split, Stage


def names(ivs):
    return [str(iv.var.name) for iv in ivs]


def vectors(n=16):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: B[i] * 2, name="C")
    return A, B, C


def matrix_sum(n=32, m=64):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return A, k, B


def test_stages():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    assert isinstance(s, Schedule) and isinstance(s[C], Stage)
    assert [str(st.op.name) for st in s.stages] == ["A", "B", "C"]
    assert s[C].same_as(s[C.op]) and s[C].is_output and not s[B].is_output
    assert [op.same_as(C.op) for op in s.outputs] == [True]
    assert B in s.stage_map or B.op in s.stage_map
    assert te.create_schedule([B.op, C.op])[B].is_output
    assert te.create_schedule(C)[C].op.same_as(C.op)


def test_split():
    m = te.size_var("m")
    A = te.placeholder((m,), name="A")
    T = te.compute((m,), lambda i: A[i], name="T")
    s = te.create_schedule(T.op)
    xo, xi = s[T].split(T.op.axis[0], factor=10)
    assert names(s[T].leaf_iter_vars) == ["i.outer", "i.inner"]
    assert isinstance(s[T].relations[0], Split)
    assert s[T].relations[0].outer.same_as(xo) and s[T].relations[0].factor == 10
    s[T].split(xi, nparts=5)
    assert names(s[T].leaf_iter_vars) == ["i.outer", "i.inner.outer", "i.inner.inner"]
    assert names(s[T].all_iter_vars) == [
        "i",
        "i.outer",
        "i.inner",
        "i.inner.outer",
        "i.inner.inner",
    ]


def test_tile_and_reorder():
    A = te.placeholder((64, 64), name="A")
    T = te.compute((64, 64), lambda i, j: A[i, j], name="T")
    s = te.create_schedule(T.op)
    xo, yo, xi, yi = s[T].tile(T.op.axis[0], T.op.axis[1], x_factor=10, y_factor=5)
    assert names(s[T].leaf_iter_vars) == [
        "i.outer",
        "j.outer",
        "i.inner",
        "j.inner",
    ]
    s[T].reorder(yi, xo)
    assert names(s[T].leaf_iter_vars) == ["j.inner", "j.outer", "i.inner", "i.outer"]


def test_fuse():
    A = te.placeholder((8, 4, 2), name="A")
    T = te.compute((8, 4, 2), lambda i, j, k: A[i, j, k], name="T")
    s = te.create_schedule(T.op)
    fused = s[T].fuse(*T.op.axis)
    assert names([fused]) == ["i.j.fused.k.fused"]
    assert len(s[T].relations) == 2 and isinstance(s[T].relations[1], Fuse)
    assert names(s[T].leaf_iter_vars) == names([fused])


def test_singleton():
    T = te.compute((), lambda: 1, name="T")
    s = te.create_schedule(T.op)
    fused = s[T].fuse()
    assert isinstance(s[T].relations[0], Singleton)
    assert s[T].leaf_iter_vars[0].same_as(fused)


def test_kinds_of_loops():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(C.op.axis[0], factor=4)
    s[C].vectorize(xi)
    s[C].parallel(xo)
    assert s[C].iter_var_attrs[xi].iter_type == te.schedule.IterVar.Vectorized
    assert s[C].iter_var_attrs[xo].iter_type == te.schedule.IterVar.Parallelized
    s[B].unroll(B.op.axis[0])
    assert s[B].iter_var_attrs[B.op.axis[0]].iter_type == te.schedule.IterVar.Unrolled
    s[B].pragma(B.op.axis[0], "unroll")
    s[C].pragma(xo, "pragma1")
    s[C].pragma(xo, "pragma2", 3)
    attr = s[C].iter_var_attrs[xo]
    assert [k.value for k in attr.pragma_keys] == ["pragma1", "pragma2"]
    assert attr.pragma_values[0] is None and attr.pragma_values[1] == 3
    thread = te.thread_axis("threadIdx.x")
    s[C].bind(xo, thread)
    assert s[C].iter_var_attrs[xo].bind_thread.same_as(thread)


def test_places():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    assert s[B].attach_type == 4 and s[B].attach_ivar.same_as(C.op.axis[0])
    assert s[B].attach_stage.same_as(s[C])
    s[B].compute_inline()
    assert s[B].attach_type == 2 and s[B].attach_stage is None
    s[B].compute_root()
    assert s[B].attach_type == 1
    s[B].set_scope("local")
    assert s[B].scope == "local"
    s[B].double_buffer()
    assert s[B].double_buffer is not None


def test_cache_read():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    AA = s.cache_read(A, "local", readers=[B])
    assert [str(st.op.name) for st in s.stages] == ["A", "A.local", "B", "C"]
    assert names(AA.op.axis) == ["ax0"] and s[AA].scope == "local"
    assert [str(t.op.name) for t in s[B].op.input_tensors] == ["A.local"]
    # the stage is found by the old operation as by the new one
    assert s[B].same_as(s[s[B].op]) and s[B].origin_op.same_as(B.op)
    assert s[C].op.input_tensors[0].op.same_as(s[B].op)
    BB = s.cache_read(B, "shared", [C])
    assert str(s[C].op.input_tensors[0].op.name) == "B.shared"
    assert s[BB].op.input_tensors[0].op.same_as(s[B].op)


def test_cache_write():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "local")
    assert [str(st.op.name) for st in s.stages] == ["A", "B", "C.local", "C"]
    assert names(CC.op.axis) == ["i.c"] and s[C].op.axis[0].same_as(C.op.axis[0])
    assert s[C].op.input_tensors[0].op.same_as(CC.op) and s[C].is_output
    assert s.outputs[0].same_as(s[C].op)
    BB = s.cache_write(B, "global")
    assert s[CC].op.input_tensors[0].op.same_as(s[B].op)
    assert s[B].op.input_tensors[0].op.same_as(BB.op)


def test_cache_write_of_a_reduction_and_of_a_tuple():
    A, k, B = matrix_sum()
    s = te.create_schedule(B.op)
    BB = s.cache_write(B, "local")
    assert names(s[BB].op.reduce_axis) == ["k"] and len(s[B].op.reduce_axis) == 0
    X = te.placeholder((8,), name="X")
    Y0, Y1 = te.compute((8,), lambda i: (X[i] + 1, X[i] * 2), name="Y")
    s = te.create_schedule([Y0.op])
    YY0, YY1 = s.cache_write([Y0, Y1], "local")
    assert YY0.op.same_as(YY1.op) and YY1.value_index == 1
    with pytest.raises(tenon.TVMError, match="same as number of stage outputs"):
        te.create_schedule([Y0.op]).cache_write(Y0, "local")


def test_rfactor():
    A, k1, B = matrix_sum(8, 128)
    s = te.create_schedule(B.op)
    BF = s.rfactor(B, k1)
    assert tuple(int(x) for x in BF.shape) == (128, 8)
    assert names(BF.op.axis) == ["k", "i"] and len(BF.op.reduce_axis) == 0
    assert set(names(s[B].op.reduce_axis)) == {"k.v"}
    assert [str(st.op.name) for st in s.stages] == ["A", "B.rf", "B.repl"]
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k1, factor=4)
    BF = s.rfactor(B, ki, 1)
    assert tuple(int(x) for x in BF.shape) == (8, 4)
    assert names(BF.op.reduce_axis) == ["k.outer"]
    s = te.create_schedule(B.op)
    ko, ki = s[B].split(k1, factor=4)
    BF = s.rfactor(B, ki, -1)
    assert tuple(int(x) for x in BF.shape) == (8, 4)


def test_auto_inline():
    A = te.placeholder((8, 4), name="A")
    one = te.compute((8, 4), lambda i, j: A[i, j] + 1, name="one")
    turned = te.compute((4, 8), lambda i, j: one[j, i], name="turned")
    k = te.reduce_axis((0, 8), "k")
    out = te.compute((4,), lambda i: te.sum(turned[i, k], axis=k), name="out")
    s = te.create_schedule(out.op)
    te.schedule.AutoInlineElemWise(s)
    assert [st.attach_type for st in s.stages] == [1, 2, 1, 1]
    te.schedule.AutoInlineInjective(s)
    assert [st.attach_type for st in s.stages] == [1, 2, 2, 1]
    normal = s.normalize()
    (source,) = normal[out].op.input_tensors
    assert source.op.same_as(A.op)
    # the schedule itself stays as it is
    assert s[out].op.same_as(out.op)


def test_errors():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    other = te.create_schedule(B.op)
    i = C.op.axis[0]
    with pytest.raises(ValueError, match="Cannot find the operation"):
        other[C]
    with pytest.raises(ValueError, match="Tensor or Operation"):
        s[3]
    with pytest.raises(ValueError, match="nparts or factor"):
        s[C].split(i)
    with pytest.raises(ValueError, match="both"):
        s[C].split(i, factor=2, nparts=2)
    with pytest.raises(tenon.TVMError, match="positive factor"):
        s[C].split(i, factor=0)
    with pytest.raises(tenon.TVMError, match="not part of the schedule"):
        s[C].split(B.op.axis[0], factor=2)
    xo, xi = s[C].split(i, factor=4)
    with pytest.raises(tenon.TVMError, match="already been split"):
        s[C].split(i, factor=4)
    with pytest.raises(tenon.TVMError, match="more than once"):
        s[C].reorder(xo, xo)
    with pytest.raises(tenon.TVMError, match="not part of the schedule"):
        s[C].reorder(xo, B.op.axis[0])
    xoo, xoi = s[C].split(xo, factor=2)
    with pytest.raises(tenon.TVMError, match="consecutive"):
        s[C].fuse(xoo, xi)
    with pytest.raises(tenon.TVMError, match="only thread iterators"):
        s[C].bind(xi, xoo)
    s[C].bind(xi, te.thread_axis("threadIdx.x"))
    with pytest.raises(tenon.TVMError, match="already bound to another thread"):
        s[C].bind(xi, te.thread_axis("threadIdx.y"))
    with pytest.raises(tenon.TVMError, match="Cannot find the axis"):
        s[B].compute_at(s[C], i)
    s[B].compute_at(s[C], xoo)
    with pytest.raises(tenon.TVMError, match="inside itself"):
        s[C].compute_at(s[B], B.op.axis[0])
    with pytest.raises(tenon.TVMError, match="not a compute operation"):
        s[A].compute_inline()
    with pytest.raises(tenon.TVMError, match="Cannot find tensor A"):
        s.cache_read(A, "local", [C])
    with pytest.raises(ValueError, match="args must be given"):
        tenon.lower(s)


def test_errors_of_reductions():
    A, k, B = matrix_sum()
    s = te.create_schedule(B.op)
    with pytest.raises(tenon.TVMError, match="reduced over"):
        s[B].vectorize(k)
    with pytest.raises(tenon.TVMError, match="Can only factor reduction axis"):
        s.rfactor(B, B.op.axis[0])
    with pytest.raises(tenon.TVMError, match="factor_axis: expected -2 to 1"):
        s.rfactor(B, k, 2)
    with pytest.raises(tenon.TVMError, match="fused with i, which is not reduced"):
        s.rfactor(B, s[B].fuse(B.op.axis[0], k))
    C = te.compute((32,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    with pytest.raises(tenon.TVMError, match="cannot be inlined"):
        s.normalize()
    with pytest.raises(tenon.TVMError, match="not a reduction"):
        s.rfactor(C, C.op.axis[0])
    with pytest.raises(ValueError, match="placeholder A"):
        tenon.lower(te.create_schedule(B.op), [B])


def test_how_stages_are_shown():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    s = te.create_schedule(b.op)
    assert str(s[a]) == "stage(A, placeholder(A, shape=[4], dtype=float32))"
    assert str(s[b]).startswith("stage(B, compute(B, body=[A[i] + T.float32(1.0)], axis=")
    assert str(s.create_group(b, a)) == "group-stage()"


def test_two_virtual_axes():
    """Both are called "vthread"; each is a separate axis."""
    a = te.placeholder((8, 8), name="A")
    b = te.compute((8, 8), lambda i, j: a[i, j] + 1.0, name="B")
    s = te.create_schedule(b.op)
    i, j = b.op.axis
    for axis, name in ((i, "vy"), (j, "vx")):
        outer, inner = s[b].split(axis, nparts=2)
        s[b].bind(outer, te.thread_axis((0, 2), "vthread", name=name))
        s[b].bind(inner, te.thread_axis("threadIdx." + name[1]))
    yo, yi, xo, xi = s[b].leaf_iter_vars
    s[b].reorder(yo, xo, yi, xi)
    text = str(tenon.lower(s, [a, b]))
    assert text.count("] = A_1[") == 4


def test_a_target_in_the_place_of_the_parameters():
    a = te.placeholder((4,), name="A")
    b = te.compute((4,), lambda i: a[i] + 1.0, name="B")
    program = te.create_prim_func([a, b])
    assert tenon.build(program, "stackvm").type_key == "stackvm"
    assert tenon.build(program, tenon.target.Target("stackvm")).type_key == "stackvm"


def test_cache_read_names_a_reader_once_or_twice():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    cache = s.cache_read(A, "global", [B.op, B.op])
    assert [str(st.op.name) for st in s.stages] == ["A", "A.global", "B", "C"]
    assert s[B].op.input_tensors[0].op.same_as(cache.op)


def test_cache_read_that_is_refused_changes_nothing():
    A, B, C = vectors()
    s = te.create_schedule(C.op)
    with pytest.raises(tenon.TVMError, match="Cannot find tensor A in the inputs to C"):
        s.cache_read(A, "global", [B.op, C.op])
    assert s[B].op.same_as(B.op) and s[B].op.input_tensors[0].op.same_as(A.op)
    tenon.lower(s, [A, C])


def test_cache_read_by_readers_of_each_other_in_any_order():
    A, B, C = vectors()
    D = te.compute((16,), lambda i: C[i] + A[i], name="D")
    E = te.compute((16,), lambda i: D[i] - 1, name="E")
    for readers in ([D.op, B.op], [B.op, D.op]):
        s = te.create_schedule(E.op)
        s.cache_read(A, "global", readers)
        stages = {str(st.op.name): st.op for st in s.stages}
        for user, used in (("E", "D"), ("D", "C"), ("C", "B"), ("B", "A.global")):
            assert any(t.op.same_as(stages[used]) for t in stages[user].input_tensors), user
