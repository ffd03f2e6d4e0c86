"""PrimFunc.specialize, Buffer.get_flattened_buffer and offset_of."""

import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T


@T.prim_func
def scale(a: T.handle, b: T.handle, n: T.int32, f: T.float32) -> None:
    m = T.int32()
    A = T.match_buffer(a, (m, n), "float32")
    B = T.match_buffer(b, (m, n * 2), "float32")
    C = T.alloc_buffer((m, n + 4), "float32")
    for i, j in T.grid(m, n):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * f
    for i, j in T.grid(m, n * 2):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj // 2] + T.Cast("float32", m * 2)


@T.prim_func
def scale_of_4_by_8(a: T.handle, b: T.handle, f: T.float32) -> None:
    A = T.match_buffer(a, (4, 8), "float32")
    B = T.match_buffer(b, (4, 16), "float32")
    C = T.alloc_buffer((4, 12), "float32")
    for i, j in T.grid(4, 8):
        with T.block("c"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = A[vi, vj] * f
    for i, j in T.grid(4, 16):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = C[vi, vj // 2] + T.Cast("float32", 8)


def test_buffers_and_numbers():
    a, _, n, _ = scale.params
    before = scale.script()
    some = scale.specialize({a: tir.decl_buffer((4, 8), "float32"), n: 8})
    expected = scale_of_4_by_8.with_attr("global_symbol", "scale")
    tenon.ir.assert_structural_equal(some, expected)
    assert scale.script() == before


def test_values_follow_from_a_buffer():
    """n is the second extent of the buffer; the parameter it was goes."""
    a, _, n, _ = scale.params
    some = scale.specialize({a: tir.decl_buffer((4, 8), "float32")})
    assert not any(p.same_as(n) for p in some.params) and len(some.params) == 3
    expected = scale_of_4_by_8.with_attr("global_symbol", "scale")
    tenon.ir.assert_structural_equal(some, expected)


def test_symbolic_values():
    n = te.var("n")
    a = scale.params[0]
    some = scale.specialize({a: tir.decl_buffer((n * 4, n), "float32")})
    assert str(some.buffer_map[some.params[0]].shape[0]) == "n * 4"


def test_specialized_program_runs():
    import numpy as np

    a, _, _, f = scale.params
    built = tenon.build(scale.specialize({a: tir.decl_buffer((4, 8)), f: 3.0}), target="stackvm")
    x = np.arange(32, dtype="float32").reshape(4, 8)
    out = tenon.nd.empty((4, 16))
    built(tenon.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), np.repeat(x * 3, 2, axis=1) + 8)


@pytest.mark.parametrize(
    ("values", "error", "text"),
    [
        (lambda p: {te.var("z"): 1}, ValueError, "z is not a parameter"),
        (lambda p: {p[0]: 3}, TypeError, "expects a Buffer"),
        (lambda p: {p[2]: tir.decl_buffer((1,))}, TypeError, "expected PrimExpr, got tir.Buffer"),
        (lambda p: {p[0]: tir.decl_buffer((4, 8), "int8")}, TypeError, "of float32"),
        (lambda p: {p[0]: tir.decl_buffer((4,))}, ValueError, "2 numbers as shape"),
        (
            lambda p: {p[0]: tir.decl_buffer((4, 8)), p[1]: tir.decl_buffer((4, 17))},
            ValueError,
            "shape of parameter b",
        ),
        (lambda p: {p[0]: tir.decl_buffer((4, 8)), p[2]: 9}, ValueError, "two values"),
    ],
)
def test_errors(values, error, text):
    with pytest.raises(error, match=text):
        scale.specialize(values(scale.params))


def test_flattened_buffer():
    b = tir.decl_buffer((4, 5, 6), "int8")
    flat = b.get_flattened_buffer()
    assert list(flat.shape) == [120] and flat.data.same_as(b.data) and flat.dtype == "int8"
    assert flat.get_flattened_buffer().same_as(flat)
    grouped = tir.decl_buffer((4, 5, 6), axis_separators=[2])
    assert list(grouped.get_flattened_buffer().shape) == [20, 6]
    strided = tir.decl_buffer((4, 5), strides=[8, 1])
    assert list(strided.get_flattened_buffer().shape) == [32]


def test_offset_of():
    i, j = te.var("i"), te.var("j")
    b = tir.decl_buffer((4, 5, 6))
    assert list(b.offset_of((1, 2, 3))) == [45]
    tenon.ir.assert_structural_equal(b.offset_of((0, i, j))[0], i * 6 + j)
    grouped = tir.decl_buffer((4, 5, 6), axis_separators=[2])
    assert list(grouped.offset_of((1, 2, 3))) == [7, 3]
    strided = tir.decl_buffer((4, 5), strides=[8, 1], elem_offset=te.const(100, "int32"))
    assert list(strided.offset_of((1, 1))) == [109]
    with pytest.raises(ValueError, match="3 axes, got 2"):
        b.offset_of((1, 2))


def test_quotients_and_remainders_of_one_number():
    """Indices that were divided and taken apart by a buffer's extent are one number again."""
    n, s, k0, k1 = (tir.SizeVar(name, "int32") for name in ("n", "s", "k0", "k1"))
    b = tir.decl_buffer((tir.SizeVar("m", "int32"), n), "float32")

    def same(indices, direct):
        tenon.ir.assert_structural_equal(b.offset_of(indices)[0], b.offset_of((0, direct))[0])

    part = tir.floormod(k0, tir.floordiv(k1, s))
    whole = tir.floordiv(k0, tir.floordiv(k1, s)) * tir.floordiv(k1, s)
    same((part // n, part % n), part)
    same((part // n, part % n + k0 % k1), part + k0 % k1)
    same((whole // n + part // n, whole % n + part % n), k0)
    same((whole // n, part % n), whole // n * n + part % n)


def test_nothing_to_specialize():
    """Without values the function stays the one that it is."""

    @T.prim_func
    def copy(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,))
        A[0] = T.float32(0)

    assert copy.specialize({}).same_as(copy)
