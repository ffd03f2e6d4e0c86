"""Schedules: indices computed in their own blocks."""

import pytest
import tenon
from schedule_programs import chain, failure
from schedule_run import verified
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def resize(A: T.Buffer((1, 3, 10, 10), "float32"), B: T.Buffer((1, 3, 20, 20), "float32")):
    for i0, i1, i2, i3 in T.grid(1, 3, 20, 20):
        with T.block("resize"):
            n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
            B[n, c, vi, vj] = A[n, c, vi // 4 + vj // 4, vj // 2]


def test_all_indices():
    sch = tir.Schedule(resize)
    blocks = sch.cache_index("resize", "global", 1)

    @T.prim_func
    def expected(A: T.Buffer((1, 3, 10, 10), "float32"), B: T.Buffer((1, 3, 20, 20), "float32")):
        index_var_0 = T.alloc_buffer((20, 20), "int32")
        index_var_1 = T.alloc_buffer((20,), "int32")
        for ax0, ax1 in T.grid(20, 20):
            with T.block("index_0"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                index_var_0[v0, v1] = v0 // 4 + v1 // 4
        for ax0 in range(20):
            with T.block("index_1"):
                v0 = T.axis.remap("S", [ax0])
                index_var_1[v0] = v0 // 2
        for i0, i1, i2, i3 in T.grid(1, 3, 20, 20):
            with T.block("resize"):
                n, c, vi, vj = T.axis.remap("SSSS", [i0, i1, i2, i3])
                B[n, c, vi, vj] = A[n, c, index_var_0[vi, vj], index_var_1[vj]]

    verified(sch, resize, expected)
    assert [sch.get(b).name_hint for b in blocks] == ["index_0", "index_1"]
    assert sch.trace.as_json()[0][-1] == ["CacheIndex", ["b0"], ["global", 1], ["b1", "b2"]]


@T.prim_func
def twice(A: T.Buffer((8, 8), "float32"), B: T.Buffer((16, 4), "float32")):
    for i, j in T.grid(16, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi // 2, vj * 2] + A[vi // 2, vj * 2 + 1]


@pytest.mark.parametrize("threshold, count", [(0, 3), (1, 3), (2, 2), (3, 0)])
def test_only_frequent_ones(threshold, count):
    sch = tir.Schedule(twice)
    assert len(sch.cache_index("B", "global", threshold)) == count
    verified(sch, twice)


def test_parts_of_indices():
    @T.prim_func
    def program(A: T.Buffer((64,), "float32"), B: T.Buffer((16, 16), "float32")):
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                at = T.meta_var((vi * 2 + vj) // 3)
                B[vi, vj] = A[at + 1] + A[(at + 2) * 2] - A[at]

    @T.prim_func
    def expected(A: T.Buffer((64,), "float32"), B: T.Buffer((16, 16), "float32")):
        index = T.alloc_buffer((16, 16), "int32")
        for ax0, ax1 in T.grid(16, 16):
            with T.block("index_0"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                index[v0, v1] = (v0 * 2 + v1) // 3
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[index[vi, vj] + 1] + A[(index[vi, vj] + 2) * 2] - A[index[vi, vj]]

    sch = tir.Schedule(program)
    assert len(sch.cache_index("B", "global", 2)) == 1
    verified(sch, program, expected.with_attr("global_symbol", "program"))


def test_iterators_that_do_not_start_at_zero():
    @T.prim_func
    def shifted(A: T.Buffer((8,), "float32"), B: T.Buffer((16,), "float32")):
        for i in range(12):
            with T.block("B"):
                vi = T.axis.spatial((4, 16), i + 4)
                B[vi] = A[vi // 2]

    sch = tir.Schedule(shifted)
    assert len(sch.cache_index("B", "global")) == 1
    verified(sch, shifted)


def test_then_scheduled():
    sch = tir.Schedule(resize)
    first, _ = sch.cache_index("resize", "global")
    sch.parallel(sch.get_loops(first)[0])
    sch.compute_at(first, sch.get_loops("resize")[2])
    verified(sch, resize)


def test_refused():
    sch = tir.Schedule(chain())
    assert '"elsewhere" is invalid' in failure(sch.cache_index, "B", "elsewhere")
    assert "is the root of its function" in failure(sch.cache_index, "root", "global")
    with pytest.raises(ValueError, match="cse_thresh: expected 0 or more"):
        sch.cache_index("B", "global", -1)


def test_indices_that_are_read_stay():
    """What another block has to write first cannot be computed at the beginning of the scope."""

    @T.prim_func
    def gather(
        A: T.Buffer((9,), "float32"), N: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")
    ):
        for i in range(8):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[N[vi]] + A[N[vi] + 1]

    sch = tir.Schedule(gather)
    assert len(sch.cache_index("B", "global", 0)) == 0
    tenon.ir.assert_structural_equal(sch.mod["main"], gather)
