"""Schedules: copies in which a block's iterators are the indices."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure, func, scale
from schedule_run import verified
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def transpose(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32")):
    for i, j in T.grid(32, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vj, vi] * 2.0


def test_reindex_of_a_read():
    sch = tir.Schedule(transpose)
    copy = sch.reindex("B", ("read", 0))

    @T.prim_func
    def expected(A: T.Buffer((16, 32), "float32"), B: T.Buffer((32, 16), "float32")):
        A_reindex = T.alloc_buffer((32, 16))
        for ax0, ax1 in T.grid(32, 16):
            with T.block("A_reindex"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                A_reindex[v0, v1] = A[v1, v0]
        for i, j in T.grid(32, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A_reindex[vi, vj] * 2.0

    verified(sch, transpose, expected)
    assert sch.get(copy).name_hint == "A_reindex"
    assert sch.trace.as_python()[-1] == 'b1 = sch.reindex(block=b0, buffer=("read", 0))'
    assert sch.trace.as_json()[0][-1] == ["ReIndex", ["b0"], [0, 0], ["b1"]]
    named = tir.Schedule(transpose)
    named.reindex("B", "A")
    tir.schedule.testing.assert_structural_equal_ignore_global_symbol(named.mod["main"], expected)


@T.prim_func
def conv(
    X: T.Buffer((1, 10, 10, 3), "float32"),
    W: T.Buffer((3, 3, 3, 8), "float32"),
    Y: T.Buffer((1, 8, 8, 8), "float32"),
):
    for n, h, w, co, rh, rw, rc in T.grid(1, 8, 8, 8, 3, 3, 3):
        with T.block("Y"):
            vn, vh, vw, vco, vrh, vrw, vrc = T.axis.remap("SSSSRRR", [n, h, w, co, rh, rw, rc])
            with T.init():
                Y[vn, vh, vw, vco] = 0.0
            Y[vn, vh, vw, vco] = (
                Y[vn, vh, vw, vco] + X[vn, vh + vrh, vw + vrw, vrc] * W[vrh, vrw, vrc, vco]
            )


def test_reindex_of_a_convolution():
    sch = tir.Schedule(conv)
    data = sch.reindex("Y", ("read", 0))
    weights = sch.reindex("Y", ("read", 1))
    out = sch.reindex("Y", ("write", 0))
    shape = lambda b: [int(n) for n in sch.get(b).writes[0].buffer.shape]  # noqa: E731
    assert shape(data) == [1, 8, 8, 3, 3, 3]  # not over the output channels
    assert shape(weights) == [8, 3, 3, 3]
    assert sch.get(out).writes[0].buffer.name == "Y"
    # iterators that the copy does not use have no loop
    extents = [int(sch.get(x).extent) for x in sch.get_loops(weights)]
    assert extents == [8, 3, 3, 3]
    verified(sch, conv)


def test_reindex_of_a_write():
    sch = tir.Schedule(transpose)
    sch.reindex("B", ("write", 0))
    assert "B_reindex[vi, vj] = A[vj, vi] * T.float32(2.0)" in sch.mod.script()
    assert "B[v0, v1] = B_reindex[v0, v1]" in sch.mod.script()
    verified(sch, transpose)


@T.prim_func
def chain(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
    B = T.alloc_buffer((16, 32))
    for i, j in T.grid(16, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


def test_reindex_cache_read():
    sch = tir.Schedule(chain)
    sch.reindex_cache_read("C", 0, "shared", lambda i, j: (j, i // 2, i % 2))

    @T.prim_func
    def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
        B = T.alloc_buffer((16, 32))
        B_shared = T.alloc_buffer((32, 8, 2), scope="shared")
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(16, 32):
            with T.block("B_shared"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_shared[vj, vi // 2, vi % 2] = B[vi, vj]
        for i, j in T.grid(16, 32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B_shared[vj, vi // 2, vi % 2] + 1.0

    verified(sch, chain, expected)
    assert "index_map=lambda i, j: (j, i // 2, i % 2)" in sch.trace.as_python()[-1]


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("order", [lambda i: i // 2, lambda i: i % 4, lambda i: i + i % 2])
def test_elements_that_would_share_a_place(kind, order):
    body = """
for i in range(8):
    with T.block("B"):
        vi = T.axis.remap("S", [i])
        B[vi] = A[vi] * 2.0
"""
    sch = tir.Schedule(func(["A:8", "B:8"], body))
    with pytest.raises(tir.ScheduleError, match="not shown to keep the elements of buffer . apart"):
        getattr(sch, f"reindex_cache_{kind}")("B", 0, "global", order)


def test_reindex_cache_write():
    sch = tir.Schedule(chain)
    sch.reindex_cache_write("B", 0, "shared", lambda i, j: (j, i))

    @T.prim_func
    def expected(A: T.Buffer((16, 32), "float32"), C: T.Buffer((16, 32), "float32")):
        B = T.alloc_buffer((16, 32))
        B_shared = T.alloc_buffer((32, 16), scope="shared")
        for i, j in T.grid(16, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_shared[vj, vi] = A[vi, vj] * 2.0
        for i, j in T.grid(16, 32):
            with T.block("B_shared"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = B_shared[vj, vi]
        for i, j in T.grid(16, 32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0

    verified(sch, chain, expected)


def test_what_cannot_be_reindexed():
    @T.prim_func
    def twice(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] + A[15 - vi]

    sch = tir.Schedule(twice)
    assert "with different indices" in failure(sch.reindex, "B", ("read", 0))
    sch = tir.Schedule(chain)
    assert "is used by the old indices" in failure(
        sch.reindex_cache_read, "C", 0, "shared", lambda i, j: i
    )

    @T.prim_func
    def opaque(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(16):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                T.reads(A[0:16])
                T.writes(B[vi])
                B[vi] = A[vi] + T.call_extern("float32", "sum", A.data)

    assert "other than by its elements" in failure(tir.Schedule(opaque).reindex, "B", ("read", 0))


def test_reindex_of_what_a_block_also_writes():
    update = func(
        ["A:16", "B:16"],
        """
