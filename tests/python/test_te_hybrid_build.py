"""te.hybrid.build: schedules as hybrid scripts, which compute with NumPy and become operations."""

import numpy as np
import pytest
import tenon
from tenon import te, tir

rng = np.random.default_rng(11)


def array(t, values=None):
    shape = [int(n) for n in t.shape]
    data = rng.uniform(1, 5, shape) if values is None else rng.integers(*values, shape)
    return data.astype(str(t.dtype))


def check(s, inputs, outputs, *arrays, **names):
    """The script on arrays, and as an operation, gives what the schedule does."""
    want = [tenon.nd.empty([int(n) for n in t.shape], str(t.dtype)) for t in outputs]
    given = [tenon.nd.array(a) for a in arrays]
    tenon.build(s, [*inputs, *outputs], "llvm")(*given, *want)
    want = [w.numpy() for w in want]
    script = te.hybrid.build(s, inputs, outputs, **names)
    found = script(*arrays)
    for f, w in zip(found if isinstance(found, tuple) else (found,), want, strict=True):
        np.testing.assert_allclose(f, w, rtol=1e-5)
    results = script(*inputs)
    results = list(results) if len(outputs) > 1 else [results]
    again = [tenon.nd.empty(w.shape, str(w.dtype)) for w in want]
    op = te.create_schedule([r.op for r in results][:1])
    tenon.build(op, [*inputs, *results], "stackvm")(*given, *again)
    for f, w in zip(again, want, strict=True):
        np.testing.assert_allclose(f.numpy(), w, rtol=1e-5)
    return script.get_source()


def test_text():
    a, b = te.placeholder((8, 16), name="a"), te.placeholder((16,), name="b")
    c = te.compute((8, 16), lambda i, j: a[i, j] + b[j] / 2.0, name="c")
    s = te.create_schedule(c.op)
    outer, inner = s[c].split(c.op.axis[1], 4)
    s[c].parallel(c.op.axis[0])
    s[c].unroll(outer)
    s[c].vectorize(inner)
    assert check(s, [a, b], [c], array(a), array(b), name="add").splitlines() == [
        "def add(a, b):",
        '    c = output_tensor((8, 16), "float32")',
        "    for i in parallel(8):",
        "        for j_outer in unroll(4):",
        "            for j_inner in vectorize(4):",
        "                c[i, j_outer * 4 + j_inner] = a[i, j_outer * 4 + j_inner]"
        " + b[j_outer * 4 + j_inner] / float32(2.0)",
        "    return c",
    ]


