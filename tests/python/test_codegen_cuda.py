"""CUDA source of kernels: what it says, and that NVRTC compiles it where that is installed."""

import importlib.util
import os
import pathlib

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon import relay, te, tir
from tenon.contrib import graph_executor
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


# ---- matrix units ----


def wmma_program(dtype, acc, shape, layouts):
    """C = A * B with one fragment each; the layout of an operand is that of its load."""
    m, n, k = shape
    sizes = {"a": m * k, "b": k * n, "c": m * n}
    strides = [k if layouts[0] == "row_major" else m, n if layouts[1] == "row_major" else k]
    return tenon.script.from_source(f"""
@T.prim_func
def main(A: T.Buffer(({sizes["a"]},), "{dtype}"), B: T.Buffer(({sizes["b"]},), "{dtype}"),
         C: T.Buffer(({sizes["c"]},), "{acc}")):
    bx = T.launch_thread("blockIdx.x", 1)
    tx = T.launch_thread("threadIdx.x", 32)
    FA = T.allocate([{sizes["a"]}], "{dtype}", "wmma.matrix_a")
    FB = T.allocate([{sizes["b"]}], "{dtype}", "wmma.matrix_b")
    FC = T.allocate([{sizes["c"]}], "{acc}", "wmma.accumulator")
    T.tvm_fill_fragment(FC, {m}, {n}, {k}, 0, T.cast(0, "{acc}"))
    T.tvm_load_matrix_sync(FA, {m}, {n}, {k}, 0, T.tvm_access_ptr(T.type_annotation("{dtype}"),
        A.data, 0, {sizes["a"]}, 1), {strides[0]}, "{layouts[0]}")
    T.tvm_load_matrix_sync(FB, {m}, {n}, {k}, 0, T.tvm_access_ptr(T.type_annotation("{dtype}"),
        B.data, 0, {sizes["b"]}, 1), {strides[1]}, "{layouts[1]}")
    T.tvm_mma_sync(FC, 0, FA, 0, FB, 0, FC, 0)
    T.tvm_store_matrix_sync(FC, {m}, {n}, {k}, 0, T.tvm_access_ptr(T.type_annotation("{acc}"),
        C.data, 0, {sizes["c"]}, 2), {n}, "row_major")
""")


WMMA = [
    ("float16", "float32", (16, 16, 16), ("row_major", "col_major"), "f32.f32"),
    ("float16", "float16", (32, 8, 16), ("row_major", "row_major"), "f16.f16"),
    ("float16", "float32", (8, 32, 16), ("col_major", "row_major"), "f32.f32"),
    ("bfloat16", "float32", (16, 16, 16), ("row_major", "row_major"), "f32.bf16.bf16.f32"),
    ("bfloat16", "float32", (8, 32, 16), ("row_major", "row_major"), "f32.bf16.bf16.f32"),
    ("float32", "float32", (16, 16, 8), ("row_major", "col_major"), "f32.tf32.tf32.f32"),
    ("float64", "float64", (8, 8, 4), ("row_major", "col_major"), "f64.f64.f64.f64"),
    ("int8", "int32", (16, 16, 16), ("row_major", "col_major"), "s32.s8.s8.s32"),
    ("uint8", "int32", (32, 8, 16), ("row_major", "row_major"), "s32.u8.u8.s32"),
]


@pytest.mark.parametrize("dtype, acc, shape, layouts, types", WMMA)
def test_fragments(dtype, acc, shape, layouts, types, ptx):
    source = source_of(wmma_program(dtype, acc, shape, layouts))
    row, col = ("row" if x == "row_major" else "col" for x in layouts)
    mma = "wmma.mma.sync.aligned.{}.{}.m{}n{}k{}.{}".format(row, col, *shape, types)
    code = ptx(source)
    for text in (mma, f"wmma.load.a.sync.aligned.{row}.", "wmma.store.d.sync.aligned.row."):
        assert text in source and text in code


