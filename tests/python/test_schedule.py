"""Schedules: each step before and after as TVMScript, and what it refuses."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source

HEAD = "from tenon.script import tir as T\n"


def func(params, body, alloc=""):
    """A function of float32 buffers "A: 16, 16" with the given lines."""
    buffers = ", ".join(
        f'{p.split(":")[0]}: T.Buffer(({p.split(":")[1]},), "float32")' for p in params
    )
    lines = [line for line in (alloc + body).strip("\n").split("\n")]
    return from_source(
        HEAD + f"@T.prim_func\ndef main({buffers}):\n" + "\n".join("    " + x for x in lines)
    )


def check(sch, expected):
    tenon.ir.assert_structural_equal(sch.mod["main"], expected)
    # what is printed parses back
    tenon.ir.assert_structural_equal(from_source(HEAD + sch.mod["main"].script()), expected)


SCALE = """
for i, j in T.grid({n}, {m}):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
"""


def scale(n=128, m=64):
    return func([f"A:{n},{m}", f"B:{n},{m}"], SCALE.format(n=n, m=m))


CHAIN = """
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + 1.0
"""
ALLOC_B = "B = T.alloc_buffer((16, 16))\n"


def chain(body=CHAIN):
    return func(["A:16,16", "C:16,16"], body, ALLOC_B)


MATMUL = """
for i, j, k in T.grid(16, 16, 32):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0.0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""


def matmul(body=MATMUL):
    return func(["A:16,32", "B:16,32", "C:16,16"], body)


def failure(call, *args, **kwargs):
    with pytest.raises(tir.ScheduleError) as caught:
        call(*args, **kwargs)
    return caught.value.args[0]


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
    with pytest.raises(ValueError, match="at most one"):
        sch.split(i, [None, None])
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


# ---- inlining ----


def test_compute_inline():
    sch = tir.Schedule(chain())
    block = sch.get_block("B")
    sch.compute_inline(block)
    body = """
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * 2.0 + 1.0
"""
    check(sch, func(["A:16,16", "C:16,16"], body))
    with pytest.raises(IndexError, match="no more"):
        sch.get(block)


def test_compute_inline_of_a_transposed_use():
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] + 1.0", "B[vj, vi] + B[vi, vj]")))
    sch.compute_inline("B")
    text = sch.mod.script()
    assert "A[vj, vi] * T.float32(2) + A[vi, vj] * T.float32(2)" in text
    assert "alloc_buffer" not in text and "T.reads(A[" in text


def test_reverse_compute_inline():
    sch = tir.Schedule(chain())
    sch.reverse_compute_inline("C")
    body = """
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = A[vi, vj] * 2.0 + 1.0
"""
    check(sch, func(["A:16,16", "C:16,16"], body))


def test_reverse_compute_inline_of_a_transposed_use():
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] + 1.0", "B[vj, vi] + 1.0")))
    sch.reverse_compute_inline("C")
    assert "C[vj, vi] = A[vi, vj] * T.float32(2) + T.float32(1)" in sch.mod.script()


def test_what_cannot_be_inlined():
    sch = tir.Schedule(chain())
    assert "is an output" in failure(sch.compute_inline, "C")
    assert "reads results of 0 blocks" in failure(sch.reverse_compute_inline, "B")
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] = A", "B[vi, 15 - vj] = A")))
    assert "not its iterators" in failure(sch.compute_inline, "B")
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] + 1.0", "B[vi, 15 - vj]")))
    assert "does not read B at its iterators" in failure(sch.reverse_compute_inline, "C")
    sch = tir.Schedule(chain(CHAIN.replace("C[vi, vj] = B", "C[vi, vj] = C[vj, vi] + B")))
    assert "reads a buffer that it writes" in failure(sch.reverse_compute_inline, "C")
    opaque = CHAIN + 'with T.block("D"):\n    T.reads(B[0:16, 0:16])\n    T.writes()\n'
    opaque += '    T.evaluate(T.call_extern("int32", "use", B.data))\n'
    sch = tir.Schedule(chain(opaque))
    assert "other than by reading its elements" in failure(sch.compute_inline, "B")
    assert "not a complete block" in failure(tir.Schedule(matmul()).compute_inline, "C")


# ---- reductions ----


