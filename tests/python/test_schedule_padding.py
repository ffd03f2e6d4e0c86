"""Schedules: padding."""

import pytest
from schedule_programs import failure
from schedule_run import verified
from tenon import tir
from tenon.script import from_source
from tenon.script import tir as T


@T.prim_func
def pad(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
    for i in range(140):
        with T.block("block"):
            vi = T.axis.remap("S", [i])
            y[vi] = T.if_then_else(vi >= 6 and vi < 134, x[vi - 6], 0, dtype="int32")


def test_decompose_padding():
    sch = tir.Schedule(pad)
    block = sch.get_block("block")
    (loop,) = sch.get_loops(block)
    assert sch.can_decompose_padding(block, loop)
    fill = sch.decompose_padding(block, loop)

    @T.prim_func
    def expected(x: T.Buffer((128,), "int32"), y: T.Buffer((140,), "int32")):
        for i in range(140):
            with T.block("block_pad_const"):
                vi = T.axis.spatial(140, i)
                T.reads()
                T.writes(y[vi])
                y[vi] = 0
        for i in range(128):
            with T.block("block"):
                vi = T.axis.spatial(128, i)
                T.reads(x[vi])
                T.writes(y[vi + 6])
                y[vi + 6] = x[vi]

    verified(sch, pad, expected)
    assert sch.get(fill).name_hint == "block_pad_const"
    assert sch.get(block).name_hint == "block" and int(sch.get(loop).extent) == 128


@T.prim_func
def image(x: T.Buffer((1, 3, 16, 16), "float32"), y: T.Buffer((1, 3, 18, 18), "float32")):
    for n, c, h, w in T.grid(1, 3, 18, 18):
        with T.block("pad"):
            vn, vc, vh, vw = T.axis.remap("SSSS", [n, c, h, w])
            y[vn, vc, vh, vw] = T.Select(
                1 <= vh and vh < 17 and 1 <= vw and vw < 17,
                x[vn, vc, vh - 1, vw - 1],
                T.float32(0.0),
            )


@pytest.mark.parametrize("depth", [0, 1, 3])
def test_padding_of_an_image(depth):
    sch = tir.Schedule(image)
    sch.decompose_padding("pad", sch.get_loops("pad")[depth])
    text = sch.mod.script()
    assert "y[vn, vc, vh + 1, vw + 1] = x[vn, vc, vh, vw]" in text or depth == 3
    verified(sch, image)


def test_tiled_loops_get_a_predicate():
    sch = tir.Schedule(image)
    h_0, _ = sch.split(sch.get_loops("pad")[2], [None, 6])
    sch.decompose_padding("pad", h_0)
    text = sch.mod.script()
    assert "vh = T.axis.spatial(16, h_0 * 6 + h_1 - 1)" in text
    assert "T.where(1 <= h_0 * 6 + h_1 and h_0 * 6 + h_1 < 17)" in text
    verified(sch, image)


def refused(value):
    text = (
        "from tenon.script import tir as T\n@T.prim_func\ndef main("
        'x: T.Buffer((8,), "float32"), y: T.Buffer((10,), "float32")):\n'
        "    for i in range(10):\n        with T.block('pad'):\n"
        f"            vi = T.axis.remap('S', [i])\n            y[vi] = {value}\n"
    )
    sch = tir.Schedule(from_source(text))
    (loop,) = sch.get_loops("pad")
    assert not sch.can_decompose_padding("pad", loop)
    return failure(sch.decompose_padding, "pad", loop)


def test_what_is_no_padding():
    inside = "1 <= vi and vi < 9"
    assert "constrained by a padding predicate" in refused("x[vi % 8]")
    assert "pad value is required to be constant" in refused(
        f"T.if_then_else({inside}, x[vi - 1], T.cast(vi, 'float32'))"
    )
    assert "limit each iterator by itself" in refused(
        "T.if_then_else(vi % 2 == 0, x[vi // 2], T.float32(0.0))"
    )
    sch = tir.Schedule(pad)
    other = tir.Schedule(image)
    with pytest.raises(IndexError):
        sch.decompose_padding("block", other.get_loops("pad")[0])


def test_statements_beside_the_padding_stay():
    @T.prim_func
    def beside(x: T.Buffer((8,), "float32"), y: T.Buffer((4, 10), "float32")):
        z = T.alloc_buffer((4,))
        for i in range(4):
            with T.block("z"):
                vi = T.axis.spatial(4, i)
                z[vi] = x[vi]
            for j in range(10):
                with T.block("pad"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    y[vi, vj] = T.if_then_else(1 <= vj and vj < 9, x[vj - 1], T.float32(0.0))

    sch = tir.Schedule(beside)
    outer, inner = sch.get_loops("pad")
    assert not sch.can_decompose_padding("pad", outer)
    assert "around more than block" in failure(sch.decompose_padding, "pad", outer)
    sch.decompose_padding("pad", inner)
    assert sch.get_block("z")
    verified(sch, beside)


# ---- sums of products ----


@T.prim_func
def matmul(
    A: T.Buffer((16, 31), "float32"),
    B: T.Buffer((31, 15), "float32"),
    C: T.Buffer((16, 15), "float32"),
):
    for i, j, k in T.grid(16, 15, 31):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


def test_pad_einsum():
    sch = tir.Schedule(matmul)
    block = sch.get_block("C")
    loops = sch.get_loops(block)
    sch.pad_einsum(block, [8, 8, 8])

    @T.prim_func
    def expected(
        A: T.Buffer((16, 31), "float32"),
        B: T.Buffer((31, 15), "float32"),
        C: T.Buffer((16, 15), "float32"),
    ):
        A_pad = T.alloc_buffer((16, 32))
        B_pad = T.alloc_buffer((32, 16))
        C_pad = T.alloc_buffer((16, 16))
        for i0, i1 in T.grid(16, 32):
            with T.block("A_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                A_pad[v0, v1] = T.if_then_else(v1 < 31, A[v0, v1], T.float32(0.0))
        for i0, i1 in T.grid(32, 16):
            with T.block("B_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                B_pad[v0, v1] = T.if_then_else(v0 < 31 and v1 < 15, B[v0, v1], T.float32(0.0))
        for i, j, k in T.grid(16, 16, 32):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C_pad[vi, vj] = 0.0
                C_pad[vi, vj] = C_pad[vi, vj] + A_pad[vi, vk] * B_pad[vk, vj]
        for i0, i1 in T.grid(16, 15):
            with T.block("C_pad"):
                v0, v1 = T.axis.remap("SS", [i0, i1])
                C[v0, v1] = C_pad[v0, v1]

    verified(sch, matmul, expected)
    assert [int(sch.get(x).extent) for x in loops] == [16, 16, 32]
    assert sch.trace.as_python()[-1] == "sch.pad_einsum(block=b0, padding=[8, 8, 8])"


def test_only_what_grows_is_copied():
    sch = tir.Schedule(matmul)
    sch.pad_einsum("C", [16, 1, 4])
    text = sch.mod.script()
    assert "A_pad" in text and "B_pad" in text and "C_pad" not in text
    verified(sch, matmul)
    same = tir.Schedule(matmul)
    same.pad_einsum("C", [1, 1, 1])
    verified(same, matmul, matmul)


def test_what_pad_einsum_refuses():
    sch = tir.Schedule(matmul)
    assert "has 3 iterators" in failure(sch.pad_einsum, "C", [8, 8])
    assert "required to be positive" in failure(sch.pad_einsum, "C", [8, 8, 0])
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert "its own loop" in failure(sch.pad_einsum, "C", [8, 8, 8])
    assert "not a reduction block" in failure(tir.Schedule(image).pad_einsum, "pad", [1, 1, 2, 2])

    @T.prim_func
    def conv(
        A: T.Buffer((18,), "float32"), B: T.Buffer((3,), "float32"), C: T.Buffer((16,), "float32")
    ):
        for i, k in T.grid(16, 3):
            with T.block("C"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    C[vi] = 0.0
                C[vi] = C[vi] + A[vi + vk] * B[vk]

    assert "required to be iterators" in failure(tir.Schedule(conv).pad_einsum, "C", [8, 4])


def test_pad_einsum_by_what_was_sampled():
    sch = tir.Schedule(matmul)
    factor = sch.sample_categorical([16, 32], [0.5, 0.5], decision=1)
    sch.pad_einsum("C", [1, 1, factor])
    assert sch.trace.as_python()[-1] == "sch.pad_einsum(block=b1, padding=[1, 1, 32])"
    with pytest.raises(TypeError, match=r"padding\[1\]: expected an int, got float"):
        sch.pad_einsum("C", [1, 1.5, 1])
    with pytest.raises(IndexError, match="does not exist|not defined|unknown|[Rr]andom variable"):
        sch.pad_einsum("C", [1, 1, tir.Var("x", "int32")])
