"""Schedules of loops and block iterators that do not start at 0."""

import pytest
from schedule_programs import failure, func
from schedule_run import verified
from tenon import tir

TWO = """
for i in range(20):
    for j in range(20):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
for i in range(4, 12):
    for j in range(3, 19):
        with T.block("C"):
            vi = T.axis.spatial((4, 12), i)
            vj = T.axis.spatial((3, 19), j)
            C[vi, vj] = B[vi, vj] + 1.0
for i in range(4, 12):
    for j in range(3, 19):
        with T.block("D"):
            vi = T.axis.spatial((4, 12), i)
            vj = T.axis.spatial((3, 19), j)
            D[vi, vj] = C[vi, vj] * 3.0
"""
ALLOC = "B = T.alloc_buffer((20, 20))\nC = T.alloc_buffer((20, 20))\n"


def two():
    return func(["A:20,20", "D:20,20"], TWO, ALLOC)


SUM = """
for i in range(2, 8):
    for j in range(4, 20):
        with T.block("C"):
            vi = T.axis.spatial((2, 8), i)
            vj = T.axis.reduce((4, 20), j)
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + A[vi, vj]
"""


def total():
    return func(["A:8,20", "C:8"], SUM)


@pytest.mark.parametrize("at", [0, 1])
def test_moving_keeps_the_start_of_the_loop(at):
    start = two()
    sch = tir.Schedule(start)
    sch.compute_at("B", sch.get_loops("C")[at])
    assert int(sch.get(sch.get_loops("C")[at]).min) == [4, 3][at]
    verified(sch, start)
    sch = tir.Schedule(start)
    sch.reverse_compute_at("D", sch.get_loops("C")[at])
    assert int(sch.get(sch.get_loops("C")[at]).min) == [4, 3][at]
    verified(sch, start)


def test_merging_needs_loops_from_0():
    sch = tir.Schedule(two())
    error = failure(sch.merge, sch.get_loops("C")[1], sch.get_loops("D")[1])
    assert "does not start with 0" in error


@pytest.mark.parametrize("program", [two, total])
@pytest.mark.parametrize("at", [0, 1])
@pytest.mark.parametrize("preserve", [True, False])
def test_blockize(program, at, preserve):
    start = program()
    sch = tir.Schedule(start)
    sch.blockize(sch.get_loops("C")[at], preserve_unit_iters=preserve)
    verified(sch, start)


def test_blockize_tiles():
    start = func(
        ["A:20", "B:20"],
        """
for i, j in T.grid(4, 4):
    with T.block("B"):
        vi = T.axis.spatial((4, 20), i * 4 + j + 4)
        B[vi] = A[vi] * 2.0
""",
    )
    sch = tir.Schedule(start)
    sch.blockize(sch.get_loops("B")[1])
    verified(sch, start)


def test_blockize_several_blocks():
    start = func(
        ["A:8,8", "B:8,8", "C:8,8"],
        """
for i in range(8):
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for j in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, 7 - i)
            vj = T.axis.spatial(8, j)
            C[vi, vj] = A[vi, vj] + 1.0
""",
    )
    sch = tir.Schedule(start)
    error = failure(sch.blockize, [sch.get_block("B"), sch.get_block("C")])
    assert "another outer part" in error


@pytest.mark.parametrize("step", [lambda i, j: [j, i], lambda i, j: [i * 16 + j]])
def test_transform_block_layout(step):
    start = two()
    sch = tir.Schedule(start)
    sch.transform_block_layout("C", step)
    verified(sch, start)


def test_transform_block_layout_needs_whole_loops():
    sch = tir.Schedule(
        func(
            ["A:20", "B:20"],
            """
for i in range(4, 12):
    with T.block("B"):
        vi = T.axis.spatial(20, i)
        B[vi] = A[vi] * 2.0
""",
        )
    )
    assert "needs a loop for each iterator" in failure(
        sch.transform_block_layout, "B", lambda i: [i]
    )


@pytest.mark.parametrize("program", [two, total])
@pytest.mark.parametrize("kind", ["read", "write"])
def test_reindex(program, kind):
    start = program()
    sch = tir.Schedule(start)
    sch.reindex("C", (kind, 0))
    verified(sch, start)


@pytest.mark.parametrize("kind", ["read", "write"])
@pytest.mark.parametrize("step", [lambda i, j: (j, i), lambda i, j: (i - 4, j - 3)])
def test_reindex_cache(kind, step):
    start = two()
    sch = tir.Schedule(start)
    getattr(sch, f"reindex_cache_{kind}")("C", 0, "global", step)
    verified(sch, start)


def test_reindex_cache_below_the_buffer():
    sch = tir.Schedule(two())
    with pytest.raises(ValueError, match="can be negative"):
        sch.reindex_cache_read("C", 0, "global", lambda i, j: (i - 5, j))


@pytest.mark.parametrize("axis", [0, 1])
def test_rfactor_counts_from_zero(axis):
    """The new axis of the parts has as many elements as the loop has iterations."""
    start = total()
    sch = tir.Schedule(start)
    sch.rfactor(sch.get_loops("C")[1], axis)
    verified(sch, start)


def test_blockize_of_a_sum_under_a_predicate():
    """The init that moves outside stands in all loops that its predicate uses."""
    start = func(["A:8,20", "C:8"], SUM.replace("(2, 8", "(0, 8").replace("(4, 20", "(0, 20"))
    sch = tir.Schedule(start)
    i, j = sch.get_loops("C")
    outer, _, _ = sch.split(j, [None, 2, 3])
    sch.blockize(outer)
    verified(sch, start)


def test_reindex_beside_loops_with_a_consumer():
    """The copy back would come after the loops in which another block reads the buffer."""
    start = two()
    sch = tir.Schedule(start)
    sch.compute_at("C", sch.get_loops("D")[0])
    text = failure(sch.reindex, "C", ("write", 0))
    assert "block {1} in them accesses" not in text and "in them accesses the buffer C too" in text
    sch.reindex("D", ("write", 0))
    verified(sch, start)


def test_decompose_of_a_part_of_a_reduction():
    """The part that goes on with a sum does not begin it again."""
    start = func(["A:8,20", "C:8"], SUM.replace("(2, 8", "(0, 8").replace("(4, 20", "(0, 20"))
    sch = tir.Schedule(start)
    sch.loop_partition(sch.get_loops("C")[1], [5])
    text = failure(sch.decompose_reduction, "C_j1", sch.get_loops("C_j1")[-1])
    assert "goes on with a reduction" in text
    sch.decompose_reduction("C_j0", sch.get_loops("C_j0")[-1])
    verified(sch, start)