def test_decompose_reduction():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    i, _, _ = sch.get_loops(block)
    init = sch.decompose_reduction(block, i)
    assert sch.get(init).name_hint == "C_init" and sch.get(block).name_hint == "C_update"
    body = """
for i_init, j_init in T.grid(16, 16):
    with T.block("C_init"):
        vi, vj = T.axis.remap("SS", [i_init, j_init])
        T.reads()
        T.writes(C[vi, vj])
        C[vi, vj] = 0.0
for i, j, k in T.grid(16, 16, 32):
    with T.block("C_update"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        T.reads(C[vi, vj], A[vi, vk], B[vj, vk])
        T.writes(C[vi, vj])
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""
    check(sch, matmul(body))


def test_decompose_reduction_inside_loops():
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    j0, j1 = sch.split(j, [None, 5])
    sch.reorder(i, j0, k, j1)
    sch.decompose_reduction("C", k)
    body = """
for i, j_0 in T.grid(16, 4):
    for j_1_init in range(5):
        with T.block("C_init"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(16, j_0 * 5 + j_1_init)
            T.where(j_0 * 5 + j_1_init < 16)
            T.reads()
            T.writes(C[vi, vj])
            C[vi, vj] = 0.0
    for k, j_1 in T.grid(32, 5):
        with T.block("C_update"):
            vi = T.axis.spatial(16, i)
            vj = T.axis.spatial(16, j_0 * 5 + j_1)
            vk = T.axis.reduce(32, k)
            T.where(j_0 * 5 + j_1 < 16)
            T.reads(C[vi, vj], A[vi, vk], B[vj, vk])
            T.writes(C[vi, vj])
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""
    check(sch, matmul(body))


def test_what_decompose_reduction_refuses():
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    sch.reorder(k, i)
    assert "below the loop" in failure(sch.decompose_reduction, "C", i)
    sch = tir.Schedule(chain())
    i, _ = sch.get_loops("B")
    assert "not a reduction block" in failure(sch.decompose_reduction, "C", i)
    both = tir.Schedule(
        func(
            ["A:16,32", "B:16,32", "C:16,16", "D:16"],
            MATMUL
            + (
                "for x in range(16):\n    with T.block('D'):\n"
                "        vx = T.axis.spatial(16, x)\n        D[vx] = 1.0\n"
            ),
        )
    )
    (x,) = both.get_loops("D")
    assert "is not around the block" in failure(both.decompose_reduction, "C", x)


def test_a_schedule_of_a_tensor_expression():
    from tenon import te

    a = te.placeholder((64, 64), name="A")
    k = te.reduce_axis((0, 64), name="k")
    c = te.compute((64, 64), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, c]))
    i, j, k = sch.get_loops(sch.get_block("C"))
    i0, i1 = sch.split(i, [None, 8])
    j0, j1 = sch.split(j, [None, 16])
    sch.reorder(i0, j0, k, i1, j1)
    sch.parallel(sch.fuse(i0, j0))
    sch.vectorize(j1)
    sch.unroll(i1)
    sch.decompose_reduction("C", k)
    text = sch.mod.script()
    assert "for i_0_j_0_fused in T.parallel(32):" in text
    assert "for j_1 in T.vectorized(16):" in text and "for i_1 in T.unroll(8):" in text
    tenon.ir.assert_structural_equal(from_source(text), sch.mod)


# ---- neighbours, unit loops, memories, instructions ----


def test_neighbours():
    sch = tir.Schedule(chain())
    name = lambda blocks: [sch.get(b).name_hint for b in blocks]  # noqa: E731
    assert name(sch.get_consumers("B")) == ["C"] and name(sch.get_producers("C")) == ["B"]
    assert name(sch.get_producers("B")) == [] and name(sch.get_consumers("C")) == []
    assert name(sch.get_output_blocks("root")) == ["C"]


def test_unit_loops():
    sch = tir.Schedule(scale())
    i, _ = sch.get_loops("B")
    inner, outer = sch.add_unit_loop("B"), sch.add_unit_loop(i)
    loops = sch.get_loops("B")
    assert [int(sch.get(x).extent) for x in loops] == [1, 128, 64, 1]
    assert sch.get(loops[0]).same_as(sch.get(outer))
    assert sch.get(loops[3]).same_as(sch.get(inner))
    with pytest.raises(IndexError):
        sch.add_unit_loop(tir.Schedule(scale()).get_block("B"))


def test_set_scope():
    sch = tir.Schedule(chain())
    sch.set_scope("B", 0, "shared")
    expected = func(["A:16,16", "C:16,16"], CHAIN, 'B = T.alloc_buffer((16, 16), scope="shared")\n')
    check(sch, expected)
    sch.set_scope("B", "B", "global")
    check(sch, chain())
    assert "not allocated by the block around" in failure(sch.set_scope, "C", 0, "shared")
    assert "no number 1" in failure(sch.set_scope, "B", 1, "shared")
    with pytest.raises(ValueError, match="writes 0 buffers A"):
        sch.set_scope("B", "A", "shared")


