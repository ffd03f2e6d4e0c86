"""Schedules of blocks that leave elements as they were: by a condition, a predicate, or gaps.

Elements that the program without the step does not write keep what the caller put there.
"""

import numpy as np
import pytest
import tenon
from schedule_programs import func
from tenon import tir

GIVEN = 77.0


def block(store, where="True", n=8):
    return f"""
for i in range({n}):
    with T.block("B"):
        T.where({where})
        vi = T.axis.spatial({n}, i)
        {store}
"""


PARTIAL = {
    "condition": (block("if vi % 2 == 0:\n            B[vi] = A[vi]"), 8),
    "condition on data": (block("if A[vi] < 4.0:\n            B[vi] = A[vi]"), 8),
    "loop of no iterations": (block("for k in range(vi % 2):\n            B[vi] = A[vi]"), 8),
    "predicate": (block("B[vi] = A[vi]", "i % 3 == 1"), 8),
    "lower limit": (block("B[vi] = A[vi]", "i > 4"), 8),
    "downwards": (block("B[7 - vi] = A[vi]", "i < 6"), 8),
    "gaps": (block("B[vi * 2] = A[vi]"), 16),
    "index from data": (
        block("T.writes(B[0:8])\n        B[T.cast(A[vi], 'int32') // 2] = 1.0"),
        8,
    ),
}
STEPS = {
    "cache_write": lambda s, b: s.cache_write(b, 0, "global"),
    "reindex": lambda s, b: s.reindex(b, ("write", 0)),
    "reindex_cache_write": lambda s, b: s.reindex_cache_write(b, 0, "global", lambda i: i),
    "write_at": lambda s, b: s.write_at(s.get_loops(b)[0], b, 0, "global"),
}


def run(program, size):
    a = tenon.nd.array(np.arange(8, dtype="float32"))
    b = tenon.nd.array(np.full(size, GIVEN, "float32"))
    tenon.build(program, target="stackvm", name="main")["main"](a, b)
    return b.numpy()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("what", PARTIAL)
def test_what_a_block_does_not_set_is_not_copied_back(what, step):
    body, size = PARTIAL[what]
    program = func(["A:8", f"B:{size}"], body)
    want = run(program, size)
    assert (want == GIVEN).any()
    sch = tir.Schedule(program)
    try:
        STEPS[step](sch, sch.get_block("B"))
    except tir.ScheduleError as err:
        said = err.args[0]
        assert "proven to set" in said or "leave elements" in said or "what exactly" in said
    np.testing.assert_array_equal(run(sch.mod["main"], size), want)


@pytest.mark.parametrize("step", STEPS)
def test_a_block_that_sets_all_may_be_copied(step):
    program = func(["A:8", "B:8"], block("B[vi] = A[vi]"))
    sch = tir.Schedule(program)
    sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 3])
    STEPS[step](sch, sch.get_block("B"))
    np.testing.assert_array_equal(run(sch.mod["main"], 8), np.arange(8))


TWO = """
for i in range(8):
    with T.block("P"):
        vi = T.axis.spatial(8, i)
        P[vi] = A[vi] * 2.0
"""


def test_a_predicate_is_not_lost_with_the_loops():
    program = func(
        ["A:8", "B:8"],
        TWO + block("B[vi] = P[vi]", "i % 3 == 1"),
        "P = T.alloc_buffer((8,))\n",
    )
    sch = tir.Schedule(program)
    loop = sch.get_loops(sch.get_block("P"))[0]
    with pytest.raises(tir.ScheduleError, match="leaves out values of its iterators"):
        sch.reverse_compute_at(sch.get_block("B"), loop)
    # the condition that a divided loop brings says nothing about the iterators
    program = func(["A:8", "B:8"], TWO + block("B[vi] = P[vi]"), "P = T.alloc_buffer((8,))\n")
    sch = tir.Schedule(program)
    sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 3])
    sch.reverse_compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("P"))[0])
    np.testing.assert_array_equal(run(sch.mod["main"], 8), np.arange(8) * 2)


def test_a_copy_within_loops_stays_within_the_buffer():
    """The stencil's block at the loops of its user reads 22 elements; the last iterations of the
    divided loop run no block, but would copy elements 22 to 25."""
    body = """
for i in range(22):
    with T.block("P"):
        vi = T.axis.spatial(22, i)
        P[vi] = A[vi % 8] * A[vi % 8]
for i in range(20):
    with T.block("B"):
        vi = T.axis.spatial(20, i)
        B[vi] = P[vi] + P[vi + 1] * 3.0 + P[vi + 2]
"""
    program = func(["A:8", "B:20"], body, "P = T.alloc_buffer((22,))\n")
    want = run(program, 20)
    for copy in ("cache_write", "cache_read"):
        sch = tir.Schedule(program, debug_mask="all")
        loop = sch.get_loops(sch.get_block("B"))[0]
        sch.compute_at(sch.get_block("P"), loop)
        sch.split(loop, [None, 8])
        if copy == "cache_write":
            sch.cache_write(sch.get_block("P"), 0, "global")
        else:
            sch.cache_read(sch.get_block("B"), 0, "global")
        np.testing.assert_array_equal(run(sch.mod["main"], 20), want)


