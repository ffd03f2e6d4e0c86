"""Schedules: subtrees that become blocks."""
# ruff: noqa: F841  iterators that nothing uses are part of the programs

import pytest
from schedule_programs import failure
from schedule_run import verified
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def scale(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (32, 32))
    B = T.match_buffer(b, (32, 32))
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0


def test_the_outermost_loop():
    sch = tir.Schedule(scale)
    block = sch.get_block("B")
    outer = sch.blockize(sch.get_loops(block)[0])

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (32, 32))
        B = T.match_buffer(b, (32, 32))
        with T.block("B_o"):
            vio = T.axis.spatial(1, 0)
            vjo = T.axis.spatial(1, 0)
            T.reads(A[0:32, 0:32])
            T.writes(B[0:32, 0:32])
            for i, j in T.grid(32, 32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    T.reads(A[vi, vj])
                    T.writes(B[vi, vj])
                    B[vi, vj] = A[vi, vj] * 2.0

    verified(sch, scale, expected)
    assert sch.get(outer).name_hint == "B_o" and sch.get(block).name_hint == "B"
    assert [sch.get(b).name_hint for b in sch.get_child_blocks(outer)] == ["B"]
    assert sch.trace.as_python()[2] == "b3 = sch.blockize(target=l1, preserve_unit_iters=True)"


def test_an_inner_loop():
    sch = tir.Schedule(scale)
    sch.blockize(sch.get_loops("B")[1])

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (32, 32))
        B = T.match_buffer(b, (32, 32))
        for i in range(32):
            with T.block("B_o"):
                vi = T.axis.spatial(32, i)
                vjo = T.axis.spatial(1, 0)
                T.reads(A[vi, 0:32])
                T.writes(B[vi, 0:32])
                for j in range(32):
                    with T.block("B"):
                        vj = T.axis.remap("S", [j])
                        T.reads(A[vi, vj])
                        T.writes(B[vi, vj])
                        B[vi, vj] = A[vi, vj] * 2.0

    verified(sch, scale, expected)
    lean = tir.Schedule(scale)
    outer = lean.blockize(lean.get_loops("B")[1], preserve_unit_iters=False)
    assert [str(iv.var.name) for iv in lean.get(outer).iter_vars] == ["vi", "vj_o"]
    verified(lean, scale)


@pytest.mark.parametrize("preserve", [True, False])
def test_a_loop_that_runs_once(preserve):
    sch = tir.Schedule(scale)
    once, inner = sch.split(sch.get_loops("B")[0], [1, 32], preserve_unit_iters=True)
    block = sch.blockize(inner, preserve_unit_iters=preserve)
    realize = sch.get(once).body
    assert realize.block.same_as(sch.get(block))
    bound = realize.iter_values[0]
    assert bound.same_as(sch.get(once).loop_var) if preserve else bound == 0
    verified(sch, scale)


