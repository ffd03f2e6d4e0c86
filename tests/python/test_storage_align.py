"""Schedule.storage_align in what is built: strides of buffers that blocks allocate."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.script import tir as T


def scheduled(axis, factor, offset):
    a = te.placeholder((6, 24), name="A")
    b = te.compute((6, 24), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((6, 24), lambda i, j: b[i, 23 - j] * 2.0, name="C")
    sch = tir.Schedule(te.create_prim_func([a, c]))
    sch.storage_align(sch.get_block("B"), 0, axis=axis, factor=factor, offset=offset)
    return sch.mod


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_rows_begin_where_the_hint_says(target):
    mod = scheduled(0, 16, 5)
    assert "B_1[i * 37 + j]" in tenon.lower(mod).script()
    x, y = np.random.default_rng(0).random((6, 24)).astype("float32"), tenon.nd.empty((6, 24))
    tenon.build(mod, target=target)(tenon.nd.array(x), y)
    np.testing.assert_array_equal(y.numpy(), (x + 1)[:, ::-1] * 2)


def test_rows_that_are_aligned_already():
    assert "B = T.allocate([144]" in tenon.lower(scheduled(0, 8, 0)).script()


def test_a_second_buffer_keeps_rows_together():
    @T.prim_func
    def main(A: T.Buffer((4, 4), "float32")):
        with T.block("root"):
            B = T.alloc_buffer((4, 4))
            with T.block("fill"):
                T.reads()
                T.writes(B[0:4, 0:4])
                T.block_attr({"buffer_dim_align": [[0, 0, 8, 1]]})
                R = T.match_buffer(B[0:4, 0:4], (4, 4))
                for i, j in T.grid(4, 4):
                    R[i, j] = T.float32(1)
            for i, j in T.grid(4, 4):
                A[i, j] = B[i, j]

    mod = tir.transform.CompactBufferAllocation()(tenon.IRModule.from_expr(main))
    assert "strides" not in mod.script()
