"""OpenCL: kernels of lowered programs, run on whatever device there is."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.contrib import cc
from tenon.script import ir as I
from tenon.script import tir as T

TARGET = tenon.target.Target("opencl", host="llvm")

needs_device = pytest.mark.skipif(not tenon.opencl(0).exist, reason="no OpenCL device")


def split_and_bind(sch, block, threads=64):
    loop = sch.fuse(*sch.get_loops(block))
    outer, inner = sch.split(loop, [None, threads])
    sch.bind(outer, "blockIdx.x")
    sch.bind(inner, "threadIdx.x")


def elementwise(compute, *shapes, dtype="float32", out="float32"):
    """A schedule of one loop nest over blocks of 64 threads."""
    inputs = [te.placeholder(s, dtype, name=f"I{i}") for i, s in enumerate(shapes)]
    output = compute(*inputs)
    sch = tir.Schedule(te.create_prim_func([*inputs, output]))
    split_and_bind(sch, sch.get_block(output.op.name))
    return sch


def run(mod, *arrays, out_shape, out_dtype="float32", name="main"):
    dev = tenon.opencl(0)
    out = tenon.nd.empty(out_shape, out_dtype, dev)
    mod[name](*[tenon.nd.array(a, dev) for a in arrays], out)
    return out.numpy()


def source_of(mod):
    return mod.imported_modules[0].get_source()


def test_source():
    sch = elementwise(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0, name="B"), (256,))
    mod = tenon.build(sch.mod, target=TARGET)
    device = mod.imported_modules[0]
    assert device.type_key == "opencl" and device.format == "cl"
    source = device.get_source()
    assert source == device.get_source("cl")
    assert "__kernel void main_kernel(__global float* restrict" in source
    assert "get_group_id(0)" in source and "get_local_id(0)" in source
    with pytest.raises(ValueError, match='as "cl", not as "ptx"'):
        device.get_source("ptx")


def test_host_code_may_not_touch_the_device():
    @T.prim_func
    def plain(A: T.Buffer((8,), "float32")):
        for i in range(8):
            A[i] = T.float32(0)

    with pytest.raises(RuntimeError, match="Did you forget to bind?"):
        tenon.build(plain, target=TARGET)


@needs_device
def test_device():
    dev = tenon.device("opencl", 0)
    assert dev == tenon.opencl() and dev.exist
    assert dev.max_threads_per_block > 0 and dev.multi_processor_count > 0
    assert isinstance(dev.device_name, str) and dev.total_global_memory > 0
    assert not tenon.opencl(63).exist
    with pytest.raises(tenon.TVMError, match="unknown device"):
        tenon.nd.empty((4,), "float32", tenon.opencl(63))


@needs_device
def test_arrays():
    dev = tenon.opencl(0)
    data = np.random.rand(7, 5).astype("float32")
    a = tenon.nd.array(data, dev)
    assert a.device == dev
    np.testing.assert_array_equal(a.numpy(), data)
    b = tenon.nd.empty(data.shape, "float32", dev)
    a.copyto(b)
    np.testing.assert_array_equal(b.numpy(), data)
    np.testing.assert_array_equal(b.copyto(tenon.cpu(0)).numpy(), data)
    stream = dev.create_raw_stream()
    dev.set_raw_stream(stream)
    dev.sync(stream)
    dev.set_raw_stream(None)
    dev.free_raw_stream(stream)


@needs_device
@pytest.mark.parametrize(
    "name", ["exp", "tanh", "sqrt", "rsqrt", "log", "sigmoid", "floor", "ceil", "cos", "erf"]
)
def test_math(name):
    f = getattr(te, name)
    sch = elementwise(lambda a: te.compute(a.shape, lambda i: f(a[i]), name="B"), (200,))
    data = (np.random.rand(200) + 0.1).astype("float32")
    dense = {
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "erf": lambda x: np.vectorize(__import__("math").erf)(x),
    }.get(name) or getattr(np, name)
    mod = tenon.build(sch.mod, target=TARGET)
    np.testing.assert_allclose(run(mod, data, out_shape=(200,)), dense(data), rtol=1e-5, atol=1e-6)


@needs_device
@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int16", "int32", "int64", "float16", "float64"]
)
def test_types(dtype):
    sch = elementwise(
        lambda a, b: te.compute(a.shape, lambda i: a[i] * b[i] + a[i], name="C"),
        (100,),
        (100,),
        dtype=dtype,
    )
    x, y = (np.random.randint(0, 5, 100).astype(dtype) for _ in range(2))
    mod = tenon.build(sch.mod, target=TARGET)
    np.testing.assert_array_equal(run(mod, x, y, out_shape=(100,), out_dtype=dtype), x * y + x)


@needs_device
def test_symbolic_shape():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 2.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    split_and_bind(sch, sch.get_block("B"))
    mod = tenon.build(sch.mod, target=TARGET)
    for size in (1, 63, 64, 1000):
        x = np.random.rand(size).astype("float32")
        np.testing.assert_array_equal(run(mod, x, out_shape=(size,)), x * 2)


@needs_device
def test_vectors():
    a = te.placeholder((1024,), name="A")
    b = te.compute((1024,), lambda i: a[i] * 2.0 + 1.0, name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    (i,) = sch.get_loops(sch.get_block("B"))
    bx, tx, v = sch.split(i, [None, 16, 4])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    sch.vectorize(v)
    mod = tenon.build(sch.mod, target=TARGET)
    assert "vload4" in source_of(mod) and "vstore4((float4)" in source_of(mod)
    x = np.random.rand(1024).astype("float32")
    np.testing.assert_allclose(run(mod, x, out_shape=(1024,)), x * 2 + 1, rtol=1e-6)


@needs_device
def test_matmul_with_shared_tiles():
    n, tile = 64, 16

    @T.prim_func
    def matmul(
        A: T.Buffer((64, 64), "float32"),
        B: T.Buffer((64, 64), "float32"),
        C: T.Buffer((64, 64), "float32"),
    ):
        by = T.launch_thread("blockIdx.y", 4)
        bx = T.launch_thread("blockIdx.x", 4)
        ty = T.launch_thread("threadIdx.y", 16)
        tx = T.launch_thread("threadIdx.x", 16)
        a = T.allocate([256], "float32", "shared")
        b = T.allocate([256], "float32", "shared")
        c = T.allocate([1], "float32", "local")
        As = T.Buffer((256,), data=a, scope="shared")
        Bs = T.Buffer((256,), data=b, scope="shared")
        Cl = T.Buffer((1,), data=c, scope="local")
        Cl[0] = T.float32(0)
        for k in range(4):
            As[ty * 16 + tx] = A[by * 16 + ty, k * 16 + tx]
            Bs[ty * 16 + tx] = B[k * 16 + ty, bx * 16 + tx]
            for kk in range(16):
                Cl[0] = Cl[0] + As[ty * 16 + kk] * Bs[kk * 16 + tx]
        C[by * 16 + ty, bx * 16 + tx] = Cl[0]

    mod = tenon.build(matmul, target=TARGET, name="main")
    assert source_of(mod).count("barrier(CLK_LOCAL_MEM_FENCE)") == 2
    assert source_of(mod).count("__local float") == 2
    x, y = (np.random.rand(n, n).astype("float32") for _ in range(2))
    np.testing.assert_allclose(run(mod, x, y, out_shape=(n, n)), x @ y, rtol=1e-5)
    assert tile == 16


@needs_device
def test_scheduled_matmul():
    n = 64
    a, b = (te.placeholder((n, n), name=name) for name in "AB")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    sch = tir.Schedule(te.create_prim_func([a, b, c]))
    block = sch.get_block("C")
    i, j, kk = sch.get_loops(block)
    by, ty = sch.split(i, [None, 8])
    bx, tx = sch.split(j, [None, 8])
    sch.reorder(by, bx, ty, tx, kk)
    for loop, tag in (
        (by, "blockIdx.y"),
        (bx, "blockIdx.x"),
        (ty, "threadIdx.y"),
        (tx, "threadIdx.x"),
    ):
        sch.bind(loop, tag)
    mod = tenon.build(sch.mod, target=TARGET)
    x, y = (np.random.rand(n, n).astype("float32") for _ in range(2))
    np.testing.assert_allclose(run(mod, x, y, out_shape=(n, n)), x @ y, rtol=1e-5)


@needs_device
def test_several_kernels_with_memory_between():
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((128,), "float32"), C: T.Buffer((128,), "float32")):
            T.func_attr({"global_symbol": "main"})
            B = T.alloc_buffer((128,))
            for bx in T.thread_binding(2, thread="blockIdx.x"):
                for tx in T.thread_binding(64, thread="threadIdx.x"):
                    with T.block("B"):
                        vi = T.axis.spatial(128, bx * 64 + tx)
                        B[vi] = A[vi] + T.float32(1)
            for bx in T.thread_binding(4, thread="blockIdx.x"):
                for tx in T.thread_binding(32, thread="threadIdx.x"):
                    with T.block("C"):
                        vi = T.axis.spatial(128, bx * 32 + tx)
                        C[vi] = B[127 - vi] * T.float32(2)

    mod = tenon.build(Module, target=TARGET)
    assert "main_kernel_1" in source_of(mod)
    x = np.random.rand(128).astype("float32")
    np.testing.assert_allclose(run(mod, x, out_shape=(128,)), (x + 1)[::-1] * 2, rtol=1e-6)


@needs_device
def test_export(tmp_path):
    sch = elementwise(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0, name="B"), (256,))
    mod = tenon.build(sch.mod, target=TARGET)
    path = tmp_path / "lib.so"
    mod.export_library(str(path))
    loaded = tenon.runtime.load_module(str(path))
    assert [m.type_key for m in loaded.imported_modules] == ["opencl"]
    assert source_of(loaded) == source_of(mod)
    x = np.random.rand(256).astype("float32")
    np.testing.assert_array_equal(run(loaded, x, out_shape=(256,)), x + 1)


@needs_device
def test_files(tmp_path):
    """Host and device code in their own files, put together again by hand."""
    sch = elementwise(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0, name="B"), (256,))
    mod = tenon.build(sch.mod, target=TARGET)
    mod.save(str(tmp_path / "add.o"))
    mod.imported_modules[0].save(str(tmp_path / "add.cl"))
    assert (tmp_path / "add.tvm_meta.json").exists()
    cc.create_shared(str(tmp_path / "add.so"), [str(tmp_path / "add.o")])
    host = tenon.runtime.load_module(str(tmp_path / "add.so"))
    kernels = tenon.runtime.load_module(str(tmp_path / "add.cl"))
    assert kernels.type_key == "opencl" and kernels.get_source() == source_of(mod)
    host.import_module(kernels)
    x = np.random.rand(256).astype("float32")
    np.testing.assert_array_equal(run(host, x, out_shape=(256,)), x + 1)
    (tmp_path / "add.tvm_meta.json").write_text("[]")
    with pytest.raises(ValueError, match="func_info"):
        tenon.runtime.load_module(str(tmp_path / "add.cl"))


@needs_device
def test_errors_of_the_compiler():
    @T.prim_func
    def wrong(A: T.Buffer((8,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        A[tx] = T.call_pure_extern("float32", "no_such_function", A[tx])

    mod = tenon.build(wrong, target=TARGET, name="main")
    with pytest.raises(tenon.TVMError, match="no_such_function"):
        mod["main"](tenon.nd.array(np.zeros(8, "float32"), tenon.opencl(0)))


@needs_device
def test_arguments_on_another_device():
    sch = elementwise(lambda a: te.compute(a.shape, lambda i: a[i] + 1.0, name="B"), (256,))
    mod = tenon.build(sch.mod, target=TARGET)
    host = tenon.nd.array(np.zeros(256, "float32"))
    with pytest.raises(tenon.TVMError, match="device_type"):
        mod["main"](host, host)


@needs_device
def test_heterogeneous():
    double = elementwise(lambda a: te.compute(a.shape, lambda i: a[i] * 2.0, name="B"), (64,))
    a = te.placeholder((64,), name="A")
    plus = te.create_prim_func([a, te.compute((64,), lambda i: a[i] + 1.0, name="B")])
    mod = tenon.build(
        {
            "opencl": tenon.IRModule(
                {"double": double.mod["main"].with_attr("global_symbol", "double")}
            ),
            "llvm": tenon.IRModule({"plus": plus.with_attr("global_symbol", "plus")}),
        },
        target_host="llvm",
    )
    x = np.random.rand(64).astype("float32")
    y = run(mod, x, out_shape=(64,), name="double")
    out = tenon.nd.empty((64,))
    mod["plus"](tenon.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), x * 2 + 1, rtol=1e-6)