def test_a_tile():
    sch = tir.Schedule(scale)
    i, j = sch.get_loops("B")
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 16])
    sch.reorder(i_0, j_0, i_1, j_1)
    outer = sch.blockize(i_1)

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (32, 32))
        B = T.match_buffer(b, (32, 32))
        for i_0, j_0 in T.grid(4, 2):
            with T.block("B_o"):
                vi_o, vj_o = T.axis.remap("SS", [i_0, j_0])
                T.reads(A[vi_o * 8 : vi_o * 8 + 8, vj_o * 16 : vj_o * 16 + 16])
                T.writes(B[vi_o * 8 : vi_o * 8 + 8, vj_o * 16 : vj_o * 16 + 16])
                for i_1, j_1 in T.grid(8, 16):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i_1, j_1])
                        T.reads(A[vi_o * 8 + vi, vj_o * 16 + vj])
                        T.writes(B[vi_o * 8 + vi, vj_o * 16 + vj])
                        B[vi_o * 8 + vi, vj_o * 16 + vj] = A[vi_o * 8 + vi, vj_o * 16 + vj] * 2.0

    verified(sch, scale, expected)
    # the new block is a block like others: its loops, and another tile around it
    assert len(sch.get_loops(outer)) == 2 and len(sch.get_loops("B")) == 2
    sch.blockize(sch.get_loops(outer)[1])
    verified(sch, scale)


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, 32))
    B = T.match_buffer(b, (32, 32))
    C = T.match_buffer(c, (32, 32))
    for i, j, k in T.grid(32, 32, 32):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_a_reduction():
    sch = tir.Schedule(matmul)
    i, j, k = sch.get_loops("C")
    (i_0, i_1), (j_0, j_1), (k_0, k_1) = (sch.split(x, [None, 16]) for x in (i, j, k))
    sch.reorder(i_0, j_0, k_0, i_1, j_1, k_1)
    outer = sch.blockize(i_1)

    @T.prim_func
    def expected(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        B = T.match_buffer(b, (32, 32))
        C = T.match_buffer(c, (32, 32))
        for i_0, j_0, k_0 in T.grid(2, 2, 2):
            with T.block("C_o"):
                io, jo, ko = T.axis.remap("SSR", [i_0, j_0, k_0])
                T.reads(
                    A[io * 16 : io * 16 + 16, ko * 16 : ko * 16 + 16],
                    B[ko * 16 : ko * 16 + 16, jo * 16 : jo * 16 + 16],
                )
                T.writes(C[io * 16 : io * 16 + 16, jo * 16 : jo * 16 + 16])
                with T.init():
                    for i_1, j_1 in T.grid(16, 16):
                        with T.block("C_init"):
                            vi, vj = T.axis.remap("SS", [i_1, j_1])
                            T.reads()
                            T.writes(C[io * 16 + vi, jo * 16 + vj])
                            C[io * 16 + vi, jo * 16 + vj] = 0.0
                for i_1, j_1, k_1 in T.grid(16, 16, 16):
                    with T.block("C"):
                        vi, vj, vk = T.axis.remap("SSR", [i_1, j_1, k_1])
                        T.reads(
                            C[io * 16 + vi, jo * 16 + vj],
                            A[io * 16 + vi, ko * 16 + vk],
                            B[ko * 16 + vk, jo * 16 + vj],
                        )
                        T.writes(C[io * 16 + vi, jo * 16 + vj])
                        C[io * 16 + vi, jo * 16 + vj] = (
                            C[io * 16 + vi, jo * 16 + vj]
                            + A[io * 16 + vi, ko * 16 + vk] * B[ko * 16 + vk, jo * 16 + vj]
                        )

    verified(sch, matmul, expected)
    sch.decompose_reduction(outer, sch.get_loops(outer)[2])
    assert 'T.block("C_o_init")' in sch.mod.script() and "C_o_update" in sch.mod.script()
    verified(sch, matmul)


def test_moving_a_tile():
    @T.prim_func
    def chain(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        C = T.match_buffer(c, (32, 32))
        B = T.alloc_buffer((32, 32))
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(32, 32):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0

    tiles = []
    sch = tir.Schedule(chain)
    for name in "BC":
        i, j = sch.get_loops(name)
        i_0, i_1 = sch.split(i, [None, 8])
        j_0, j_1 = sch.split(j, [None, 8])
        sch.reorder(i_0, j_0, i_1, j_1)
        tiles.append((sch.blockize(i_1), i_0, j_0))
    (b, _, _), _ = tiles
    moved = tir.Schedule(chain)
    sch.trace.apply_to_schedule(moved)
    moved.compute_at("B_o", moved.get_loops("C_o")[1])
    verified(moved, chain)
    sch.reverse_compute_at("C_o", sch.get_loops(b)[1])
    assert "for i_0, j_0 in T.grid(4, 4):" in sch.mod.script()
    verified(sch, chain)


@T.prim_func
def pair(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, 32))
    C = T.match_buffer(c, (32, 32))
    B = T.alloc_buffer((32, 32))
    for m in range(4):
        for i, j in T.grid(8, 32):
            with T.block("B"):
                vi = T.axis.spatial(32, m * 8 + i)
                vj = T.axis.spatial(32, j)
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(8, 32):
            with T.block("C"):
                vi = T.axis.spatial(32, m * 8 + i)
                vj = T.axis.spatial(32, j)
                C[vi, vj] = B[vi, vj] + 1.0


def test_several_blocks():
    sch = tir.Schedule(pair)
    sch.blockize(["B", "C"])

    @T.prim_func
    def expected(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        C = T.match_buffer(c, (32, 32))
        B = T.alloc_buffer((32, 32))
        for m in range(4):
            with T.block("outer_B_C_"):
                vm = T.axis.spatial(4, m)
                vo = T.axis.spatial(1, 0)
                T.reads(A[vm * 8 : vm * 8 + 8, 0:32], B[vm * 8 : vm * 8 + 8, 0:32])
                T.writes(B[vm * 8 : vm * 8 + 8, 0:32], C[vm * 8 : vm * 8 + 8, 0:32])
                for i, j in T.grid(8, 32):
                    with T.block("B"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.reads(A[vm * 8 + vi, vj])
                        T.writes(B[vm * 8 + vi, vj])
                        B[vm * 8 + vi, vj] = A[vm * 8 + vi, vj] * 2.0
                for i, j in T.grid(8, 32):
                    with T.block("C"):
                        vi, vj = T.axis.remap("SS", [i, j])
                        T.reads(B[vm * 8 + vi, vj])
                        T.writes(C[vm * 8 + vi, vj])
                        C[vm * 8 + vi, vj] = B[vm * 8 + vi, vj] + 1.0

    verified(sch, pair, expected)
    assert sch.trace.as_python()[-1] == (
        "b2 = sch.blockize(target=[b0, b1], preserve_unit_iters=True)"
    )


def test_what_cannot_become_a_block():
    sch = tir.Schedule(pair)
    m, _, _ = sch.get_loops("B")
    assert "exactly one child block" in failure(sch.blockize, m)
    sch = tir.Schedule(scale)
    i, _ = sch.get_loops("B")
    i_0, i_1 = sch.split(i, [None, 5])
    assert "can not be blockized by the loops" in failure(sch.blockize, i_1)
    sch = tir.Schedule(scale)
    i, j = sch.get_loops("B")
    sch.reorder(j, i)
    fused = sch.fuse(j, i)
    inner = sch.split(fused, [None, 48])[1]
    assert "can not be blockized" in failure(sch.blockize, inner)