for i in range(16):
    with T.block("B"):
        vi = T.axis.spatial(16, i)
        B[vi] = B[vi] + A[vi]
""",
    )
    for kind in ["read", "write"]:
        sch = tir.Schedule(update)
        error = failure(sch.reindex, "B", (kind, 0))
        assert "both reads and writes buffer B" in error
        cache = getattr(sch, f"reindex_cache_{kind}")
        assert "both reads and writes" in failure(cache, "B", 0, "global", lambda i: i)


def test_reindex_of_a_block_with_blocks_in_it():
    start = scale(16, 16)
    sch = tir.Schedule(start)
    outer = sch.blockize(sch.get_loops("B")[1])
    for kind in ["read", "write"]:
        assert "has blocks in it" in failure(sch.reindex, outer, (kind, 0))


def test_reindex_by_name_means_the_write():
    sch = tir.Schedule(conv)
    out = sch.reindex("Y", "Y")
    assert str(sch.get(out).writes[0].buffer.name) == "Y"
    verified(sch, conv)
    with pytest.raises(ValueError, match="neither reads nor writes Z"):
        sch.reindex("Y", "Z")


@pytest.mark.parametrize("step", ["reindex", "reindex_cache_read"])
def test_copies_read_no_element_that_a_block_only_names(step):
    """Where a block chooses another value, its read may lie outside of the buffer."""

    @T.prim_func
    def padded(A: T.Buffer((35,), "float32"), B: T.Buffer((9, 4), "float32")):
        for i, j in T.grid(9, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(vi * 4 + vj < 35, A[vi * 4 + vj], 5.0)

    sch = tir.Schedule(padded, debug_mask="all")
    if step == "reindex":
        sch.reindex(sch.get_block("B"), ("read", 0))
    else:
        sch.reindex_cache_read(sch.get_block("B"), 0, "global", lambda i, j: (j, i))
    assert "T.if_then_else(v0 * 4 + v1 < 35, A[v0 * 4 + v1], T.float32(0.0))" in sch.mod.script()
    a, out = np.arange(35, dtype="float32"), tenon.nd.empty((9, 4))
    tenon.build(sch.mod["main"], target="stackvm", name="main")["main"](tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy().ravel(), [*a, 5])


@T.prim_func
def staged(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(8):
        for j in range(8):
            with T.block("B"):
                vi = T.axis.spatial(64, i * 8 + j)
                B[vi] = A[vi] * 2.0
        for j in range(8):
            with T.block("C"):
                vi = T.axis.spatial(64, i * 8 + j)
                C[vi] = B[vi] + 1.0


def _copied(sch, copy):
    """The loops in the loop over i around the copy."""
    return [int(sch.get(loop).extent) for loop in sch.get_loops(copy)[1:]]


def test_within_loops_only_what_is_accessed_is_copied():
    sch = tir.Schedule(staged)
    read = sch.reindex_cache_read("C", 0, "global", lambda i: (i % 8, i // 8))
    assert _copied(sch, read) == [8]
    write = sch.reindex_cache_write("B", 0, "global", lambda i: (i // 4, i % 4))
    assert _copied(sch, write) == [8]
    verified(sch, staged)


def test_within_other_loops_all_is_copied():
    sch = tir.Schedule(staged)
    sch.unroll(sch.get_loops("C")[1])
    read = sch.reindex_cache_read("C", 0, "global", lambda i: (i % 8, i // 8))
    assert _copied(sch, read) == [64]
    sch = tir.Schedule(staged)
    sch.split(sch.get_loops("C")[1], [3, 3])
    read = sch.reindex_cache_read("C", 0, "global", lambda i: (i % 8, i // 8))
    assert _copied(sch, read) == [64]
    verified(sch, staged)


def test_the_block_of_all_loops():
    sch = tir.Schedule(staged)
    sch.compute_at("B", sch.get_loops("C")[1])
    read = sch.reindex_cache_read("C", 0, "global", lambda i: (i,))
    assert _copied(sch, read) == [8] and sch.get(read).iter_vars[0].dom.extent == 64
    verified(sch, staged)


@T.prim_func
def triangles(A: T.Buffer((4, 8), "float32"), C: T.Buffer((4, 8, 8), "float32")):
    B = T.alloc_buffer((4, 8))
    for i in range(4):
        for j in range(8):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(8):
            for k in range(j + 1):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSS", [i, j, k])
                    C[vi, vj, vk] = B[vi, vj] + 1.0


def test_a_loop_whose_extent_depends_on_another_one():
    sch = tir.Schedule(triangles)
    read = sch.reindex_cache_read("C", 0, "global", lambda i, j, k: (j, i))
    assert _copied(sch, read) == [4, 8]
    verified(sch, triangles)
