"""Schedules: steps on blocks and buffers, before and after as TVMScript."""

import pytest
import tenon
from schedule_programs import (
    ALLOC_B,
    CHAIN,
    MATMUL,
    SCALE,
    chain,
    check,
    failure,
    func,
    matmul,
    scale,
)
from tenon import tir
from tenon.script import from_source

# ---- blocks ----


def test_output_blocks_in_blocks():
    sch = tir.Schedule(chain())
    sch.blockize(sch.get_loops("B")[1])
    outer = sch.blockize(sch.get_loops("C")[1])
    names = [str(sch.get(b).name_hint) for b in sch.get_output_blocks("root")]
    assert names == ["C_o", "C"]
    assert [str(sch.get(b).name_hint) for b in sch.get_output_blocks(outer)] == ["C"]


def test_loops_of_an_init_have_threads_of_their_own():
    sch = tir.Schedule(matmul())
    i, j, _ = sch.get_loops("C")
    sch.bind(i, "threadIdx.x")
    sch.decompose_reduction("C", i)
    init, update = (loop.thread_binding for loop in sch.mod["main"].body.block.body)
    assert not init.var.same_as(update.var)


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
    assert "A[vj, vi] * T.float32(2.0) + A[vi, vj] * T.float32(2.0)" in text
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
    assert "C[vj, vi] = A[vi, vj] * T.float32(2.0) + T.float32(1.0)" in sch.mod.script()


def test_what_cannot_be_inlined():
    sch = tir.Schedule(chain())
    assert "is an output" in failure(sch.compute_inline, "C")
    assert "reads results of 0 blocks" in failure(sch.reverse_compute_inline, "B")
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] = A", "B[vi, 15 - vj] = A")))
    assert "not its iterators" in failure(sch.compute_inline, "B")
    sch = tir.Schedule(chain(CHAIN.replace("B[vi, vj] + 1.0", "B[vi, vi]")))
    assert "does not read B at indices that tell its iterators" in failure(
        sch.reverse_compute_inline, "C"
    )
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


def test_a_reduction_that_a_loop_repeats_keeps_its_first_value_inside():
    body = """
for i, j in T.grid(16, 8):
    for k in range(32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vk]
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = S[vi]
"""
    sch = tir.Schedule(func(["A:16,32", "B:16,8"], body, "S = T.alloc_buffer((16,))\n"))
    i, j, k = sch.get_loops("S")
    assert "repeats the reduction" in failure(sch.decompose_reduction, "S", i)
    assert "repeats the reduction" in failure(sch.decompose_reduction, "S", j)
    sch.decompose_reduction("S", k)


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
    assert "number 1 is out of range" in failure(sch.set_scope, "B", 1, "shared")
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
