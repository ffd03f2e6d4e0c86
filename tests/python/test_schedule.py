"""Schedules: handles, errors, loops; each step before and after as TVMScript."""

import pytest
import tenon
from schedule_programs import CHAIN, HEAD, MATMUL, SCALE, chain, check, failure, func, matmul, scale
from schedule_run import verified
from tenon import tir
from tenon.script import from_source

# ---- handles ----


def test_handles_follow_the_program():
    before = tenon.IRModule({"main": scale()})
    sch = tir.Schedule(before)
    block = sch.get_block("B")
    i, j = sch.get_loops(block)
    assert isinstance(block, tir.BlockRV) and isinstance(i, tir.LoopRV)
    assert sch.get(block).name_hint == "B" and sch.get(j).loop_var.name == "j"
    i0, i1 = sch.split(i, [None, 16])
    assert [sch.get(x).loop_var.name for x in sch.get_loops(block)] == ["i_0", "i_1", "j"]
    assert sch.get(j).body.block.same_as(sch.get(block))
    assert sch.get(i0).body.same_as(sch.get(i1))
    with pytest.raises(IndexError, match="no more"):
        sch.get(i)
    # what was handed out before stays as it was
    tenon.ir.assert_structural_equal(before["main"], scale())
    assert sch.get_sref(block).stmt.same_as(sch.get(block))
    assert sch.get(sch.get_child_blocks(i0)[0]).same_as(sch.get(block))
    sch.remove_rv(j)
    with pytest.raises(IndexError, match="not of this schedule"):
        sch.get(j)


def test_a_copy_goes_its_own_way_with_the_same_handles():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    other = sch.copy()
    other.reorder(j, i)
    check(sch, scale())
    assert other.get(j).body.same_as(other.get(i))
    assert sch.get(i).body.same_as(sch.get(j))


def test_which_function_a_block_is_looked_for_in():
    mod = tenon.IRModule({"f": scale(), "g": chain()})
    sch = tir.Schedule(mod)
    with pytest.raises(ValueError, match="2 tensor programs"):
        sch.get_block("C")
    assert sch.get(sch.get_block("C", "g")).name_hint == "C"
    sch.work_on("g")
    assert sch.func_working_on.same_as(sch.mod.get_global_var("g"))
    assert sch.get(sch.get_block("C")).name_hint == "C"
    with pytest.raises(ValueError, match="no function named h"):
        sch.work_on("h")


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="IRModule or PrimFunc"):
        tir.Schedule("text")
    with pytest.raises(ValueError, match="error_render_level"):
        tir.Schedule(scale(), error_render_level="loud")
    with pytest.raises(AttributeError):
        tir.Schedule(scale()).no_such_step()
    sch = tir.Schedule(scale())
    with pytest.raises(TypeError):
        sch.split(sch.get_block("B"), [None, 2])


# ---- errors ----


def test_error_with_the_program():
    text = failure(tir.Schedule(chain()).get_block, "wrong_name")
    lines = text.split("\n")
    assert lines[0] == "ScheduleError: An error occurred in the schedule primitive 'get-block'."
    assert lines[1:3] == ["", "The IR with diagnostic is:"]
    assert lines[-1] == "Error message: Cannot find a block with the name: wrong_name"
    assert 'with T.block("root")' in text  # without sugar


def test_error_with_places():
    sch = tir.Schedule(matmul())
    text = failure(sch.compute_inline, "C")
    assert "# tir.Block#0" in text and "^^^" in text
    assert text.split("\n")[-1].startswith("Error message: The block tir.Block#0 is not a complete")
    check(sch, matmul())


def test_other_levels():
    sch = tir.Schedule(scale(), error_render_level="fast")
    assert failure(sch.get_block, "C") == (
        "ScheduleError: Cannot find a block with the specified name"
    )
    sch = tir.Schedule(scale(), error_render_level="none")
    assert failure(sch.get_block, "C") == "ScheduleError: (not rendered)"


def test_a_name_must_be_the_only_one():
    sch = tir.Schedule(chain(CHAIN.replace('"C"', '"B"')))
    assert "Found 2 blocks with the name: B" in failure(sch.get_block, "B")


# ---- split ----


