"""Schedules: references of statements, dependencies among blocks, what holds for a block."""

import pytest
import tenon
from schedule_programs import failure
from tenon import tir
from tenon.script import tir as T
from tenon.tir.block_scope import DepKind
from tenon.tir.schedule.analysis import has_block, is_output_block
from tenon.tir.schedule.state import CachedFlags, ScheduleDebugMask


@T.prim_func
def chain(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16))
    C = T.match_buffer(c, (16, 16))
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


@T.prim_func
def again_and_again(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (16,))
    C = T.match_buffer(c, (16,))
    B = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B0"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] * 2.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = B[vi] + 1.0
    for i in range(16):
        with T.block("B1"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi]


def block_sref(state, name):
    found = []

    def visit(node):
        if isinstance(node, tir.Block) and node.name_hint == name:
            found.append(node)

    tir.stmt_functor.post_order_visit(state.mod["main"].body, visit)
    return state.get_sref(found[0])


def test_dependencies():
    state = tir.ScheduleState(again_and_again, debug_mask="all")
    root, b0, c, b1 = (block_sref(state, name) for name in ("root", "B0", "C", "B1"))
    scope = state.get_block_scope(root)
    kinds = lambda deps: [(d.src, d.dst, d.kind) for d in deps]  # noqa: E731
    assert [(d.dst.stmt.name_hint, d.kind) for d in scope.get_deps_by_src(b0)] == [
        ("C", DepKind.RAW),
        ("B1", DepKind.WAW),
    ]
    (read,) = scope.get_deps_by_dst(c)
    assert read.src.same_as(b0) and read.dst.same_as(c) and read.kind == DepKind.RAW
    assert [d.kind for d in scope.get_deps_by_dst(b1)] == [DepKind.WAW, DepKind.WAR]
    assert kinds(scope.get_deps_by_dst(b0)) == []
    info = tir.BlockDependenceInfo(again_and_again)
    again = info.get_block_scope(info.get_sref(info.mod["main"].body.block))
    assert len(again.deps) == 3
    around = info.get_sref(c.stmt).parent  # a loop: the block around it counts
    assert (
        info.get_block_scope(around).get_deps_by_dst(info.get_sref(c.stmt))[0].src.stmt == b0.stmt
    )
    with pytest.raises(TypeError, match="expected a Block"):
        info.get_sref(info.mod["main"].body)


def test_references_follow_their_statements():
    sch = tir.Schedule(chain)
    block = sch.get_block("C")
    i, j = sch.get_loops(block)
    sref, loop = sch.get_sref(block), sch.get_sref(j)
    assert sch.get_sref(block).same_as(sref) and sch.state.get_sref(sch.get(j)).same_as(loop)
    assert sref.parent.same_as(loop) and loop.parent.stmt.same_as(sch.get(i))
    assert loop.parent.parent.stmt.name_hint == "root" and loop.parent.parent.parent is None
    assert sch.get(sref).same_as(sch.get(block))
    sch.reverse_compute_at(block, sch.get_loops("B")[0])
    assert sref.stmt.same_as(sch.get(block)) and loop.stmt is None and loop.parent is None
    assert sref.parent.stmt.loop_var.name == "ax0"
    assert sref.parent.parent.same_as(sch.get_sref(sch.get_loops("B")[0]))
    with pytest.raises(TypeError, match="expected a block or loop"):
        sch.state.get_sref(sch.mod["main"].body)


def test_flags():
    state = tir.ScheduleState(chain)
    for name in ("root", "B", "C"):
        assert state._get_cached_flags(block_sref(state, name)) == CachedFlags(True, True, True)
    state = tir.ScheduleState(again_and_again)
    assert state._get_cached_flags(block_sref(state, "root")) == CachedFlags(True, True, False)

    @T.prim_func
    def half(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16))
        C = T.match_buffer(c, (16, 16))
        B = T.alloc_buffer((16, 16))
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                vj = T.axis.spatial(16, (i + j) % 16)
                C[vi, vj] = B[vi, vj] + 1.0

    state = tir.ScheduleState(half)
    assert state._get_cached_flags(block_sref(state, "B")) == CachedFlags(True, True, True)
    assert state._get_cached_flags(block_sref(state, "C")) == CachedFlags(False, False, True)
    assert not state._get_cached_flags(block_sref(state, "root")).stage_pipeline


