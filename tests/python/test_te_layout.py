"""Stages that store their results in another layout: te.Stage.transform_layout."""

import numpy as np
import pytest
import tenon
from tenon import te, tir

rng = np.random.default_rng(8)


def program(n=16, m=16):
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, m), lambda i, j: b[i, j] + 1.0, name="C")
    return a, b, c


def run(s, args, *arrays, targets=("stackvm", "llvm")):
    """The last array after the program, which all targets agree on."""
    found = []
    for target in targets:
        tensors = [tenon.nd.array(x) for x in arrays]
        tenon.build(s, args, target=target)(*tensors)
        found.append(tensors[-1].numpy())
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)
    return found[0]


def buffers(s, args):
    """Shape and axis separators of every buffer that the lowered schedule stores to."""
    seen = {}

    def visit(node):
        if isinstance(node, tir.BufferStore):
            b = node.buffer
            seen[str(b.name)] = ([int(e) for e in b.shape], [int(e) for e in b.axis_separators])

    mod = tenon.driver.build_module.schedule_to_module(s, args)
    tir.stmt_functor.post_order_visit(mod["main"].body, visit)
    return seen


def test_of_a_result_in_between():
    a, b, c = program()
    s = te.create_schedule(c.op)
    loops = s[b].transform_layout(lambda i, j: [i // 4, j // 8, i % 4, j % 8])
    assert len(loops) == 4
    assert s[b].leaf_iter_vars[0].same_as(loops[0])
    s[b].vectorize(loops[3])
    s[b].parallel(s[b].fuse(loops[0], loops[1]))
    x = rng.random((16, 16)).astype("float32")
    np.testing.assert_array_equal(run(s, [a, c], x, np.zeros_like(x)), x * 2 + 1)
    assert buffers(s, [a, c])["B"] == ([4, 2, 4, 8], [])


def test_of_an_argument():
    a, _, c = program()
    s = te.create_schedule(c.op)
    s[c].transform_layout(lambda i, j: [j, i])
    x = rng.random((16, 16)).astype("float32")
    np.testing.assert_array_equal(run(s, [a, c], x, np.zeros_like(x)), (x * 2 + 1).T)


def test_padding_is_left_alone():
    a, _, c = program(14, 5)
    s = te.create_schedule(c.op)
    s[c].transform_layout(lambda i, j: [(i + 1) // 4, j, (i + 1) % 4])
    x = rng.random((14, 5)).astype("float32")
    got = run(s, [a, c], x, np.full((4, 5, 4), 7, "float32"))
    flat = got.transpose(0, 2, 1).reshape(16, 5)
    np.testing.assert_array_equal(flat[1:15], x * 2 + 1)
    assert (flat[[0, 15]] == 7).all()


def test_of_a_reduction_with_a_producer_in_its_loops():
    n = 16
    a = te.placeholder((n, n), name="A")
    b = te.compute((n, n), lambda i, j: a[i, j] * 2.0, name="B")
    k = te.reduce_axis((0, n), "k")
    c = te.compute((n, n), lambda i, j: te.sum(b[i, k] * a[k, j], axis=k), name="C")
    s = te.create_schedule(c.op)
    outer, inner, *_ = s[c].transform_layout(lambda i, j: [i // 4, j // 4, i % 4, j % 4])
    s[b].compute_at(s[c], inner)
    s[c].unroll(s[c].split(outer, 2)[1])
    x = rng.integers(0, 9, (n, n)).astype("float32")
    got = run(s, [a, c], x, np.zeros((4, 4, 4, 4), "float32"))
    np.testing.assert_array_equal(got.transpose(0, 2, 1, 3).reshape(n, n), x * 2 @ x)


def test_axis_separators():
    a, b, c = program()
    s = te.create_schedule(c.op)
    s[b].transform_layout(lambda i, j: [i // 4, j, te.AXIS_SEPARATOR, i % 4])
    assert buffers(s, [a, c])["B"] == ([4, 16, 4], [2])


def test_what_is_refused():
    a, b, c = program()

    def refused(text, change, layout=lambda i, j: [j, i]):
        s = te.create_schedule(c.op)
        with pytest.raises(tenon.TVMError, match=text):
            change(s)
            s[b].transform_layout(layout)
            tenon.lower(s, [a, c])

    refused("already", lambda s: s[b].split(b.op.axis[0], 4))
    refused("has a layout already", lambda s: s[b].transform_layout(lambda i, j: [j, i]))
    with pytest.raises(tenon.TVMError, match="before"):
        s = te.create_schedule(c.op)
        s[b].transform_layout(lambda i, j: [j, i])
        s.cache_write(b, "local")
    refused("inlined", lambda s: s[b].compute_inline())
    refused("at the root", lambda s: s[b].compute_at(s[c], c.op.axis[0]))
    with pytest.raises(tenon.TVMError, match="sum of iterators"):
        te.create_schedule(c.op)[b].transform_layout(lambda i, j: [i + j])
    k = te.reduce_axis((0, 16), "k")
    total = te.compute((16,), lambda i: te.sum(a[i, k], axis=k), name="total")
    s = te.create_schedule(total.op)
    s[total].transform_layout(lambda i: [i // 4, i % 4])
    with pytest.raises(tenon.TVMError, match="rfactor"):
        s.rfactor(total, k)


@pytest.mark.parametrize("of_b", [False, True])
def test_of_a_placeholder(of_b):
    a, _, c = program()
    s = te.create_schedule(c.op)
    assert s[a].transform_layout(lambda i, j: [i // 4, j, i % 4]) == []
    if of_b:
        s[c].transform_layout(lambda i, j: [j, i])
    x = rng.random((16, 16)).astype("float32")
    given = np.ascontiguousarray(x.reshape(4, 4, 16).transpose(0, 2, 1))
    want = x * 2 + 1
    np.testing.assert_array_equal(run(s, [a, c], given, np.zeros_like(x)), want.T if of_b else want)
    assert [int(e) for e in tenon.lower(s, [a, c])["main"].buffer_map.values()[0].shape] == [
        4,
        16,
        4,
    ]


def test_of_a_placeholder_that_is_cached_and_padded():
    a, b, c = program(14, 5)
    s = te.create_schedule(c.op)
    s.cache_read(a, "local", [b])
    s[a].transform_layout(lambda i, j: [i // 4, j, i % 4])
    x = rng.random((14, 5)).astype("float32")
    given = np.full((16, 5), np.nan, "float32")
    given[:14] = x
    given = np.ascontiguousarray(given.reshape(4, 4, 5).transpose(0, 2, 1))
    np.testing.assert_array_equal(run(s, [a, c], given, np.zeros_like(x)), x * 2 + 1)


def test_new_loops_have_extents_and_maps_take_keywords():
    _, b, c = program()
    s = te.create_schedule(c.op)
    loops = s[b].transform_layout(lambda *left, n: [*left, n // 4, n % 4])
    assert [int(iv.dom.extent) for iv in loops] == [16, 4, 4]
    with pytest.raises(ValueError, match="the mapping takes 3 indices, expected 2"):
        s[c].transform_layout(lambda i, j, *, k: [i, j, k])


def test_what_a_scan_computed_before_has_its_layout():
    state = te.placeholder((8, 4), name="state")
    init = te.compute((1, 4), lambda _, j: tir.const(1.0, "float32"), name="init")
    update = te.compute((8, 4), lambda t, j: state[t - 1, j] + 1.0, name="update")
    scan = tenon.te.scan(init, update, state)
    s = te.create_schedule(scan.op)
    s[state].transform_layout(lambda i, j: [j, i])
    with pytest.raises(tenon.TVMError, match="what a scan computed before"):
        tenon.lower(s, [scan])


def test_of_what_has_no_layout():
    a = te.placeholder((4, 4), name="A")
    e = te.extern((4, 4), [a], lambda ins, outs: tir.Evaluate(0), name="E", dtype="float32")
    s = te.create_schedule(e.op)
    with pytest.raises(tenon.TVMError, match="E is neither a placeholder nor a compute operation"):
        s[e].transform_layout(lambda i, j: [j, i])
    with pytest.raises(tenon.TVMError, match="of the 2 axes of A, got one of 1"):
        s[a].transform_layout(tir.IndexMap.from_func(lambda i: [i]))
