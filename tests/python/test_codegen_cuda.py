"""CUDA source of kernels: what it says, and that NVRTC compiles it where that is installed."""

import importlib.util
import os
import pathlib

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T

TARGET = tenon.target.Target("cuda", host="llvm")


def source_of(func, name="main"):
    mod = tenon.build(func, target=TARGET, name=name)
    (device,) = mod.imported_modules
    assert device.type_key == "cuda"
    return device.get_source()


def nvrtc():
    """The function that compiles, or None."""
    if not os.environ.get("CUDA_HOME"):
        spec = importlib.util.find_spec("nvidia")
        for place in spec.submodule_search_locations if spec else ():
            for lib in pathlib.Path(place).glob("*/lib/libnvrtc.so*"):
                os.environ["CUDA_HOME"] = str(lib.parent.parent)
    _ = tenon.cuda(0).exist  # opens the plug-in
    compile_ptx = tenon.get_global_func("runtime.cuda.nvrtc_compile", allow_missing=True)
    try:
        compile_ptx('extern "C" __global__ void f() {}', 80)
    except tenon.TVMError:
        return None
    return compile_ptx


@pytest.fixture(scope="module")
def ptx():
    found = nvrtc()
    if found is None:
        pytest.skip("NVRTC is not installed")
    return lambda source: bytes(found(source, 80)).decode()


def schedule(*tensors):
    return tir.Schedule(te.create_prim_func(list(tensors)))


def bind(sch, block, *tags_and_sizes):
    loop = sch.fuse(*sch.get_loops(block))
    parts = sch.split(loop, [None, *[size for _, size in tags_and_sizes[1:]]])
    for part, (tag, _) in zip(parts, tags_and_sizes, strict=True):
        (sch.vectorize if tag == "vector" else lambda x, t=tag: sch.bind(x, t))(part)


def elementwise(f, dtype="float32", n=1024, vector=None):
    a = te.placeholder((n,), dtype, name="A")
    sch = schedule(a, te.compute((n,), lambda i: f(a[i]), name="B"))
    parts = [("blockIdx.x", None), ("threadIdx.x", 64)]
    bind(sch, sch.get_block("B"), *parts, *([("vector", vector)] if vector else []))
    return sch.mod


def test_kernel(ptx):
    source = source_of(elementwise(lambda x: x + 1.0))
    assert (
        'extern "C" __global__ void __launch_bounds__(64) main_kernel(float* __restrict__' in source
    )
    assert "blockIdx.x" in source and "threadIdx.x" in source
    assert ".entry main_kernel" in ptx(source)


@pytest.mark.parametrize("lanes", [2, 4])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint8", "int16"])
def test_vectors(dtype, lanes, ptx):
    source = source_of(elementwise(lambda x: x * x, dtype, vector=lanes))
    short = {"float32": "float", "int32": "int", "int8": "char", "uint8": "uchar", "int16": "short"}
    assert f"*({short[dtype]}{lanes}*)" in source and f"make_{short[dtype]}{lanes}(" in source
    assert f".v{lanes}." in ptx(source)


@pytest.mark.parametrize(
    "name", ["exp", "log", "tanh", "sqrt", "rsqrt", "sigmoid", "erf", "floor", "round", "cos"]
)
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_math(name, dtype, ptx):
    source = source_of(elementwise(lambda x: getattr(te, name)(x), dtype))
    assert ".entry main_kernel" in ptx(source)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats(dtype, ptx):
    source = source_of(elementwise(lambda x: x * x + x, dtype))
    prefix = "f16" if dtype == "float16" else "bf16"
    assert f"{prefix}_load_(A[" in source and f"{prefix}_store_(" in source
    assert ".entry main_kernel" in ptx(source)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int32", "uint32", "int64", "uint64", "bool"])
