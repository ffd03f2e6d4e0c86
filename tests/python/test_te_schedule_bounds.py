"""Bounds of iteration variables that follow from a schedule of tensor expressions."""

import numpy as np
import pytest
import tenon
from tenon import te


def bounds_of(s):
    return te.schedule.InferBound(s.normalize())


def extents(bounds, axes):
    return [int(bounds[axis].extent) for axis in axes]


def test_split_of_the_consumer():
    m = te.var("m")
    length = te.var("l")
    A = te.placeholder((m, length), name="A")
    A1 = te.compute((m, length), lambda i, j: A[i, j], name="A1")
    A2 = te.compute((m, length), lambda i, j: A1[i, j] + 3, name="A2")
    s = te.create_schedule([A2.op])
    xo, xi = s[A2].split(s[A2].op.axis[0], 8)
    s[A1].compute_at(s[A2], xo)
    bounds = bounds_of(s)
    assert isinstance(bounds, tenon.ir.Map)
    assert extents(bounds, [A1.op.axis[0]]) == [8]
    assert extents(bounds, [xi]) == [8]
    tenon.ir.assert_structural_equal(bounds[A1.op.axis[1]].extent, length)


def test_two_loops():
    m = te.var("m")
    length = te.var("l")
    A = te.placeholder((m, length), name="A")
    A1 = te.compute((m, length), lambda i, j: A[i, j], name="A1")
    A2 = te.compute((m, length), lambda i, j: A1[i, j] + 3, name="A2")
    s = te.create_schedule(A2.op)
    xo, yo, xi, yi = s[A2].tile(A2.op.axis[0], A2.op.axis[1], 8, 8)
    s[A1].compute_at(s[A2], yo)
    assert extents(bounds_of(s), A1.op.axis) == [8, 8]


def test_shared_memory_is_seen_by_all_threads():
    m = te.var("m")
    length = te.var("l")
    A = te.placeholder((m, length), name="A")
    A1 = te.compute((m, length), lambda i, j: A[i, j], name="A1")
    A2 = te.compute((m, length), lambda i, j: A1[i, j] + 3, name="A2")
    s = te.create_schedule(A2.op)
    s[A1].set_scope("shared")
    xo, xi = s[A2].split(A2.op.axis[0], 32)
    xi0, xi1 = s[A2].split(xi, nparts=16)
    s[A2].bind(xi0, te.thread_axis("threadIdx.x"))
    yo, yi = s[A2].split(A2.op.axis[1], 16)
    s[A2].reorder(xo, xi0, yo, xi1, yi)
    s[A1].compute_at(s[A2], yo)
    assert extents(bounds_of(s), A1.op.axis) == [32, 16]


def test_local_memory_is_a_thread_s_own():
    A = te.placeholder((128, 64), name="A")
    A1 = te.compute((128, 64), lambda i, j: A[i, j], name="A1")
    A2 = te.compute((128, 64), lambda i, j: A1[i, j] + 3, name="A2")
    s = te.create_schedule(A2.op)
    xo, xi = s[A2].split(A2.op.axis[0], 32)
    s[A2].bind(xo, te.thread_axis("blockIdx.x"))
    s[A2].bind(xi, te.thread_axis("threadIdx.x"))
    s[A1].compute_at(s[A2], xi)
    assert extents(bounds_of(s), A1.op.axis) == [1, 64]


