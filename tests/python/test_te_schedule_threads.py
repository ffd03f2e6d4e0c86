"""Schedules of tensor expressions for devices with threads, on whatever OpenCL device there is."""

import numpy as np
import pytest
import tenon
from tenon import te

HAS_LLVM = bool(tenon._core.get_global_func("target.llvm_version_major")())
pytestmark = pytest.mark.skipif(
    not tenon.opencl(0).exist or not HAS_LLVM, reason="no OpenCL device, or a build without LLVM"
)
rng = np.random.default_rng(5)


def random(*shape):
    return rng.random(shape).astype("float32")


def run(s, args, inputs, want):
    """Build, run, compare; returns the source of the kernels."""
    built = tenon.build(s, args, "opencl", name="f")
    dev = tenon.opencl(0)
    out = tenon.nd.array(np.full_like(want, 77), dev)
    built["f"](*[tenon.nd.array(a, dev) for a in inputs], out)
    np.testing.assert_allclose(out.numpy(), want, rtol=1e-4)
    return built.imported_modules[0].get_source()


@pytest.mark.parametrize("size", [64, 1000])
def test_vector_add(size):
    n = te.var("n")
    A, B = te.placeholder((n,), name="A"), te.placeholder((n,), name="B")
    C = te.compute((n,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    bx, tx = s[C].split(C.op.axis[0], factor=64)
    s[C].bind(bx, te.thread_axis("blockIdx.x"))
    s[C].bind(tx, te.thread_axis("threadIdx.x"))
    a, b = random(size), random(size)
    source = run(s, [A, B, C], [a, b], a + b)
    assert "get_group_id(0)" in source and "get_local_id(0)" in source


def test_two_stages_in_one_launch():
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[i] * 2, name="B")
    C = te.compute((256,), lambda i: B[i] + 1, name="C")
    s = te.create_schedule(C.op)
    bx, tx = s[C].split(C.op.axis[0], factor=32)
    s[C].bind(bx, te.thread_axis("blockIdx.x"))
    s[C].bind(tx, te.thread_axis("threadIdx.x"))
    s[B].compute_at(s[C], tx)
    a = random(256)
    run(s, [A, C], [a], a * 2 + 1)


def test_shared_memory_is_filled_by_all_threads():
    A = te.placeholder((256,), name="A")
    B = te.compute((256,), lambda i: A[255 - i] * 2, name="B")
    C = te.compute((255,), lambda i: B[i] + B[i + 1], name="C")
    s = te.create_schedule(C.op)
    tx = te.thread_axis("threadIdx.x")
    bx, xi = s[C].split(C.op.axis[0], factor=32)
    s[C].bind(bx, te.thread_axis("blockIdx.x"))
    s[C].bind(xi, tx)
    s[B].set_scope("shared")
    s[B].compute_at(s[C], bx)
    ti, _ = s[B].split(B.op.axis[0], nparts=32)
    s[B].bind(ti, tx)
    a = random(256)
    b = a[::-1] * 2
    source = run(s, [A, C], [a], b[:-1] + b[1:])
    assert "__local float B" in source and "barrier" in source


def test_matmul_with_shared_and_local_memory():
    n = 64
    A, B = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    C = te.compute((n, n), lambda i, j: te.sum(A[i, k] * B[k, j], axis=k), name="C")
    s = te.create_schedule(C.op)
    bx, by = te.thread_axis("blockIdx.x"), te.thread_axis("blockIdx.y")
    tx, ty = te.thread_axis("threadIdx.x"), te.thread_axis("threadIdx.y")
    CC = s.cache_write(C, "local")
    AA = s.cache_read(A, "shared", [CC])
    BB = s.cache_read(B, "shared", [CC])
    yo, yi = s[C].split(C.op.axis[0], 32)
    xo, xi = s[C].split(C.op.axis[1], 32)
    s[C].reorder(yo, xo, yi, xi)
    s[C].bind(yo, by)
    s[C].bind(xo, bx)
    tyo, yi = s[C].split(yi, nparts=8)
    txo, xi = s[C].split(xi, nparts=8)
    s[C].reorder(tyo, txo, yi, xi)
    s[C].bind(tyo, ty)
    s[C].bind(txo, tx)
    s[CC].compute_at(s[C], txo)
    ko, ki = s[CC].split(CC.op.reduce_axis[0], 8)
    s[CC].reorder(ko, ki, *CC.op.axis)
    for copy in (AA, BB):
        s[copy].compute_at(s[CC], ko)
        t0, x0 = s[copy].split(copy.op.axis[0], nparts=8)
        t1, x1 = s[copy].split(copy.op.axis[1], nparts=8)
        s[copy].reorder(t0, t1, x0, x1)
        s[copy].bind(t0, ty)
        s[copy].bind(t1, tx)
    a, b = random(n, n), random(n, n)
    source = run(s, [A, B, C], [a, b], a @ b)
    assert "float C_local[16]" in source and source.count("__local float") == 2


def test_threads_that_reduce_together():
    A = te.placeholder((16, 128), name="A")
    k = te.reduce_axis((0, 128), "k")
    B = te.compute((16,), lambda i: te.sum(A[i, k], axis=k), name="B")
    s = te.create_schedule(B.op)
    _, ki = s[B].split(k, factor=16)
    BF = s.rfactor(B, ki)
    xo, xi = s[B].split(s[B].op.axis[0], factor=4)
    s[B].bind(xo, te.thread_axis("blockIdx.x"))
    s[B].bind(xi, te.thread_axis("threadIdx.y"))
    tx = te.thread_axis("threadIdx.x")
    s[B].bind(s[B].op.reduce_axis[0], tx)
    s[BF].compute_at(s[B], s[B].op.reduce_axis[0])
    s[B].set_store_predicate(tx.var.equal(0))
    a = random(16, 128)
    source = run(s, [A, B], [a], a.sum(1))
    assert "red_buf0" in source and "barrier" in source


def test_scan_in_threads():
    """The steps of a scan in one kernel: threads over the elements of a step."""
    m, n = 6, 100
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X], name="S")
    s = te.create_schedule(S.op)
    bx, tx = te.thread_axis((0, 4), "blockIdx.x"), te.thread_axis((0, 32), "threadIdx.x")
    for t in (init, update):
        outer, inner = s[t].split(t.op.axis[1], factor=32)
        s[t].bind(outer, bx)
        s[t].bind(inner, tx)
    s[S].env_threads([bx, tx])
    x = random(m, n)
    source = run(s, [X, S], [x], np.cumsum(x, axis=0))
    assert source.count("__kernel") == 1
