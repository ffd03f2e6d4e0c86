"""Where copies of buffers go: behind what defines the buffer, before what overwrites it."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure
from tenon import tir
from tenon.script import tir as T


def run(program, *arrays):
    tensors = [tenon.nd.array(a) for a in arrays]
    named = program["main"].with_attr("global_symbol", "main")
    tenon.build(tenon.IRModule({"main": named}), target="stackvm")["main"](*tensors)
    return tensors[-1].numpy()


@T.prim_func
def weighted(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    w = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    W = T.decl_buffer((4,), data=w)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = A[vi] * W[vi]


@T.prim_func
def weighted_later(A: T.Buffer((4,), "float32"), C: T.Buffer((4,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = A[vi]
    w = T.allocate_const([1.0, 2.0, 3.0, 4.0], "float32", [4])
    W = T.decl_buffer((4,), data=w)
    for i in range(4):
        with T.block("C"):
            vi = T.axis.spatial(4, i)
            C[vi] = B[vi] * W[vi]


def read(sch):
    sch.cache_read("C", 1, "global")
    sch.cache_read("C", 0, "global")


STEPS = [
    read,
    lambda sch: sch.cache_write("C", 0, "global"),
    lambda sch: sch.reindex("C", ("read", 1)),
    lambda sch: sch.reindex("C", ("write", 0)),
    lambda sch: sch.reindex_cache_read("C", 1, "global", lambda i: 3 - i),
    lambda sch: sch.reindex_cache_write("C", 0, "global", lambda i: 3 - i),
]


@pytest.mark.parametrize("program", [weighted, weighted_later])
@pytest.mark.parametrize("number", range(len(STEPS)))
def test_copies_of_constants(program, number):
    sch = tir.Schedule(program, debug_mask="all")
    STEPS[number](sch)
    a = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(run(sch.mod, a, np.zeros_like(a)), a * [1, 2, 3, 4])


@T.prim_func
def in_place(A: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
    for i in range(8):
        with T.block("last"):
            vi = T.axis.spatial(8, i)
            A[vi] = B[7 - vi]


@pytest.mark.parametrize(
    "step",
    [
        lambda sch: sch.cache_read("first", 0, "global"),
        lambda sch: sch.cache_write("last", 0, "global"),
    ],
)
def test_what_is_read_before_it_is_overwritten(step):
    sch = tir.Schedule(in_place, debug_mask="all")
    step(sch)
    a = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(run(sch.mod, a), a[::-1] + 1)


@T.prim_func
def in_turns(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[0] + 1.0
        with T.block("last"):
            vi = T.axis.spatial(8, i)
            A[vi] = C[vi] * 2.0


@T.prim_func
def read_again(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
    for i in range(8):
        with T.block("first"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]
    for i in range(8):
        with T.block("last"):
            vi = T.axis.spatial(8, i)
            A[vi] = C[7 - vi]
    for i in range(8):
        with T.block("again"):
            vi = T.axis.spatial(8, i)
            C[vi] = A[vi]


def test_what_is_read_after_it_is_overwritten():
    for program in [in_turns, read_again]:
        sch = tir.Schedule(program)
        assert "not a stage pipeline" in failure(sch.cache_read, "first", 0, "global")
        assert "not a stage pipeline" in failure(sch.cache_write, "last", 0, "global")
    sch = tir.Schedule(read_again, debug_mask="all")
    sch.cache_read("first", 0, "global", ["first"])  # the copy is for the first reader only
    a = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(run(sch.mod, a, a), a[::-1])


@T.prim_func
def one_for_two(A: T.Buffer((8,), "float32"), D: T.Buffer((8,), "float32")):
    B = T.alloc_buffer((8,))
    C = T.alloc_buffer((8,))
    for i in range(8):
        with T.block("B"):
            vi = T.axis.spatial(8, i)
            B[vi] = A[vi] + 1.0
    for i in range(8):
        with T.block("C"):
            vi = T.axis.spatial(8, i)
            C[vi] = B[vi] * 2.0
    for i in range(8):
        with T.block("D"):
            vi = T.axis.spatial(8, i)
            D[vi] = B[vi] + C[vi]


def test_a_copy_stands_before_those_that_it_is_for():
    sch = tir.Schedule(one_for_two, debug_mask="all")
    sch.cache_read("D", 0, "global", ["D"])
    text = sch.mod.script()
    assert text.index('block("C")') < text.index('block("B_global")') < text.index('block("D")')
    a = np.arange(8, dtype="float32")
    np.testing.assert_array_equal(run(sch.mod, a, a), (a + 1) * 3)


def test_no_condition_on_iterators_of_one_value():
    @T.prim_func
    def rows(A: T.Buffer((1, 8), "float32"), B: T.Buffer((1, 4), "float32")):
        for i, j, k in T.grid(1, 4, 2):
            with T.block("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = 0.0
                B[vi, vj] = B[vi, vj] + A[vi, vj * 2 + vk]

    sch = tir.Schedule(rows, debug_mask="all")
    sch.reindex("B", ("read", 0))
    assert "if_then_else" not in sch.mod.script()


def test_memory_of_virtual_threads():
    """Virtual threads see the shared memory of their group: the copy is made for all of them."""

    @T.prim_func
    def scale(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * 2.0

    sch = tir.Schedule(scale)
    copy = sch.cache_read("B", 0, "shared")
    virtual, thread, inner = sch.split(sch.get_loops("B")[0], [2, 8, 4])
    sch.bind(virtual, "vthread.x")
    sch.bind(thread, "threadIdx.x")
    sch.compute_at(copy, thread)
    assert [int(sch.get(x).extent) for x in sch.get_loops(copy)] == [2, 8, 64]