def test_split_that_does_not_come_out_even():
    length = te.var("length")
    A = te.placeholder((length,), name="A")
    B = te.compute((length,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 32)
    bounds = bounds_of(s)
    assert extents(bounds, [inner]) == [32]
    tenon.ir.assert_structural_equal(bounds[outer].extent, (length + 31) // 32)
    outer2, inner2 = s[B].split(inner, nparts=5)
    assert extents(bounds_of(s), [outer2, inner2]) == [5, 7]


def test_factor_above_the_extent_is_the_extent():
    A = te.placeholder((5,), name="A")
    B = te.compute((5,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 32)
    assert extents(bounds_of(s), [outer, inner]) == [1, 5]
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], nparts=8)
    assert extents(bounds_of(s), [outer, inner]) == [5, 1]
    # a loop for threads keeps what was asked for
    s = te.create_schedule(B.op)
    outer, inner = s[B].split(B.op.axis[0], 32)
    s[B].bind(inner, te.thread_axis("threadIdx.x"))
    assert extents(bounds_of(s), [outer, inner]) == [1, 32]


def test_stencil():
    A = te.placeholder((34,), name="A")
    B = te.compute((34,), lambda i: A[i] * 2, name="B")
    C = te.compute((32,), lambda i: B[i] + B[i + 1] + B[i + 2], name="C")
    s = te.create_schedule(C.op)
    xo, xi = s[C].split(C.op.axis[0], 8)
    s[B].compute_at(s[C], xo)
    bounds = bounds_of(s)
    assert extents(bounds, B.op.axis) == [10]
    tenon.ir.assert_structural_equal(bounds[B.op.axis[0]].min, xo.var * 8)


def test_two_consumers_need_the_union():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i], name="B")
    C = te.compute((32,), lambda i: B[i + 1], name="C")
    D = te.compute((32,), lambda i: B[i + 4] + C[i], name="D")
    s = te.create_schedule(D.op)
    xo, _ = s[D].split(D.op.axis[0], 4)
    s[C].compute_at(s[D], xo)
    s[B].compute_at(s[D], xo)
    bounds = bounds_of(s)
    assert extents(bounds, [C.op.axis[0], B.op.axis[0]]) == [4, 7]


def test_fuse():
    A = te.placeholder((24, 16), name="A")
    B = te.compute((24, 16), lambda i, j: A[i, j], name="B")
    C = te.compute((24, 16), lambda i, j: B[i, j] + 1, name="C")
    s = te.create_schedule(C.op)
    fused = s[C].fuse(*C.op.axis)
    outer, inner = s[C].split(fused, factor=8)
    s[B].compute_at(s[C], outer)
    bounds = bounds_of(s)
    assert extents(bounds, [fused, outer, inner]) == [384, 48, 8]
    assert extents(bounds, B.op.axis) == [1, 8]
    # parts that span several rows need whole rows
    s = te.create_schedule(C.op)
    outer, _ = s[C].split(s[C].fuse(*C.op.axis), factor=32)
    s[B].compute_at(s[C], outer)
    assert extents(bounds_of(s), B.op.axis) == [2, 16]