def test_integers(dtype, ptx):
    if dtype == "bool":
        source = source_of(elementwise(lambda x: tir.Select(x, 1, 2), dtype))
    else:
        one = tir.const(3, dtype)
        source = source_of(elementwise(lambda x: (x // one) * (x % one) + tir.popcount(x), dtype))
    assert ".entry main_kernel" in ptx(source)


def test_reduction_in_a_warp(ptx):
    a = te.placeholder((16, 128), name="A")
    k = te.reduce_axis((0, 128), "k")
    sch = schedule(a, te.compute((16,), lambda i: te.sum(a[i, k], axis=k), name="B"))
    i, kk = sch.get_loops(sch.get_block("B"))
    _, inner = sch.split(kk, [None, 32])
    sch.bind(i, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")
    source = source_of(sch.mod)
    assert source.count("__shfl_down_sync(") == 5 and "__activemask()" in source
    assert "__shared__" not in source and "__shfl_sync(" in source
    assert "shfl.sync" in ptx(source)


def test_reduction_over_warps(ptx):
    a = te.placeholder((16, 256), name="A")
    k = te.reduce_axis((0, 256), "k")
    sch = schedule(a, te.compute((16,), lambda i: te.max(a[i, k], axis=k), name="B"))
    i, kk = sch.get_loops(sch.get_block("B"))
    sch.bind(i, "blockIdx.x")
    sch.bind(kk, "threadIdx.x")
    source = source_of(sch.mod)
    assert "__shared__" in source and "__syncthreads();" in source
    assert "bar.sync" in ptx(source)


def test_shared_memory(ptx):
    @T.prim_func
    def reverse(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 64)
        s = T.allocate([64], "float32", "shared")
        S = T.Buffer((64,), data=s, scope="shared")
        S[tx] = A[tx]
        B[tx] = S[63 - tx]

    source = source_of(reverse)
    assert "__shared__ __align__(16) float s[64];" in source and "__syncthreads();" in source
    assert ".shared .align 16" in ptx(source)


def test_dynamic_shared_memory(ptx):
    @T.prim_func
    def reverse(a: T.handle, b: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        tx = T.launch_thread("threadIdx.x", n)
        s = T.allocate([n], "float32", "shared.dyn")
        S = T.Buffer((n,), data=s, scope="shared.dyn")
        S[tx] = A[tx]
        B[tx] = S[n - 1 - tx]

    source = source_of(reverse)
    assert "extern __shared__ __align__(64) unsigned char dynamic_shared_[];" in source
    assert "__launch_bounds__" not in source
    assert ".extern .shared" in ptx(source)


def test_shuffles(ptx):
    @T.prim_func
    def rotate(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        m = T.allocate([1], "uint32", "local")
        M = T.Buffer((1,), "uint32", data=m, scope="local")
        M[0] = T.tvm_warp_activemask()
        B[tx] = T.tvm_warp_shuffle(M[0], A[tx], (tx + 1) % 32, 32, 32) + T.tvm_warp_shuffle_up(
            M[0], A[tx], 1, 32, 32
        )

    source = source_of(rotate)
    assert "__shfl_sync(m[0], A[" in source and "__shfl_up_sync(" in source
    assert "shfl.sync.up" in ptx(source)


def test_asynchronous_copy(ptx):
    @T.prim_func
    def copy(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        s = T.allocate([128], "float32", "shared")
        S = T.Buffer((128,), data=s, scope="shared")
        T.ptx_cp_async("float32", S.data, tx * 4, A.data, tx * 4, 16)
        T.ptx_commit_group()
        T.ptx_wait_group(0)
        T.tvm_storage_sync("shared")
        B[tx] = S[127 - tx]

    source = source_of(copy)
    code = ptx(source)
    assert "cp.async.cg.shared.global" in code
    assert "cp.async.commit_group" in code and "cp.async.wait_group 0" in code


def test_errors_of_the_compiler(ptx):
    with pytest.raises(tenon.TVMError, match="no_such_function"):
        ptx('extern "C" __global__ void f(float* x) { x[0] = no_such_function(); }')


def test_callback_compiles():
    seen = []

    def compile_source(source, target):
        seen.append((source, target.kind.name))
        return b"// not really PTX"

    tenon.register_func("tvm_callback_cuda_compile", compile_source, override=True)
    try:
        mod = tenon.build(elementwise(lambda x: x + 1.0), target=TARGET)
    finally:
        tenon._ffi.registry.remove_global_func("tvm_callback_cuda_compile")
    (device,) = mod.imported_modules
    assert seen[0][1] == "cuda" and "__global__" in seen[0][0]
    assert device.get_source() == seen[0][0]
    assert device.get_source("ptx") == "// not really PTX"


def test_saved_without_a_device(tmp_path):
    mod = tenon.build(elementwise(lambda x: x + 1.0), target=TARGET)
    path = tmp_path / "lib.so"
    mod.export_library(str(path))
    loaded = tenon.runtime.load_module(str(path))
    (device,) = loaded.imported_modules
    assert device.type_key == "cuda"
    assert device.get_source() == mod.imported_modules[0].get_source()


def test_without_a_driver():
    if tenon.cuda(0).exist:
        pytest.skip("there is one")
    with pytest.raises(tenon.TVMError, match=r"device cuda \(type 2\) is not available"):
        tenon.nd.empty((4,), "float32", tenon.cuda(0))


@pytest.mark.skipif(not tenon.cuda(0).exist, reason="no CUDA device")
def test_on_a_device():
    dev = tenon.cuda(0)
    mod = tenon.build(elementwise(lambda x: x + 1.0), target=TARGET)
    x = np.random.rand(1024).astype("float32")
    out = tenon.nd.empty((1024,), "float32", dev)
    mod["main"](tenon.nd.array(x, dev), out)
    np.testing.assert_allclose(out.numpy(), x + 1)


@pytest.mark.parametrize("kind", ["metal", "vulkan", "rocm", "webgpu"])
def test_kinds_without_a_generator(kind):
    with pytest.raises(ValueError, match=f"{kind}.*enabled.*cuda.*opencl"):
        tenon.build(elementwise(lambda x: x + 1.0), target=tenon.target.Target(kind, host="llvm"))