def test_flags_of_partial_loops():
    @T.prim_func
    def tiles(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16))
        C = T.match_buffer(c, (16, 16))
        B = T.alloc_buffer((16, 16))
        for i in range(4):
            for j, k in T.grid(4, 16):
                with T.block("B"):
                    vi = T.axis.spatial(16, i * 4 + j)
                    vk = T.axis.spatial(16, k)
                    B[vi, vk] = A[vi, vk] * 2.0
            for j, k in T.grid(4, 16):
                with T.block("C"):
                    vi = T.axis.spatial(16, i * 4 + j)
                    vk = T.axis.spatial(16, k)
                    C[vi, vk] = B[vi, vk] + 1.0

    state = tir.ScheduleState(tiles)
    assert state._get_cached_flags(block_sref(state, "C")) == CachedFlags(True, True, True)


def test_replace():
    state = tir.ScheduleState(chain, debug_mask="all")
    block = block_sref(state, "B")
    root = block_sref(state, "root")
    inner = block.parent
    old = block.stmt
    new = tir.Block(old.iter_vars, old.reads, old.writes, "renamed", old.body, annotations={"a": 1})
    state.replace(block, new)
    assert block.stmt.same_as(new) and block.parent.same_as(inner)
    assert "renamed" in state.mod.script() and root.stmt.name_hint == "root"
    loop = inner.stmt
    state.replace(inner, loop.body)
    assert inner.stmt is None and block.stmt.name_hint == "renamed"
    assert block.parent.stmt.loop_var.name == "i"


def test_what_the_mask_verifies():
    assert ScheduleDebugMask.VERIFY_SREF_TREE == 1
    state = tir.ScheduleState(chain, debug_mask="verify_sref_tree")
    block = block_sref(state, "B")
    both = tir.SeqStmt([tir.BlockRealize([0, 0], True, block.stmt)] * 2)
    loop = block.parent
    old = loop.stmt
    with pytest.raises(tenon.error.InternalError, match="B is the name of a block at two places"):
        state.replace(loop, tir.For(old.loop_var, 0, 16, 0, both))


def test_producers_come_before():
    sch = tir.Schedule(again_and_again)
    names = lambda blocks: [sch.get(b).name_hint for b in blocks]  # noqa: E731
    assert names(sch.get_producers("C")) == ["B0"]
    assert names(sch.get_consumers("B0")) == ["C", "B1"]
    assert names(sch.get_producers("B1")) == ["B0"]
    assert "not a stage pipeline" in failure(sch.compute_at, "B0", sch.get_loops("C")[0])


def test_questions_about_blocks():
    sch = tir.Schedule(chain)
    assert is_output_block(sch, sch.get_block("C"))
    assert not is_output_block(sch, sch.get_block("B"))
    assert has_block(sch, "B") and not has_block(sch, "D")
    assert "root block" in failure(is_output_block, sch, sch.get_block("root"))


def test_what_several_blocks_cover():
    """Boxes that touch are one; an element between them is missed."""

    @T.prim_func
    def halves(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        C = T.alloc_buffer((128,))
        for i in range(64):
            with T.block("first"):
                vi = T.axis.spatial(64, i)
                C[vi] = A[vi]
        for i in range(64):
            with T.block("second"):
                vi = T.axis.spatial(64, i)
                C[vi + 64] = A[vi]
        for i in range(128):
            with T.block("B"):
                vi = T.axis.spatial(128, i)
                B[vi] = C[vi]

    from tenon.script import from_source

    gap = from_source(halves.script().replace("range(64)", "range(63)", 1))
    for program, covered in [(halves, True), (gap, False)]:
        state = tir.ScheduleState(program)
        assert state._get_cached_flags(block_sref(state, "B")).region_cover == covered