def test_split_that_divides():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    sch.split(i, [None, 4, 8])
    sch.split(j, [2, 32])
    body = """
    for i_0, i_1, i_2, j_0, j_1 in T.grid(4, 4, 8, 2, 32):
        with T.block("B"):
            vi = T.axis.spatial(128, i_0 * 32 + i_1 * 8 + i_2)
            vj = T.axis.spatial(64, j_0 * 32 + j_1)
            B[vi, vj] = A[vi, vj] * 2.0
    """
    check(sch, func(["A:128,64", "B:128,64"], body.replace("\n    ", "\n")))


def test_split_with_a_rest():
    sch = tir.Schedule(scale(130, 64))
    i, _ = sch.get_loops("B")
    i0, i1 = sch.split(i, [None, 16])
    assert sch.get(i0).extent == 9
    body = """
for i_0, i_1, j in T.grid(9, 16, 64):
    with T.block("B"):
        vi = T.axis.spatial(130, i_0 * 16 + i_1)
        vj = T.axis.spatial(64, j)
        T.where(i_0 * 16 + i_1 < 130)
        B[vi, vj] = A[vi, vj] * 2.0
"""
    check(sch, func(["A:130,64", "B:130,64"], body))


def test_split_without_predicate():
    sch = tir.Schedule(scale(130, 64))
    sch.split(sch.get_loops("B")[0], [None, 16], disable_predication=True)
    assert "T.where" not in sch.mod.script()


def test_split_keeps_loops_that_run_once():
    sch = tir.Schedule(scale())
    sch.split(sch.get_loops("B")[0], [1, 128])
    assert "i_0 * 128 + i_1" in sch.mod.script()
    sch = tir.Schedule(scale())
    sch.split(sch.get_loops("B")[0], [1, 128], preserve_unit_iters=False)
    assert "i_0 *" not in sch.mod.script()


def test_split_of_a_symbolic_extent():
    text = HEAD + (
        "@T.prim_func\ndef main(a: T.handle, b: T.handle, n: T.int32):\n"
        "    A = T.match_buffer(a, (n,))\n    B = T.match_buffer(b, (n,))\n"
        "    for i in range(n):\n        with T.block('B'):\n"
        "            vi = T.axis.spatial(n, i)\n            B[vi] = A[vi] + 1.0\n"
    )
    sch = tir.Schedule(from_source(text))
    sch.split(sch.get_loops("B")[0], [None, 8])
    script = sch.mod.script()
    assert "T.where(i_0 * 8 + i_1 < n)" in script and "(n + 7) // 8" in script


def test_what_split_refuses():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    assert "product of factors" in failure(sch.split, i, [2, 16])
    assert "positive" in failure(sch.split, i, [None, 0])
    open_twice = failure(sch.split, i, [None, 2, None])
    assert "Only one factor of tir.For#0 can be specified as -1 or none" in open_twice
    sch.annotate(i, "pragma", 1)
    assert "annotations" in failure(sch.split, i, [None, 2])
    sch.bind(j, "threadIdx.x")
    assert "bound to a thread" in failure(sch.split, j, [None, 2])
    shifted = func(
        ["A:16", "B:16"],
        "for i in range(4, 16):\n    with T.block('B'):\n"
        "        vi = T.axis.spatial(16, i)\n        B[vi] = A[vi]\n",
    )
    sch = tir.Schedule(shifted)
    assert "does not start with 0" in failure(sch.split, sch.get_loops("B")[0], [None, 2])


# ---- fuse, reorder ----


def test_fuse():
    sch = tir.Schedule(scale())
    fused = sch.fuse(*sch.get_loops("B"))
    assert sch.get(fused).loop_var.name == "i_j_fused"
    body = """
for i_j_fused in range(8192):
    with T.block("B"):
        vi = T.axis.spatial(128, i_j_fused // 64)
        vj = T.axis.spatial(64, i_j_fused % 64)
        B[vi, vj] = A[vi, vj] * 2.0
"""
    check(sch, func(["A:128,64", "B:128,64"], body))


def test_fuse_undoes_split():
    sch = tir.Schedule(scale())
    i, _ = sch.get_loops("B")
    sch.fuse(*sch.split(i, [None, 16]))
    assert "T.axis.remap" in sch.mod.script()
    check(sch, scale())


def test_fuse_three():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    j0, j1 = sch.split(j, [4, 16])
    sch.fuse(i, j0, j1)
    text = sch.mod.script()
    assert "i_j_0_j_1_fused // 64" in text and "i_j_0_j_1_fused % 64" in text


