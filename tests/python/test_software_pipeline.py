"""Software pipelines compute what their loops compute."""

import itertools

import numpy as np
import pytest
import tenon
from tenon.script import tir as T

ORDERS = list(itertools.permutations(range(3)))
STAGES = [(0, 0, 1), (0, 1, 1), (0, 1, 2), (0, 2, 5), (1, 1, 3)]


def chain(stages, order, extent):
    """Three statements on their own buffers, in a loop inside another."""
    marks = {"software_pipeline_stage": list(stages), "software_pipeline_order": list(order)}

    @T.prim_func
    def main(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (4, extent))
        D = T.match_buffer(d, (4, extent))
        for y in range(4):
            for i in T.serial(extent, annotations=marks):
                with T.block("body"):
                    T.reads(A[y, i])
                    T.writes(D[y, i])
                    B = T.alloc_buffer((3,))
                    C = T.alloc_buffer((1,))
                    for k in range(3):
                        with T.block(""):
                            T.reads(A[y, i])
                            T.writes(B[k])
                            X = T.alloc_buffer((2,))
                            X[1] = A[y, i] * T.float32(2)
                            B[k] = X[1] + T.Cast("float32", k)
                    C[0] = B[0] + B[1] + B[2]
                    D[y, i] = C[0] + B[2]

    return main


def is_allowed(stages, order):
    pairs = list(zip(stages, order, strict=True))
    return pairs == sorted(pairs)


@pytest.mark.parametrize("stages", STAGES)
@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_orders_and_extents(stages, target):
    ran = 0
    for order, extent in itertools.product(ORDERS, (1, 2, 7)):
        func = chain(stages, order, extent)
        if not is_allowed(stages, order):
            with pytest.raises(ValueError, match="its stage and order"):
                tenon.build(func, target=target)
            continue
        a = np.arange(4 * extent, dtype="float32").reshape(4, extent)
        out = tenon.nd.array(np.zeros_like(a))
        tenon.build(func, target=target)(tenon.nd.array(a), out)
        np.testing.assert_array_equal(out.numpy(), 8 * a + 5)
        ran += 1
    assert ran
