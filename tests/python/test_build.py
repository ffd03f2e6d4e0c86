"""tenon.build: from programs as they are written to modules that run."""

import numpy as np
import pytest
import tenon
from tenon import te
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(not llvm_version_major(True), reason="built without LLVM")

MATMUL = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((17, 23), "float32"), B: T.Buffer((23, 9), "float32"),
         C: T.Buffer((17, 9), "float32")):
    T.func_attr({"tir.noalias": T.bool(True)})
    for i, j, k in T.grid(17, 9, 23):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""


def tensors(*shapes):
    rng = np.random.default_rng(0)
    return [tenon.nd.array(rng.standard_normal(s).astype("float32")) for s in shapes]


def check_matmul(module, name="default_function"):
    a, b, c = tensors((17, 23), (23, 9), (17, 9))
    module[name](a, b, c)
    np.testing.assert_allclose(c.numpy(), a.numpy() @ b.numpy(), rtol=1e-4, atol=1e-5)


def test_function_with_blocks():
    module = tenon.build(from_source(MATMUL), target="llvm")
    check_matmul(module)
    a, b, c = tensors((17, 23), (23, 9), (17, 9))
    module(a, b, c)


def test_module_name_and_current_target():
    func = from_source(MATMUL)
    check_matmul(
        tenon.build(tenon.IRModule({"main": func.with_attr("global_symbol", "main")})), "main"
    )
    with tenon.target.Target("llvm -opt-level=3"):
        check_matmul(tenon.build(func.without_attr("global_symbol"), name="matmul"), "matmul")
    check_matmul(tenon.build({"llvm": tenon.IRModule({"main": func})}), "main")


def test_wrong_arguments():
    module = tenon.build(from_source(MATMUL))
    a, b, c = tensors((17, 23), (23, 9), (17, 9))
    with pytest.raises(tenon.TVMError, match="num_args"):
        module["default_function"](a, b)
    with pytest.raises(tenon.TVMError, match="shape"):
        module["default_function"](a, c, b)
    with pytest.raises(tenon.TVMError, match="dtype"):
        module["default_function"](tenon.nd.array(np.zeros((17, 23), "float64")), b, c)


def test_tensor_expressions():
    n = 40
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: te.exp(a[i]) + 1.0, name="B")
    module = tenon.build(te.create_prim_func([a, b]), target="llvm")
    (x,) = tensors((n,))
    y = tenon.nd.empty((n,), "float32")
    module["default_function"](x, y)
    np.testing.assert_allclose(y.numpy(), np.exp(x.numpy()) + 1, rtol=1e-6)


def test_symbolic_shapes_and_loops_of_all_kinds():
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n, 16), "float32")
    B = T.match_buffer(b, (n, 16), "float32")
    for i in T.parallel(n):
        for j in T.unroll(4):
            for k in T.vectorized(4):
                with T.block("B"):
                    vi = T.axis.spatial(n, i)
                    vj = T.axis.spatial(16, j * 4 + k)
                    B[vi, vj] = T.max(A[vi, vj], T.float32(0))
""")
    module = tenon.build(func)
    for n in (1, 7, 100):
        x, y = tensors((n, 16), (n, 16))
        module["default_function"](x, y, n)
        np.testing.assert_array_equal(y.numpy(), np.maximum(x.numpy(), 0))
    assert "x float>" in module.get_source()


def test_callback_into_python():
    seen = []

    @tenon.register_func("test_build.callback", override=True)
    def callback(x, value):
        seen.append((x.shape, value))

    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((3, 4), "float32")):
    T.evaluate(T.call_packed("test_build.callback", T.tvm_stack_make_array(A.data,
        T.tvm_stack_make_shape(3, 4), 0, 2, T.float32(0), 0), 7))
""")
    tenon.build(func)["default_function"](tensors((3, 4))[0])
    assert [(tuple(shape), value) for shape, value in seen] == [((3, 4), 7)]
    tenon._ffi.registry.remove_global_func("test_build.callback")


def test_temporary_memory():
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((64, 64), "float32"), C: T.Buffer((64, 64), "float32")):
    B = T.alloc_buffer((64, 64), "float32")
    for i, j in T.grid(64, 64):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(64, 64):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vj, vi]
