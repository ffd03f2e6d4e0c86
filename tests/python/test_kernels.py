"""Schedules of the kernel classes: right numbers for odd extents, and the loops they give."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from tenon.contrib import utils

schedule = tenon.get_global_func("kernels.schedule")


def build(ins, outs, vector_bytes=64, threads=2, target="llvm"):
    f = te.create_prim_func([*ins, *outs])
    g = schedule(f, vector_bytes, 32, threads)
    module = tenon.IRModule({"main": g.with_attr("global_symbol", "main")})
    mod = tenon.build(module, target=target)
    if target == "c":  # source: compiled by exporting it
        folder = utils.tempdir()
        mod.export_library(folder.relpath("lib.so"))
        mod = tenon.runtime.load_module(folder.relpath("lib.so"))
    return g, mod


def check(ins, outs, reference, rtol=1e-4, **how):
    g, mod = build(ins, outs, **how)
    rng = np.random.default_rng(0)
    data = [rng.random([int(d) for d in t.shape], dtype=np.float32) for t in ins]
    results = [tenon.nd.array(np.zeros([int(d) for d in t.shape], t.dtype)) for t in outs]
    mod["main"](*[tenon.nd.array(a) for a in data], *results)
    for got, want in zip(results, reference(*data), strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=rtol, atol=1e-5)
    return g.script()


def matmul(m, n, k):
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    d = te.compute((m, n), lambda i, j: tir.max(c[i, j] - 1.0, tir.const(0, "float32")), name="D")
    return [a, b], [d], lambda x, y: [np.maximum(x @ y - 1, 0)]


@pytest.mark.parametrize("shape", [(64, 64, 64), (7, 24, 5), (1, 17, 9), (13, 31, 1), (48, 8, 200)])
@pytest.mark.parametrize("vector_bytes", [64, 32, 16, 0])
def test_matmul(shape, vector_bytes):
    check(*matmul(*shape), vector_bytes=vector_bytes)


def product(m, n, k, batch=None, transposed=False, scaled=True):
    """D = A B (or A times B transposed), perhaps a list of them, and what follows."""
    lead = (batch,) if batch else ()
    a = te.placeholder((*lead, m, k), name="A")
    b = te.placeholder((*lead, n, k) if transposed else (*lead, k, n), name="B")
    r = te.reduce_axis((0, k), name="k")

    def element(*at):
        *outer, i, j = at
        return te.sum(a[(*outer, i, r)] * b[(*outer, j, r) if transposed else (*outer, r, j)], r)

    c = te.compute((*lead, m, n), element, name="C")
    d = te.compute(c.shape, lambda *at: c(*at) * 0.5 + 1.0, name="D") if scaled else c
    factor, shift = (0.5, 1) if scaled else (1, 0)

    def reference(x, y):
        return [x @ (y.swapaxes(-1, -2) if transposed else y) * factor + shift]

    return [a, b], [d], reference


@pytest.mark.parametrize("vector_bytes", [64, 32])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize(
    "shape", [(33, 64, 20), (29, 41, 7), (5, 100, 64), (14, 16, 3), (1, 65, 8)]
)
def test_products_of_any_size(shape, transposed, vector_bytes):
    check(*product(*shape, transposed=transposed), vector_bytes=vector_bytes)
    check(*product(*shape, batch=3, transposed=transposed, scaled=False), vector_bytes=vector_bytes)


def packed_product(m, n, k, panel, lead=()):
    panels = -(-n // panel)
    a, w = te.placeholder((*lead, m, k), name="A"), te.placeholder((panels, k, panel), name="W")
    bias = te.placeholder((n,), name="bias")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute(
        (*lead, m, panels * panel),
        lambda *at: te.sum(a[(*at[:-1], r)] * w[at[-1] // panel, r, at[-1] % panel], axis=r),
        name="C",
    )
    d = te.compute((*lead, m, n), lambda *at: c(*at) + bias[at[-1]], name="D")

    def reference(x, y, z):
        dense = y.transpose(0, 2, 1).reshape(panels * panel, k)[:n]
        return [x @ dense.T + z]

    return [a, w, bias], [d], reference


@pytest.mark.parametrize("shape", [(1, 100, 16), (2, 32, 5), (27, 70, 12), (100, 64, 40)])
@pytest.mark.parametrize("panel", [32, 64])
def test_a_right_side_in_panels_is_read_as_it_lies(shape, panel):
    text = check(*packed_product(*shape, panel))
    assert "W_reindex" not in text  # not packed again
    assert text.count('scope="local"') == 1  # the tile; what follows is done on it


@pytest.mark.parametrize("shape, columns", [((29, 600, 40), 32), ((2, 512, 16), 64)])
def test_a_panel_is_read_once_for_all_that_it_is_multiplied_by(shape, columns):
    """Few rows take several panels at a time: one has too few sums for them."""
    text = check(*packed_product(*shape, 32, lead=(2, 3)))
    loops = [line.strip() for line in text.splitlines() if line.strip().startswith("for ")]
    assert loops[0].startswith("for i3_0_0 in ")  # panels
    assert f"({-(-shape[1] // columns)}, " in loops[0]
    assert "pragma_prefetch_next" in loops[0]
    assert "pragma_prefetch_next" not in check(*packed_product(2, 600, 40, 32))  # few rows


def test_a_transposed_right_side_is_packed_panel_by_panel():
    text = check(*product(64, 64, 64, transposed=True))
    assert "B_reindex = T.alloc_buffer((2, 64, 32))" in text
    assert "B_reindex = T.alloc_buffer" not in check(*product(2, 64, 64, transposed=True))


def test_matmul_keeps_a_tile_in_registers():
    text = check(*matmul(64, 64, 64))
    assert "T.parallel(" in text and "T.unroll(13)" in text and "T.vectorized(16)" in text
    narrow = check(*matmul(64, 64, 64), vector_bytes=32)
    assert "T.vectorized(8)" in narrow


def test_small_programs_run_on_one_thread():
    assert "T.parallel" not in check(*matmul(4, 16, 4))
    assert "T.parallel" not in check(*matmul(64, 64, 64), threads=1)


@pytest.mark.parametrize("target", ["llvm", "c", "stackvm"])
def test_softmax_on_every_host_target(target):
    x = te.placeholder((6, 40), name="X")
    r0, r1 = te.reduce_axis((0, 40)), te.reduce_axis((0, 40))
    top = te.compute((6,), lambda i: te.max(x[i, r0], axis=r0), name="top")
    e = te.compute((6, 40), lambda i, j: te.exp(x[i, j] - top[i]), name="e")
    s = te.compute((6,), lambda i: te.sum(e[i, r1], axis=r1), name="s")
    out = te.compute((6, 40), lambda i, j: e[i, j] / s[i], name="out")

    def reference(v):
        p = np.exp(v - v.max(1, keepdims=True))
        return [p / p.sum(1, keepdims=True)]

    text = check([x], [out], reference, target=target)
    assert 'T.block("e")' in text  # computed once, though two stages read it


@pytest.mark.parametrize("size", [8, 14, 7])
def test_padded_convolution(size):
    x, w = te.placeholder((1, 8, size, size), name="X"), te.placeholder((16, 8, 3, 3), name="W")
    c, i, j = te.reduce_axis((0, 8)), te.reduce_axis((0, 3)), te.reduce_axis((0, 3))
    padded = te.compute(
        (1, 8, size + 2, size + 2),
        lambda n, k, y, z: tir.if_then_else(
            tir.all(y >= 1, y <= size, z >= 1, z <= size),
            x[n, k, y - 1, z - 1],
            tir.const(0, "float32"),
        ),
        name="padded",
    )
    y = te.compute(
        (1, 16, size, size),
        lambda n, f, a, b: te.sum(padded[n, c, a + i, b + j] * w[f, c, i, j], axis=[c, i, j]),
        name="Y",
    )

    def reference(v, u):
        p = np.pad(v, ((0, 0), (0, 0), (1, 1), (1, 1)))
        windows = np.lib.stride_tricks.sliding_window_view(p, (3, 3), axis=(2, 3))
        return [np.einsum("nchwij,fcij->nfhw", windows, u)]

    text = check([x, w], [y], reference)
    assert 'T.block("padded")' in text  # not repeated for every filter


def test_chains_are_inlined_and_dynamic_extents_work():
    n = te.var("n")
    a = te.placeholder((n, 16), name="A")
    b = te.compute((n, 16), lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute((n, 16), lambda i, j: b[i, j] * 2.0, name="C")
    g = schedule(te.create_prim_func([a, c]), 64, 32, 2)
    assert 'T.block("B")' not in g.script() and "T.vectorized(16)" in g.script()
    mod = tenon.build(tenon.IRModule({"main": g.with_attr("global_symbol", "main")}), target="llvm")
    x = np.arange(80, dtype="float32").reshape(5, 16)
    out = tenon.nd.array(np.zeros_like(x))
    mod["main"](tenon.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), (x + 1) * 2)


def test_a_scheduled_program_is_left_alone():
    ins, outs, _ = matmul(8, 16, 8)
    once = schedule(te.create_prim_func([*ins, *outs]), 64, 32, 2)
    assert schedule(once, 16, 16, 1).same_as(once)
    with pytest.raises(ValueError, match="no such machine"):
        schedule(once, 64, 0, 1)


def softmax(*shape):
    """max, exp, sum and quotient of each row, four stages."""
    *rows, n = shape
    x = te.placeholder(shape, name="x")
    k, m = te.reduce_axis((0, n), name="k"), te.reduce_axis((0, n), name="m")
    most = te.compute(rows, lambda *i: te.max(x[(*i, k)], axis=k), name="most")
    e = te.compute(shape, lambda *i: te.exp(x(*i) - most(*i[:-1])), name="e")
    total = te.compute(rows, lambda *i: te.sum(e[(*i, m)], axis=m), name="total")
    y = te.compute(shape, lambda *i: e(*i) / total(*i[:-1]), name="y")

    def reference(a):
        e = np.exp(a - a.max(-1, keepdims=True))
        return [e / e.sum(-1, keepdims=True)]

    return [x], [y], reference


@pytest.mark.parametrize("vector_bytes", [64, 32, 0])
@pytest.mark.parametrize("shape", [(5, 128), (3, 2, 197), (7, 33), (4, 10), (1, 1000)])
def test_rows(shape, vector_bytes):
    check(*softmax(*shape), vector_bytes=vector_bytes)


def test_stages_of_a_row_run_together():
    text = check(*softmax(512, 197))
    assert text.count("T.parallel(") == 1
    assert "T.if_then_else" in text  # the last vector of a row is padded


@pytest.mark.parametrize("n", [16, 40, 64, 197, 768])
def test_reductions_of_rows(n):
    x = te.placeholder((9, n), name="x")
    k = te.reduce_axis((0, n), name="k")
    total = te.compute((9, 1), lambda i, j: te.sum(x[i, k], axis=k), name="total")
    least = te.compute((9,), lambda i: te.min(x[i, k], axis=k), name="least")
    check([x], [total], lambda a: [a.sum(1, keepdims=True)])
    check([x], [least], lambda a: [a.min(1)])
    check([x], [total, least], lambda a: [a.sum(1, keepdims=True), a.min(1)])


@pytest.mark.parametrize("shape", [(64, 48), (3, 24, 40), (2, 17, 36), (3, 9)])
@pytest.mark.parametrize("threads", [1, 2])
def test_transposes_go_in_blocks(shape, threads):
    a = te.placeholder(shape, name="A")
    *lead, m, n = shape
    b = te.compute((*lead, n, m), lambda *i: a[(*i[:-2], i[-1], i[-2])] * 2.0, name="B")
    text = check([a], [b], lambda v: [v.swapaxes(-1, -2) * 2], threads=threads)
    assert ("T.unroll(" in text) == (m >= 24)
    assert ("T.unroll(16)" in text) == (n == 48)
