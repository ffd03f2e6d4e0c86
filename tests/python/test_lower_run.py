"""Lowered programs compute what the programs say; run as native code."""

import numpy as np
import pytest
import tenon
from tenon import _core
from tenon.script import tir as T

call = _core.get_global_func
pytestmark = pytest.mark.skipif(
    not call("target.llvm_version_major")(), reason="a build without LLVM"
)


def build(func):
    target = tenon.target.Target("llvm")
    module = tenon.IRModule({"main": func.with_attr("global_symbol", "main")})
    lowered = call("driver.lower")(module, False)
    return call("target.build.llvm")(call("driver.host_pipeline")(lowered, target), target)["main"]


def run(func, *arrays, scalars=()):
    """Outputs are written in place; what all arrays hold afterwards."""
    given = [tenon.nd.array(a) for a in arrays]
    build(func)(*given, *scalars)
    return [g.numpy() for g in given]


def test_division_rounds_down_for_all_signs():
    @T.prim_func
    def func(
        A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), C: T.Buffer((4, 16), "int32")
    ):
        for i in range(16):
            C[0, i] = A[i] // B[i]
            C[1, i] = A[i] % B[i]
            C[2, i] = A[i] // 8 + A[i] % 8 * 100
            C[3, i] = A[i] // 3 + A[i] % 3 * 100

    a = np.array([-9, -8, -7, -1, 0, 1, 7, 8, 9, 100, -100, 5, -5, 6, -6, 3], "int32")
    b = np.array([2, -2, 3, -3, 4, -4, 5, -5, 7, -7, 9, -9, 1, -1, 6, -6], "int32")
    c = run(func, a, b, np.zeros((4, 16), "int32"))[2]
    wanted = [a // b, a % b, a // 8 + a % 8 * 100, a // 3 + a % 3 * 100]
    np.testing.assert_array_equal(c, wanted)


def test_vectors_and_what_has_no_vector_form():
    @T.prim_func
    def func(A: T.Buffer((8, 8), "float32"), C: T.Buffer((8, 8), "float32"), n: T.int32):
        for i in range(8):
            for j in T.vectorized(8):
                C[i, j] = T.if_then_else(j < n, A[i, 7 - j], T.float32(0)) + T.Cast("float32", j)
                if i + j < n:
                    C[i, j] = T.Select(A[i, j] < T.float32(0.5), T.float32(-1), C[i, j] * A[j, i])

    a = np.random.default_rng(0).random((8, 8), "float32")
    c = run(func, a, np.zeros((8, 8), "float32"), scalars=(5,))[1]
    i, j = np.indices((8, 8))
    wanted = np.where(j < 5, a[:, ::-1], 0) + j
    wanted = np.where(i + j < 5, np.where(a < 0.5, -1, wanted * a.T), wanted)
    np.testing.assert_allclose(c, wanted.astype("float32"), rtol=1e-6)


def test_tiles_with_a_buffer_of_their_own():
    @T.prim_func
    def func(A: T.Buffer((64, 66), "float32"), C: T.Buffer((64, 64), "float32")):
        B = T.alloc_buffer((64, 66))
        for i0, j0 in T.grid(8, 4):
            for i1, j1 in T.grid(8, 18):
                with T.block("B"):
                    vi = T.axis.spatial(64, i0 * 8 + i1)
                    vj = T.axis.spatial(66, j0 * 16 + j1)
                    B[vi, vj] = A[vi, vj] * T.float32(2)
            for i1, j1, k in T.grid(8, 16, 3):
                with T.block("C"):
                    vi = T.axis.spatial(64, i0 * 8 + i1)
                    vj = T.axis.spatial(64, j0 * 16 + j1)
                    vk = T.axis.reduce(3, k)
                    with T.init():
                        C[vi, vj] = T.float32(0)
                    C[vi, vj] = C[vi, vj] + B[vi, vj + vk]

    a = np.random.default_rng(1).random((64, 66), "float32")
    c = run(func, a, np.zeros((64, 64), "float32"))[1]
    wanted = 2 * (a[:, :64] + a[:, 1:65] + a[:, 2:])
    np.testing.assert_allclose(c, wanted, rtol=1e-5)


def test_large_allocations_and_bool_storage():
    @T.prim_func
    def func(A: T.Buffer((4096,), "float32"), C: T.Buffer((4096,), "bool")):
        B = T.alloc_buffer((4096,), "bool")
        for i in range(4096):
            with T.block("B"):
                vi = T.axis.spatial(4096, i)
                B[vi] = A[4095 - vi] < T.float32(0.5)
        for i in range(4096):
            with T.block("C"):
                vi = T.axis.spatial(4096, i)
                C[vi] = not B[vi]

    a = np.random.default_rng(2).random(4096, "float32")
    c = run(func, a, np.zeros(4096, "bool"))[1]
    np.testing.assert_array_equal(c, a[::-1] >= 0.5)


def test_packed_calls_get_tensors_numbers_and_text():
    seen = []

    @tenon.register_func("test.lower.callback", override=True)
    def callback(tensor, number, text, other):
        seen.append((tensor.numpy().tolist(), number, text, other.shape))

    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), C: T.Buffer((2, 2), "float32")):
        for i in range(2):
            T.call_packed(
                "test.lower.callback",
                T.tvm_stack_make_array(
                    A.data,
                    T.tvm_stack_make_shape(2, dtype="handle"),
                    0,
                    1,
                    T.float32(0),
                    i * 2,
                    dtype="handle",
                ),
                i,
                "name",
                T.tvm_stack_make_array(
                    C.data,
                    T.tvm_stack_make_shape(2, 2, dtype="handle"),
                    0,
                    2,
                    T.float32(0),
                    0,
                    dtype="handle",
                ),
            )

    run(func, np.arange(4, dtype="float32"), np.zeros((2, 2), "float32"))
    assert [s[:3] for s in seen] == [([0.0, 1.0], 0, "name"), ([2.0, 3.0], 1, "name")]
    assert all(tuple(s[3]) == (2, 2) for s in seen)