def test_several_fragments(ptx):
    func = wmma_program("float16", "float32", (16, 16, 16), ("row_major", "row_major"))
    text = func.script().replace('T.allocate([256], "float32"', 'T.allocate([1024], "float32"')
    source = source_of(tenon.script.from_source(text.replace("FC, 0, FA", "FC, 3, FA")))
    assert "float FC[4][8];" in source and '"=f"(FC[3][0])' in source
    assert "wmma.mma" in ptx(source)


@pytest.mark.parametrize(
    "change, message",
    [
        (('"float16", "wmma.matrix_a"', '"int16", "wmma.matrix_a"'), "no fragments of int16"),
        (
            ('[256], "float16", "wmma.matrix_a"', '[200], "float16", "wmma.matrix_a"'),
            "200 elements, fragments of its shape have 256",
        ),
        (("FC, 0, FA, 0, FB, 0, FC, 0", "FC, 0, FB, 0, FA, 0, FC, 0"), "a product takes an acc"),
    ],
)
def test_fragments_that_are_none(change, message):
    func = wmma_program("float16", "float32", (16, 16, 16), ("row_major", "row_major"))
    text = func.script()
    assert change[0] in text
    with pytest.raises(tenon.TVMError, match=message):
        source_of(tenon.script.from_source(text.replace(*change)))


def mma_program(shape, types, sizes, dtypes, extra="False"):
    a, b, c = sizes
    call = ", ".join(f'"{t}"' for t in (shape, "row", "col", *types))
    return tenon.script.from_source(f"""
@T.prim_func
def main(O: T.Buffer(({32 * c},), "{dtypes[1]}")):
    bx = T.launch_thread("blockIdx.x", 1)
    tx = T.launch_thread("threadIdx.x", 32)
    a = T.allocate([{a}], "{dtypes[0]}", "local")
    b = T.allocate([{b}], "{dtypes[0]}", "local")
    c = T.allocate([{c}], "{dtypes[1]}", "local")
    A = T.Buffer(({a},), "{dtypes[0]}", data=a, scope="local")
    B = T.Buffer(({b},), "{dtypes[0]}", data=b, scope="local")
    C = T.Buffer(({c},), "{dtypes[1]}", data=c, scope="local")
    for i in range({a}):
        A[i] = T.cast(1, "{dtypes[0]}")
    for i in range({b}):
        B[i] = T.cast(2, "{dtypes[0]}")
    T.mma_fill("{dtypes[1]}", {c}, C.data, 0)
    T.ptx_mma("{dtypes[1]}", {call}, A.data, 0, B.data, 0, C.data, 0, {extra})
    for i in range({c}):
        O[tx * {c} + i] = C[i]
""")


MMA = [
    ("m16n8k16", ("fp16", "fp16", "fp32"), (8, 4, 4), ("float16", "float32"), "f32.f16.f16.f32"),
    ("m16n8k8", ("fp16", "fp16", "fp16"), (4, 2, 4), ("float16", "float16"), "f16.f16.f16.f16"),
    ("m16n8k8", ("bf16", "bf16", "fp32"), (4, 2, 4), ("bfloat16", "float32"), "f32.bf16.bf16.f32"),
    ("m8n8k4", ("fp64", "fp64", "fp64"), (1, 1, 2), ("float64", "float64"), "f64.f64.f64.f64"),
    ("m8n8k16", ("int8", "int8", "int32"), (4, 4, 2), ("int8", "int32"), "s32.s8.s8.s32"),
    ("m16n8k32", ("uint8", "uint8", "int32"), (16, 8, 4), ("uint8", "int32"), "s32.u8.u8.s32"),
]


@pytest.mark.parametrize("shape, types, sizes, dtypes, text", MMA)
def test_mma(shape, types, sizes, dtypes, text, ptx):
    func = mma_program(shape, types, sizes, dtypes)
    source = source_of(func)
    want = f"mma.sync.aligned.{shape}.row.col.{text}"
    assert want in source and want in ptx(source)


