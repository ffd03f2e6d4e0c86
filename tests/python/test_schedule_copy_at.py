"""tir.Schedule.read_at and write_at: copies of what one iteration of a loop touches."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure
from tenon import te, tir
from tenon.script import tir as T
from test_schedule_trace import round_trip

rng = np.random.default_rng(4)


def matmul(n=64, m=64, k=64):
    a, b = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), "k")
    c = te.compute((n, m), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def tiled(start, factors):
    sch = tir.Schedule(start, debug_mask="all")
    parts = [sch.split(x, [None, f]) for x, f in zip(sch.get_loops("C"), factors, strict=True)]
    outer, inner = zip(*parts, strict=True)
    sch.reorder(outer[0], outer[1], inner[0], inner[1], outer[2], inner[2])
    return sch, outer, inner


def check(sch, n=64, m=64, k=64):
    a = rng.normal(size=(n, k)).astype("float32")
    b = rng.normal(size=(k, m)).astype("float32")
    for target in ("stackvm", "llvm"):
        out = tenon.nd.array(np.full((n, m), np.nan, "float32"))
        built = tenon.build(sch.mod, target=target)
        built["main"](tenon.nd.array(a), tenon.nd.array(b), out)
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-4)


def test_shared_by_threads():
    """All that the threads of a group touch is copied, in one block."""
    sch, outer, inner = tiled(matmul(), (16, 8, 4))
    for loop, axis in zip((*outer[:2], *inner[:2]), ("blockIdx.y", "blockIdx.x") * 2, strict=True):
        sch.bind(loop, axis if loop in outer else axis.replace("block", "thread"))
    sch.read_at(outer[2], "C", "A", "shared")
    sch.read_at(outer[2], "C", "B", "shared")
    sch.write_at(inner[1], "C", 0, "shared")

    @T.prim_func
    def expected(
        A: T.Buffer((64, 64), "float32"),
        B: T.Buffer((64, 64), "float32"),
        C: T.Buffer((64, 64), "float32"),
    ):
        T.func_attr({"tir.noalias": T.bool(True)})
        A_shared = T.alloc_buffer((64, 64), scope="shared")
        B_shared = T.alloc_buffer((64, 64), scope="shared")
        C_shared = T.alloc_buffer((64, 64), scope="shared")
        for by in T.thread_binding(4, thread="blockIdx.y"):
            for bx in T.thread_binding(8, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(8, thread="threadIdx.x"):
                        for k_0 in range(16):
                            with T.block("A_shared"):
                                v0, v1 = T.axis.remap("SS", [by, k_0])
                                T.reads(A[v0 * 16 : v0 * 16 + 16, v1 * 4 : v1 * 4 + 4])
                                T.writes(A_shared[v0 * 16 : v0 * 16 + 16, v1 * 4 : v1 * 4 + 4])
                                T.block_attr({"auto_copy": 1})
                                for ax0, ax1 in T.grid(16, 4):
                                    A_shared[v0 * 16 + ax0, v1 * 4 + ax1] = A[
                                        v0 * 16 + ax0, v1 * 4 + ax1
                                    ]
                            with T.block("B_shared"):
                                v0, v1 = T.axis.remap("SS", [k_0, bx])
                                T.reads(B[v0 * 4 : v0 * 4 + 4, v1 * 8 : v1 * 8 + 8])
                                T.writes(B_shared[v0 * 4 : v0 * 4 + 4, v1 * 8 : v1 * 8 + 8])
                                T.block_attr({"auto_copy": 1})
                                for ax0, ax1 in T.grid(4, 8):
                                    B_shared[v0 * 4 + ax0, v1 * 8 + ax1] = B[
                                        v0 * 4 + ax0, v1 * 8 + ax1
                                    ]
                            for k_1 in range(4):
                                with T.block("C"):
                                    vi = T.axis.spatial(64, by * 16 + ty)
                                    vj = T.axis.spatial(64, bx * 8 + tx)
                                    vk = T.axis.reduce(64, k_0 * 4 + k_1)
                                    with T.init():
                                        C_shared[vi, vj] = T.float32(0)
                                    C_shared[vi, vj] = (
                                        C_shared[vi, vj] + A_shared[vi, vk] * B_shared[vk, vj]
                                    )
                        with T.block("C_shared"):
                            v0, v1 = T.axis.remap("SS", [by, bx])
                            T.reads(C_shared[v0 * 16 : v0 * 16 + 16, v1 * 8 : v1 * 8 + 8])
                            T.writes(C[v0 * 16 : v0 * 16 + 16, v1 * 8 : v1 * 8 + 8])
                            T.block_attr({"auto_copy": 1})
                            for ax0, ax1 in T.grid(16, 8):
                                C[v0 * 16 + ax0, v1 * 8 + ax1] = C_shared[
                                    v0 * 16 + ax0, v1 * 8 + ax1
                                ]

    tenon.ir.assert_structural_equal(sch.mod["main"], expected.with_attr("global_symbol", "main"))
    round_trip(sch, matmul())


@pytest.mark.parametrize("sizes", [(64, 64, 64), (30, 21, 17)])
def test_results(sizes):
    """Sizes that the tiles do not divide: what lies beyond is not copied."""
    start = matmul(*sizes)
    sch, outer, inner = tiled(start, (16, 8, 4))
    a = sch.read_at(outer[2], "C", "A", "local")
    sch.read_at(inner[0], "C", "B", "global")
    c = sch.write_at(outer[1], "C", "C", "local")
    assert [sch.get(b).name_hint for b in (a, c)] == ["A_local", "C_local"]
    check(sch, *sizes)
    round_trip(sch, start)


def test_several_users():
    """First value and update of a reduction use one copy; a copy holds what all readers need."""
    start = matmul(32, 16, 8)
    sch, outer, inner = tiled(start, (4, 4, 2))
    sch.decompose_reduction("C", outer[2])
    sch.write_at(inner[1], "C_update", 0, "local")
    check(sch, 32, 16, 8)
    round_trip(sch, start)

    a = te.placeholder((16,), name="A")
    b = te.compute((14,), lambda i: a[i] + a[i + 2], name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    loop = sch.split(sch.get_loops("B")[0], [None, 7])[0]
    block = sch.get(sch.read_at(loop, "B", 0, "local"))
    assert [int(r.extent) for r in block.reads[0].region] == [9]
    x, out = rng.normal(size=16).astype("float32"), tenon.nd.empty((14,))
    tenon.build(sch.mod, target="llvm")["main"](tenon.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), x[:14] + x[2:], rtol=1e-6)


def test_errors():
    sch, outer, inner = tiled(matmul(), (16, 8, 4))
    assert "is invalid" in failure(sch.read_at, outer[2], "C", 0, "nowhere")
    assert "[0, 2)" in failure(sch.read_at, outer[2], "C", 2, "local")
    assert "[0, 1)" in failure(sch.write_at, outer[2], "C", 1, "local")
    sch.decompose_reduction("C", outer[2])
    assert "block {1}".replace("{1}", "tir.Block#1") in failure(
        sch.write_at, outer[2], "C_update", 0, "local"
    )
    assert "is written in the loop" not in failure(sch.write_at, inner[2], "C_update", 0, "local")
    a = te.placeholder((8,), name="A")
    b = te.compute((8,), lambda i: a[i] + 1.0, name="B")
    c = te.compute((8,), lambda i: b[i] + 1.0, name="C")
    sch = tir.Schedule(te.create_prim_func([a, c]))
    (i,) = sch.get_loops("C")
    assert "does not lie in it" in failure(sch.read_at, i, "B", 0, "local")
    sch.compute_at("B", i)
    (i, *_) = sch.get_loops("C")
    assert "there writes it" in failure(sch.read_at, i, "C", 0, "local")