""")
    x, y = tensors((64, 64), (64, 64))
    tenon.build(func)["default_function"](x, y)
    np.testing.assert_array_equal(y.numpy(), x.numpy().T * 2)


def test_indices_from_buffers_that_look_alike():
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "int32"), I: T.Buffer((8,), "int32"), J: T.Buffer((8,), "int32")):
    for i in range(8):
        with T.block("A"):
            vi = T.axis.opaque(8, i)
            A[I[vi]] = A[J[vi]]
""")
    a, i, j = np.arange(8), np.arange(8), np.arange(7, -1, -1)
    given = [tenon.nd.array(x.astype("int32")) for x in (a, i, j)]
    tenon.build(func)(*given)
    np.testing.assert_array_equal(given[0].numpy(), [7, 6, 5, 4, 4, 5, 6, 7])


@pytest.mark.skipif(tenon.contrib.cc.get_cc() is None, reason="no C compiler")
def test_export(tmp_path):
    path = str(tmp_path / "matmul.so")
    tenon.build(from_source(MATMUL), target="llvm").export_library(path)
    check_matmul(tenon.runtime.load_module(path))


def test_errors():
    with pytest.raises(ValueError, match="expected an IRModule, a PrimFunc"):
        tenon.build(3)
    with pytest.raises(ValueError, match="the dictionary is empty"):
        tenon.build({})


def test_vectors_written_in_the_program():
    func = from_source("""
@T.prim_func
def main(A: T.Buffer((64,), "int32"), O: T.Buffer((16,), "int32")):
    O[0:16] = A[T.Ramp(31, -2, 16)] + T.Broadcast(A[1], 16)
""")
    a = np.arange(64, dtype="int32")
    out = tenon.nd.empty((16,), "int32")
    tenon.build(func)(tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a[31::-2] + a[1])


def test_buffers_of_a_function_do_not_overlap_unless_told():
    func = from_source(MATMUL).without_attr("tir.noalias")
    lowered = tenon.lower(func)["main"]
    assert lowered.attrs["tir.noalias"]
    with tenon.transform.PassContext(config={"tir.noalias": False}):
        assert "tir.noalias" not in tenon.lower(func)["main"].attrs
    module = tenon.lower(tenon.IRModule({"main": func}))  # a module says so itself
    assert "tir.noalias" not in (module["main"].attrs or {})


CALLS = """
from tvm.script import ir as I, tir as T
@I.ir_module
class Module:
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        T.func_attr({"global_symbol": "kernel"})
        Module.fill(B.data)
        for i in range(8):
            B[i] = B[i] + Module.square(A[i]) + Module.half(A[i])
    @T.prim_func
    def fill(data: T.handle("float32")):
        T.func_attr({"global_symbol": "fill", "calling_conv": -1})
        D = T.decl_buffer((8,), "float32", data=data)
        for i in range(8):
            D[i] = T.float32(42)
    @T.prim_func(private=True)
    def square(x: T.float32) -> T.float32:
        return x * x
    @T.prim_func(private=True)
    def half(x: T.float32) -> T.float32:
        return Module.square(x) / T.float32(2)
"""


@pytest.mark.parametrize("target", ["llvm", "c", "stackvm"])
def test_functions_that_call_each_other(target, tmp_path):
    module = tenon.build(from_source(CALLS), target=target)
    if target == "c":
        module.export_library(str(tmp_path / "lib.so"), options=["-Wall", "-Werror"])
        module = tenon.runtime.load_module(str(tmp_path / "lib.so"))
    a = np.arange(8, dtype="float32")
    b = tenon.nd.empty((8,), "float32")
    module["kernel"](tenon.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), 42 + a * a * 1.5)


def test_modules_in_a_list():
    def module(name, scale):
        A = te.placeholder((8,), name="A")
        func = te.create_prim_func([A, te.compute((8,), lambda i: A[i] * scale, name="B")])
        return tenon.IRModule({name: func.with_attr("global_symbol", name)})

    built = tenon.build([module("two", 2.0), module("three", 3.0)["three"]], target="llvm")
    x, out = tenon.nd.array(np.arange(8, dtype="float32")), tenon.nd.empty((8,))
    for name, scale in (("two", 2), ("three", 3)):
        built[name](x, out)
        np.testing.assert_array_equal(out.numpy(), x.numpy() * scale)
    with pytest.raises(ValueError, match="Duplicate function name two"):
        tenon.build([module("two", 2.0), module("two", 3.0)], target="llvm")


def test_archive_of_source(tmp_path):
    A = te.placeholder((8,), name="A")
    func = te.create_prim_func([A, te.compute((8,), lambda i: A[i] + 1.0, name="B")])
    path = str(tmp_path / "lib.tar")
    tenon.build(func, target="c", name="f").export_library(path)
    out = tenon.nd.empty((8,))
    tenon.runtime.load_module(path)["f"](tenon.nd.array(np.zeros(8, "float32")), out)
    assert (out.numpy() == 1).all()
