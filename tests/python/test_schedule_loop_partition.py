"""loop_partition: one loop becomes several, one after the other."""

import pytest
from schedule_programs import chain, check, failure, func, matmul, scale
from schedule_run import verified
from tenon import tir

PARTS = """
with T.block("root"):
    T.reads()
    T.writes()
    with T.block("B_i_common"):
        T.reads(A[0:128, 0:64])
        T.writes(B[0:128, 0:64])
        with T.block("B_i0_partition"):
            T.reads(A[0:2, 0:64])
            T.writes(B[0:2, 0:64])
            for i0, j in T.grid(2, 64):
                with T.block("B_i0"):
                    vi, vj = T.axis.remap("SS", [i0, j])
                    B[vi, vj] = A[vi, vj] * 2.0
        with T.block("B_i1_partition"):
            T.reads(A[2:66, 0:64])
            T.writes(B[2:66, 0:64])
            for i1 in range(2, 66):
                for j in range(64):
                    with T.block("B_i1"):
                        vi = T.axis.spatial((2, 66), i1)
                        vj = T.axis.spatial(64, j)
                        B[vi, vj] = A[vi, vj] * 2.0
        with T.block("B_i2_partition"):
            T.reads(A[66:128, 0:64])
            T.writes(B[66:128, 0:64])
            for i2 in range(66, 128):
                for j in range(64):
                    with T.block("B_i2"):
                        vi = T.axis.spatial((66, 128), i2)
                        vj = T.axis.spatial(64, j)
                        B[vi, vj] = A[vi, vj] * 2.0
"""


@pytest.mark.parametrize("factors", [[2, 64], [2, 64, 62], [2, 64, None], [2, None, 62]])
def test_parts(factors):
    sch = tir.Schedule(scale(), debug_mask="all")
    parts = sch.loop_partition(sch.get_loops("B")[0], factors)
    assert [(int(f.min), int(f.extent)) for f in map(sch.get, parts)] == [(0, 2), (2, 64), (66, 62)]
    check(sch, func(["A:128,64", "B:128,64"], PARTS))
    text = ", ".join(map(str, factors))
    assert (
        f"sch.loop_partition(loop=l1, factors=[{text}], preserve_unit_iters=True)"
        in (sch.trace.as_python()[-1])
    )
    verified(sch, scale())


def test_parts_are_scheduled_on():
    sch = tir.Schedule(scale())
    block = sch.get_block("B")
    first, rest = sch.loop_partition(sch.get_loops(block)[1], [16])
    sch.vectorize(first)
    assert [sch.get(x).loop_var.name for x in sch.get_loops("B_j1")] == ["j1"]
    assert sch.get(rest).loop_var.name == "j1"
    with pytest.raises(IndexError, match="is no more"):
        sch.get(block)
    verified(sch, scale())


def test_unit_parts():
    for keep, value in ((True, "i0"), (False, "0")):
        sch = tir.Schedule(scale(8, 8))
        sch.loop_partition(sch.get_loops("B")[0], [1, None], preserve_unit_iters=keep)
        realize = sch.get_sref(sch.get_block("B_i0"))
        assert realize is not None
        assert f"[{value}, j]" in str(sch.mod) or f"vi = T.axis.spatial(1, {value})" in str(sch.mod)
        verified(sch, scale(8, 8))


def test_reduction_starts_once():
    start = matmul()
    for loop, factors in ((2, [5, None]), (0, [3, 4]), (1, [None, 1])):
        sch = tir.Schedule(start)
        sch.loop_partition(sch.get_loops("C")[loop], factors)
        verified(sch, start)


def test_what_it_refuses():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    for factors in ([128, 1], [64, None, 64], [None, 128], [130]):
        assert "larger than or equal to the extent of loop" in failure(
            sch.loop_partition, i, factors
        )
    assert "factors must be positive" in failure(sch.loop_partition, i, [0, 4])
    with pytest.raises(tir.ScheduleError, match="can be specified as -1 or none"):
        sch.loop_partition(i, [None, None])
    with pytest.raises(ValueError, match="expected 1 to"):
        sch.loop_partition(i, [])
    sch.bind(i, "threadIdx.x")
    assert "is bound to a thread axis" in failure(sch.loop_partition, i, [2])
    sch.annotate(j, "key", 1)
    assert "has annotations" in failure(sch.loop_partition, j, [2])


def test_others_see_what_the_parts_access():
    sch = tir.Schedule(chain())
    before = sch.mod
    sch.loop_partition(sch.get_loops("B")[0], [4])
    common = sch.get_block("B_i_common")
    assert [sch.get(b).name_hint for b in sch.get_consumers(common)] == ["C"]
    assert [sch.get(b).name_hint for b in sch.get_producers("C")] == ["B_i_common"]
    verified(sch, before)


def test_copies_within_a_part():
    """The scope of a part inside a loop cannot tell where that loop is."""
    sch = tir.Schedule(scale(16, 8))
    sch.loop_partition(sch.get_loops("B")[1], [4])
    sch.cache_read("B_j0", 0, "global")
    verified(sch, scale(16, 8))
    sch = tir.Schedule(scale(16, 8))
    sch.loop_partition(sch.get_loops("B")[1], [4])
    assert "depends on the loop" in failure(sch.cache_write, "B_j0", 0, "global")