def test_cache_and_reduction():
    n = 1024
    A = te.placeholder((n, n), name="A")
    k = te.reduce_axis((0, n), "k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    AA = s.cache_read(A, "shared", [B])
    xo, xi = s[B].split(B.op.axis[0], 16)
    ko, _ = s[B].split(k, 64)
    s[B].reorder(xo, ko, xi)
    s[AA].compute_at(s[B], ko)
    leaves = [str(iv.var.name) for iv in s[B].leaf_iter_vars]
    assert leaves == ["i.outer", "k.outer", "i.inner", "k.inner"]
    assert extents(bounds_of(s), AA.op.axis) == [16, 64]


def test_rfactor():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    k = te.reduce_axis((0, n))
    B = te.compute((1,), lambda i: te.sum(A[k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, kf = s[B].split(k, nparts=4)
    BF = s.rfactor(B, kf)
    bounds = bounds_of(s)
    tenon.ir.assert_structural_equal(bounds[BF.op.axis[0]].extent, (n + 3) // 4)
    assert extents(bounds, [BF.op.axis[1]]) == [1]
    assert extents(bounds, BF.op.reduce_axis) == [4]


def test_gemm_blocks():
    nn = 1024
    A = te.placeholder((nn, nn), name="A")
    B = te.placeholder((nn, nn), name="B")
    k = te.reduce_axis((0, nn), name="k")
    C = te.compute((nn, nn), lambda i, j: te.sum(A[i, k] * B[j, k], axis=k), name="CC")
    s = te.create_schedule(C.op)
    scale = 8
    num_thread = 8
    block_factor = scale * num_thread
    block_x = te.thread_axis("blockIdx.x")
    thread_x = te.thread_axis("threadIdx.x")
    block_y = te.thread_axis("blockIdx.y")
    thread_y = te.thread_axis("threadIdx.y")
    CC = s.cache_write(C, "local")
    AA = s.cache_read(A, "shared", [CC])
    BB = s.cache_read(B, "shared", [CC])
    by, yi = s[C].split(C.op.axis[0], factor=block_factor)
    bx, xi = s[C].split(C.op.axis[1], factor=block_factor)
    s[C].reorder(by, bx, yi, xi)
    s[C].bind(by, block_y)
    s[C].bind(bx, block_x)
    ty, yi = s[C].split(yi, nparts=num_thread)
    tx, xi = s[C].split(xi, nparts=num_thread)
    s[C].reorder(ty, tx, yi, xi)
    s[C].bind(ty, thread_y)
    s[C].bind(tx, thread_x)
    s[CC].compute_at(s[C], tx)
    s[CC].reorder(k, *s[CC].op.axis)
    s[AA].compute_at(s[CC], k)
    s[BB].compute_at(s[CC], k)
    ty, xi = s[AA].split(s[AA].op.axis[0], nparts=num_thread)
    s[AA].bind(ty, thread_y)
    bounds = bounds_of(s)
    assert extents(bounds, CC.op.axis) == [8, 8]
    assert extents(bounds, AA.op.axis) == [64, 1]
    assert extents(bounds, BB.op.axis) == [64, 1]
    assert extents(bounds, [by, bx, thread_x, block_x]) == [16, 16, 8, 16]


def test_inlined_stages_have_no_bounds():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    C = te.compute((8,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    bounds = bounds_of(s)
    assert C.op.axis[0] in bounds and B.op.axis[0] not in bounds
    with pytest.raises(ValueError, match="normalize"):
        te.schedule.InferBound(s)


def test_place_that_was_split_later():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i], name="B")
    C = te.compute((64,), lambda i: B[i], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[C].split(C.op.axis[0], factor=8)
    assert extents(bounds_of(s), B.op.axis) == [1]


def test_a_place_that_does_not_serve_all_consumers():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    C = te.compute((8,), lambda i: B[i], name="C")
    D = te.compute((8,), lambda i: B[i] + C[i], name="D")
    s = te.create_schedule(D.op)
    s[B].compute_at(s[C], C.op.axis[0])
    with pytest.raises(tenon.TVMError, match="cannot find the producer B"):
        bounds_of(s)


def test_a_place_below_that_of_a_consumer():
    A = te.placeholder((8, 4), name="A")
    B = te.compute((8, 4), lambda i, j: A[i, j], name="B")
    C = te.compute((8, 4), lambda i, j: B[i, j], name="C")
    D = te.compute((8, 4), lambda i, j: C[i, j], name="D")
    s = te.create_schedule(D.op)
    s[C].compute_at(s[D], D.op.axis[0])
    s[B].compute_at(s[D], D.op.axis[1])
    with pytest.raises(tenon.TVMError, match="cannot find the producer B"):
        bounds_of(s)


def test_outputs_stay_at_the_root():
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: A[i], name="B")
    C = te.compute((8,), lambda i: B[i], name="C")
    s = te.create_schedule([B.op, C.op])
    s[B].compute_at(s[C], C.op.axis[0])
    with pytest.raises(tenon.TVMError, match="Output must be attached at root"):
        bounds_of(s)


def rows_of(B, at):
    """Row at[2] of B for each i."""
    n = int(B.shape[0])
    return te.compute((n, n), lambda i, j: B[at[2], j] + i, name="C")


@pytest.mark.parametrize("computed", [False, True])
def test_indices_that_are_computed_need_whole_axes(computed):
    """A row that a placeholder names is computed alone; one that a stage names is not: its number
    is not there yet."""
    n = 8
    rows = te.placeholder((n,), "int32", name="rows")
    B = te.compute((n, n), lambda i, j: i * 10 + j, name="B")
    at = te.compute((n,), lambda i: rows[i], name="at") if computed else rows
    C = rows_of(B, at)
    s = te.create_schedule(C.op)
    for tensor in (B, at) if computed else (B,):
        s[tensor].compute_at(s[C], C.op.axis[0])
    s.cache_write(B, "global")
    values = np.array([3, 5, 0, 6, 7, 7, 1, 2], "int32")
    out = tenon.nd.empty((n, n), "int32")
    tenon.build(s, [rows, C], "stackvm")(tenon.nd.array(values), out)
    i = np.arange(n)
    np.testing.assert_array_equal(out.numpy(), values[2] * 10 + i + i[:, None])
    assert extents(bounds_of(s), s[B].op.axis) == ([n, n] if computed else [1, n])
