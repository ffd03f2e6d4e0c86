"""Lowering keeps what integers compute when they wrap around, and forgets what stores change.

Each program is compared with the reference evaluator, which takes it as it is written.
"""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major
from tir_reference import evaluate

TARGETS = ["stackvm"] + (["llvm"] if llvm_version_major(allow_none=True) else [])
VALUES = [2**31 - 1, -(2**31), 2**30, 5, -7, 123456789, 715827883, -715827883]
HEAD = "from tenon.script import tir as T\n\n\n@T.prim_func\n"


def compare(func, arrays, scalars=(), targets=TARGETS):
    func = func.with_attr("global_symbol", "main")
    want = evaluate(func, [*arrays, *scalars])
    for target in targets:
        built = tenon.build(tenon.IRModule({"main": func}), target=target)
        tensors = [tenon.nd.array(a) for a in arrays]
        built["main"](*tensors, *scalars)
        for t, w in zip(tensors, want, strict=True):
            np.testing.assert_array_equal(t.numpy(), w, err_msg=f"{target}: {func}")


def program(body, params="", scalars=(), targets=TARGETS):
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    buffers = 'A: T.Buffer((8,), "int32"), O: T.Buffer((8,), "int32")'
    func = from_source(f"{HEAD}def main({buffers}{params}):\n{lines}\n")
    compare(func, [np.array(VALUES, "int32"), np.zeros(8, "int32")], scalars, targets)


@pytest.mark.parametrize(
    "text",
    [
        "T.floormod(A[i] * 33, 11)",
        "T.Select(A[i] + 1 < A[i], 1, 2)",
        "A[i] * 4 // 4",
        "T.floordiv(A[i] * 8 + i, 8)",
        "T.truncdiv(A[i] * 6, 3)",
        "T.truncmod(A[i] * 6, 3)",
        "T.min(A[i] + 1, A[i] + 2)",
        "T.max(A[i] * 3, A[i] * 5)",
        "T.Select(A[i] - 5 < 10, 1, 2)",
        "T.Select(A[i] * 2 < 10, 1, 2)",
        "T.Select(A[i] * 4 == 20, 1, 2)",
        "T.Select(T.max(0, A[i] // 2 * 3) < 6, 1, 2)",
        "i * 1000000000 // 2",
        "T.Select(i * 1000000000 < 0, 1, 2)",
        "A[T.floormod(A[i] * 33, 8)]",
    ],
)
def test_integers_of_memory_wrap_around(text):
    program(f"for i in range(8):\n    O[i] = {text}")


def test_integers_of_memory_wrap_around_by_name():
    program("""
for i in range(8):
    x: T.int32 = A[i]
    y: T.int32 = x + 1
    if x < y:
        O[i] = T.floormod(x * 33, 11)
""")


@pytest.mark.parametrize("n", [2**31 - 1, -(2**31), 7])
def test_a_number_that_is_an_argument_wraps_around(n):
    program(
        "for i in range(8):\n    O[i] = T.Select(n + i < n, 1, 2) + n * 4 // 4",
        ", n: T.int32",
        (n,),
    )


@pytest.mark.parametrize("n", [2**31 - 1, 7, -3])
def test_a_number_that_is_an_argument_wraps_around_when_it_is_unpacked(n):
    # of the difference nothing is known: a remainder toward zero would be negative
    text = "A[T.floormod(n - T.int32(-2147483648), 7)]"
    # in the interpreter: what is lowered is looked at here, not what a machine makes of it
    program(f"for i in range(8):\n    O[i] = {text}", ", n: T.int32", (n,), ["stackvm"])


def test_loops_are_not_divided_where_a_condition_wraps_around():
    body = """
for i in range(7):
    for j in range(2):
        if T.likely(-2147483647 - i >= j - 11):
            O[6 - i] = 10
"""
    config = {"tir.LoopPartition": {"partition_const_loop": True}}
    with tenon.transform.PassContext(config=config):
        program(body)


def test_a_condition_on_memory_ends_with_a_store():
    program("""
for i in range(8):
    if A[i] < 5:
        A[i] = 10
        O[i] = T.if_then_else(A[i] < 5, 1, 2)
    else:
        A[i] = 1
        O[i] = T.if_then_else(A[i] < 5, 3, 4)
""")


def test_a_bound_from_memory_ends_with_a_store():
    program("""
A[0] = 4
for i in range(A[0]):
    A[0] = 2
    O[i] = T.if_then_else(i < A[0], 1, 2)
for i in T.serial(A[0], A[0] + 1):
    A[0] = 7
    O[i] = i
""")


@pytest.mark.parametrize("level", [0, 3])
def test_operators_of_relay_wrap_around(level):
    h = relay.var("h", shape=(8,), dtype="int32")

    def c(v):
        return relay.const(v, "int32")

    out = relay.Tuple(
        [
            relay.floor_mod(h * c(33), c(11)),
            relay.where(h + c(1) < h, c(1), c(2)),
            relay.floor_divide(h * c(4), c(4)),
            relay.cast(h + c(1) > h, "int32"),
        ]
    )
    mod = tenon.IRModule.from_expr(relay.Function([h], out))
    x = np.array(VALUES, "int32")
    with np.errstate(over="ignore"):
        want = [
            np.mod(x * np.int32(33), 11),
            np.where(x + np.int32(1) < x, 1, 2),
            np.floor_divide(x * np.int32(4), 4),
            x + np.int32(1) > x,
        ]
    for target in TARGETS:
        with tenon.transform.PassContext(opt_level=level):
            run = relay.create_executor("graph", mod, target=target).evaluate()
        for got, w in zip(run(x), want, strict=True):
            np.testing.assert_array_equal(got.numpy(), w)


def test_a_place_from_memory_stays_where_a_block_began():
    program("""
A[0] = 2
with T.block("B"):
    T.reads(A[0:8])
    T.writes(A[0:8], O[0:8])
    C = T.match_buffer(O[A[0]:A[0] + 4], (4,), "int32", offset_factor=1)
    A[0] = 1
    C[0] = 5
    C[3] = A[0]
for i in range(2):
    with T.block("D"):
        v = T.axis.spatial(8, A[0] + i)
        T.reads(A[0])
        T.writes(A[0], O[v])
        A[0] = 5
        O[v] = 7
""")