def test_matmul_in_a_cache():
    a, b = te.placeholder((10, 7), name="a"), te.placeholder((7, 9), name="b")
    k = te.reduce_axis((0, 7), "k")
    c = te.compute((10, 9), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    s = te.create_schedule(c.op)
    cache = s.cache_write(c, "local")
    i, j = s[c].op.axis
    io, jo, ii, ji = s[c].tile(i, j, 4, 3)
    s[cache].compute_at(s[c], jo)
    text = check(s, [a, b], [c], array(a), array(b))
    assert 'c_local = allocate((4, 3), "float32", "local")' in text
    assert "if likely(i_outer * 4 + i_inner < 10):" in text


def test_several_results():
    a = te.placeholder((6, 5), "int32", name="a")
    k = te.reduce_axis((0, 5), "k")

    def combine(x, y):
        return tir.Select(x[1] >= y[1], x[0], y[0]), tir.Select(x[1] >= y[1], x[1], y[1])

    argmax = te.comm_reducer(combine, lambda t0, t1: (tir.const(-1, t0), te.min_value(t1)))
    index, value = te.compute((6,), lambda i: argmax((k, a[i, k]), axis=k), name="best")
    s = te.create_schedule(index.op)
    text = check(s, [a], [index, value], array(a, (0, 100)))
    assert "return (best_v0, best_v1)" in text


def test_expressions():
    a = te.placeholder((9,), "int32", name="a")
    x = te.placeholder((9,), name="max")

    def value(i):
        bits = ((a[i] << 2) ^ (a[i] & 5)) | (a[i] >> 1)
        some = tir.Select(tir.all(a[i] > 2, tir.Not(a[i] == 4)), x[i], -x[i])
        math = te.sqrt(x[i]) + te.tanh(x[i]) + te.power(x[i], 2.0) + te.abs(some) + te.floor(x[i])
        return math + tir.if_then_else(
            i < 4, bits.astype("float32"), tir.min(x[i], tir.const(2.0, "float32"))
        )

    y = te.compute((9,), value, name="lambda")
    check(te.create_schedule(y.op), [a, x], [y], array(a, (0, 50)), array(x))


def test_extents_that_are_variables():
    n, m = te.var("n"), te.var("m")
    a = te.placeholder((n, 4), name="a")
    b = te.compute((n, 4), lambda i, j: a[i, j] * m.astype("float32"), name="b")
    script = te.hybrid.build(te.create_schedule(b.op), [a, m], [b])
    assert "output_tensor((a.shape[0], 4)" in script.get_source()
    data = rng.normal(size=(5, 4)).astype("float32")
    np.testing.assert_allclose(script(data, 3), data * 3)


def test_script_of_a_script():
    @te.hybrid.script
    def twice(a):
        t = allocate(a.shape, a.dtype)  # noqa: F821
        b = output_tensor(a.shape, a.dtype)  # noqa: F821
        for i in range(a.shape[0]):
            t[i] = a[i] * 2.0
            b[i] = t[i]
        return b

    a = te.placeholder((6,), name="a")
    b = twice(a)
    text = check(te.create_schedule(b.op), [a], [b], array(a))
    assert 't = allocate((6,), "float32", "global")' in text


def test_tensor_without_axes():
    a = te.placeholder((6,), name="a")
    k = te.reduce_axis((0, 6), "k")
    b = te.compute((), lambda: te.sum(a[k], axis=k), name="b")
    assert "b[()] = " in check(te.create_schedule(b.op), [a], [b], array(a))


def test_saved_and_loaded(tmp_path):
    a = te.placeholder((6,), name="a")
    b = te.compute((6,), lambda i: a[i] + 1.0, name="b")
    script = te.hybrid.build(te.create_schedule(b.op), [a], [b], name="plus")
    script.save(tmp_path / "plus")
    loaded = te.hybrid.HybridModule()
    with pytest.raises(ValueError, match="no script yet"):
        loaded(1)
    loaded.load(tmp_path / "plus.py")
    assert (loaded.name, loaded.get_source()) == ("plus", script.get_source())
    data = array(a)
    np.testing.assert_allclose(loaded(data), data + 1)
    np.testing.assert_allclose(loaded.func_(data), data + 1)
    (tmp_path / "two.py").write_text("def f(): pass\ndef g(): pass\n")
    with pytest.raises(ValueError, match="one function in a hybrid script, got 2"):
        loaded.load(tmp_path / "two.py")


def test_what_has_no_form():
    a = te.placeholder((6, 8), name="a")
    b = te.compute((6, 8), lambda i, j: te.erf(a[i, j]), name="b")
    with pytest.raises(ValueError, match="the call of tir.erf has no form in hybrid script"):
        te.hybrid.build(te.create_schedule(b.op), [a], [b])
    k = te.reduce_axis((0, 8), "k")
    c = te.compute((6,), lambda i: te.sum(a[i, k], axis=k), name="c")
    s = te.create_schedule(c.op)
    s[c].bind(s[c].op.reduce_axis[0], te.thread_axis("threadIdx.x"))
    with pytest.raises(ValueError, match="that threads do together has no form"):
        te.hybrid.build(s, [a], [c])
    d = te.compute((6,), lambda i: tir.truncdiv(i, 2), name="d")
    with pytest.raises(ValueError, match="truncating division"):
        te.hybrid.build(te.create_schedule(d.op), [], [d])
    with pytest.raises(ValueError, match="at least one output"):
        te.hybrid.build(te.create_schedule(c.op), [a], [])