def test_strided_tensors_and_offsets():
    @T.prim_func
    def func(a: T.handle, C: T.Buffer((3, 4), "float32")):
        s = T.int32()
        A = T.match_buffer(a, (3, 4), "float32", strides=(s, 1))
        for i, j in T.grid(3, 4):
            C[i, j] = A[i, j]

    a = np.arange(12, dtype="float32").reshape(3, 4)
    np.testing.assert_array_equal(run(func, a, np.zeros((3, 4), "float32"))[1], a)


def test_arguments_that_do_not_fit():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), n: T.int32):
        A[0] = T.Cast("float32", n)

    built = build(func)
    good = tenon.nd.array(np.zeros(4, "float32"))
    for args, message in (
        ((good,), "main: num_args should be 2"),
        ((good, 1.5), r"main: Expect arg\[1\] to be int"),
        ((3, 1), r"main: Expect arg\[0\] to be pointer"),
        ((tenon.nd.array(np.zeros((4, 1), "float32")), 1), "arg.A.ndim is expected to equal 1"),
        ((tenon.nd.array(np.zeros(4, "int32")), 1), "arg.A.dtype is expected to be float32"),
        ((tenon.nd.array(np.zeros(5, "float32")), 1), r"Argument arg.A.shape\[0\] has an unsat"),
    ):
        with pytest.raises(tenon.TVMError, match=message):
            built(*args)
    built(good, 7)
    assert good.numpy()[0] == 7


