"""Stage.rolling_buffer: iterations of a loop share what they need of a stage."""

import numpy as np
import pytest
import tenon
from tenon import te, tir
from test_rolling_buffer import conv, expect_pools, pool, rng, windows


def at_tiles(s, consumer, axes, factors, producers):
    """Loops over tiles of the consumer, with the producers in the innermost of them."""
    stage = s[consumer]
    loops = list(consumer.op.axis)
    parts = [stage.split(loops[a], f) for a, f in zip(axes, factors, strict=True)]
    rest = [x for i, x in enumerate(loops) if i not in axes]
    stage.reorder(*[o for o, _ in parts], *rest, *[i for _, i in parts])
    for p in producers:
        s[p].compute_at(stage, parts[-1][0])
        s[p].rolling_buffer()


def run(s, args, *arrays):
    """What the last argument holds, which the targets agree on."""
    found = []
    for target in ("stackvm", "llvm"):
        out = tenon.nd.array(np.full([int(n) for n in args[-1].shape], np.nan, "float32"))
        tenon.build(s, args, target)(*[tenon.nd.array(a) for a in arrays], out)
        found.append(out.numpy())
    np.testing.assert_allclose(found[0], found[1], rtol=1e-5, atol=1e-5)
    return found[0]


def allocated(s, args):
    """Elements of each allocation of the schedule's program."""
    sizes = {}

    def visit(node):
        if isinstance(node, tir.Allocate):
            sizes[node.buffer_var.name] = [int(e) for e in node.extents]

    program = tenon.driver.build_module.schedule_to_module(s, args)["main"]
    tir.stmt_functor.post_order_visit(program.body, visit)
    return sizes


@pytest.mark.parametrize("factors", [(2, 4), (3, 3), (1, 1), (4, 5), (8, 8)])
@pytest.mark.parametrize("stride", [1, 2])
def test_pools(factors, stride):
    a = te.placeholder((13, 15), name="A")
    b = pool(a, "B")
    c = pool(b, "C", stride=stride)
    s = te.create_schedule(c.op)
    extents = [-(-int(n) // f) for n, f in zip(c.shape, factors, strict=True)]
    at_tiles(s, c, (0, 1), factors, [b])
    x = rng.normal(size=(13, 15)).astype("float32")
    if max(extents) == 1:
        with pytest.raises(ValueError, match="no dimension of its region slides"):
            run(s, [a, c], x)
        return
    np.testing.assert_allclose(run(s, [a, c], x), expect_pools(x, stride=stride))
    if extents[0] > 1:
        assert allocated(s, [a, c])["B"][0] == (factors[0] - 1) * stride + 3


def test_cascade_of_three():
    """All of a chain in one loop, each rolled by itself; the first feeds the second."""
    a, w = te.placeholder((2, 16, 12), name="A"), te.placeholder((3, 2, 3, 3), name="W")
    b = conv(a, w, "B")
    c = te.compute(b.shape, lambda o, i, j: b[o, i, j] * 2.0)
    v = te.placeholder((2, 3, 3, 3), name="V")
    d = conv(c, v, "D")
    s = te.create_schedule(d.op)
    at_tiles(s, d, (1,), (2,), [c, b])
    x, k, m = (rng.normal(size=[int(n) for n in t.shape]).astype("float32") for t in (a, w, v))
    first = np.einsum("cijkl,ockl->oij", np.stack([windows(p, 3, 3) for p in x]), k) * 2
    second = np.einsum("cijkl,ockl->oij", np.stack([windows(p, 3, 3) for p in first]), m)
    np.testing.assert_allclose(run(s, [a, w, v, d], x, k, m), second, rtol=1e-4, atol=1e-4)
    assert allocated(s, [a, w, v, d]) == {"B": [3, 4, 10], "compute": [3, 4, 10]}


def test_each_element_is_computed_once():
    seen = []
    tenon.register_func("test.rolling.seen", lambda i: seen.append(i) or 0, override=True)
    a = te.placeholder((20,), name="A")
    b = te.compute((20,), lambda i: a[i] + tir.call_packed("test.rolling.seen", i), name="B")
    c = te.compute((15,), lambda i: b[i] + b[i + 2] + b[i + 5], name="C")
    s = te.create_schedule(c.op)
    at_tiles(s, c, (0,), (4,), [b])
    x = rng.normal(size=20).astype("float32")
    out = tenon.nd.empty((15,))
    tenon.build(s, [a, c], "llvm")(tenon.nd.array(x), out)
    np.testing.assert_allclose(out.numpy(), x[:15] + x[2:17] + x[5:], rtol=1e-5)
    assert seen == list(range(20))


def test_border_of_the_consumer():
    """Windows that begin before the first element: B is guarded by its own extent."""
    n = 11
    a = te.placeholder((n,), name="A")
    b = te.compute((n,), lambda i: a[i] * 3.0, name="B")

    def at(i):
        return tir.if_then_else(tir.all(i >= 0, i < n), b[i], 0.0)

    c = te.compute((n,), lambda i: at(i - 1) + at(i) + at(i + 1), name="C")
    s = te.create_schedule(c.op)
    at_tiles(s, c, (0,), (2,), [b])
    x = rng.normal(size=n).astype("float32")
    padded = np.pad(x * 3, 1)
    np.testing.assert_allclose(
        run(s, [a, c], x), padded[:-2] + padded[1:-1] + padded[2:], rtol=1e-5
    )


def test_parallel_loop_outside():
    """Each thread rolls its own buffer."""
    a = te.placeholder((4, 14), name="A")
    b = te.compute((4, 14), lambda n, i: a[n, i] * 3.0, name="B")
    c = te.compute((4, 12), lambda n, i: b[n, i] + b[n, i + 2], name="C")
    s = te.create_schedule(c.op)
    n, i = c.op.axis
    s[c].parallel(n)
    s[b].compute_at(s[c], i)
    s[b].rolling_buffer()
    x = rng.normal(size=(4, 14)).astype("float32")
    np.testing.assert_allclose(run(s, [a, c], x), 3 * (x[:, :-2] + x[:, 2:]), rtol=1e-5)
    assert allocated(s, [a, c]) == {"B": [1, 3]}


def chain():
    a = te.placeholder((12,), name="A")
    b = te.compute((12,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((8,), lambda i: b[i] + b[i + 4], name="C")
    return a, b, c, te.create_schedule(c.op)


def test_errors():
    a, b, c, s = chain()
    with pytest.raises(tenon.TVMError, match="Cannot apply rolling buffer on output stage C"):
        s[c].rolling_buffer()
    with pytest.raises(tenon.TVMError, match="A is not a compute operation"):
        s[a].rolling_buffer()
    s[b].rolling_buffer()
    with pytest.raises(ValueError, match="B is not computed at a loop of its consumer"):
        tenon.lower(s, [a, c])


@pytest.mark.parametrize("kind", ["parallel", "vectorize"])
def test_loops_that_are_not_in_order(kind):
    a, b, c, s = chain()
    s[b].compute_at(s[c], c.op.axis[0])
    getattr(s[c], kind)(c.op.axis[0])
    s[b].rolling_buffer()
    with pytest.raises(ValueError, match="buffer B cannot be rolled: no dimension"):
        tenon.lower(s, [a, c])
