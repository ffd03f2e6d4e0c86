"""The reference evaluator of tensor programs gives what programs are written to compute."""

import re

import numpy as np
import pytest
import tenon
from tenon import te
from tenon.script import from_source
from tir_reference import OutOfBounds, Undefined, evaluate

HEAD = "from tenon.script import tir as T\n\n\n@T.prim_func\n"


def func(params, body):
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return from_source(f"{HEAD}def main({params}):\n{lines}\n")


def expression(dtype, text, n=1, out=None):
    """The value of an expression of x and y, one for each pair of numbers."""
    out = out or dtype
    return func(
        f'X: T.Buffer(({n},), "{dtype}"), Y: T.Buffer(({n},), "{dtype}"), '
        f'O: T.Buffer(({n},), "{out}")',
        f"for i in range({n}):\n    O[i] = "
        + re.sub(r"\b([xy])\b", lambda m: m[1].upper() + "[i]", text),
    )


def value(dtype, text, x, y, out=None):
    x, y = np.atleast_1d(np.array(x, dtype)), np.atleast_1d(np.array(y, dtype))
    f = expression(dtype, text, len(x), out)
    return evaluate(f, [x, y, np.zeros(len(x), out or dtype)])[2].tolist()


def test_integers_wrap_around():
    assert value("int8", "x + y", [100, -100], [100, -100]) == [-56, 56]
    assert value("uint8", "x - y", [1], [2]) == [255]
    assert value("int32", "x * y", [2**16], [2**16]) == [0]
    assert value("int64", "x + y", [2**63 - 1], [1]) == [-(2**63)]
    assert value("int32", 'T.Cast("int8", x)', [300], [0], "int8") == [44]


def test_division_rounds_down_or_toward_zero():
    x, y = [7, -7, 7, -7], [2, 2, -2, -2]
    assert value("int32", "T.floordiv(x, y)", x, y) == [3, -4, -4, 3]
    assert value("int32", "T.floormod(x, y)", x, y) == [1, 1, -1, -1]
    assert value("int32", "T.truncdiv(x, y)", x, y) == [3, -3, -3, 3]
    assert value("int32", "T.truncmod(x, y)", x, y) == [1, -1, 1, -1]
    with pytest.raises(Undefined, match="division by zero"):
        value("int32", "T.floordiv(x, y)", 1, 0)


def test_floats_are_rounded_after_each_operation():
    x = np.float32(1 + 2**-20)
    assert value("float32", "x * x - y", [x], [1]) == [float(np.float32(x * x) - np.float32(1))]
    assert value("float32", "x / y", [1.0], [0.0]) == [np.inf]
    assert value("float32", "T.exp(x)", [1], [0]) == [float(np.float32(np.e))]


def test_the_other_side_of_a_choice_is_not_evaluated():
    text = "T.if_then_else(y != 0, T.floordiv(x, y), 5)"
    assert value("int32", text, [8, 8], [2, 0]) == [4, 5]
    text = "T.Cast('int32', T.And(y != 0, T.floordiv(x, y) == 4))"
    assert value("int32", text, [8, 8], [2, 0]) == [1, 0]


def test_blocks_start_reductions_at_their_first_iteration():
    f = func(
        'A: T.Buffer((4, 6), "int32"), B: T.Buffer((4,), "int32")',
        """
for i, k in T.grid(4, 6):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[vi] = 100
        B[vi] = B[vi] + A[vi, vk]
""",
    )
    a = np.arange(24, dtype="int32").reshape(4, 6)
    got = evaluate(f, [a, np.zeros(4, "int32")])[1]
    np.testing.assert_array_equal(got, a.sum(1) + 100)


def test_matched_regions_are_parts_of_their_buffers():
    f = func(
        'A: T.Buffer((4, 6), "int32")',
        """
for i in range(2):
    with T.block("B"):
        vi = T.axis.spatial(2, i)
        C = T.match_buffer(A[vi * 2:vi * 2 + 2, 1:4], (2, 3), "int32",
                           strides=[T.int32(), 1], offset_factor=1)
        C[1, 2] = C[0, 0] + 1
""",
    )
    a = np.arange(24, dtype="int32").reshape(4, 6)
    want = a.copy()
    want[1, 3], want[3, 3] = a[0, 1] + 1, a[2, 1] + 1
    np.testing.assert_array_equal(evaluate(f, [a])[0], want)


