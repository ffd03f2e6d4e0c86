"""The C code generator: its text, and what the C compiler makes of it."""

import shutil

import ml_dtypes
import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.driver import _ffi_api as driver
from tenon.script import from_source
from tenon.script import tir as T

needs_cc = pytest.mark.skipif(tenon.contrib.cc.get_cc() is None, reason="no C compiler")
WARNINGS = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]


def program(body, parameters):
    text = "from tvm.script import tir as T\n@T.prim_func\n"
    text += f"def kernel({parameters}):\n"
    return from_source(text + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")))


def run(tmp_path, body, out, *inputs):
    """Build for C, compile without a warning, load and run; returns the output."""
    arrays = [*inputs, out]
    names = [*"ABCDEF"[: len(inputs)], "O"]
    parameters = ", ".join(
        f'{n}: T.Buffer(({a.size},), "{a.dtype}")' for n, a in zip(names, arrays, strict=True)
    )
    path = str(tmp_path / "lib.so")
    flat = tenon.IRModule({"kernel": program(body, parameters)})
    driver.build(flat, "c").export_library(path, options=WARNINGS)
    tensors = [tenon.nd.array(a) for a in arrays]
    tenon.runtime.load_module(path)["kernel"](*tensors)
    return tensors[-1].numpy()


def test_text():
    module = tenon.build(
        program("for i in range(4):\n    A[i] = A[i] + T.float32(1)", "A: T.Buffer((4,))"),
        target="c",
        name="kernel",
    )
    source = module.get_source()
    assert module.type_key == "c" and module.format == "c" and module.is_dso_exportable
    assert source.startswith("// tvm target: c -keys=cpu\n#define TVM_EXPORTS\n")
    for line in ("c_runtime_api.h", "c_backend_api.h", "<math.h>", "<stdbool.h>"):
        assert line in source
    head = (
        "TVM_DLL int32_t kernel(void* args, int32_t* arg_type_ids, int32_t num_args, "
        "void* out_ret_value, int32_t* out_ret_tcode, void* resource_handle)"
    )
    assert source.count(head + ";") == 1 and source.count(head + " {") == 1


@needs_cc
@pytest.mark.parametrize(
    "dtype", ["int8", "int32", "int64", "uint8", "uint32", "float32", "float64"]
)
def test_arithmetic(tmp_path, dtype):
    rng = np.random.default_rng(1)
    low = 0 if dtype.startswith("u") else -50
    a, b = rng.integers(low, 50, 64).astype(dtype), rng.integers(1, 9, 64).astype(dtype)
    body = "for i in range(64):\n    O[i] = T.max(A[i] * B[i] - A[i], T.min(A[i], B[i]))"
    got = run(tmp_path, body, np.zeros(64, dtype), a, b)
    np.testing.assert_array_equal(got, np.maximum(a * b - a, np.minimum(a, b)))


@needs_cc
def test_division_of_all_signs(tmp_path):
    a = np.array([7, 7, -7, -7, 6, -6, 0, 1], "int32")
    b = np.array([2, -2, 2, -2, 3, 3, 5, -3], "int32")
    body = """
for i in range(8):
    O[i] = T.floordiv(A[i], B[i])
    O[i + 8] = T.floormod(A[i], B[i])
    O[i + 16] = T.truncmod(A[i], B[i])
"""
    got = run(tmp_path, body, np.zeros(24, "int32"), a, b)
    np.testing.assert_array_equal(got, np.concatenate([a // b, a % b, np.fmod(a, b)]))


@needs_cc
def test_math_choices_and_bool(tmp_path):
    a = np.linspace(-2, 2, 32).astype("float32")
    body = """
for i in range(32):
    O[i] = T.if_then_else(A[i] > T.float32(0), T.sqrt(T.max(A[i], T.float32(0))),
                          T.exp(A[i]) + T.Cast("float32", A[i] < T.float32(-1)))
"""
    want = np.where(a > 0, np.sqrt(np.maximum(a, 0)), np.exp(a) + (a < -1))
    np.testing.assert_allclose(run(tmp_path, body, np.zeros_like(a), a), want, rtol=1e-6)


@needs_cc
def test_vectors_lane_by_lane(tmp_path):
    a = np.arange(32, dtype="int32")
    body = "O[0:16] = A[T.Ramp(31, -2, 16)] + T.Broadcast(A[1], 16)\nO[0:8] = O[1:9]"
    got = run(tmp_path, body, np.zeros(16, "int32"), a)
    want = a[31::-2] + 1
    want[0:8] = want[1:9].copy()
    np.testing.assert_array_equal(got, want)


@needs_cc
def test_matmul_with_blocks(tmp_path):
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def kernel(A: T.Buffer((17, 23), "float32"), B: T.Buffer((23, 9), "float32"),
         C: T.Buffer((17, 9), "float32")):
    for i, j, k in T.grid(17, 9, 23):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
""")
    path = str(tmp_path / "lib.so")
    tenon.build(func, target="c", name="kernel").export_library(path, options=WARNINGS)
    loaded = tenon.runtime.load_module(path)
    rng = np.random.default_rng(0)
    a, b = rng.random((17, 23), "float32"), rng.random((23, 9), "float32")
    c = tenon.nd.empty((17, 9), "float32")
    loaded["kernel"](tenon.nd.array(a), tenon.nd.array(b), c)
    np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-5)
    with pytest.raises(tenon.TVMError, match="num_args"):
        loaded["kernel"](c)


@needs_cc
def test_packed_callback(tmp_path):
    heard = []

    @tenon.register_func("test_codegen_c.callback", override=True)
    def callback(value, half):
        heard.append((value, half))
        return value + 1

    body = """
A[0] = T.call_packed("test_codegen_c.callback", A[0], T.float32(0.5))
T.evaluate(T.call_packed("test_codegen_c.callback", A[0], T.float32(0.25)))
"""
    path = str(tmp_path / "lib.so")
    func = program(body, 'A: T.Buffer((1,), "int32")')
    tenon.build(func, target="c", name="kernel").export_library(path, options=WARNINGS)
    a = tenon.nd.array(np.array([4], "int32"))
    tenon.runtime.load_module(path)["kernel"](a)
    assert heard == [(4, 0.5), (5, 0.25)] and a.numpy()[0] == 5
    tenon._ffi.registry.remove_global_func("test_codegen_c.callback")


def test_types_without_a_name_in_c():
    func = program('A[0] = T.Cast("int32", T.Cast("int7", A[0]))', 'A: T.Buffer((1,), "int32")')
    with pytest.raises(tenon.TVMError, match="C99 has no type for"):
        tenon.build(func, target="c")


@needs_cc
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_small_floats(tmp_path, dtype):
    rng = np.random.default_rng(3)
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    numbers = rng.standard_normal(64) * 10.0 ** rng.integers(-9, 6, 64)
    a = numbers.astype("float32").astype(kind)
    a[:4] = np.array([np.inf, -np.inf, np.nan, 0], kind)
    b = a[::-1].copy()
    body = f"""
for i in range(64):
    O[i] = A[i] + B[i]
    O[i + 64] = A[i] * B[i]
    O[i + 128] = T.Cast("{dtype}", T.Cast("float64", A[i]) / T.float64(3))
"""
    wide_a, wide_b = a.astype("float32"), b.astype("float32")
    with np.errstate(all="ignore"):
        want = [wide_a + wide_b, wide_a * wide_b, a.astype("float64") / 3]
        want = np.concatenate([w.astype(kind) for w in want])
    got = run(tmp_path, body, np.zeros(192, kind), a, b)
    got = got.view(kind)  # bfloat16 comes as its bits
    np.testing.assert_array_equal(got.astype("float32"), want.astype("float32"))


@needs_cc
def test_second_operand_of_and_is_guarded(tmp_path):
    a = np.arange(8, dtype="int32")
    body = """
for i in range(16):
    if i < 8 and T.floordiv(A[i], -3) < -1:
        O[i] = 1
    if i >= 8 or T.floormod(A[i], -3) == 0:
        O[i] = O[i] + 2
"""
    got = run(tmp_path, body, np.zeros(16, "int32"), a)
    want = [(i < 8 and i // -3 < -1) + 2 * (i >= 8 or i % -3 == 0) for i in range(16)]
    np.testing.assert_array_equal(got, want)


@needs_cc
def test_c_functions_are_declared_once(tmp_path):
    body = """
for i in range(4):
    A[i] = T.call_extern("float32", "my_half", A[i]) + T.call_extern("float32", "my_half", A[i])
    A[i] = T.call_pure_extern("float32", "sqrtf", A[i])
"""
    built = tenon.build(program(body, "A: T.Buffer((4,))"), target="c", name="kernel")
    source = built.get_source()
    assert source.count("extern float my_half(float);\n") == 1 and "float sqrtf(" not in source
    (tmp_path / "half.c").write_text(
        "float my_half(float x); float my_half(float x) { return x / 2; }"
    )
    path = str(tmp_path / "lib.so")
    built.export_library(path, addons=[str(tmp_path / "half.c")], options=WARNINGS)
    a = tenon.nd.array(np.array([1, 4, 9, 16], "float32"))
    tenon.runtime.load_module(path)["kernel"](a)
    np.testing.assert_array_equal(a.numpy(), [1, 2, 3, 4])


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_function_named_main(compiler, tmp_path):
    """It is not a start of a program, and keeps its name in the library."""
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")

    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "main"})
        for i in range(4):
            A[i] = A[i] + T.float32(1)

    path = str(tmp_path / "lib.so")
    built = tenon.build(tenon.IRModule({"main": main}), target="c")
    built.export_library(path, cc=compiler, options=["-Werror"])
    data = tenon.nd.array(np.zeros(4, "float32"))
    tenon.runtime.load_module(path)["main"](data)
    np.testing.assert_array_equal(data.numpy(), np.ones(4, "float32"))


def test_code_that_comes_with_a_program(tmp_path):
    code = "static float twice(float x) { return x * 2; }"
    A = te.placeholder((8,), name="A")
    B = te.compute((8,), lambda i: tir.call_pure_extern("float32", "twice", A[i]), name="B")
    s = te.create_schedule(B.op)
    s[B].pragma(B.op.axis[0], "import_c", code)
    built = tenon.build(s, [A, B], target="c", name="f")
    assert built.get_source().count(code) == 1
    built.export_library(str(tmp_path / "lib.so"))
    out = tenon.nd.empty((8,))
    lib = tenon.runtime.load_module(str(tmp_path / "lib.so"))
    lib["f"](tenon.nd.array(np.arange(8, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), np.arange(8) * 2)


def test_borders_are_not_filled_before_they_are_read(tmp_path):
    """What a definition has read of the buffer is not there any more once it is filled."""
    body = """
for i in T.serial(10):
    x = O[i]
    O[i] = T.if_then_else(i < 5, x + T.float32(1), T.float32(0))"""
    out = run(tmp_path, body, np.arange(10, dtype="float32"))
    np.testing.assert_array_equal(out, [1, 2, 3, 4, 5, 0, 0, 0, 0, 0])


@pytest.mark.parametrize("stride", [1, 2])
def test_definitions_of_vectors_in_expressions(stride, tmp_path):
    """They are made again in each statement and branch: what they read may have changed, and C does
    not know a variable outside of its block."""
    a = tir.decl_buffer((4,), "float32", name="A")
    out = tir.decl_buffer((16,), "float32", name="O")
    v, i = tir.Var("v", "float32x4"), tir.Var("i", "int32")
    square = tir.Let(v, tir.BufferLoad(a, [tir.Ramp(0, 1, 4)]), v * v)
    choice = tir.if_then_else(i < 1, square, tir.Broadcast(tir.FloatImm("float32", 0), 4))
    loops = [
        tir.For(i, 0, 2, tir.ForKind.SERIAL, tir.BufferStore(out, e, [tir.Ramp(at, stride, 4)]))
        for e, at in [(square, 0), (square, 8), (choice, i * 8)]
    ]
    change = tir.BufferStore(a, tir.FloatImm("float32", 7), [tir.IntImm("int32", 1)])
    body = tir.SeqStmt([loops[0], change, loops[1], loops[2]])
    params = [tir.Var("a", "handle"), tir.Var("o", "handle")]
    f = tir.PrimFunc(params, body, buffer_map=dict(zip(params, [a, out], strict=True)))
    path = str(tmp_path / "lib.so")
    f = f.with_attr("global_symbol", "kernel")
    lib = tenon.build(tenon.IRModule({"kernel": f}), target="c -mcpu=native")
    lib.export_library(path, options=["-march=native"])
    arrays = [tenon.nd.array(np.float32([1, 2, 3, 4])), tenon.nd.array(np.zeros(16, "float32"))]
    tenon.runtime.load_module(path)["kernel"](*arrays)
    wanted = np.zeros(16)
    wanted[: 4 * stride : stride] = [1, 49, 9, 16]
    np.testing.assert_array_equal(arrays[1].numpy(), wanted)


@needs_cc
def test_sigmoid_of_a_negative_number(tmp_path):
    """Two signs are not a decrement."""
    got = run(tmp_path, "O[0] = T.sigmoid(T.float32(-0.75))", np.zeros(1, "float32"))
    np.testing.assert_allclose(got, 1 / (1 + np.exp(0.75)), rtol=1e-6)
