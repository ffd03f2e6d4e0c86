"""UnrollLoop: options, extents that simplify, definitions in copies."""

import pytest
import tenon
from tenon import tir
from tenon.script import tir as T


def unroll(func, **options):
    with tenon.transform.PassContext(config={"tir.UnrollLoop": options}):
        mod = tir.transform.UnrollLoop()(tenon.IRModule.from_expr(func))
    return next(iter(mod.functions.values()))


@T.prim_func
def simple(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in range(n, n + 2):
        for j in T.unroll(8):
            A[i + j] = T.float32(1)


def test_an_extent_that_simplifies_to_a_number():
    loop = tir.For(
        simple.body.loop_var,
        simple.params[1],
        simple.params[1] + 2 - simple.params[1],
        tir.ForKind.SERIAL,
        simple.body.body,
    )
    func = simple.with_body(loop)
    assert isinstance(unroll(func, auto_max_step=16).body, tir.SeqStmt)
    assert isinstance(unroll(func, auto_max_step=15).body, tir.For)


def test_loops_of_one_iteration_go():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for i in range(1):
            A[i] = T.float32(1)
            for j in range(10):
                A[i + j] = T.float32(2)

    body = unroll(main, auto_max_extent=1, explicit_unroll=False).body
    assert isinstance(body[0], tir.BufferStore) and isinstance(body[1], tir.For)
    assert isinstance(unroll(main, explicit_unroll=False).body, tir.For)


def test_loops_that_index_local_memory():
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), n: T.int32):
        P = T.allocate([4], "float32", "local")
        P_1 = T.decl_buffer((4,), "float32", data=P, scope="local")
        for i in range(4):
            P_1[i] = T.float32(1)
        for i in range(4):
            A[i] = P_1[0]
        for i in range(n):
            P_1[i] = T.float32(2)

    steps = unroll(main, unroll_local_access=True).body.body.body
    assert [type(s).__name__ for s in steps] == ["BufferStore"] * 4 + ["For", "For"]
    assert len(unroll(main).body.body.body) == 3


def test_copies_have_definitions_of_their_own():
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        for i in T.unroll(2):
            P = T.allocate([4], "float32", "global")
            P_1 = T.decl_buffer((4,), "float32", data=P)
            P_1[0] = T.float32(1)
            A[i] = P_1[0]

    first, second = unroll(main).body
    assert not first.buffer_var.same_as(second.buffer_var)
    tir.analysis.verify_well_formed(unroll(main))


def test_an_unknown_extent_cannot_be_unrolled():
    @T.prim_func
    def main(A: T.Buffer((4,), "float32"), n: T.int32):
        for i in T.unroll(n):
            A[i] = T.float32(1)

    with pytest.raises(ValueError, match="Cannot unroll non-constant loop over i"):
        unroll(main)
