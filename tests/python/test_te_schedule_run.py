"""Schedules of tensor expressions run: whatever the schedule, the numbers are the same."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T

HAS_LLVM = bool(tenon._core.get_global_func("target.llvm_version_major")())
TARGETS = ["stackvm", *(["llvm"] if HAS_LLVM else [])]
rng = np.random.default_rng(7)


def random(*shape, dtype="float32"):
    return rng.random(shape).astype(dtype)


def check(s, args, inputs, *outputs, targets=TARGETS, rtol=1e-5):
    for target in targets:
        built = tenon.build(s, args, target=target, name="f")
        tensors = [tenon.nd.array(a) for a in inputs]
        results = [tenon.nd.array(np.full_like(o, 77)) for o in outputs]
        built["f"](*tensors, *results)
        for got, want in zip(results, outputs, strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=rtol, err_msg=target)


def text(s, args):
    return tenon.lower(s, args, simple_mode=True).script()


def count(lowered, kind):
    found = []
    tir.stmt_functor.post_order_visit(
        lowered["main"].body, lambda n: found.append(n) if isinstance(n, kind) else None
    )
    return len(found)


# ---- vectors ----


@pytest.mark.parametrize("n", [1, 4, 37, 64])
def test_vector_add(n):
    size = te.var("n")
    A = te.placeholder((size,), name="A")
    B = te.placeholder((size,), name="B")
    C = te.compute(A.shape, lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    s[C].parallel(outer)
    s[C].vectorize(inner)
    a, b = random(n), random(n)
    check(s, [A, B, C], [a, b], a + b)


def test_conditions_only_where_needed():
    A = te.placeholder((60,), name="A")
    B = te.compute((60,), lambda i: A[i] + 1, name="B")
    for factor, conditions in [(4, 0), (8, 1), (60, 0), (64, 0), (7, 1)]:
        s = te.create_schedule(B.op)
        s[B].split(B.op.axis[0], factor)
        assert count(tenon.lower(s, [A, B]), tir.IfThenElse) == conditions
        a = random(60)
        check(s, [A, B], [a], a + 1)
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 8)
    s[B].split(inner, 3)
    assert text(s, [A, B]).count("T.likely") == 2


def test_disable_predication():
    A = te.placeholder((64,), name="A")
    n = te.var("n")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 8, disable_predication=True)
    assert "likely" not in text(s, [A, B])


def test_fuse_and_reorder():
    A = te.placeholder((6, 10), name="A")
    B = te.compute((6, 10), lambda i, j: A[i, j] * 3, name="B")
    a = random(6, 10)
    s = te.create_schedule(B.op)
    fused = s[B].fuse(*B.op.axis)
    xo, xi = s[B].split(fused, factor=7)
    s[B].reorder(xi, xo)
    s[B].unroll(xo)
    check(s, [A, B], [a], a * 3)
    s = te.create_schedule(B.op)
    xo, yo, xi, yi = s[B].tile(*B.op.axis, 4, 4)
    s[B].vectorize(yi)
    s[B].parallel(s[B].fuse(xo, yo))
    check(s, [A, B], [a], a * 3)


def test_zero_dimensions():
    A = te.placeholder((), name="A")
    B = te.compute((), lambda: A() + 1, name="B")
    s = te.create_schedule(B.op)
    check(s, [A, B], [np.array(3, "float32")], np.array(4, "float32"))
    k = te.reduce_axis((0, 10), "k")
    X = te.placeholder((10,), name="X")
    Y = te.compute((), lambda: te.sum(X[k], axis=k), name="Y")
    s = te.create_schedule(Y.op)
    s[Y].split(k, 3)
    x = random(10)
    check(s, [X, Y], [x], x.sum())


# ---- places ----


def chain(n=64):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * 2, name="B")
    C = te.compute((n,), lambda i: B[i] + 1, name="C")
    D = te.compute((n,), lambda i: C[i] * B[i], name="D")
    a = random(n)
    return A, B, C, D, a, (2 * a + 1) * 2 * a


def test_inline():
    A, B, C, D, a, d = chain()
    s = te.create_schedule(D.op)
    s[B].compute_inline()
    s[C].compute_inline()
    lowered = tenon.lower(s, [A, D])
    assert count(lowered, tir.For) == 1 and count(lowered, tir.Allocate) == 0
    check(s, [A, D], [a], d)


def test_compute_at():
    A, B, C, D, a, d = chain()
    s = te.create_schedule(D.op)
    outer, inner = s[D].split(D.op.axis[0], 16)
    s[C].compute_at(s[D], inner)
    s[B].compute_at(s[D], outer)
    shapes = [n for n in ("T.allocate([16]", "T.allocate([1]") if n in text(s, [A, D])]
    assert shapes[0] == "T.allocate([16]"
    check(s, [A, D], [a], d)
    s[B].compute_root()
    check(s, [A, D], [a], d)


@pytest.mark.parametrize("n,factor", [(32, 8), (30, 8), (31, 5)])
def test_stencil(n, factor):
    A = te.placeholder((n + 2,), name="A")
    B = te.compute((n + 2,), lambda i: A[i] * A[i], name="B")
    C = te.compute((n,), lambda i: B[i] + B[i + 1] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(C.op.axis[0], factor)
    s[B].compute_at(s[C], xo)
    a = random(n + 2)
    b = a * a
    check(s, [A, C], [a], b[:-2] + b[1:-1] + b[2:])
    assert f"T.allocate([{factor + 2}]" in text(s, [A, C])


def test_padding_and_pooling():
    A = te.placeholder((14, 14), name="A")
    P = te.compute(
        (16, 16),
        lambda i, j: te.if_then_else(
            te.all(i >= 1, i < 15, j >= 1, j < 15), A[i - 1, j - 1], tir.const(0, "float32")
        ),
        name="P",
    )
    r, c = te.reduce_axis((0, 3), "r"), te.reduce_axis((0, 3), "c")
    M = te.compute((14, 14), lambda i, j: te.max(P[i + r, j + c], axis=[r, c]), name="M")
    a = random(14, 14)
    padded = np.pad(a, 1)
    want = np.max([padded[i : i + 14, j : j + 14] for i in range(3) for j in range(3)], axis=0)
    for inline in (False, True):
        s = te.create_schedule(M.op)
        xo, yo, xi, yi = s[M].tile(*M.op.axis, 4, 5)
        if inline:
            s[P].compute_inline()
        else:
            s[P].compute_at(s[M], yo)
        s[M].reorder(r, xi, c)
        check(s, [A, M], [a], want)


# ---- reductions ----


def matmul(m=20, n=24, k=18):
    A = te.placeholder((m, k), name="A")
    B = te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    C = te.compute((m, n), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    a, b = random(m, k), random(k, n)
    return A, B, C, r, a, b


def test_matmul_tiled():
    A, B, C, r, a, b = matmul()
    s = te.create_schedule(C.op)
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 8, 8)
    ko, ki = s[C].split(r, factor=4)
    s[C].reorder(xo, yo, ko, xi, ki, yi)
    s[C].vectorize(yi)
    check(s, [A, B, C], [a, b], a @ b)


def test_matmul_with_caches():
    A, B, C, r, a, b = matmul(32, 32, 32)
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    xo, yo, xi, yi = s[C].tile(*C.op.axis, 8, 16)
    s[CC].compute_at(s[C], yo)
    xc, yc = s[CC].op.axis
    (k,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(k, factor=4)
    s[CC].reorder(ko, xc, ki, yc)
    s[CC].unroll(ki)
    s[CC].vectorize(yc)
    AA = s.cache_read(A, "global", [CC])
    s[AA].compute_at(s[CC], ko)
    s[C].parallel(xo)
    check(s, [A, B, C], [a, b], a @ b)


def test_packed_matmul_of_the_tutorial():
    M = K = N = 32
    bn = 8
    A = te.placeholder((M, K), name="A")
    B = te.placeholder((K, N), name="B")
    k = te.reduce_axis((0, K), "k")
    packed = te.compute((N // bn, K, bn), lambda bigN, k, littleN: B[k, bigN * bn + littleN])
    C = te.compute(
        (M, N),
        lambda m, n: te.sum(A[m, k] * packed[n // bn, k, te.indexmod(n, bn)], axis=k),
        name="C",
    )
    s = te.create_schedule(C.op)
    CC = s.cache_write(C, "global")
    mo, no, mi, ni = s[C].tile(C.op.axis[0], C.op.axis[1], bn, bn)
    s[CC].compute_at(s[C], no)
    mc, nc = s[CC].op.axis
    (kaxis,) = s[CC].op.reduce_axis
    ko, ki = s[CC].split(kaxis, factor=4)
    s[CC].reorder(ko, mc, ki, nc)
    s[CC].vectorize(nc)
    s[CC].unroll(ki)
    s[C].parallel(mo)
    bigN, _, littleN = s[packed].op.axis
    s[packed].vectorize(littleN)
    s[packed].parallel(bigN)
    a, b = random(M, K), random(K, N)
    check(s, [A, B, C], [a, b], a @ b)


@pytest.mark.parametrize("n,factor", [(64, 8), (50, 8), (50, 7)])
def test_rfactor(n, factor):
    A = te.placeholder((4, n), name="A")
    k = te.reduce_axis((0, n), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    a = random(4, n)
    for inner, place in [(True, 0), (True, 1), (False, 0), (False, -1)]:
        s = te.create_schedule(B.op)
        ko, ki = s[B].split(k, factor)
        BF = s.rfactor(B, ki if inner else ko, place)
        s[BF].parallel(BF.op.axis[0])
        check(s, [A, B], [a], a.sum(1))
        s[BF].compute_at(s[B], s[B].op.axis[0])
        check(s, [A, B], [a], a.sum(1))
        s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
        check(s, [A, B], [a], a.sum(1))


@pytest.mark.parametrize("start", [0, 4])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("fused", [False, True])
def test_rfactor_of_an_axis_that_is_not_split(start, place, fused):
    A = te.placeholder((4, 20, 6), name="A")
    k = te.reduce_axis((start, 20), name="k")
    m = te.reduce_axis((2, 6), name="m")
    B = te.compute((4,), lambda i: te.sum(A[i, k, m], axis=[k, m]), name="B")
    a = random(4, 20, 6)
    for axis in [k, m]:
        s = te.create_schedule(B.op)
        BF = s.rfactor(B, s[B].fuse(k, m) if fused else axis, place)
        assert BF.shape[place] == ((20 - start) * 4 if fused else [20 - start, 4][axis is m])
        check(s, [A, B], [a], a[:, start:, 2:].sum((1, 2)))
        s[BF].compute_at(s[B], s[B].op.axis[0])
        check(s, [A, B], [a], a[:, start:, 2:].sum((1, 2)))


def test_argmax():
    def combine(x, y):
        return te.if_then_else(x[1] >= y[1], x[0], y[0]), te.if_then_else(x[1] >= y[1], x[1], y[1])

    argmax = te.comm_reducer(
        combine, lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)), name="argmax"
    )
    I = te.placeholder((5, 30), dtype="int32", name="I")  # noqa: E741
    V = te.placeholder((5, 30), name="V")
    k = te.reduce_axis((0, 30), name="k")
    T0, T1 = te.compute((5,), lambda i: argmax((I[i, k], V[i, k]), axis=k), name="T")
    v = random(5, 30)
    i = np.tile(np.arange(30, dtype="int32"), (5, 1))
    s = te.create_schedule(T0.op)
    check(s, [I, V, T0, T1], [i, v], v.argmax(1).astype("int32"), v.max(1))
    s = te.create_schedule(T0.op)
    _, ki = s[T0].split(k, 8)
    BF = s.rfactor(T0, ki)
    assert len(BF) == 2
    check(s, [I, V, T0, T1], [i, v], v.argmax(1).astype("int32"), v.max(1))


def test_condition_of_a_reduction():
    A = te.placeholder((10, 10), name="A")
    k = te.reduce_axis((0, 10), name="k")
    B = te.compute((10,), lambda i: te.sum(A[i, k], axis=k, where=k < i), name="B")
    a = random(10, 10)
    s = te.create_schedule(B.op)
    s[B].split(k, 3)
    check(s, [A, B], [a], np.tril(a, -1).sum(1))


def test_softmax():
    A = te.placeholder((6, 16), name="A")
    k1, k2 = te.reduce_axis((0, 16), "k1"), te.reduce_axis((0, 16), "k2")
    most = te.compute((6,), lambda i: te.max(A[i, k1], axis=k1), name="most")
    e = te.compute((6, 16), lambda i, j: te.exp(A[i, j] - most[i]), name="e")
    total = te.compute((6,), lambda i: te.sum(e[i, k2], axis=k2), name="total")
    out = te.compute((6, 16), lambda i, j: e[i, j] / total[i], name="out")
    a = random(6, 16)
    want = np.exp(a - a.max(1, keepdims=True))
    want /= want.sum(1, keepdims=True)
    for at_root in (True, False):
        s = te.create_schedule(out.op)
        for t in () if at_root else (most, e, total):
            s[t].compute_at(s[out], out.op.axis[0])
        s[out].vectorize(s[out].split(out.op.axis[1], 4)[1])
        check(s, [A, out], [a], want)


# ---- the rest ----


def test_several_outputs_and_binds():
    A = te.placeholder((8, 8), name="A")
    B = te.compute((8, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 8), lambda i, j: B[j, i] * 2, name="C")
    a = random(8, 8)
    s = te.create_schedule([B.op, C.op])
    check(s, [A, B, C], [a], a + 1, (a + 1).T * 2)
    ab = tir.decl_buffer(A.shape, A.dtype, name="Ab")
    lowered = tenon.lower(s, [ab, B, C], binds={A: ab}, name="g")
    assert "Ab" in lowered["g"].script()
    assert lowered["g"].attrs["global_symbol"] == "g"


def test_scalar_arguments():
    n = te.var("n")
    f = te.var("f", "float32")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] * f, name="B")
    s = te.create_schedule(B.op)
    s[B].split(B.op.axis[0], 8)
    a = random(13)
    for target in TARGETS:
        built = tenon.build(s, [n, A, f, B], target)
        out = tenon.nd.array(np.zeros_like(a))
        built(13, tenon.nd.array(a), 2.5, out)
        np.testing.assert_allclose(out.numpy(), a * np.float32(2.5))


def test_storage_align():
    A = te.placeholder((8, 24), name="A")
    B = te.compute((8, 24), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((8, 24), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].storage_align(B.op.axis[0], 32, 1)
    a = random(8, 24)
    assert "33" in text(s, [A, C])
    check(s, [A, C], [a], (a + 1) * 2)


def test_extern():
    A = te.placeholder((12,), name="A")
    B = te.compute((12,), lambda i: A[i] + 1, name="B")

    @tenon.register_func("tests.te_schedule.triple", override=True)
    def triple(x, y):
        tenon.nd.array(x.numpy() * 3).copyto(y)

    def body(ins, outs):
        return tir.call_packed("tests.te_schedule.triple", ins[0], outs[0])

    C = te.extern((12,), [B], body, dtype="float32", name="C")
    D = te.compute((12,), lambda i: C[i] - 1, name="D")
    s = te.create_schedule(D.op)
    s[B].vectorize(s[B].split(B.op.axis[0], 4)[1])
    a = random(12)
    check(s, [A, D], [a], (a + 1) * 3 - 1)
    check(te.create_schedule(C.op), [A, C], [a], (a + 1) * 3)


def test_pragmas():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 4)
    s[B].unroll(inner)
    s[B].pragma(outer, "auto_unroll_max_step", 16)
    before = tenon.driver.schedule_to_module(s, [A, B])["main"].script()
    assert "T.unroll(4)" in before and '"pragma_auto_unroll_max_step": 16' in before
    assert "T.unroll" not in tenon.lower(s, [A, B]).script()
    a = random(64)
    check(s, [A, B], [a], a + 1)


def test_threads_become_loops_of_one_launch():
    n = 64
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    bx, tx = s[C].split(C.op.axis[0], factor=16)
    s[C].bind(bx, te.thread_axis("blockIdx.x"))
    s[C].bind(tx, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], tx)
    script = tenon.driver.schedule_to_module(s, [A, C])["main"].script()
    assert 'T.thread_binding(4, thread="blockIdx.x")' in script
    assert 'T.thread_binding(16, thread="threadIdx.x")' in script
    assert 'scope="local"' in script  # what is computed in a thread is its own


def test_built_module_has_the_name():
    A = te.placeholder((4,), name="A")
    B = te.compute((4,), lambda i: A[i], name="B")
    s = te.create_schedule(B.op)
    built = tenon.build(s, [A, B], TARGETS[-1], name="myfunc")
    assert built.entry_name is not None and built["myfunc"] is not None
    default = tenon.build(s, [A, B], TARGETS[-1])
    assert default["default_function"] is not None


def test_storage_align_of_the_only_axis_has_room_for_its_strides():
    A = te.placeholder((16,), name="A")
    B = te.compute((16,), lambda i: A[i] + 1, name="B")
    C = te.compute((16,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].storage_align(B.op.axis[0], 8, 0)
    found = []
    visit = lambda n: found.append(n) if isinstance(n, tenon.tir.Allocate) else None  # noqa: E731
    tenon.tir.stmt_functor.post_order_visit(tenon.lower(s, [A, C])["main"].body, visit)
    assert [[int(e) for e in a.extents] for a in found] == [[16 * 8]]


def test_allocations_hold_strides_in_any_order():
    @T.prim_func
    def transposed(A: T.Buffer((4, 16), "float32"), C: T.Buffer((4, 16), "float32")):
        B = T.alloc_buffer((4, 16), "float32", strides=[1, 4])
        for i, j in T.grid(4, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj]
        for i, j in T.grid(4, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj]

    found = []
    visit = lambda n: found.append(n) if isinstance(n, tenon.tir.Allocate) else None  # noqa: E731
    tenon.tir.stmt_functor.post_order_visit(tenon.lower(transposed)["main"].body, visit)
    (extent,) = found[0].extents
    assert len(found) == 1 and int(extent) >= 3 * 1 + 15 * 4 + 1


@pytest.mark.parametrize("how", [{"nparts": 2}, {"factor": 8}])
def test_parts_of_open_axes_are_allocated_at_their_size(how):
    """Half of n is allocated as that, not as the half of the largest int32."""
    n = te.var("n")
    A = te.placeholder((n,), "int32", name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: B[i] * 2, name="C")
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(C.op.axis[0], **how)
    s[B].compute_at(s[C], outer)
    lowered, found = tenon.lower(s, [A, C])["main"], []
    visit = lambda x: found.append(x) if isinstance(x, tir.Allocate) else None  # noqa: E731
    tir.stmt_functor.post_order_visit(lowered.body, visit)
    assert len(found) <= 1
    extents = [e.value for f in found for e in f.extents if isinstance(e, tir.IntImm)]
    assert extents == ([] if "nparts" in how else [8])
    a, out = np.arange(37, dtype="int32"), tenon.nd.empty((37,), "int32")
    tenon.build(s, [A, C], TARGETS[-1])(tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), (a + 1) * 2)


@pytest.mark.parametrize("each", [1, 2, 5])
@pytest.mark.parametrize("tag", ["threadIdx.x", "vthread"])
def test_results_that_each_thread_has_for_itself(each, tag):
    """A loop over threads in whose memory the results are: every thread computes all it reads."""
    A = te.placeholder((4, 3 * each), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] * 2, name="B")
    C = te.compute(A.shape, lambda i, j: B[i, j] + 1, name="C")
    s = te.create_schedule(C.op)
    i, j = C.op.axis
    tx = te.thread_axis((0, 3), tag)
    outer, _ = s[C].split(j, factor=each)
    s[C].bind(i, te.thread_axis("blockIdx.x"))
    s[C].bind(outer, tx)
    s[B].compute_at(s[C], i)
    s[B].set_scope("local")
    _, inner = s[B].split(B.op.axis[1], factor=3)
    s[B].bind(inner, tx)
    text = tenon.lower(s, [A, C])["main"].script()
    size = each if tag == "threadIdx.x" else 3 * each
    assert f'T.allocate([{size}], "float32", "local")' in text and "LetStmt" not in text
    assert text.count("launch_thread") == (2 if tag == "threadIdx.x" else 1)


@pytest.mark.parametrize("memory", ["global", "global.vtcm"])
def test_results_in_memory_of_all_threads(memory):
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] * 2, name="B")
    C = te.compute((64,), lambda i: B[i] + B[63 - i], name="C")
    s = te.create_schedule(C.op)
    s[B].set_scope(memory)
    for t in (B, C):
        outer, inner = s[t].split(t.op.axis[0], factor=8)
        s[t].bind(outer, te.thread_axis("blockIdx.x"))
        s[t].bind(inner, te.thread_axis("threadIdx.x"))
    text = te.schedule._ffi_api.ToFunc(s, [A, C], None).script()
    assert "T.alloc_buffer((64,)" in text and text.count("for ") == 4


def test_results_of_virtual_threads_on_the_host():
    A = te.placeholder((4, 6), name="A")
    B = te.compute(A.shape, lambda i, j: A[i, j] * 2, name="B")
    C = te.compute(A.shape, lambda i, j: B[i, j] + 1, name="C")
    for inside in (True, False):
        s = te.create_schedule(C.op)
        thread = te.thread_axis((0, 3), "vthread", name="vt")
        outer, _ = s[C].split(C.op.axis[1], factor=2)
        s[C].bind(outer, thread)
        s[B].compute_at(s[C], outer if inside else C.op.axis[0])
        s[B].set_scope("local")
        if not inside:
            s[B].bind(s[B].split(B.op.axis[1], factor=3)[1], thread)
            with pytest.raises(tenon.TVMError, match="memory of each virtual thread"):
                tenon.lower(s, [A, C])
            continue
        a = random(4, 6)
        check(s, [A, C], [a], a * 2 + 1)
