"""StorageFlatten of schedules: tensor expressions become loops over flat memory."""

import numpy as np
import pytest
import tenon
from tenon import te, tir


def _flat(s, args):
    mod = tenon.driver.build_module.schedule_to_module(s, args)
    return tir.transform.StorageFlatten(64)(mod)


def _nodes(func, kind):
    found = []
    tir.stmt_functor.post_order_visit(
        func.body, lambda n: found.append(n) if isinstance(n, kind) else None
    )
    return found


def test_blocks_of_a_schedule_are_lowered():
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], s[C].op.axis[0])
    mod = _flat(s, [A, C])
    assert not _nodes(mod["main"], tir.BlockRealize)
    (alloc,) = _nodes(mod["main"], tir.Allocate)
    # the row that one iteration needs, as compute_at asks
    assert [int(e) for e in alloc.extents] == [8]
    assert all(len(n.indices) == 1 for n in _nodes(mod["main"], tir.BufferStore))
    a = np.arange(32, dtype="float32").reshape(4, 8)
    out = tenon.nd.array(np.zeros_like(a))
    tenon.build(mod, target="llvm")(tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), (a + 1) * 2)


def test_reductions_keep_their_first_value():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    mod = _flat(s, [A, B])
    a = np.arange(32, dtype="float32").reshape(4, 8)
    out = tenon.nd.array(np.full(4, 7, "float32"))
    tenon.build(mod, target="llvm")(tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), a.sum(1))


def test_reduction_over_threads_is_not_a_race():
    A = te.placeholder((4, 32), name="A")
    k = te.reduce_axis((0, 32), name="k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(s[B].op.axis[0], te.thread_axis("blockIdx.x"))
    s[B].bind(s[B].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    func = _flat(s, [A, B])["main"]
    names = [n.op.name for n in _nodes(func, tir.Call) if hasattr(n.op, "name")]
    assert "tir.tvm_thread_allreduce" in names


def _threads():
    A = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), "k")
    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    s[B].bind(k, te.thread_axis("threadIdx.x"))
    return tenon.driver.build_module.schedule_to_module(s, [A, B])


def test_passes_over_blocks_leave_a_schedule_to_it():
    mod = _threads()
    assert bool(mod["main"].attrs["from_legacy_te_schedule"])
    for step in (
        "LowerCrossThreadReduction",
        "UnifyThreadBinding",
        "LowerInitBlock",
        "FlattenBuffer",
    ):
        tenon.ir.assert_structural_equal(getattr(tir.transform, step)()(mod), mod)
    flat = tir.transform.StorageFlatten(64)(mod)["main"]
    assert not _nodes(flat, tir.BlockRealize)
    assert bool(flat.attrs["from_legacy_te_schedule"])


@pytest.mark.parametrize("flat", [False, True])
def test_such_modules_build(flat):
    A = te.placeholder((4, 8), name="A")
    B = te.compute((4, 8), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 8), lambda i, j: B[i, 7 - j] * 2, name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], s[C].op.axis[0])
    mod = tenon.driver.build_module.schedule_to_module(s, [A, C])
    if flat:
        mod = tir.transform.StorageFlatten(64)(mod)
    a = np.arange(32, dtype="float32").reshape(4, 8)
    c = tenon.nd.array(np.zeros_like(a))
    tenon.build(mod, target="llvm")["main"](tenon.nd.array(a), c)
    np.testing.assert_array_equal(c.numpy(), (a[:, ::-1] + 1) * 2)