def test_reindex_needs_iterators():
    body = """
for i in range(4):
    with T.block("B"):
        vi = T.axis.spatial(4, i)
        for k in range(2):
            B[vi * 2 + k] = A[vi * 2 + k]
"""
    sch = tir.Schedule(func(["A:8", "B:8"], body))
    with pytest.raises(tir.ScheduleError, match="depend on k, which is not an iterator"):
        sch.reindex(sch.get_block("B"), ("read", 0))


def test_read_at_below_an_opaque_block():
    body = """
for i in range(4):
    with T.block("outer"):
        T.reads(A[i * 2 : i * 2 + 2])
        T.writes(B[i * 2 : i * 2 + 2])
        for k in range(2):
            with T.block("B"):
                v = T.axis.spatial(8, i * 2 + k)
                B[v] = A[v]
"""
    program = func(["A:8", "B:8"], body)
    sch = tir.Schedule(program, debug_mask="all")
    sch.read_at(sch.get_loops(sch.get_block("B"))[0], sch.get_block("B"), 0, "global")
    np.testing.assert_array_equal(run(sch.mod["main"], 8), np.arange(8))
    sch = tir.Schedule(program, debug_mask="all")
    with pytest.raises(tir.ScheduleError, match="depends on the loop"):
        sch.write_at(sch.get_loops(sch.get_block("B"))[0], sch.get_block("B"), 0, "global")


def test_a_block_that_reads_what_it_writes_has_no_cache():
    program = func(["A:8", "B:8"], block("B[vi] = B[vi] + A[vi]"))
    sch = tir.Schedule(program)
    with pytest.raises(tir.ScheduleError, match="Use cache_inplace"):
        sch.cache_write(sch.get_block("B"), 0, "global")


SUM = """
for i in range(8):
    for j in range(4):
        with T.block("B"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[(vi + vj) % 8]
"""


def test_a_later_part_of_a_reduction_is_no_block_of_its_own():
    sch = tir.Schedule(func(["A:8", "B:8"], SUM), debug_mask="all")
    sch.loop_partition(sch.get_loops(sch.get_block("B"))[1], [3])
    first, later = (sch.get_loops(sch.get_block(b)) for b in ("B_j0", "B_j1"))
    with pytest.raises(tir.ScheduleError, match="goes on with a reduction"):
        sch.blockize(later[0])
    sch.blockize(first[0])
    want = run(func(["A:8", "B:8"], SUM), 8)
    np.testing.assert_array_equal(run(sch.mod["main"], 8), want)


def test_a_later_part_of_a_reduction_has_no_copy_of_its_own():
    sch = tir.Schedule(func(["A:8", "B:8"], SUM), debug_mask="all")
    sch.loop_partition(sch.get_loops(sch.get_block("B"))[1], [3])
    for step in [
        lambda: sch.cache_write("B_j1", 0, "global"),
        lambda: sch.cache_write("B_j1_partition", 0, "global"),
        lambda: sch.write_at(sch.get_loops("B_j1")[0], "B_j1", 0, "global"),
        lambda: sch.reindex("B_j1", ("write", 0)),
    ]:
        with pytest.raises(tir.ScheduleError, match="goes on with a reduction"):
            step()
    sch.cache_write("B_j_common", 0, "global")
    want = run(func(["A:8", "B:8"], SUM), 8)
    np.testing.assert_array_equal(run(sch.mod["main"], 8), want)


def test_cached_indices_are_read_by_blocks_in_the_block():
    body = """
for i in range(8):
    for k in range(1):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi] = A[(vi * 3 + 1) % 8]
"""
    program = func(["A:8", "B:8"], body)
    sch = tir.Schedule(program, debug_mask="all")
    outer = sch.blockize(sch.get_loops(sch.get_block("B"))[1])
    sch.cache_index(outer, "global", 0)
    np.testing.assert_array_equal(run(sch.mod["main"], 8), run(program, 8))


def test_limits_of_variables_come_first():
    i, j = tir.Var("i", "int32"), tir.Var("j", "int32")
    ranges = {v: tenon.ir.Range(0, 8) for v in (i, j)}
    for predicate in (tir.all(i * 5 + j < 33, j < 5), tir.all(j < 5, i * 5 + j < 33)):
        found = tenon.arith.detect_iter_map([i * 5 + j], ranges, predicate=predicate)
        assert not found.errors
        assert int(found.indices[0].args[0].extent) == 33
