"""Schedules of whole programs, as they are written for processors and graphics processors."""

from schedule_run import verified
from tenon import te, tir


def matmul(n=64):
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    return te.create_prim_func([a, b, c])


def test_matmul_with_threads_that_fetch_together():
    func = matmul()
    sch = tir.Schedule(func, debug_mask="all")
    block = sch.get_block("C")
    i, j, k = sch.get_loops(block)
    by, vy, ty, yi = sch.split(i, [2, 2, 4, 4])
    bx, vx, tx, xi = sch.split(j, [2, 2, 4, 4])
    ko, ki = sch.split(k, [None, 8])
    sch.reorder(by, bx, vy, vx, ty, tx, ko, ki, yi, xi)
    local = sch.cache_write(block, 0, "local")
    for loop, axis in ((by, "blockIdx.y"), (bx, "blockIdx.x"), (vy, "vthread.y")):
        sch.bind(loop, axis)
    for loop, axis in ((vx, "vthread.x"), (ty, "threadIdx.y"), (tx, "threadIdx.x")):
        sch.bind(loop, axis)
    sch.reverse_compute_at(local, tx, preserve_unit_loops=True)
    for index in (0, 1):
        fetch = sch.cache_read(block, index, "shared")
        sch.compute_at(fetch, ko, preserve_unit_loops=True)
        fused = sch.fuse(*sch.get_loops(fetch)[-2:])
        _, inner_y, inner_x, lanes = sch.split(fused, [None, 4, 4, 4])
        sch.vectorize(lanes)
        sch.bind(inner_y, "threadIdx.y")
        sch.bind(inner_x, "threadIdx.x")
    sch.decompose_reduction(block, ko)
    text = sch.mod.script()
    # what quotient and remainder are taken of is one thing
    assert "(ax0_ax1_fused_2 * 4 + ax0_ax1_fused_3) // 8" in text
    assert "(ax0_ax1_fused_2 * 4 + ax0_ax1_fused_3) % 8" in text
    for fetch in ("A_shared", "B_shared"):
        sref = sch.get_sref(sch.get_block(fetch))
        assert all(sch.state._get_cached_flags(sref))
    verified(sch, func, run=False)


def test_convolution_with_packed_weights():
    data = te.placeholder((1, 16, 18, 18), name="X")
    weight = te.placeholder((16, 16, 3, 3), name="W")
    rc, rh, rw = (te.reduce_axis((0, n), name) for n, name in ((16, "rc"), (3, "rh"), (3, "rw")))
    conv = te.compute(
        (1, 16, 16, 16),
        lambda n, c, h, w: te.sum(
            data[n, rc, h + rh, w + rw] * weight[c, rc, rh, rw], axis=[rc, rh, rw]
        ),
        name="conv",
    )
    relu = te.compute(
        conv.shape, lambda *at: tir.max(conv(*at), tir.const(0, "float32")), name="relu"
    )
    func = te.create_prim_func([data, weight, relu])
    sch = tir.Schedule(func, debug_mask="all")
    block = sch.get_block("conv")
    n, c, h, w, rc, rh, rw = sch.get_loops(block)
    c_0, c_1 = sch.split(c, [None, 8])
    w_0, w_1 = sch.split(w, [None, 8])
    rc_0, rc_1 = sch.split(rc, [None, 4])
    sch.reorder(n, c_0, h, w_0, rc_0, rh, rw, rc_1, w_1, c_1)
    tasks = sch.fuse(n, c_0, h)
    sch.parallel(tasks)
    sch.vectorize(c_1)
    sch.reverse_compute_at("relu", w_0)
    sch.compute_at(sch.cache_read(block, 1, "global"), tasks)
    sch.decompose_reduction(block, rc_0)
    verified(sch, func)


def test_softmax_with_parts_of_its_sums():
    x = te.placeholder((16, 64), name="X")
    k = te.reduce_axis((0, 64), "k")
    top = te.compute((16,), lambda i: te.max(x[i, k], axis=k), name="top")
    k2 = te.reduce_axis((0, 64), "k")
    total = te.compute((16,), lambda i: te.sum(x[i, k2] - top[i], axis=k2), name="total")
    out = te.compute((16, 64), lambda i, j: (x[i, j] - top[i]) + total[i], name="out")
    func = te.create_prim_func([x, out])
    sch = tir.Schedule(func, debug_mask="all")
    for name in ("top", "total"):
        _, inner = sch.split(sch.get_loops(name)[1], [None, 8])
        part = sch.rfactor(inner, 1)
        sch.compute_at(part, sch.get_loops(name)[0])
    i, j = sch.get_loops("out")
    for name in ("total", "top"):
        sch.compute_at(name, i)
        sch.compute_at(f"{name}_rf", i)
    sch.vectorize(sch.split(j, [None, 16])[1])
    verified(sch, func)