def test_fuse_loops_of_two_types():
    """The index of the fused loop is int64; each iterator keeps its type."""
    body = """
for i in range(T.int64(4)):
    for j in range(3):
        with T.block("B"):
            vi = T.axis.spatial(T.int64(4), i)
            vj = T.axis.spatial(3, j)
            B[vi, vj] = A[vi, vj] * 2.0
"""
    start = func(["A:4,3", "B:4,3"], body)
    sch = tir.Schedule(start)
    fused = sch.fuse(*sch.get_loops("B"))
    assert 'T.Cast("int32", i_j_fused % T.int64(3))' in sch.mod.script()
    sch.parallel(fused)
    verified(sch, start)


def test_what_fuse_refuses():
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    assert "not the only parent" in failure(sch.fuse, i, k)
    assert "not the only parent" in failure(sch.fuse, j, i)
    with pytest.raises(ValueError, match="at least one"):
        sch.fuse()
    ragged = func(
        ["A:16,16"],
        "for i in range(16):\n    for j in range(i):\n        with T.block('A'):\n"
        "            vi, vj = T.axis.remap('SS', [i, j])\n            A[vi, vj] = 1.0\n",
    )
    sch = tir.Schedule(ragged)
    loops = sch.get_loops("A")
    assert "depends on the outer loop" in failure(sch.fuse, *loops)
    assert "would depend on the inner loop" in failure(sch.reorder, *reversed(loops))


def test_reorder():
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i)
    assert [sch.get(x).loop_var.name for x in sch.get_loops("C")] == ["k", "j", "i"]
    expected = MATMUL.replace(
        "for i, j, k in T.grid(16, 16, 32)", "for k, j, i in T.grid(32, 16, 16)"
    )
    check(sch, matmul(expected))


def test_what_reorder_refuses():
    sch = tir.Schedule(chain())
    i, j = sch.get_loops("B")
    other, _ = sch.get_loops("C")
    assert "more than once" in failure(sch.reorder, i, i)
    assert "not in one line" in failure(sch.reorder, j, other)
    diagonal = SCALE.format(n=16, m=16).replace("[i, j]", "[i, i]")
    sch = tir.Schedule(func(["A:16,16", "B:16,16"], diagonal))
    assert "affine" in failure(sch.reorder, *reversed(sch.get_loops("B")))


# ---- kinds ----


@pytest.mark.parametrize(
    ("step", "kind"), [("parallel", "parallel"), ("vectorize", "vectorized"), ("unroll", "unroll")]
)
def test_kinds(step, kind):
    sch = tir.Schedule(scale())
    _, j = sch.get_loops("B")
    getattr(sch, step)(j)
    body = SCALE.format(n=128, m=64).replace(
        "for i, j in T.grid(128, 64):\n", f"for i in range(128):\n  for j in T.{kind}(64):\n"
    )
    body = body.replace("\n    ", "\n        ")
    check(sch, func(["A:128,64", "B:128,64"], body))


def test_bind():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    sch.bind(i, "blockIdx.x")
    sch.bind(j, "threadIdx.x")
    text = sch.mod.script()
    assert 'for i in T.thread_binding(128, thread="blockIdx.x"):' in text
    assert 'for j in T.thread_binding(64, thread="threadIdx.x"):' in text


def test_iterations_that_depend_on_each_other():
    sch = tir.Schedule(matmul())
    k = sch.get_loops("C")[2]
    for step in (sch.parallel, sch.vectorize):
        assert "not data parallel" in failure(step, k)
    assert "not data parallel" in failure(sch.bind, k, "blockIdx.x")
    sch.bind(k, "threadIdx.x")  # threads of a group may reduce together
    sch.unroll(k)
    assert "T.unroll(32)" in sch.mod.script()


def test_one_thread_axis_has_one_extent():
    sch = tir.Schedule(scale())
    i, j = sch.get_loops("B")
    sch.bind(i, "threadIdx.x")
    assert "another extent" in failure(sch.bind, j, "threadIdx.x")
    with pytest.raises(ValueError, match="unknown thread axis"):
        sch.bind(j, "threadIdx.w")


def test_annotations():
    sch = tir.Schedule(scale())
    i, _ = sch.get_loops("B")
    sch.annotate(i, "pragma_x", 3)
    sch.annotate("B", "names", ["a", "b"])
    assert sch.get(i).annotations["pragma_x"] == 3
    assert [str(x) for x in sch.get(sch.get_block("B")).annotations["names"]] == ["a", "b"]
    sch.unannotate(i, "pragma_x")
    sch.unannotate("B", "names")
    check(sch, scale())
    assert "has no annotation other" in failure(sch.unannotate, i, "other")
