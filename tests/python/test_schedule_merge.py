"""merge: loops next to each other become one."""

import pytest
from schedule_programs import check, failure, func
from schedule_run import verified
from tenon import tir
from test_schedule_trace import round_trip

TWO = """
for i, j in T.grid(16, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(16, 8):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] + 1.0
"""


def two(body=TWO):
    return func(["A:16,8", "B:16,8", "C:16,8"], body)


def test_inner_loops():
    sch = tir.Schedule(two())
    (_bi, bj), (_ci, cj) = sch.get_loops("B"), sch.get_loops("C")
    merged = sch.merge(bj, cj)
    body = """
for i_m, j_m in T.grid(16, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i_m, j_m])
        B[vi, vj] = A[vi, vj] * 2.0
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i_m, j_m])
        C[vi, vj] = A[vi, vj] + 1.0
"""
    check(sch, two(body))
    assert sch.get(merged).loop_var.name == "j_m"
    assert sch.trace.as_python()[-1] == "l6 = sch.merge(l2, l5)"
    round_trip(sch, two())


def test_outer_loops():
    sch = tir.Schedule(two())
    merged = sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    body = """
for i_m in range(16):
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i_m, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i_m, j])
            C[vi, vj] = A[vi, vj] + 1.0
"""
    check(sch, two(body))
    sch.parallel(merged)
    inner = [sch.get_loops(b)[1] for b in ("B", "C")]
    sch.merge(*inner)
    assert len(sch.get_loops("C")) == 2


def test_what_merge_refuses():
    sch = tir.Schedule(two())
    (bi, _bj), (ci, cj) = sch.get_loops("B"), sch.get_loops("C")
    assert "have 0 and 1 loops around" in failure(sch.merge, bi, cj)
    assert "not the next" in failure(sch.merge, ci, bi)
    with pytest.raises(ValueError, match="expected 2 to"):
        sch.merge(bi)
    sch.parallel(ci)
    assert "is not serial" in failure(sch.merge, bi, ci)
    sch = tir.Schedule(two())
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert "differ in extent" in failure(sch.merge, sch.get_loops("B")[1], sch.get_loops("C")[1])
    for read in ["B[vi, (vj + 1) % 8]", "B[15 - vi, vj]", "B[0, vj]"]:
        sch = tir.Schedule(two(TWO.replace("C[vi, vj] = A[vi, vj]", f"C[vi, vj] = {read}")))
        assert "depend on each other" in failure(
            sch.merge, sch.get_loops("B")[1], sch.get_loops("C")[1]
        )
    sch = tir.Schedule(
        func(["A:16,8", "B:16,8"], TWO.split("for i, j")[0] + "for i, j" + TWO.split("for i, j")[1])
    )
    (i, j) = sch.get_loops("B")
    assert "lie in a row" in failure(sch.merge, i, j)


def test_what_the_same_iteration_makes():
    start = two(TWO.replace("C[vi, vj] = A", "C[vi, vj] = B"))
    sch = tir.Schedule(start)
    sch.merge(sch.get_loops("B")[1], sch.get_loops("C")[1])
    assert len(sch.get_loops("C")) == 2 and sch.get(sch.get_loops("B")[0]).loop_var.name == "i_m"
    verified(sch, start)


def test_rows_of_the_same_iteration():
    """The outer loops become one where a row needs other elements of the same row only."""
    start = two(TWO.replace("C[vi, vj] = A[vi, vj]", "C[vi, vj] = B[vi, 7 - vj]"))
    sch = tir.Schedule(start)
    assert "depend on each other" in failure(
        sch.merge, sch.get_loops("B")[1], sch.get_loops("C")[1]
    )
    sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    verified(sch, start)


def test_a_reduction_and_its_use():
    start = func(
        ["A:16,8", "B:16", "C:16"],
        """
for i, k in T.grid(16, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = T.float32(0)
        B[vi] = B[vi] + A[vi, vk]
for i, k in T.grid(16, 8):
    with T.block("C"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            C[vi] = T.float32(0)
        C[vi] = C[vi] + A[vi, vk] * B[vi]
""",
    )
    sch = tir.Schedule(start)
    assert "depend on each other" in failure(
        sch.merge, sch.get_loops("B")[1], sch.get_loops("C")[1]
    )
    sch.merge(sch.get_loops("B")[0], sch.get_loops("C")[0])
    verified(sch, start)
