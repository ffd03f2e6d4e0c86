"""Steps that change the order of iterations, of loops whose iterations need each other."""

import numpy as np
import pytest
import tenon
from schedule_programs import func
from tenon import tir

N = 8


def walk(read, write="A[vi, vj]", i0=1, j0=1):
    """A nest in which each iteration reads one element and writes another."""
    return func(
        ["A:8,8"],
        f"""
for i, j in T.grid(6, 6):
    with T.block("A"):
        vi = T.axis.spatial(({i0}, {i0 + 6}), i + {i0})
        vj = T.axis.spatial(({j0}, {j0 + 6}), j + {j0})
        {write} = {read} + 1.0
""",
    )


def pair(read, write="B[vi, vj]"):
    """Two blocks; the second one reads what the first one writes."""
    return func(
        ["A:8,8", "B:8,8", "C:8,8"],
        f"""
for i, j in T.grid(6, 6):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        {write} = A[vi, vj] * 2.0
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = {read}
""",
    )


def run(program):
    arrays = [np.arange(64, dtype="float32").reshape(8, 8) * (k + 1) for k in range(3)]
    tensors = [tenon.nd.array(a) for a in arrays[: len(program["main"].params)]]
    tenon.build(program, target="stackvm", name="main")["main"](*tensors)
    return tensors[-1].numpy()


def step(program, name, block):
    sch = tir.Schedule(program)
    i, j = sch.get_loops(sch.get_block(block))
    sch.reorder(j, i) if name == "reorder" else getattr(sch, name)(i)
    return sch


@pytest.mark.parametrize("read", ["A[vi - 1, vj + 1]", "A[vi + 1, vj - 1]", "A[vj, vi]"])
def test_reorder_is_refused(read):
    with pytest.raises(tir.ScheduleError, match="cannot change places.* writes in other iter"):
        step(walk(read), "reorder", "A")


def test_reorder_of_steps_that_vary():
    with pytest.raises(tir.ScheduleError, match="cannot change places"):
        step(walk("A[vi - 1, 7 - vj]"), "reorder", "A")


@pytest.mark.parametrize(
    "read",
    ["A[vi - 1, vj]", "A[vi, vj - 1]", "A[vi - 1, vj - 1]", "A[vi + 1, vj + 1]", "A[vi, vj]"]
    + ["A[0, vj + 1]", "A[vi - 1, 7]"],
)
def test_reorder_that_is_safe(read):
    program = walk(read)
    sch = step(program, "reorder", "A")
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))


def test_the_same_order_is_no_change():
    sch = tir.Schedule(walk("A[vi - 1, vj + 1]"))
    before = sch.mod
    sch.reorder(*sch.get_loops(sch.get_block("A")))
    tenon.ir.assert_structural_equal(sch.mod, before)


def test_reorder_of_several_blocks():
    with pytest.raises(tir.ScheduleError, match='elements of B that block "B" writes'):
        step(pair("B[vi, vj + 1]", "B[vi + 1, vj]"), "reorder", "C")
    program = pair("B[vi, vj]")
    np.testing.assert_array_equal(
        run(step(program, "reorder", "C").mod), run(tenon.IRModule({"main": program}))
    )


def test_reorder_of_split_loops():
    sch = tir.Schedule(walk("A[vi - 1, vj + 1]"))
    i, j = sch.get_loops(sch.get_block("A"))
    outer, inner = sch.split(j, [None, 3])
    with pytest.raises(tir.ScheduleError, match="cannot change places"):
        sch.reorder(outer, i, inner)
    sch.fuse(outer, inner)  # the order stays


@pytest.mark.parametrize("name", ["parallel", "vectorize"])
@pytest.mark.parametrize("read, write", [("B[vi + 1, vj]", "B[vi, vj]"), ("B[0, vj]", "B[vi, vj]")])
def test_iterations_at_once(name, read, write):
    with pytest.raises(tir.ScheduleError, match="cannot run its iterations at once.*elements of B"):
        step(pair(read, write), name, "C")
    step(pair("B[vi, vj]"), name, "C")


def test_blocks_of_threads():
    def bound(read):
        sch = tir.Schedule(pair(read))
        sch.bind(sch.get_loops(sch.get_block("C"))[0], "blockIdx.x")

    bound("B[vi, vj]")
    with pytest.raises(tir.ScheduleError, match="cannot run its iterations at once"):
        bound("B[vi + 1, vj]")


def test_a_loop_of_its_own_dependence():
    """What an outer loop carries does not hinder the inner one."""
    sch = tir.Schedule(pair("B[vi, vj + 1]", "B[vi + 1, vj]"))
    sch.parallel(sch.get_loops(sch.get_block("C"))[1])


TILES = """
for i in range(2):
    for {loops}:
        with T.block("S"):
            vi = T.axis.spatial(2, i)
            vj = T.axis.spatial(32, {value})
            S[{store}] = A[vj] * T.Cast("float32", vi + 1)
    for j in range(8):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = S[{load}]
"""


def test_elements_between_those_of_the_iteration():
    """Each iteration writes every second element, and reads those between them too."""
    body = TILES.format(loops="j in range(8)", value="j", store="vj * 2 + vi", load="vj + 1")
    with pytest.raises(tir.ScheduleError, match="cannot run its iterations at once"):
        step(func(["A:8,8", "S:64", "C:8,8"], body.replace("A[vj]", "A[0, vj]")), "parallel", "S")


@pytest.mark.parametrize("loops, fine", [("t, j in T.grid(4, 6)", 1), ("t, j in T.grid(4, 3)", 0)])
def test_tiles_that_overlap(loops, fine):
    """What is read lies in the tiles that the iteration has written, or between them."""
    body = TILES.format(loops=loops, value="t * 4 + j", store="vj", load="vj + 4")
    body = body.replace("A[vj]", "A[0, vj % 8]")
    program = func(["A:8,8", "C:8,8"], body, "S = T.alloc_buffer((32,))\n")
    sch = tir.Schedule(program)
    if not fine:
        with pytest.raises(tir.ScheduleError, match="cannot run its iterations at once"):
            sch.parallel(sch.get_loops("S")[0])
        return
    sch.parallel(sch.get_loops("S")[0])
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))
