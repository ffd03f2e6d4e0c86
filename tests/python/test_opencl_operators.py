"""Programs like those of operators, scheduled by hand for OpenCL, against NumPy."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T

TARGET = tenon.target.Target("opencl", host="llvm")
pytestmark = pytest.mark.skipif(not tenon.opencl(0).exist, reason="no OpenCL device")


def build_and_run(func, *arrays, shape, dtype="float32"):
    dev = tenon.opencl(0)
    mod = tenon.build(func, target=TARGET)
    out = tenon.nd.empty(shape, dtype, dev)
    name = "main" if isinstance(func, tenon.IRModule) else "default_function"
    mod[name](*[tenon.nd.array(a, dev) for a in arrays], out)
    return out.numpy(), mod.imported_modules[0].get_source()


def schedule(*tensors):
    return tir.Schedule(te.create_prim_func(list(tensors)))


def flat(sch, block, threads=32):
    loop = sch.fuse(*sch.get_loops(block))
    outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


@pytest.mark.parametrize("threads", [8, 20, 32, 64])
@pytest.mark.parametrize("reducer, numpy", [("sum", np.sum), ("max", np.max), ("min", np.min)])
def test_reduction_over_threads(reducer, numpy, threads):
    a = te.placeholder((13, 200), name="A")
    k = te.reduce_axis((0, 200), "k")
    b = te.compute((13,), lambda i: getattr(te, reducer)(a[i, k], axis=k), name="B")
    sch = schedule(a, b)
    block = sch.get_block("B")
    i, kk = sch.get_loops(block)
    _, inner = sch.split(kk, [None, threads])
    sch.bind(i, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    x = np.random.rand(13, 200).astype("float32") - 0.5
    out, source = build_and_run(sch.mod, x, shape=(13,))
    np.testing.assert_allclose(out, numpy(x, axis=1), rtol=1e-5, atol=1e-5)
    assert "barrier(" in source and f"[{threads}]" in source


def test_several_rows_of_threads():
    a = te.placeholder((16, 96), name="A")
    k = te.reduce_axis((0, 96), "k")
    b = te.compute((16,), lambda i: te.sum(a[i, k], axis=k), name="B")
    sch = schedule(a, b)
    i, kk = sch.get_loops(sch.get_block("B"))
    io, ii = sch.split(i, [None, 4])
    _, ki = sch.split(kk, [None, 12])
    for loop, tag in ((io, "blockIdx.x"), (ii, "threadIdx.y"), (ki, "threadIdx.x")):
        sch.bind(loop, tag)
    x = np.random.rand(16, 96).astype("float32")
    out, _ = build_and_run(sch.mod, x, shape=(16,))
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)


def test_reduction_in_a_loop():
    """One block of threads takes several rows one after another."""
    a = te.placeholder((24, 64), name="A")
    k = te.reduce_axis((0, 64), "k")
    b = te.compute((24,), lambda i: te.sum(a[i, k], axis=k), name="B")
    sch = schedule(a, b)
    i, kk = sch.get_loops(sch.get_block("B"))
    io, _ = sch.split(i, [None, 6])
    sch.bind(io, "blockIdx.x")
    sch.bind(kk, "threadIdx.x")
    x = np.random.rand(24, 64).astype("float32")
    out, _ = build_and_run(sch.mod, x, shape=(24,))
    np.testing.assert_allclose(out, x.sum(axis=1), rtol=1e-5)


def test_rfactor():
    a = te.placeholder((9, 128), name="A")
    k = te.reduce_axis((0, 128), "k")
    b = te.compute((9,), lambda i: te.sum(a[i, k] * a[i, k], axis=k), name="B")
    sch = schedule(a, b)
    i, kk = sch.get_loops(sch.get_block("B"))
    _, ki = sch.split(kk, [None, 16])
    rf = sch.rfactor(ki, 0)
    loops = sch.get_loops(rf)
    sch.bind(sch.fuse(loops[0], loops[2]) if len(loops) > 3 else loops[0], "blockIdx.x")
    i, ki = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(ki, "threadIdx.x")
    x = np.random.rand(9, 128).astype("float32")
    out, _ = build_and_run(sch.mod, x, shape=(9,))
    np.testing.assert_allclose(out, (x * x).sum(axis=1), rtol=1e-5)


def test_argmax():
    @T.prim_func
    def argmax(
        N: T.Buffer((12, 64), "int32"),
        V: T.Buffer((12, 64), "float32"),
        Oi: T.Buffer((12,), "int32"),
        Ov: T.Buffer((12,), "float32"),
    ):
        for i in T.thread_binding(12, thread="blockIdx.x"):
            for ko in range(4):
                for ki in T.thread_binding(16, thread="threadIdx.x"):
                    with T.block("argmax"):
                        vi = T.axis.spatial(12, i)
                        vk = T.axis.reduce(64, ko * 16 + ki)
                        T.reads(N[vi, vk], V[vi, vk])
                        T.writes(Oi[vi], Ov[vi])
                        with T.init():
                            Oi[vi] = -1
                            Ov[vi] = T.min_value("float32")
                        v_i: T.int32 = T.Select(Ov[vi] >= V[vi, vk], Oi[vi], N[vi, vk])
                        v_v: T.float32 = T.Select(Ov[vi] >= V[vi, vk], Ov[vi], V[vi, vk])
                        Oi[vi] = v_i
                        Ov[vi] = v_v

    dev = tenon.opencl(0)
    mod = tenon.build(argmax, target=TARGET, name="argmax")
    values = np.random.permutation(12 * 64).reshape(12, 64).astype("float32")
    index = np.tile(np.arange(64, dtype="int32"), (12, 1))
    oi, ov = tenon.nd.empty((12,), "int32", dev), tenon.nd.empty((12,), "float32", dev)
    mod["argmax"](tenon.nd.array(index, dev), tenon.nd.array(values, dev), oi, ov)
    np.testing.assert_array_equal(oi.numpy(), values.argmax(axis=1))
    np.testing.assert_array_equal(ov.numpy(), values.max(axis=1))


def test_softmax():
    a = te.placeholder((11, 100), name="A")
    k1, k2 = (te.reduce_axis((0, 100), name) for name in ("k1", "k2"))
    m = te.compute((11,), lambda i: te.max(a[i, k1], axis=k1), name="M")
    e = te.compute((11, 100), lambda i, j: te.exp(a[i, j] - m[i]), name="E")
    s = te.compute((11,), lambda i: te.sum(e[i, k2], axis=k2), name="S")
    d = te.compute((11, 100), lambda i, j: e[i, j] / s[i], name="D")
    sch = schedule(a, d)
    for name in "MS":
        i, k = sch.get_loops(sch.get_block(name))
        _, inner = sch.split(k, [None, 32])
        sch.bind(i, "blockIdx.x")
        sch.bind(inner, "threadIdx.x")
    for name in "ED":
        flat(sch, sch.get_block(name))
    x = np.random.rand(11, 100).astype("float32")
    out, source = build_and_run(sch.mod, x, shape=(11, 100))
    np.testing.assert_allclose(out, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-5)
    assert source.count("__kernel") == 4


def test_softmax_in_one_kernel():
    """Rows in shared memory, which later stages read without going through the device's."""

    @T.prim_func
    def softmax(A: T.Buffer((11, 64), "float32"), B: T.Buffer((11, 64), "float32")):
        M = T.alloc_buffer((11,), scope="shared")
        S = T.alloc_buffer((11,), scope="shared")
        for i in T.thread_binding(11, thread="blockIdx.x"):
            for k in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("M"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        M[vi] = T.min_value("float32")
                    M[vi] = T.max(M[vi], A[vi, vk])
            for k in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("S"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        S[vi] = T.float32(0)
                    S[vi] = S[vi] + T.exp(A[vi, vk] - M[vi])
            for j in T.thread_binding(64, thread="threadIdx.x"):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = T.exp(A[vi, vj] - M[vi]) / S[vi]

    x = np.random.rand(11, 64).astype("float32")
    out, source = build_and_run(softmax, x, shape=(11, 64))
    np.testing.assert_allclose(out, np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-5)
    assert source.count("__kernel") == 1


def test_transpose_through_shared_memory():
    @T.prim_func
    def transpose(A: T.Buffer((48, 80), "float32"), B: T.Buffer((80, 48), "float32")):
        tile = T.alloc_buffer((48, 80), scope="shared")
        for by in T.thread_binding(3, thread="blockIdx.y"):
            for bx in T.thread_binding(5, thread="blockIdx.x"):
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        with T.block("read"):
                            i = T.axis.spatial(48, by * 16 + ty)
                            j = T.axis.spatial(80, bx * 16 + tx)
                            tile[i, j] = A[i, j]
                for ty in T.thread_binding(16, thread="threadIdx.y"):
                    for tx in T.thread_binding(16, thread="threadIdx.x"):
                        with T.block("write"):
                            i = T.axis.spatial(48, by * 16 + tx)
                            j = T.axis.spatial(80, bx * 16 + ty)
                            B[j, i] = tile[i, j]

    x = np.random.rand(48, 80).astype("float32")
    out, source = build_and_run(transpose, x, shape=(80, 48))
    np.testing.assert_array_equal(out, x.T)
    assert "__local float tile[256]" in source and "barrier(" in source


def test_matmul_with_cached_tiles():
    n = 64
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = schedule(a, b, c)
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    by, ty = sch.split(i, [None, 16])
    bx, tx = sch.split(j, [None, 16])
    ko, ki = sch.split(kk, [None, 16])
    sch.reorder(by, bx, ty, tx, ko, ki)
    for loop, tag in (
        (by, "blockIdx.y"),
        (bx, "blockIdx.x"),
        (ty, "threadIdx.y"),
        (tx, "threadIdx.x"),
    ):
        sch.bind(loop, tag)
    local = sch.cache_write(block, 0, "local")
    sch.reverse_compute_at(local, tx)
    for index in range(2):
        copy = sch.cache_read(block, index, "shared")
        sch.compute_at(copy, ko)
        fused = sch.fuse(*sch.get_loops(copy)[-2:])
        _, ty2, tx2 = sch.split(fused, [None, 16, 16])
        sch.bind(ty2, "threadIdx.y")
        sch.bind(tx2, "threadIdx.x")
    sch.decompose_reduction(block, ko)
    x, y = (np.random.rand(n, n).astype("float32") for _ in range(2))
    out, source = build_and_run(sch.mod, x, y, shape=(n, n))
    np.testing.assert_allclose(out, x @ y, rtol=1e-5)
    assert source.count("__local float") == 2 and "[256]" in source


def test_dynamic_shared_memory():
    """Two allocations, of different types, become one that the launch describes."""

    @T.prim_func
    def reverse(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 64)
        s = T.allocate([64], "float32", "shared.dyn")
        S = T.Buffer((64,), data=s, scope="shared.dyn")
        i = T.allocate([64], "int32", "shared.dyn")
        Index = T.Buffer((64,), "int32", data=i, scope="shared.dyn")
        S[tx] = A[tx]
        Index[tx] = 63 - tx
        B[tx] = S[Index[tx]] + T.Cast("float32", Index[63 - tx])

    x = np.random.rand(64).astype("float32")
    out, source = build_and_run(reverse, x, shape=(64,))
    np.testing.assert_array_equal(out, x[::-1] + np.arange(64, dtype="float32"))
    assert "buf_dyn_shmem[512]" in source


def test_conv2d():
    data, weight = te.placeholder((3, 12, 12), name="D"), te.placeholder((8, 3, 3, 3), name="W")
    pad = te.compute(
        (3, 14, 14),
        lambda c, y, x: tir.if_then_else(
            tir.all(y >= 1, y < 13, x >= 1, x < 13), data[c, y - 1, x - 1], 0.0
        ),
        name="P",
    )
    c, ky, kx = te.reduce_axis((0, 3)), te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    conv = te.compute(
        (8, 12, 12),
        lambda o, y, x: te.sum(pad[c, y + ky, x + kx] * weight[o, c, ky, kx], axis=[c, ky, kx]),
        name="C",
    )
    sch = schedule(data, weight, conv)
    sch.compute_inline(sch.get_block("P"))
    o, y, x, *_ = sch.get_loops(sch.get_block("C"))
    sch.bind(o, "blockIdx.x")
    sch.bind(y, "threadIdx.y")
    sch.bind(x, "threadIdx.x")
    d, w = np.random.rand(3, 12, 12).astype("float32"), np.random.rand(8, 3, 3, 3).astype("float32")
    padded = np.pad(d, ((0, 0), (1, 1), (1, 1)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    out, _ = build_and_run(sch.mod, d, w, shape=(8, 12, 12))
    np.testing.assert_allclose(out, np.einsum("cyxij,ocij->oyx", windows, w), rtol=1e-4)


def test_scan():
    """Prefix sums of the rows: in shared memory, in log steps."""

    @T.prim_func
    def scan(A: T.Buffer((5, 32), "float32"), B: T.Buffer((5, 32), "float32")):
        bx = T.launch_thread("blockIdx.x", 5)
        tx = T.launch_thread("threadIdx.x", 32)
        s = T.allocate([64], "float32", "shared")
        S = T.Buffer((64,), data=s, scope="shared")
        S[tx] = A[bx, tx]
        for step in T.unroll(5):
            if tx >= T.shift_left(1, step):
                S[32 * ((step + 1) % 2) + tx] = (
                    S[32 * (step % 2) + tx] + S[32 * (step % 2) + tx - T.shift_left(1, step)]
                )
            else:
                S[32 * ((step + 1) % 2) + tx] = S[32 * (step % 2) + tx]
        B[bx, tx] = S[32 + tx]

    x = np.random.rand(5, 32).astype("float32")
    out, _ = build_and_run(scan, x, shape=(5, 32))
    np.testing.assert_allclose(out, np.cumsum(x, axis=1), rtol=1e-5)


def test_serial_scan():
    @T.prim_func
    def scan(A: T.Buffer((40, 17), "float32"), B: T.Buffer((40, 17), "float32")):
        for i in T.thread_binding(40, thread="threadIdx.x"):
            for j in range(17):
                with T.block("scan"):
                    vi = T.axis.spatial(40, i)
                    vj = T.axis.opaque(17, j)
                    B[vi, vj] = A[vi, vj] + T.if_then_else(vj > 0, B[vi, vj - 1], T.float32(0))

    x = np.random.rand(40, 17).astype("float32")
    out, _ = build_and_run(scan, x, shape=(40, 17))
    np.testing.assert_allclose(out, np.cumsum(x, axis=1), rtol=1e-5)


@pytest.mark.parametrize("dtype", ["int32", "float32", "bool"])
def test_choices(dtype):
    a = te.placeholder((90,), dtype, name="A")
    b = (
        te.compute(
            (90,), lambda i: tir.Select(a[i] > tir.const(0, dtype), i % 7 + 1, -(i // 3)), name="B"
        )
        if dtype != "bool"
        else te.compute((90,), lambda i: tir.Select(a[i], i, -i), name="B")
    )
    sch = schedule(a, b)
    flat(sch, sch.get_block("B"))
    x = (np.random.rand(90) * 4 - 2).astype("int32").astype(dtype)
    i = np.arange(90)
    out, _ = build_and_run(sch.mod, x, shape=(90,), dtype="int32")
    expected = np.where(x, i, -i) if dtype == "bool" else np.where(x > 0, i % 7 + 1, -(i // 3))
    np.testing.assert_array_equal(out, expected)