def test_tensor_intrinsics_by_name():
    intrin = tir.TensorIntrin.register("test.scale", scale(4, 4), scale(4, 4))
    assert tir.TensorIntrin.get("test.scale").same_as(intrin)
    with pytest.raises(ValueError, match="already been registered"):
        tir.TensorIntrin.register("test.scale", scale(4, 4), scale(4, 4))
    other = tir.TensorIntrin.register("test.scale", scale(8, 8), scale(8, 8), override=True)
    assert tir.TensorIntrin.get("test.scale").same_as(other)
    assert tir.TensorIntrin.get("test.none", allow_missing=True) is None
    with pytest.raises(ValueError, match="is not registered"):
        tir.TensorIntrin.get("test.none")
    with pytest.raises(ValueError, match="2 parameters, the implementation 3"):
        tir.TensorIntrin(scale(), matmul())


# ---- copies ----

COPY = """
for ax0, ax1 in T.grid(16, 16):
    with T.block("copy"):
        v0, v1 = T.axis.remap("SS", [ax0, ax1])
        {to}[v0, v1] = {source}[v0, v1]
"""


def test_cache_read_of_a_parameter():
    sch = tir.Schedule(scale(16, 16))
    block = sch.get_block("B")
    copy = sch.cache_read(block, 0, "shared")
    assert sch.get(copy).name_hint == "A_shared"
    alloc = 'A_shared = T.alloc_buffer((16, 16), scope="shared")\n'
    body = COPY.format(to="A_shared", source="A") + SCALE.format(n=16, m=16).replace(
        "A[vi", "A_shared[vi"
    ).lstrip("\n")
    check(sch, func(["A:16,16", "B:16,16"], body, alloc))
    assert [sch.get(b).name_hint for b in sch.get_consumers(copy)] == ["B"]
    assert sch.get(block).reads[0].buffer.name == "A_shared"


def test_cache_read_of_a_result():
    sch = tir.Schedule(chain())
    sch.cache_read("C", "B", "local")
    first, second = CHAIN.split("for i, j", 2)[1:]
    body = "for i, j" + first + COPY.format(to="B_local", source="B").lstrip("\n")
    body += "for i, j" + second.replace("B[vi", "B_local[vi")
    alloc = ALLOC_B + 'B_local = T.alloc_buffer((16, 16), scope="local")\n'
    check(sch, func(["A:16,16", "C:16,16"], body, alloc))


def test_cache_write_of_a_reduction():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    copy = sch.cache_write(block, 0, "local")
    alloc = 'C_local = T.alloc_buffer((16, 16), scope="local")\n'
    body = MATMUL.replace("C[vi", "C_local[vi") + COPY.format(to="C", source="C_local").lstrip("\n")
    check(sch, func(["A:16,32", "B:16,32", "C:16,16"], body, alloc))
    i, _, _ = sch.get_loops(block)
    sch.decompose_reduction(block, i)
    assert [sch.get(b).name_hint for b in sch.get_producers(copy)] == ["C_init", "C_update"]


def test_a_cache_can_be_inlined_again():
    sch = tir.Schedule(scale(16, 16))
    sch.compute_inline(sch.cache_read("B", "A", "global"))
    check(sch, scale(16, 16))
    sch.reverse_compute_inline(sch.cache_write("B", "B", "global"))
    check(sch, scale(16, 16))


def test_what_cannot_be_cached():
    sch = tir.Schedule(chain())
    assert "is a root block" in failure(sch.cache_read, "root", 0, "shared")
    assert "no number 1" in failure(sch.cache_read, "B", 1, "shared")
    half = SCALE.format(n=8, m=16)
    sch = tir.Schedule(func(["A:16,16", "B:16,16"], half))
    assert "does not write all of B" in failure(sch.cache_write, "B", 0, "local")
    together = CHAIN.replace(
        '\nfor i, j in T.grid(16, 16):\n    with T.block("C")', '\n    with T.block("C")'
    )
    together = "for i, j in T.grid(16, 16):\n" + together.split(":\n", 1)[1]
    sch = tir.Schedule(chain(together))
    assert "lies in one loop with" in failure(sch.cache_read, "C", 0, "local")
