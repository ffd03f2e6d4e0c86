"""Steps of schedules on loops that are annotated as software pipelines.

The annotations count the statements that the loop has when it is lowered. Steps that change the
statements leave them alone, since programs annotate first and move blocks later; lowering refuses
numbers that do not fit and orders that the statements do not allow.
"""

import numpy as np
import pytest
import tenon
from schedule_programs import func
from tenon import tir

ROWS = """
for i in range(16):
    for k in range(3):
        with T.block("B"):
            vi, vk = T.axis.remap("SS", [i, k])
            B[vi, vk] = A[vi, vk] * 2.0
    for k in range(3):
        with T.block("C"):
            vi, vk = T.axis.remap("SS", [i, k])
            C[vi, vk] = B[vi, vk] + 1.0
    for k in range(3):
        with T.block("D"):
            vi, vk = T.axis.remap("SS", [i, k])
            D[vi, vk] = C[vi, 2 - vk] + 1.0
"""
ALLOC = "B = T.alloc_buffer((16, 3))\nC = T.alloc_buffer((16, 3))\n"
A = np.arange(48, dtype="float32").reshape(16, 3)


def plain():
    sch = tir.Schedule(func(["A:16,3", "D:16,3"], ROWS, ALLOC), debug_mask="all")
    return sch, sch.get_loops(sch.get_block("B"))[0]


def annotate(sch, loop, n=3):
    sch.annotate(loop, "software_pipeline_stage", [0] * (n - 1) + [1])
    sch.annotate(loop, "software_pipeline_order", list(range(n)))


def run(sch):
    out = tenon.nd.array(np.zeros_like(A))
    tenon.build(sch.mod, target="stackvm", name="main")["main"](tenon.nd.array(A), out)
    return out.numpy()


def check(sch):
    np.testing.assert_array_equal(run(sch), (A * 2 + 2)[:, ::-1])


KINDS = {
    "parallel": lambda sch, i: sch.parallel(i),
    "vectorize": lambda sch, i: sch.vectorize(i),
    "bind": lambda sch, i: sch.bind(i, "blockIdx.x"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_iterations_follow_each_other(kind):
    sch, i = plain()
    annotate(sch, i)
    with pytest.raises(tir.ScheduleError, match="is a software pipeline"):
        KINDS[kind](sch, i)
    check(sch)


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_annotated_afterwards(kind):
    sch, i = plain()
    KINDS[kind](sch, i)
    annotate(sch, i)
    with pytest.raises(ValueError, match="the loop over i is .*expected a serial loop"):
        run(sch)


def test_unrolled():
    sch, i = plain()
    annotate(sch, i)
    sch.unroll(i)
    check(sch)


@pytest.mark.parametrize("step", ["split", "fuse", "loop_partition"])
def test_steps_that_take_the_loop_apart(step):
    sch, i = plain()
    annotate(sch, i)
    with pytest.raises(tir.ScheduleError, match="has annotations, which would be lost"):
        if step == "split":
            sch.split(i, [4, 4])
        elif step == "fuse":
            sch.fuse(sch.add_unit_loop(i), i)
        else:
            sch.loop_partition(i, [4])


def test_fewer_or_more_statements():
    sch, i = plain()
    annotate(sch, i)
    sch.compute_inline("B")
    with pytest.raises(ValueError, match="expected 2 numbers, one for each statement .*, got 3"):
        run(sch)
    sch.unannotate(i, "software_pipeline_stage")
    sch.unannotate(i, "software_pipeline_order")
    annotate(sch, i, 2)
    check(sch)
    sch.cache_write("C", 0, "global")
    with pytest.raises(ValueError, match="expected 3 numbers"):
        run(sch)


def test_annotated_before_blocks_are_moved():
    sch, i = plain()
    annotate(sch, i)
    sch.compute_inline("B")
    sch.compute_at(sch.cache_read("C", 0, "global"), i)
    check(sch)