def test_extents_are_told_by_arguments():
    f = from_source(
        HEAD
        + """def main(a: T.handle, b: T.handle):
    n = T.int32()
    A = T.match_buffer(a, (n, 3), "float32")
    B = T.match_buffer(b, (3, n), "float32")
    for i, j in T.grid(n, 3):
        B[j, i] = A[i, j]
"""
    )
    a = np.arange(12, dtype="float32").reshape(4, 3)
    np.testing.assert_array_equal(evaluate(f, [a, np.zeros((3, 4), "float32")])[1], a.T)
    with pytest.raises(Undefined, match="shape"):
        evaluate(f, [a, np.zeros((3, 5), "float32")])


def test_vectors_are_taken_lane_by_lane():
    f = func(
        'A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")',
        "B[T.Ramp(1, 2, 4)] = A[T.Ramp(8, -1, 4)] * T.Broadcast(3, 4) + T.Ramp(0, 10, 4)",
    )
    a = np.arange(16, dtype="int32")
    got = evaluate(f, [a, np.zeros(16, "int32")])[1]
    assert got[1:9:2].tolist() == [24, 31, 38, 45]


def test_what_has_no_meaning_is_found():
    f = func('A: T.Buffer((4,), "int32")', "for i in range(5):\n    A[i] = i")
    with pytest.raises(OutOfBounds, match="index 4 on an axis of 4"):
        evaluate(f, [np.zeros(4, "int32")])
    f = func(
        'A: T.Buffer((4,), "int32")', 'B = T.alloc_buffer((4,), "int32")\nB[1] = 3\nA[0] = B[2]'
    )
    with pytest.raises(Undefined, match="read before it is written"):
        evaluate(f, [np.zeros(4, "int32")])


def test_deep_nests_and_loops_with_a_start():
    loops = "".join("    " * i + f"for i{i} in range(1, 2):\n" for i in range(24))
    body = loops + "    " * 24 + "A[0] = A[0] + " + " + ".join(f"i{i}" for i in range(24))
    f = func('A: T.Buffer((1,), "int32")', body)
    assert evaluate(f, [np.zeros(1, "int32")])[0].tolist() == [24]


def test_functions_of_a_module_and_of_python():
    mod = from_source(
        """from tenon.script import ir as I
from tenon.script import tir as T


@I.ir_module
class Module:
    @T.prim_func
    def main(A: T.Buffer((4,), "int32")):
        T.evaluate(T.call_extern("int32", "fill", A.data, 4))
"""
    )

    def fill(pointer, n):
        pointer.storage.values[pointer.offset : pointer.offset + n] = list(range(n))

    got = evaluate(mod, [np.zeros(4, "int32")], externs={"fill": fill})[0]
    assert got.tolist() == [0, 1, 2, 3]


def test_a_tensor_expression_as_a_function():
    a = te.placeholder((5, 7), "float32", "A")
    b = te.placeholder((7, 3), "float32", "B")
    k = te.reduce_axis((0, 7), "k")
    c = te.compute((5, 3), lambda i, j: te.sum(a[i, k] * b[k, j], k), "C")
    f = te.create_prim_func([a, b, c])
    rng = np.random.default_rng(1)
    x, y = (rng.integers(-4, 5, s).astype("float32") for s in [(5, 7), (7, 3)])
    got = evaluate(f, [x, y, np.zeros((5, 3), "float32")])[2]
    np.testing.assert_array_equal(got, x @ y)
    built = tenon.build(tenon.IRModule({"main": f}), target="stackvm")
    z = tenon.nd.array(np.zeros((5, 3), "float32"))
    built["main"](tenon.nd.array(x), tenon.nd.array(y), z)
    np.testing.assert_array_equal(got, z.numpy())
