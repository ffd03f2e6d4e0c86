"""Passes over copies to shared memory and DefaultGPUSchedule: programs that run on OpenCL and
compile for CUDA."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import ir as I
from tenon.script import tir as T
from test_codegen_cuda import ptx  # noqa: F401 (a fixture)

N = 64
OPENCL = tenon.target.Target("opencl", host="llvm")
CUDA = tenon.target.Target("cuda", host="llvm")
needs_device = pytest.mark.skipif(not tenon.opencl(0).exist, reason="no OpenCL device")


def matmul():
    a, b = (te.placeholder((N, N), name=name) for name in "AB")
    k = te.reduce_axis((0, N), name="k")
    c = te.compute((N, N), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def tiled():
    """16 x 16 results to a group of 8 x 8 threads, 16 steps of the reduction at a time."""
    sch = tir.Schedule(matmul())
    i, j, k = sch.get_loops("C")
    by, ty, y = sch.split(i, [None, 8, 2])
    bx, tx, x = sch.split(j, [None, 8, 2])
    k0, k1 = sch.split(k, [None, 16])
    sch.reorder(by, bx, ty, tx, k0, k1, y, x)
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x")):
        sch.bind(loop, axis)
    for loop, axis in ((ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    return sch, bx, k0


def check(mod, compile_ptx):
    """The kernel's source; runs where there is a device."""
    source = tenon.build(mod, target=CUDA).imported_modules[0].get_source()
    assert ".entry main_kernel" in compile_ptx(source)
    if tenon.opencl(0).exist:
        dev = tenon.opencl(0)
        rng = np.random.default_rng(3)
        a, b = (rng.normal(size=(N, N)).astype("float32") for _ in range(2))
        out = tenon.nd.empty((N, N), device=dev)
        tenon.build(mod, target=OPENCL)["main"](*(tenon.nd.array(x, dev) for x in (a, b)), out)
        np.testing.assert_allclose(out.numpy(), a @ b, rtol=1e-4, atol=1e-4)
    return source


@pytest.mark.parametrize("local_stage", [0, 1])
def test_auto_copy(local_stage, ptx):  # noqa: F811
    sch, _, k0 = tiled()
    for name in "AB":
        copy = sch.read_at(k0, "C", name, "shared")
        sch.annotate(copy, "vector_bytes", 16)
        if local_stage:
            sch.annotate(copy, "local_stage", 1)
    source = check(sch.mod, ptx)
    assert "float4" in source and ("copied" in source) == bool(local_stage)


@pytest.mark.parametrize("mark", ["tir.manifest_shared_memory_local_stage", "permuted_layout"])
def test_marked_blocks(mark, ptx):  # noqa: F811
    sch, _, k0 = tiled()
    users = [sch.get_block("C")]
    for number in range(2):
        copy = sch.cache_read(users[0], number, "shared")
        sch.compute_at(copy, k0)
        loops = sch.get_loops(copy)[-2:]
        _, ty, tx = sch.split(sch.fuse(*loops), [None, 8, 8])
        sch.bind(ty, "threadIdx.y")
        sch.bind(tx, "threadIdx.x")
        if "manifest" in mark:
            sch.annotate(copy, mark, 1)
        users.append(copy)
    for block in users if "permuted" in mark else ():
        sch.annotate(block, mark, 1)
    source = check(sch.mod, ptx)
    assert ("A_shared_local" if "manifest" in mark else " ^ ") in source


def test_default_schedule(ptx):  # noqa: F811
    with CUDA:
        mod = tir.transform.DefaultGPUSchedule()(tenon.IRModule({"main": matmul()}))
    assert 'thread="blockIdx.x"' in mod.script() and mod["main"].attrs["tir.is_scheduled"] == 1
    check(mod, ptx)


def test_default_schedule_leaves_bound_blocks():
    sch, _, _ = tiled()
    with CUDA:
        mod = tir.transform.DefaultGPUSchedule()(sch.mod)
    tenon.ir.assert_structural_equal(mod["main"].without_attr("tir.is_scheduled"), sch.mod["main"])


@needs_device
def test_default_schedule_of_several_functions():
    @I.ir_module
    class Module:
        @T.prim_func
        def first(A: T.Buffer((300,), "float32"), B: T.Buffer((300,), "float32")):
            for i in range(300):
                with T.block("B"):
                    vi = T.axis.spatial(300, i)
                    B[vi] = A[vi] + T.float32(1)

        @T.prim_func
        def second(A: T.Buffer((7, 5), "float32"), B: T.Buffer((7,), "float32")):
            for i, j in T.grid(7, 5):
                with T.block("B"):
                    vi, vj = T.axis.remap("SR", [i, j])
                    with T.init():
                        B[vi] = T.float32(0)
                    B[vi] += A[vi, vj]

    with OPENCL:
        built = tenon.build(tir.transform.DefaultGPUSchedule()(Module), target=OPENCL)
    dev = tenon.opencl(0)
    x = np.arange(300, dtype="float32")
    out = tenon.nd.empty((300,), device=dev)
    built["first"](tenon.nd.array(x, dev), out)
    np.testing.assert_array_equal(out.numpy(), x + 1)
    out = tenon.nd.empty((7,), device=dev)
    built["second"](tenon.nd.array(x[:35].reshape(7, 5), dev), out)
    np.testing.assert_array_equal(out.numpy(), x[:35].reshape(7, 5).sum(1))
