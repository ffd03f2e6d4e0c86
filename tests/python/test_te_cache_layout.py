"""te cache_write after steps on loops: what is cached has the layout of the loops."""

import numpy as np
import pytest
import tenon
from tenon import te


def run(s, args, *arrays):
    out = tenon.nd.array(np.zeros([int(n) for n in args[-1].shape], args[-1].dtype))
    tenon.build(s, args, target="stackvm")(*map(tenon.nd.array, arrays), out)
    return out.numpy()


def product(rows=6, columns=5):
    a, b = (te.placeholder((rows, columns), name=n) for n in "AB")
    c = te.compute(a.shape, lambda i, j: a[i, j] * b[i, j], name="C")
    rng = np.random.default_rng(0)
    arrays = [rng.random((rows, columns), dtype="float32") for _ in range(2)]
    return te.create_schedule(c.op), (a, b, c), arrays


@pytest.mark.parametrize("factor", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("at_loop", [False, True])
def test_split_and_reordered(factor, at_loop):
    s, args, arrays = product()
    c = args[-1]
    x, y = c.op.axis
    xo, xi = s[c].split(x, factor=factor)
    s[c].reorder(xo, y, xi)
    cached = s.cache_write(c, "local")
    assert [int(n) for n in cached.shape] == [-(-6 // factor), 5, min(factor, 6)]
    if at_loop:
        s[cached].compute_at(s[c], s[c].op.axis[0])
    got = run(s, args, *arrays)
    np.testing.assert_array_equal(got, arrays[0] * arrays[1])


def test_fused_and_split_again():
    s, args, arrays = product()
    c = args[-1]
    fused = s[c].fuse(*c.op.axis)
    outer, inner = s[c].split(fused, nparts=4)
    innermost = s[c].split(inner, factor=3)
    s[c].reorder(innermost[1], outer, innermost[0])
    cached = s.cache_write(c, "global")
    assert [int(n) for n in cached.shape] == [3, 4, 3]
    np.testing.assert_array_equal(run(s, args, *arrays), arrays[0] * arrays[1])


def test_reordered_only():
    s, args, arrays = product()
    c = args[-1]
    s[c].reorder(*reversed(c.op.axis))
    cached = s.cache_write(c, "global")
    assert [int(n) for n in cached.shape] == [5, 6]
    np.testing.assert_array_equal(run(s, args, *arrays), arrays[0] * arrays[1])


@pytest.mark.parametrize("factor", [2, 4])
def test_a_reduction(factor):
    a = te.placeholder((6, 7), name="A")
    k = te.reduce_axis((0, 7), "k")
    c = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], factor=factor)
    cached = s.cache_write(c, "local")
    s[cached].split(cached.op.reduce_axis[0], factor=3)
    data = np.random.default_rng(0).random((6, 7), dtype="float32")
    np.testing.assert_allclose(run(s, [a, c], data), data.sum(1), rtol=1e-6)


def test_several_results():
    a = te.placeholder((6,), name="A")
    c, d = te.compute((6,), lambda i: (a[i] + 1.0, a[i] * 2.0), name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], factor=4)
    cached = s.cache_write([c, d], "local")
    assert [[int(n) for n in t.shape] for t in cached] == [[2, 4], [2, 4]]
    data = np.arange(6, dtype="float32")
    outs = [tenon.nd.array(np.zeros(6, "float32")) for _ in range(2)]
    tenon.build(s, [a, c, d], target="stackvm")(tenon.nd.array(data), *outs)
    np.testing.assert_array_equal(outs[0].numpy(), data + 1)
    np.testing.assert_array_equal(outs[1].numpy(), data * 2)


def test_open_extents():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    c = te.compute((n,), lambda i: a[i] + 1.0, name="C")
    s = te.create_schedule(c.op)
    s[c].split(c.op.axis[0], factor=4)
    s.cache_write(c, "global")
    built = tenon.build(s, [a, c], target="stackvm")
    for length in (1, 4, 6, 9):
        data = np.random.default_rng(length).random(length, dtype="float32")
        out = tenon.nd.array(np.zeros(length, "float32"))
        built(tenon.nd.array(data), out)
        np.testing.assert_array_equal(out.numpy(), data + 1)


def test_a_cache_of_a_cache():
    s, args, arrays = product(8, 8)
    c = args[-1]
    local = s.cache_write(c, "local")
    s[c].tile(*c.op.axis, 4, 2)
    shared = s.cache_write(c, "shared")
    assert [int(n) for n in shared.shape] == [2, 4, 4, 2] and len(local.shape) == 2
    outer = s[c].split(s[c].op.axis[0], factor=4)[0]
    s[shared].compute_at(s[c], outer)
    np.testing.assert_array_equal(run(s, args, *arrays), arrays[0] * arrays[1])


def test_mistakes():
    a = te.placeholder((6, 7), name="A")
    k = te.reduce_axis((0, 7), "k")
    c = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="C")
    s = te.create_schedule(c.op)
    s[c].split(k, factor=3)
    with pytest.raises(tenon.TVMError, match="loop k.outer of C does not run along axes"):
        s.cache_write(c, "local")
    with pytest.raises(tenon.TVMError, match="of a compute operation, got that of A"):
        s.cache_write(a, "local")
    b = te.compute((6,), lambda i: a[i, 0] + 1.0, name="B")
    c = te.compute((6,), lambda i: b[i] * 2.0, name="C")
    s = te.create_schedule(c.op)
    s[b].compute_at(s[c], s[c].split(c.op.axis[0], factor=3)[0])
    with pytest.raises(tenon.TVMError, match="B is computed in loop i.outer of C"):
        s.cache_write(c, "local")
    s, (_, _, c), _ = product()
    s[c].transform_layout(lambda i, j: [j, i])
    with pytest.raises(tenon.TVMError, match="before transform_layout"):
        s.cache_write(c, "local")
