"""The LLVM code generator: lowered programs are compiled into this process, and to files."""

import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import tenon
from llvm_programs import HEAD, build, packed, run
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

pytestmark = pytest.mark.skipif(
    not llvm_version_major(allow_none=True), reason="built without LLVM"
)


def elementwise(expression, a, b=None, dtype=None):
    out = np.zeros(a.size, dtype or a.dtype)
    body = f"for i in range({a.size}):\n    O[i] = {expression}"
    return run(body, out, a, *([] if b is None else [b]))


INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", INTS + UINTS + FLOATS)
def test_arithmetic(dtype):
    rng = np.random.default_rng(1)
    low = 0 if dtype in UINTS else -50
    a = rng.integers(low, 50, 64).astype(dtype)
    b = rng.integers(1, 9, 64).astype(dtype)
    got = elementwise("A[i] * B[i] + A[i] - B[i]", a, b)
    np.testing.assert_array_equal(got, a * b + a - b)
    got = elementwise("T.max(T.min(A[i], B[i]), B[i] - A[i])", a, b)
    np.testing.assert_array_equal(got, np.maximum(np.minimum(a, b), b - a))


@pytest.mark.parametrize("dtype", INTS)
def test_division_of_all_signs(dtype):
    a = np.array([7, 7, -7, -7, 6, -6, 0, 1], dtype)
    b = np.array([2, -2, 2, -2, 3, 3, 5, -3], dtype)
    np.testing.assert_array_equal(elementwise("T.floordiv(A[i], B[i])", a, b), a // b)
    np.testing.assert_array_equal(elementwise("T.floormod(A[i], B[i])", a, b), a % b)
    quotient = np.trunc(a / b).astype(dtype)
    np.testing.assert_array_equal(elementwise("T.truncdiv(A[i], B[i])", a, b), quotient)
    np.testing.assert_array_equal(elementwise("T.truncmod(A[i], B[i])", a, b), a - quotient * b)


@pytest.mark.parametrize("dtype", UINTS)
def test_division_of_unsigned(dtype):
    top = np.iinfo(dtype).max
    a, b = np.array([top, top - 1, 7, 0], dtype), np.array([2, top, 3, 1], dtype)
    np.testing.assert_array_equal(elementwise("T.floordiv(A[i], B[i])", a, b), a // b)
    np.testing.assert_array_equal(elementwise("T.truncmod(A[i], B[i])", a, b), a % b)


@pytest.mark.parametrize("source", ["int8", "int32", "int64", "uint8", "float16", "float32"])
@pytest.mark.parametrize(
    "to", ["int8", "int32", "int64", "uint16", "float16", "float32", "float64"]
)
def test_casts(source, to):
    a = np.array([0, 1, 2, 100, 127], source)
    np.testing.assert_array_equal(elementwise(f'T.Cast("{to}", A[i])', a, dtype=to), a.astype(to))


def test_division_of_few_bytes():
    a = np.array([47, 51, 200, 255], "uint8")
    body = """
for i in T.vectorized(4):
    O[i] = T.truncmod(A[3 - i] - T.uint8(59), T.uint8(7)) * T.truncdiv(B[0], T.uint8(2))
"""
    b = np.array([10], "uint8")
    want = (a[::-1] - np.uint8(59)) % 7 * 5
    func = packed(body, ("A", 4, "uint8"), ("B", 1, "uint8"), ("O", 4, "uint8"))
    lowered = tenon.tir.transform.VectorizeLoop()(tenon.ir.IRModule({"main": func}))
    out = tenon.nd.array(np.zeros(4, "uint8"))
    build(lowered)["main"](tenon.nd.array(a), tenon.nd.array(b), out)
    np.testing.assert_array_equal(out.numpy(), want)


def test_casts_of_bool():
    a = np.array([0, 1, 2, -3], "int32")
    got = elementwise('T.Cast("bool", A[i])', a, dtype="bool")
    np.testing.assert_array_equal(got, a != 0)
    back = elementwise('T.Cast("float32", A[i])', got, dtype="float32")
    np.testing.assert_array_equal(back, [0, 1, 1, 1])
    np.testing.assert_array_equal(elementwise("not A[i]", got), ~got)


def test_bfloat16():
    bf16 = ml_dtypes.bfloat16
    a = np.array([1.5, -2.25, 3.140625, 1e30, np.inf, np.nan], "float32")
    bits = a.astype(bf16).view("uint16")
    got = elementwise('T.reinterpret("uint16", T.Cast("bfloat16", A[i]))', a, dtype="uint16")
    np.testing.assert_array_equal(got[:-1], bits[:-1])
    assert np.isnan(got[-1:].view(bf16).astype("float32"))
    text = 'T.Cast("float32", T.reinterpret("bfloat16", A[i]) + T.reinterpret("bfloat16", A[i]))'
    got = elementwise(text, bits[:3], dtype="float32")
    np.testing.assert_array_equal(got, a[:3].astype(bf16).astype("float32") * 2)


def test_rounding_to_bfloat16():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(1000).astype("float32")
    got = elementwise('T.reinterpret("uint16", T.Cast("bfloat16", A[i]))', a, dtype="uint16")
    np.testing.assert_array_equal(got, a.astype(ml_dtypes.bfloat16).view("uint16"))


MATH = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "log10": np.log10,
    "log1p": np.log1p, "sqrt": np.sqrt, "sin": np.sin, "cos": np.cos, "tan": np.tan,
    "tanh": np.tanh, "sinh": np.sinh, "cosh": np.cosh, "atan": np.arctan, "asinh": np.arcsinh,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "nearbyint": np.rint,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "exp10": lambda x: 10**x, "fabs": np.abs,
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(MATH))
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_math(name, dtype):
    a = np.linspace(0.1, 2.5, 33).astype(dtype)
    want = MATH[name](a.astype("float64")).astype(dtype)
    tolerance = {"float16": 2e-3, "float32": 2e-6, "float64": 1e-14}[dtype]
    call = f"T.{name}(A[i])"
    np.testing.assert_allclose(elementwise(call, a), want, rtol=tolerance)


def test_math_of_vectors():
    a = np.linspace(0.1, 2.5, 32).astype("float32")
    for name in ("exp", "tanh", "sqrt"):
        body = f"O[0:32] = T.{name}(A[0:32])"
        got = run(body, np.zeros_like(a), a)
        np.testing.assert_allclose(got, MATH[name](a), rtol=2e-6)


def test_two_operands():
    a = np.linspace(0.5, 4, 16).astype("float32")
    b = np.linspace(3, -2, 16).astype("float32")
    pairs = {"pow": np.power, "atan2": np.arctan2, "fmod": np.fmod, "hypot": np.hypot,
             "copysign": np.copysign, "nextafter": np.nextafter}  # fmt: skip
    for name, reference in pairs.items():
        got = elementwise(f"T.{name}(A[i], B[i])", a, b)
        np.testing.assert_allclose(got, reference(a, b), rtol=1e-6)


def test_classes_of_floats():
    a = np.array([1, np.inf, -np.inf, np.nan], "float32")
    for name in ("isnan", "isinf", "isfinite"):
        got = elementwise(f"T.{name}(A[i])", a, dtype="bool")
        np.testing.assert_array_equal(got, getattr(np, name)(a))


def test_bits():
    a = np.array([1, 2, 255, 1 << 20, -1], "int32")
    got = elementwise("T.popcount(A[i])", a)
    np.testing.assert_array_equal(got, [1, 1, 8, 1, 32])
    got = elementwise("T.clz(A[i])", a)
    np.testing.assert_array_equal(got, [31, 30, 24, 11, 0])
    got = elementwise("T.bitwise_xor(T.shift_right(A[i], 1), T.bitwise_not(A[i]))", a)
    np.testing.assert_array_equal(got, (a >> 1) ^ ~a)
    b = a.view("uint32")
    got = elementwise("T.shift_right(A[i], T.uint32(1))", b)
    np.testing.assert_array_equal(got, b >> 1)


def test_vectors():
    a = np.arange(64, dtype="float32")
    b = np.arange(64, 0, -1).astype("float32")
    body = """
for i in range(8):
    O[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] * B[i * 8:i * 8 + 8] + T.Broadcast(A[i], 8)
"""
    got = run(body, np.zeros_like(a), a, b)
    np.testing.assert_array_equal(got, a * b + np.repeat(a[:8], 8))


def test_strided_and_gathered_vectors():
    a = np.arange(32, dtype="int32")
    got = run("O[0:16] = A[T.Ramp(31, -2, 16)]", np.zeros(16, "int32"), a)
    np.testing.assert_array_equal(got, a[31::-2])
    got = run("O[T.Ramp(0, 2, 16)] = A[0:16]", np.zeros(32, "int32"), a)
    np.testing.assert_array_equal(got[::2], a[:16])
    body = "O[0:8] = T.Select(A[0:8] < T.Broadcast(4, 8), A[8:16], T.Broadcast(-1, 8))"
    got = run(body, np.zeros(8, "int32"), a)
    np.testing.assert_array_equal(got, [8, 9, 10, 11, -1, -1, -1, -1])


def test_shuffle():
    a = np.arange(8, dtype="int32")
    body = "O[0:4] = T.Shuffle([A[0:4], A[4:8]], [6, 0, 3, 5])"
    np.testing.assert_array_equal(run(body, np.zeros(4, "int32"), a), [6, 0, 3, 5])


def test_bool_vectors():
    a = np.arange(16, dtype="float32")
    got = run("O[0:16] = A[0:16] < T.Broadcast(T.float32(5), 16)", np.zeros(16, "bool"), a)
    np.testing.assert_array_equal(got, a < 5)


def test_untaken_side_is_not_evaluated():
    a = np.array([4, 0, 2], "int32")
    got = elementwise("T.if_then_else(A[i] != 0, 8 // A[i], -1)", a)
    np.testing.assert_array_equal(got, [2, -1, 4])


def test_control_flow():
    body = """
total = T.allocate([1], "int32", "global")
sum_ = T.decl_buffer((1,), "int32", data=total)
sum_[0] = 0
for i in range(10):
    if i % 2 == 0:
        sum_[0] = sum_[0] + i
    else:
        sum_[0] = sum_[0] + 100
k = T.allocate([1], "int32", "global")
n = T.decl_buffer((1,), "int32", data=k)
n[0] = 0
while n[0] < 7:
    n[0] = n[0] + 3
O[0] = sum_[0]
O[1] = n[0]
"""
    np.testing.assert_array_equal(run(body, np.zeros(2, "int32")), [520, 9])


@pytest.mark.parametrize("attributes", [[], ["pragma_parallel_launch_point"],
    ["pragma_parallel_launch_point", "pragma_parallel_stride_pattern",
     "pragma_parallel_barrier_when_finish"]])  # fmt: skip
def test_parallel(attributes):
    body, indent = "", ""
    for name in attributes:
        body += f'{indent}with T.attr("default", "{name}", 1):\n'
        indent += "    "
    body += f"{indent}for i in T.parallel(100):\n{indent}    for j in T.parallel(3):\n"
    body += f"{indent}        O[i * 3 + j] = A[i * 3 + j] + i"
    a = np.arange(300, dtype="int32")
    got = run(body, np.zeros(300, "int32"), a)
    np.testing.assert_array_equal(got, a + np.arange(300) // 3)


def test_error_in_a_parallel_loop():
    body = """
for i in T.parallel(8):
    assert A[i] > 0, "positive numbers only"
    O[i] = A[i]
"""
    with pytest.raises(tenon.TVMError, match="positive numbers only"):
        run(body, np.zeros(8, "int32"), np.array([1, 2, 3, 0, 5, 6, 7, 8], "int32"))


def test_assert_names_condition_and_message():
    module = build(packed('assert num_args == 3, "three arguments"'))
    with pytest.raises(tenon.TVMError, match="Assert fail: num_args == 3, three arguments"):
        module["main"]()


def test_packed_callback():
    heard = []

    @tenon.register_func("test_codegen.callback", override=True)
    def callback(number, half):
        heard.append((number, half))
        if number < 0:
            raise KeyError("negative")
        return number * 2

    text = (
        HEAD
        + """
    a: T.handle = T.tvm_struct_get(args, 0, 12, "handle")
    data: T.handle("int32", "global") = T.tvm_struct_get(a, 0, 1, "handle")
    A = T.decl_buffer((2,), "int32", data=data)
    value: T.handle = T.tvm_stack_alloca("arg_value", 3)
    code: T.handle("int32", "global") = T.tvm_stack_alloca("arg_tcode", 3)
    codes = T.decl_buffer((3,), "int32", data=code)
    T.tvm_struct_set(value, 0, 12, T.Cast("int64", A[0]))
    codes[0] = 0
    T.tvm_struct_set(value, 1, 12, T.float64(0.5))
    codes[1] = 2
    A[1] = T.call_packed_lowered("test_codegen.callback", value, code, 0, 2)
    return 0
"""
    )
    module = build(from_source(text))
    a = tenon.nd.array(np.array([21, 0], "int32"))
    module["main"](a)
    module["main"](a)
    assert heard == [(21, 0.5), (21, 0.5)] and a.numpy()[1] == 42
    with pytest.raises(KeyError, match="negative"):
        module["main"](tenon.nd.array(np.array([-1, 0], "int32")))
    tenon._ffi.registry.remove_global_func("test_codegen.callback")


def test_call_extern_and_workspace():
    body = """
work: T.handle("float32", "global") = T.TVMBackendAllocWorkspace(1, 0, T.uint64(64), 2, 32)
W = T.decl_buffer((16,), "float32", data=work)
for i in range(16):
    W[i] = T.call_pure_extern("float32", "cbrtf", A[i])
for i in range(16):
    O[i] = W[i]
if T.TVMBackendFreeWorkspace(1, 0, work) != 0:
    T.tvm_throw_last_error()
"""
    a = np.linspace(1, 27, 16).astype("float32")
    np.testing.assert_allclose(run(body, np.zeros_like(a), a), np.cbrt(a), rtol=1e-6)


def test_plain_functions_and_calls_between_them():
    text = """
from tvm.script import ir as I
from tvm.script import tir as T
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def square(x: T.handle("float32"), n: T.int32):
        assert n > 0, "square: n is positive"
        X = T.decl_buffer((4,), "float32", data=x)
        for i in range(n):
            X[i] = X[i] * X[i]
    @T.prim_func
    def main(args: T.handle, codes: T.handle("int32"), num_args: T.int32,
             value: T.handle("void"), code: T.handle("int32"), resource: T.handle) -> T.int32:
        T.func_attr({"calling_conv": 1, "global_symbol": "main"})
        a: T.handle = T.tvm_struct_get(args, 0, 12, "handle")
        data: T.handle("float32", "global") = T.tvm_struct_get(a, 0, 1, "handle")
        Module.square(data, T.Cast("int32", T.tvm_struct_get(args, 1, 12, "int64")))
        return 0
"""
    module = build(from_source(text))
    a = tenon.nd.array(np.array([1, 2, 3, 4], "float32"))
    module["main"](a, 3)
    np.testing.assert_array_equal(a.numpy(), [1, 4, 9, 4])
    with pytest.raises(tenon.TVMError, match="square: n is positive"):
        module["main"](a, 0)
    assert not module.implements_function("square")


def add_one():
    return build(packed("for i in range(64):\n    O[i] = A[i] + T.float32(1)",
                        ("A", 64, "float32"), ("O", 64, "float32")))  # fmt: skip


def test_source_forms():
    module = add_one()
    assert module.type_key == "llvm" and module.is_dso_exportable and module.is_runnable
    assert "define" in module.get_source() and "@main(" in module.get_source("ll")
    assert "fadd" in module.get_source() and "alias.scope" in module.get_source()
    assert ".text" in module.get_source("asm") and "main:" in module.get_source("s")
    with pytest.raises(ValueError, match='expected "ll"'):
        module.get_source("wat")


def test_save(tmp_path):
    module = add_one()
    for ending, magic in [
        ("o", b"\x7fELF"),
        ("bc", b"BC\xc0\xde"),
        ("ll", b"; Module"),
        ("s", b"\t"),
    ]:
        module.save(str(tmp_path / f"f.{ending}"))
        assert (tmp_path / f"f.{ending}").read_bytes().startswith(magic)
    with pytest.raises(ValueError, match="expected a file that ends in"):
        module.save(str(tmp_path / "f.xyz"))


def test_entry_and_lifetime():
    function = add_one()["main"]
    a, out = tenon.nd.array(np.arange(64, dtype="float32")), tenon.nd.empty((64,), "float32")
    function(a, out)
    np.testing.assert_array_equal(out.numpy(), np.arange(64) + 1)
    add_one()(a, out)
    with pytest.raises(AttributeError, match="Module has no function 'missing'"):
        add_one()["missing"]


@pytest.mark.skipif(tenon.contrib.cc.get_cc() is None, reason="no C compiler")
def test_export_and_load_without_the_compiler(tmp_path):
    path = str(tmp_path / "lib.so")
    add_one().export_library(path)
    text = f"""
import numpy as np, tenon
f = tenon.runtime.load_module({path!r})
a, out = tenon.nd.array(np.arange(64, dtype="float32")), tenon.nd.empty((64,), "float32")
f["main"](a, out); f(a, out)
assert (out.numpy() == np.arange(64) + 1).all()
"""
    subprocess.run([sys.executable, "-c", text], check=True)


def test_other_processors(tmp_path):
    func = packed("for i in range(64):\n    O[i] = A[i] + T.float32(1)",
                  ("A", 64, "float32"), ("O", 64, "float32"))  # fmt: skip
    module = build(func, "llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72 -mattr=+neon")
    assert "fadd" in module.get_source("asm") and 'target triple = "aarch64' in module.get_source()
    with pytest.raises(tenon.TVMError, match="another processor"):
        module["main"]
    with pytest.raises(tenon.TVMError, match="nonsense"):
        build(func, "llvm -mtriple=nonsense")


def test_fast_math_is_asked_for():
    func = packed("for i in range(64):\n    O[i] = A[i] + T.float32(1)",
                  ("A", 64, "float32"), ("O", 64, "float32"))  # fmt: skip
    assert "fadd contract" in build(func).get_source()
    assert "fadd fast" in build(func, "llvm -fast-math=1").get_source()


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_optimisation_levels(level):
    a = np.arange(32, dtype="float32")
    body = "for i in range(32):\n    O[i] = A[i] * A[i]"
    np.testing.assert_array_equal(run(body, a.copy(), a, target=f"llvm -opt-level={level}"), a * a)


def test_errors():
    text = """
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        A[i, j] = T.float32(0)
"""
    with pytest.raises(tenon.TVMError, match="flatten the program first"):
        build(from_source(text))
    blocks = text.replace("        A[i, j]", '        with T.block("b"):\n            A[i, j]')
    with pytest.raises(tenon.TVMError, match="is left in the program"):
        build(from_source(blocks))
    with pytest.raises(ValueError, match="no code generator for target kind"):
        build(packed("T.evaluate(0)"), "ext_dev")