def test_shared_memory_keeps_what_is_still_needed():
    @T.prim_func
    def func(A: T.Buffer((32, 64), "float32"), C: T.Buffer((32, 64), "float32")):
        B = T.alloc_buffer((32, 64))
        D = T.alloc_buffer((32, 64))
        E = T.alloc_buffer((32, 64))
        F = T.alloc_buffer((32, 64), "int32")
        for i, j in T.grid(32, 64):
            B[i, j] = A[i, j] * T.float32(2)
        for i, j in T.grid(32, 64):
            D[i, j] = B[i, 63 - j]
        for i, j in T.grid(32, 64):
            E[i, j] = B[i, j] + D[i, j]
        for i, j in T.grid(32, 64):
            F[i, j] = T.Cast("int32", E[i, j])
        for k in range(3):
            for i, j in T.grid(32, 64):
                D[i, j] = T.Cast("float32", F[31 - i, j]) + T.Cast("float32", k)
            for i, j in T.grid(32, 64):
                C[i, j] = C[i, j] + D[i, j]

    a = np.random.default_rng(1).random((32, 64), "float32") * 50
    c = run(func, a, np.zeros((32, 64), "float32"))[1]
    f = (a * 2 + a[:, ::-1] * 2).astype("int32")[::-1]
    np.testing.assert_allclose(c, f * 3.0 + 3, rtol=1e-6)


def test_divisions_of_common_subexpressions_know_their_signs():
    @T.prim_func
    def func(A: T.Buffer((64, 64), "int32"), C: T.Buffer((64, 64), "int32")):
        for i, j in T.grid(64, 64):
            C[(i * 64 + j) // 48 % 64, (i * 64 + j) % 48] = A[i, j] + (i * 64 + j) // 48

    target = tenon.target.Target("llvm")
    module = tenon.IRModule({"main": func.with_attr("global_symbol", "main")})
    text = call("driver.host_pipeline")(call("driver.lower")(module, False), target).script()
    assert "cse_var" in text and "T.Select" not in text
    a = np.arange(4096, dtype="int32").reshape(64, 64)
    c = run(func, a, np.zeros((64, 64), "int32"))[1]
    wanted = np.zeros((64, 64), "int32")
    for flat in range(4096):
        wanted[flat // 48 % 64, flat % 48] = a.flat[flat] + flat // 48
    np.testing.assert_array_equal(c, wanted)


@pytest.mark.parametrize("extent", [0, 1, 3, 4, 21, 64])
def test_divided_loops_cover_their_range_once(extent):
    @T.prim_func
    def func(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,), "int32")
        C = T.match_buffer(c, (n,), "int32")
        for i in range((n + 3) // 4):
            for j in range(4):
                if T.likely(i * 4 + j < n):
                    C[i * 4 + j] = C[i * 4 + j] + A[i * 4 + j]
        for i in T.serial(n, annotations={"pragma_loop_partition_hint": 1}):
            C[i] = C[i] + T.if_then_else(i < 5, 1, T.if_then_else(i >= n - 3, 2, 3)) * 100

    text = call("driver.lower")(tenon.IRModule({"main": func}), False)["main"].script()
    assert text.count("for i") > 3 and "likely" not in text
    a = np.arange(extent, dtype="int32")
    c = run(func, a, np.zeros(extent, "int32"))[1]
    i = np.arange(extent)
    np.testing.assert_array_equal(c, a + np.where(i < 5, 100, np.where(i >= extent - 3, 200, 300)))


def test_buffers_of_symbolic_extents_share_memory():
    @T.prim_func
    def func(a: T.handle, c: T.handle):
        n, m = T.int32(), T.int32()
        A = T.match_buffer(a, (n, m))
        C = T.match_buffer(c, (n, m))
        B = T.alloc_buffer((n, m))
        D = T.alloc_buffer((n, m))
        for i, j in T.grid(n, m):
            B[i, j] = A[i, j] * T.float32(2)
        for i, j in T.grid(n, m):
            D[i, j] = B[i, j] + T.float32(1)
        for i, j in T.grid(n, m):
            C[i, j] = D[i, m - 1 - j]

    text = call("driver.lower")(tenon.IRModule({"main": func}), False)["main"].script()
    assert text.count("T.allocate") == 1 and "T.allocate([1]" not in text
    a = np.random.default_rng(2).random((5, 7), "float32")
    c = run(func, a, np.zeros((5, 7), "float32"))[1]
    np.testing.assert_allclose(c, a[:, ::-1] * 2 + 1, rtol=1e-6)
