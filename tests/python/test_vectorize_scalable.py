"""VectorizeLoop with extents of vscale(): scalable vectors, and where they cannot be."""

import pytest
import tenon
from tenon import tir
from tenon.script import tir as T

SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+sve"


@T.prim_func
def add(A: T.Buffer((64,), "float32"), n: T.int32):
    for i in T.vectorized(4 * T.vscale()):
        v: T.float32 = A[i] + T.float32(1)
        A[i] = v * T.float32(2)
        if i < n:
            A[i] = T.float32(3)


def vectorize(func, target):
    module = tenon.IRModule.from_expr(func)
    if target is None:
        return tir.transform.VectorizeLoop()(module)
    with tenon.target.Target(target):
        return tir.transform.VectorizeLoop()(module)


def stores(body):
    found = []
    tir.stmt_functor.post_order_visit(
        body, lambda n: found.append(n) if isinstance(n, tir.BufferStore) else None
    )
    return found


def test_what_has_no_vector_form_is_a_loop():
    body = vectorize(add, SVE)["add"].body
    assert "for i_s in range(T.vscale() * 4)" in str(body)
    assert [str(s.value.dtype) for s in stores(body)] == ["float32"] * 2


def test_whole_loop_in_vectors():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32")):
        for i in T.vectorized(T.vscale() * 4):
            A[i] = A[i] + T.float32(1)

    (store,) = stores(vectorize(main, SVE)["main"].body)
    assert str(store.value.dtype) == "float32xvscalex4"
    assert str(store.indices[0].dtype) == "int32xvscalex4"
    with_attr = main.with_attr("target", tenon.target.Target(SVE))
    (store,) = stores(vectorize(with_attr, "llvm")["main"].body)
    assert str(store.value.dtype) == "float32xvscalex4"


@pytest.mark.parametrize("target", [None, "llvm", "c"])
def test_targets_without_them(target):
    with pytest.raises(ValueError, match="over i with an extent of vscale.*no scalable vectors"):
        vectorize(add, target)


def test_other_extents():
    @T.prim_func
    def main(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in T.vectorized(n):
            A[i] = T.float32(1)

    for target in (None, SVE):
        with pytest.raises(ValueError, match="extent that is not constant: give it a constant"):
            vectorize(main, target)
