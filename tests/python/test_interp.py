"""The interpreter of lowered programs, against numpy and against the code generators."""

import numpy as np
import pytest
import tenon
from tenon.driver import _ffi_api as driver
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major


def program(body, arrays):
    names = [*"ABCDEF"[: len(arrays) - 1], "O"]
    parameters = ", ".join(
        f'{n}: T.Buffer(({a.size},), "{a.dtype}")' for n, a in zip(names, arrays, strict=True)
    )
    text = f"from tvm.script import tir as T\n@T.prim_func\ndef kernel({parameters}):\n"
    return from_source(text + "".join(f"    {line}\n" for line in body.strip("\n").split("\n")))


def run(body, out, *inputs, target="stackvm", directory=None):
    """Build, run, and return the output."""
    arrays = [*inputs, out]
    built = driver.build(tenon.IRModule({"kernel": program(body, arrays)}), target)
    assert built.type_key == target
    if target == "c":
        built.export_library(str(directory / "lib.so"))
        built = tenon.runtime.load_module(str(directory / "lib.so"))
    tensors = [tenon.nd.array(a) for a in arrays]
    built["kernel"](*tensors)
    return tensors[-1].numpy()


DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
DTYPES += ["float16", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_arithmetic(dtype):
    rng = np.random.default_rng(1)
    low = 0 if dtype.startswith("u") else -50
    a, b = rng.integers(low, 50, 64).astype(dtype), rng.integers(1, 9, 64).astype(dtype)
    body = "for i in range(64):\n    O[i] = T.max(A[i] * B[i] - A[i], T.min(A[i], B[i]))"
    got = run(body, np.zeros(64, dtype), a, b)
    np.testing.assert_array_equal(got, np.maximum(a * b - a, np.minimum(a, b)))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint16", "uint32"])
def test_integers_wrap_around(dtype):
    a = np.full(4, np.iinfo(dtype).max, dtype)
    got = run("for i in range(4):\n    O[i] = A[i] + A[i]", np.zeros(4, dtype), a)
    np.testing.assert_array_equal(got, a + a)


def test_division_of_all_signs():
    a = np.array([7, 7, -7, -7, 6, -6, 0, 1], "int32")
    b = np.array([2, -2, 2, -2, 3, 3, 5, -3], "int32")
    body = """
for i in range(8):
    O[i] = T.floordiv(A[i], B[i])
    O[i + 8] = T.floormod(A[i], B[i])
    O[i + 16] = T.truncmod(A[i], B[i])
"""
    got = run(body, np.zeros(24, "int32"), a, b)
    np.testing.assert_array_equal(got, np.concatenate([a // b, a % b, np.fmod(a, b)]))


def test_division_by_zero_is_zero():
    a = np.zeros(1, "int32")
    assert run("O[0] = T.truncdiv(T.int32(1), A[0])", np.ones(1, "int32"), a)[0] == 0


@pytest.mark.parametrize("name", ["exp", "sin", "tanh", "sqrt", "floor", "log1p"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_mathematics(name, dtype):
    a = np.linspace(0, 3, 40).astype(dtype)
    got = run(f"for i in range(40):\n    O[i] = T.{name}(A[i])", np.zeros_like(a), a)
    np.testing.assert_allclose(
        got, getattr(np, name)(a), rtol=1e-6 if dtype == "float32" else 1e-14
    )


def test_vectors_lane_by_lane():
    a = np.arange(32, dtype="int32")
    body = "O[0:16] = A[T.Ramp(31, -2, 16)] + T.Broadcast(A[1], 16)\nO[0:8] = O[1:9]"
    want = a[31::-2] + 1
    want[0:8] = want[1:9].copy()
    np.testing.assert_array_equal(run(body, np.zeros(16, "int32"), a), want)


def test_while():
    a = np.array([3], "int32")
    body = "O[0] = 0\nwhile O[0] < 10:\n    O[0] = O[0] + A[0]"
    assert run(body, np.zeros(1, "int32"), a)[0] == 12


def test_temporary_memory():
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def kernel(A: T.Buffer((9, 7), "float32"), O: T.Buffer((9, 7), "float32")):
    B = T.alloc_buffer((9, 7), "float32")
    for i, j in T.grid(9, 7):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * T.float32(2)
    for i, j in T.grid(9, 7):
        with T.block("O"):
            vi, vj = T.axis.remap("SS", [i, j])
            O[vi, vj] = B[8 - vi, vj] + T.float32(1)
""")
    built = tenon.build(func, target="stackvm", name="kernel")
    a = np.random.default_rng(0).random((9, 7), "float32")
    out = tenon.nd.empty((9, 7), "float32")
    built["kernel"](tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a[::-1] * np.float32(2) + np.float32(1))


def test_bfloat16():
    a = np.linspace(-4, 4, 33).astype("float32")
    body = """
for i in range(33):
    O[i] = T.Cast("float32", T.Cast("bfloat16", A[i]))
"""
    bits = a.view("uint32")
    want = ((bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000).view("float32")
    np.testing.assert_array_equal(run(body, np.zeros_like(a), a), want)


def test_packed_calls_and_errors():
    @tenon.register_func("test_interp.callback", override=True)
    def callback(value):
        if value < 0:
            raise KeyError("negative")
        return value + 1

    body = 'O[0] = T.call_packed("test_interp.callback", A[0])'
    out = np.zeros(1, "int32")
    assert run(body, out, np.array([4], "int32"))[0] == 5
    with pytest.raises(KeyError, match="negative"):
        run(body, out, np.array([-1], "int32"))
    tenon._core.remove_global_func("test_interp.callback")


def test_arguments_are_checked():
    body = "O[0] = A[0]"
    one = np.zeros(1, "int32")
    built = driver.build(tenon.IRModule({"kernel": program(body, [one, one])}), "stackvm")
    with pytest.raises(tenon.TVMError, match="num_args"):
        built["kernel"](tenon.nd.array(one))
    with pytest.raises(AttributeError):
        built["other"]


def test_unknown_intrinsics_are_named():
    with pytest.raises(tenon.TVMError, match=r"kernel: the intrinsic tir\.dp4a"):
        run("O[0] = T.dp4a(A[0], A[0], A[0])", np.zeros(1, "int32"), np.zeros(1, "int32"))


def test_c_functions_by_name():
    a = np.linspace(0.5, 2, 8).astype("float32")
    body = """
for i in range(8):
    O[i] = T.call_pure_extern("float32", "atan2f", A[i], T.float32(2))
    O[i + 8] = T.call_extern("float32", "expf", A[i])
"""
    got = run(body, np.zeros(16, "float32"), a)
    want = np.concatenate([np.arctan2(a, np.float32(2)), np.exp(a)])
    np.testing.assert_allclose(got, want, rtol=1e-6)
    body = 'for i in range(8):\n    O[i] = T.call_extern("int32", "test_interp.add", A[i], 5)'
    tenon.register_func("test_interp.add", lambda x, y: x + y)
    got = run(body, np.zeros(8, "int32"), np.arange(8, dtype="int32"))
    np.testing.assert_array_equal(got, np.arange(8) + 5)
    tenon._core.remove_global_func("test_interp.add")
    with pytest.raises(tenon.TVMError, match=r"test_interp\.add is neither a function of <math"):
        run(body, np.zeros(8, "int32"), np.arange(8, dtype="int32"))


BITS = """
for i in range(8):
    O[i] = T.popcount(A[i])
    O[i + 8] = T.clz(A[i])
"""


@pytest.mark.parametrize("target", ["stackvm", "c", "llvm"])
@pytest.mark.parametrize("dtype", ["int32", "uint16", "int64"])
def test_counts_of_bits(target, dtype, tmp_path):
    if target == "llvm" and not llvm_version_major(allow_none=True):
        pytest.skip("built without LLVM")
    a = np.array([0, 1, 2, 3, 255, 1000, 12345, -1], "int64").astype(dtype)
    width = a.dtype.itemsize * 8
    plain = [int(x) % 2**width for x in a]
    want = [bin(x).count("1") for x in plain] + [width - x.bit_length() for x in plain]
    got = run(BITS, np.zeros(16, dtype), a, target=target, directory=tmp_path)
    np.testing.assert_array_equal(got, np.array(want, dtype))


def test_saved_and_loaded(tmp_path):
    a, out = np.arange(6, dtype="float32"), np.zeros(6, "float32")
    func = program("for i in range(6):\n    O[i] = A[i] * T.float32(3)", [a, out])
    built = tenon.build(func, target="stackvm", name="triple")
    path = str(tmp_path / "triple.stackvm")
    built.export_library(path)
    loaded = tenon.runtime.load_module(path)
    tensors = [tenon.nd.array(a), tenon.nd.array(out)]
    loaded["triple"](*tensors)
    np.testing.assert_array_equal(tensors[1].numpy(), a * 3)
    assert loaded.type_key == "stackvm" and loaded.is_binary_serializable
    loaded(*tensors)  # the entry
    with pytest.raises(ValueError, match="can only be saved as stackvm format"):
        built.export_library(str(tmp_path / "triple.so"))
    (tmp_path / "broken.stackvm").write_text('{"root": 1, "nodes": [{"type_key": ""}]}')
    with pytest.raises((ValueError, tenon.TVMError)):
        tenon.runtime.load_module(str(tmp_path / "broken.stackvm"))


@pytest.mark.skipif(tenon.contrib.cc.get_cc() is None, reason="no C compiler")
def test_inside_a_library(tmp_path):
    a, out = np.arange(6, dtype="int32"), np.zeros(6, "int32")
    body = "for i in range(6):\n    O[i] = A[i] + 7"
    host = tenon.build(program("O[0] = A[0]", [a, out]), target="c", name="first")
    host.import_module(tenon.build(program(body, [a, out]), target="stackvm", name="second"))
    path = str(tmp_path / "both.so")
    host.export_library(path)
    loaded = tenon.runtime.load_module(path)
    assert [m.type_key for m in loaded.imported_modules] == ["stackvm"]
    tensors = [tenon.nd.array(a), tenon.nd.array(out)]
    loaded.get_function("second", query_imports=True)(*tensors)
    np.testing.assert_array_equal(tensors[1].numpy(), a + 7)


CONSTANT = """
from tvm.script import tir as T
@T.prim_func
def kernel(O: T.Buffer((6,), "{dtype}")):
    K = T.allocate_const({values}, "{dtype}", [6])
    K_1 = T.Buffer((6,), "{dtype}", data=K)
    for i in range(6):
        O[i] = K_1[5 - i]
"""


@pytest.mark.parametrize("target", ["stackvm", "c", "llvm"])
@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "float16", "float32", "float64"])
def test_constants(target, dtype, tmp_path):
    if target == "llvm" and not llvm_version_major(allow_none=True):
        pytest.skip("built without LLVM")
    values = [0, 1, 2.5, 100, 7, 3] if dtype.startswith("float") else [0, 1, 2, 100, 7, 3]
    if dtype == "int64":
        values[1] = -(2**62)
    func = from_source(CONSTANT.format(dtype=dtype, values=values))
    built = tenon.build(func, target=target, name="kernel")
    if target == "c":
        built.export_library(str(tmp_path / "lib.so"), options=["-Wall", "-Wextra", "-Werror"])
        built = tenon.runtime.load_module(str(tmp_path / "lib.so"))
    out = tenon.nd.empty((6,), dtype)
    built["kernel"](out)
    np.testing.assert_array_equal(out.numpy(), np.array(values[::-1], dtype))


PROGRAMS = {
    "casts": ("float32", "for i in range(16):\n    O[i] = T.Cast('float32', T.Cast('int8', A[i]))"),
    "choice": (
        "float32",
        "for i in range(16):\n"
        "    O[i] = T.if_then_else(A[i] > T.float32(0), A[i] * T.float32(0.1), T.fabs(A[i]))",
    ),
    "bits": ("int32", "for i in range(16):\n    O[i] = (A[i] << 3) ^ (A[i] >> 1) | (A[i] & 5)"),
    "reinterpret": (
        "int32",
        "for i in range(16):\n"
        "    O[i] = T.reinterpret('int32', T.Cast('float32', A[i]) / T.float32(3))",
    ),
    "floor": (
        "int32",
        "for i in range(16):\n    O[i] = T.floordiv(A[i], -3) * T.floormod(A[i], 5)",
    ),
    "if": (
        "int32",
        "for i in range(16):\n    if A[i] % 3 == 0 and i > 2:\n        O[i] = A[i]\n"
        "    else:\n        O[i] = i",
    ),
}


@pytest.mark.parametrize("target", ["c", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_same_as_generated_code(tmp_path, name, target):
    if target == "c" and tenon.contrib.cc.get_cc() is None:
        pytest.skip("no C compiler")
    if target == "llvm" and not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    dtype, body = PROGRAMS[name]
    a, out = np.arange(-8, 8).astype(dtype), np.zeros(16, dtype)
    generated = run(body, out, a, target=target, directory=tmp_path)
    np.testing.assert_array_equal(run(body, out, a), generated)
