"""Programs that the tests of schedules start from."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source

HEAD = "from tenon.script import tir as T\n"


def func(params, body, alloc=""):
    """A function of float32 buffers "A: 16, 16" with the given lines."""
    buffers = ", ".join(
        f'{p.split(":")[0]}: T.Buffer(({p.split(":")[1]},), "float32")' for p in params
    )
    lines = [line for line in (alloc + body).strip("\n").split("\n")]
    return from_source(
        HEAD + f"@T.prim_func\ndef main({buffers}):\n" + "\n".join("    " + x for x in lines)
    )


def check(sch, expected):
    tenon.ir.assert_structural_equal(sch.mod["main"], expected)
    # what is printed parses back
    tenon.ir.assert_structural_equal(from_source(HEAD + sch.mod["main"].script()), expected)


SCALE = """
for i, j in T.grid({n}, {m}):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
"""


def scale(n=128, m=64):
    return func([f"A:{n},{m}", f"B:{n},{m}"], SCALE.format(n=n, m=m))


CHAIN = """
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(16, 16):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + 1.0
"""
ALLOC_B = "B = T.alloc_buffer((16, 16))\n"


def chain(body=CHAIN):
    return func(["A:16,16", "C:16,16"], body, ALLOC_B)


MATMUL = """
for i, j, k in T.grid(16, 16, 32):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0.0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]
"""


def matmul(body=MATMUL):
    return func(["A:16,32", "B:16,32", "C:16,16"], body)


def failure(call, *args, **kwargs):
    with pytest.raises(tir.ScheduleError) as caught:
        call(*args, **kwargs)
    return caught.value.args[0]