def test_mma_errors():
    good = ("m16n8k16", ("fp16", "fp16", "fp32"), (8, 4, 4), ("float16", "float32"))
    for change, message in (
        (("m16n8k16", "m16k8"), "is not a shape of a product"),
        (('"row", "col", "fp16"', '"row", "col", "fp17"'), 'no type "fp17"'),
        (("m16n8k16", "m1n1k1"), "no product of shape m1n1k1"),
    ):
        text = mma_program(*good).script().replace(*change)
        with pytest.raises(tenon.TVMError, match=message):
            source_of(tenon.script.from_source(text))


def test_ldmatrix_and_stores(ptx):
    @T.prim_func
    def main(A: T.Buffer((256,), "float16"), C: T.Buffer((256,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        s = T.allocate([256], "float16", "shared")
        a = T.allocate([8], "float16", "local")
        b = T.allocate([8], "float16", "local")
        c = T.allocate([8], "float32", "local")
        S = T.Buffer((256,), "float16", data=s, scope="shared")
        LA = T.Buffer((8,), "float16", data=a, scope="local")
        LB = T.Buffer((8,), "float16", data=b, scope="local")
        LC = T.Buffer((8,), "float32", data=c, scope="local")
        for i in range(8):
            S[tx * 8 + i] = A[tx * 8 + i]
        T.tvm_storage_sync("shared")
        T.ptx_ldmatrix("float16", False, 4, ".b16", LA.data, 0, S.data, tx % 16 * 16 + tx // 16 * 8)
        T.ptx_ldmatrix("float16", True, 4, ".b16", LB.data, 0, S.data, tx % 16 * 16 + tx // 16 * 8)
        T.mma_fill("float32", 8, LC.data, 0)
        for j in range(2):
            T.ptx_mma(
                "float32",
                "m16n8k16",
                "row",
                "col",
                "fp16",
                "fp16",
                "fp32",
                LA.data,
                0,
                LB.data,
                j * 4,
                LC.data,
                j * 4,
                False,
            )
        T.mma_store(
            "float32",
            16,
            16,
            T.tvm_access_ptr(T.type_annotation("float32"), C.data, 0, 256, 2),
            LC.data,
            0,
            16,
        )

    source = source_of(main)
    code = ptx(source)
    for text in (
        "ldmatrix.sync.aligned.m8n8.x4.shared.b16",
        "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16",
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32",
    ):
        assert text in source and text in code


def test_sparse_mma(ptx):
    @T.prim_func
    def main(R: T.Buffer((128,), "float32"), M: T.Buffer((32,), "uint32")):
        tx = T.launch_thread("threadIdx.x", 32)
        a = T.allocate([4], "float16", "local")
        b = T.allocate([4], "float16", "local")
        c = T.allocate([4], "float32", "local")
        e = T.allocate([1], "uint32", "local")
        A = T.Buffer((4,), "float16", data=a, scope="local")
        B = T.Buffer((4,), "float16", data=b, scope="local")
        C = T.Buffer((4,), "float32", data=c, scope="local")
        E = T.Buffer((1,), "uint32", data=e, scope="local")
        for i in range(4):
            A[i] = T.float16(1)
            B[i] = T.float16(1)
            C[i] = T.float32(0)
        E[0] = M[tx]
        T.ptx_mma_sp(
            "float32",
            "m16n8k16",
            "row",
            "col",
            "fp16",
            "fp16",
            "fp32",
            A.data,
            0,
            B.data,
            0,
            C.data,
            0,
            E.data,
            0,
            0,
            False,
        )
        for i in range(4):
            R[tx * 4 + i] = C[i]

    source = source_of(main)
    assert "mma.sp.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32" in source
    assert "mma.sp" in ptx(source)


def test_copies_under_a_condition_and_barriers(ptx):
    @T.prim_func
    def main(A: T.Buffer((100,), "float32"), B: T.Buffer((128,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        s = T.allocate([128], "float32", "shared")
        S = T.Buffer((128,), data=s, scope="shared")
        T.create_barriers(2)
        T.ptx_init_barrier_thread_count(1, 32)
        T.ptx_cp_async("float32", S.data, tx * 4, A.data, tx * 4, 16, tx < 25)
        T.ptx_cp_async_barrier(1)
        T.ptx_arrive_barrier(1)
        T.ptx_wait_barrier(1)
        B[tx] = S[127 - tx]

    source = source_of(main)
    assert "cp.async.cg.shared.global [%0], [%1], %2, %3;" in source and "? 16 : 0)" in source
    code = ptx(source)
    for text in ("mbarrier.init.shared", "cp.async.mbarrier.arrive", "mbarrier.test_wait.parity"):
        assert text in code


def test_bulk_copies(ptx):
    @T.prim_func
    def main(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        tx = T.launch_thread("threadIdx.x", 32)
        s = T.allocate([128], "float32", "shared")
        S = T.Buffer((128,), data=s, scope="shared")
        T.create_barriers(1)
        T.ptx_init_barrier_thread_count(0, 32)
        T.ptx_cp_async_bulk("float32", S.data, 0, A.data, 0, 512, 0)
        T.ptx_arrive_barrier_expect_tx(0, 512)
        T.ptx_wait_barrier(0)
        B[tx] = S[tx]

    source = source_of(main)
    code = bytes(nvrtc()(source, 90)).decode()
    assert "cp.async.bulk" in code and "mbarrier.arrive.expect_tx" in code


@pytest.mark.skipif(not tenon.cuda(0).exist, reason="no CUDA device")
@pytest.mark.parametrize("dtype, acc, shape, layouts, types", WMMA)
def test_fragments_on_a_device(dtype, acc, shape, layouts, types):
    """The products of a matrix unit are those of numpy, whatever the layout of an operand."""
    m, n, k = shape
    mod = tenon.build(wmma_program(dtype, acc, shape, layouts), target=TARGET, name="main")
    rng = np.random.default_rng(3)
    low = 0 if dtype.startswith("u") else -4
    a, b = (rng.integers(low, 5, size).astype("float32") for size in ((m, k), (k, n)))
    stored = [
        x if layout == "row_major" else x.T for x, layout in zip((a, b), layouts, strict=True)
    ]
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    dev = tenon.cuda(0)
    args = [tenon.nd.array(np.ascontiguousarray(x).ravel().astype(kind), dev) for x in stored]
    out = tenon.nd.empty((m * n,), acc, dev)
    mod["main"](*args, out)
    np.testing.assert_array_equal(out.numpy().reshape(m, n).astype("float32"), a @ b)


def on_a_device(make, x):
    """What Relay makes of an array on the device."""
    v = relay.var("x", shape=x.shape, dtype=str(x.dtype))
    mod = tenon.IRModule.from_expr(relay.Function([v], make(v)))
    lib = relay.build(mod, target=TARGET)
    if not tenon.cuda(0).exist:
        return lib, None
    m = graph_executor.GraphModule(lib["default"](tenon.cuda(0)))
    m.set_input(0, x)
    m.run()
    return lib, m.get_output(0).numpy()


def test_sums_of_nothing():
    """The beginning of a sum does not wait for its first term."""
    lib, got = on_a_device(lambda x: relay.sum(x, axis=1), np.zeros((3, 0), "float32"))
    (device,) = lib.get_lib().imported_modules
    assert "[((int)threadIdx.x)] = 0.0f;" in device.get_source()
    assert got is None or got.tolist() == [0, 0, 0]
    lib, got = on_a_device(relay.max, np.zeros((0,), "int32"))
    (device,) = lib.get_lib().imported_modules
    assert "[0] = INT32_MIN;" in device.get_source()
    assert got is None or got == np.iinfo("int32").min


def test_kernels_that_read_what_they_write(ptx):
    """The compiler must not read through the cache of constants what may be written memory: it
    did for `found ? best : x[i]`, and indices of equal values were those of later ones."""
    x = np.array([[0, 0, -2, 2, 0, 1, -2]], "int8")
    lib, got = on_a_device(lambda x: relay.argmin(x, axis=1), x)
    (device,) = lib.get_lib().imported_modules
    first, second = ptx(device.get_source()).split(".visible .entry ")[1:]
    assert "ld.global.nc" not in first and "ld.global.nc" in second
    assert got is None or got.tolist() == [2]
