"""Buffers that keep what neighbouring iterations share: tir.Schedule.rolling_buffer."""

import random

import numpy as np
import pytest
import tenon
from schedule_programs import chain, failure, func
from tenon import te, tir
from test_schedule_trace import round_trip

rng = np.random.default_rng(5)


def windows(x, kh, kw):
    """(h, w, kh, kw) views of what each place sees."""
    return np.lib.stride_tricks.sliding_window_view(x, (kh, kw))


def pool(x, name, k=3, stride=1):
    h, w = ((int(n) - k) // stride + 1 for n in x.shape)
    rh, rw = te.reduce_axis((0, k), "rh"), te.reduce_axis((0, k), "rw")
    return te.compute(
        (h, w),
        lambda i, j: te.max(x[i * stride + rh, j * stride + rw], axis=[rh, rw]),
        name=name,
    )


def conv(x, weight, name):
    """(c, h, w) by (o, c, 3, 3)"""
    c, h, w = (int(n) for n in x.shape)
    rc = te.reduce_axis((0, c), "rc")
    rh, rw = te.reduce_axis((0, 3), "rh"), te.reduce_axis((0, 3), "rw")
    return te.compute(
        (int(weight.shape[0]), h - 2, w - 2),
        lambda o, i, j: te.sum(x[rc, i + rh, j + rw] * weight[o, rc, rh, rw], axis=[rc, rh, rw]),
        name=name,
    )


def results(sch, shape, *arrays, targets=("stackvm", "llvm")):
    """What the last argument holds, which all targets agree on."""
    found = []
    for target in targets:
        built = tenon.build(sch.mod, target=target)
        out = tenon.nd.array(np.full(shape, np.nan, "float32"))
        built["main"](*[tenon.nd.array(a) for a in arrays], out)
        found.append(out.numpy())
    for other in found[1:]:
        np.testing.assert_allclose(found[0], other, rtol=1e-5)
    return found[0]


def pools(n=12, **kwargs):
    a = te.placeholder((n, n), name="A")
    b = pool(a, "B")
    return te.create_prim_func([a, pool(b, "C", **kwargs)])


def tiled(start, axes, factors, consumer="C", producer="B"):
    """The producer computed in tiles of the consumer."""
    sch = tir.Schedule(start, debug_mask="all")
    loops = sch.get_loops(consumer)
    parts = [sch.split(loops[a], [None, f]) for a, f in zip(axes, factors, strict=True)]
    rest = [x for i, x in enumerate(loops) if i not in axes]
    sch.reorder(*[o for o, _ in parts], *[i for _, i in parts], *rest)
    sch.compute_at(producer, parts[-1][0])
    return sch


def expect_pools(a, k=3, stride=1):
    b = windows(a, 3, 3).max((2, 3))
    return windows(b, k, k).max((2, 3))[::stride, ::stride]


def shapes(sch):
    buffers = {}

    def visit(node):
        if isinstance(node, tir.Block):
            buffers.update({str(b.name): [int(e) for e in b.shape] for b in node.alloc_buffers})

    tir.stmt_functor.post_order_visit(sch.mod["main"].body, visit)
    return buffers


def test_both_dimensions_slide():
    start = pools()
    sch = tiled(start, (0, 1), (4, 4))
    sch.rolling_buffer("B", 0)
    assert shapes(sch)["B"] == [6, 10]
    text = sch.mod["main"].script()
    assert "T.axis.opaque(10, " in text
    assert "% 6" in text
    round_trip(sch, start)
    assert "sch.rolling_buffer(block=b10, write_buffer_index=0)" == sch.trace.as_python()[-1]
    a = rng.random((12, 12)).astype("float32")
    np.testing.assert_array_equal(results(sch, (8, 8), a), expect_pools(a))


@pytest.mark.parametrize("axes, factors", [((0,), (1,)), ((0,), (2,)), ((1,), (4,))])
def test_one_dimension_slides(axes, factors):
    sch = tiled(pools(), axes, factors)
    sch.rolling_buffer("B", "B")
    assert shapes(sch)["B"][axes[0]] == factors[0] + 2
    a = rng.random((12, 12)).astype("float32")
    np.testing.assert_array_equal(results(sch, (8, 8), a), expect_pools(a))


def test_the_outermost_loop_decides():
    sch = tiled(pools(), (1, 0), (4, 2))
    sch.rolling_buffer("B", 0)
    assert shapes(sch)["B"] == [10, 6]
    a = rng.random((12, 12)).astype("float32")
    np.testing.assert_array_equal(results(sch, (8, 8), a), expect_pools(a))


def test_strides_and_tiles_that_do_not_divide():
    a = rng.random((15, 15)).astype("float32")
    sch = tiled(pools(15, stride=2), (0, 1), (2, 3))
    sch.rolling_buffer("B", 0)
    assert shapes(sch)["B"] == [5, 13]
    np.testing.assert_array_equal(results(sch, (6, 6), a), expect_pools(a, 3, 2))
    sch = tiled(pools(15), (0,), (4,))
    sch.rolling_buffer("B", 0)
    np.testing.assert_array_equal(results(sch, (11, 11), a), expect_pools(a))


def test_a_chain_of_three():
    a = te.placeholder((16, 16), name="A")
    b = pool(a, "B")
    c = pool(b, "C")
    start = te.create_prim_func([a, pool(c, "D")])
    for order in ("BC", "CB"):
        sch = tiled(start, (0,), (2,), "D", "C")
        sch.compute_at("B", sch.get_loops("D")[0])
        for name in order:
            sch.rolling_buffer(name, 0)
        assert shapes(sch) == {"B": [6, 14], "C": [4, 12]}
        x = rng.random((16, 16)).astype("float32")
        expected = windows(expect_pools(x), 3, 3).max((2, 3))
        np.testing.assert_array_equal(results(sch, (10, 10), x), expected)


def test_convolutions():
    a = te.placeholder((3, 12, 12), name="A")
    w = te.placeholder((4, 3, 3, 3), name="W")
    v = te.placeholder((2, 4, 3, 3), name="V")
    start = te.create_prim_func([a, w, v, conv(conv(a, w, "B"), v, "C")])
    sch = tiled(start, (1,), (2,))
    sch.rolling_buffer("B", 0)
    assert shapes(sch)["B"] == [4, 4, 10]
    arrays = [rng.random(s).astype("float32") for s in ((3, 12, 12), (4, 3, 3, 3), (2, 4, 3, 3))]

    def apply(x, weight):
        seen = np.lib.stride_tricks.sliding_window_view(x, (3, 3), (1, 2))
        return np.einsum("chwij,ocij->ohw", seen, weight)

    expected = apply(apply(arrays[0], arrays[1]), arrays[2])
    np.testing.assert_allclose(results(sch, (2, 8, 8), *arrays), expected, rtol=1e-4)


def test_later_steps_keep_the_order():
    sch = tiled(pools(), (0, 1), (4, 4))
    outer, inner = sch.get_loops("C")[:2]
    sch.rolling_buffer("B", 0)
    before = sch.mod
    failure(sch.parallel, outer)
    failure(sch.reorder, inner, outer)
    failure(sch.rolling_buffer, "B", 0)
    tenon.ir.assert_structural_equal(sch.mod, before)
    sch.unroll(inner)
    sch.split(outer, [2, None])
    a = rng.random((12, 12)).astype("float32")
    np.testing.assert_array_equal(results(sch, (8, 8), a), expect_pools(a))


def test_loops_that_run_at_once_do_not_slide():
    sch = tiled(pools(), (0, 1), (4, 4))
    sch.parallel(sch.get_loops("C")[0])
    sch.rolling_buffer("B", 0)
    assert shapes(sch)["B"] == [10, 6]
    a = rng.random((12, 12)).astype("float32")
    np.testing.assert_array_equal(results(sch, (8, 8), a), expect_pools(a))
    sch = tiled(pools(), (0,), (4,))
    sch.parallel(sch.get_loops("C")[0])
    assert "slides with a loop" in failure(sch.rolling_buffer, "B", 0)


def gaps(step):
    """B in every `step`-th of the rows that an iteration of C looks at."""
    return func(
        ["A:32", "C:4"],
        f"""
for i in range(4):
    for k in range(3):
        with T.block("B"):
            v = T.axis.spatial(32, i * 3 + k * {step})
            B[v] = A[v] * 2.0
    for k in range(3):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0.0
            C[vi] = C[vi] + B[vi * 3 + vk * {step}]
""",
        "B = T.alloc_buffer((32,))\n",
    )


def test_gaps_are_no_window():
    """Rows that an iteration leaves out are not there in the next one."""
    sch = tir.Schedule(gaps(2))
    assert "not a box" in failure(sch.rolling_buffer, "B", 0)


def test_a_reader_beyond_the_window():
    sch = tir.Schedule(
        func(
            ["A:32", "C:4"],
            """
for i in range(4):
    for k in range(5):
        with T.block("B"):
            v = T.axis.spatial(32, i * 3 + k)
            B[v] = A[v] * 2.0
    with T.block("C"):
        vi = T.axis.spatial(4, i)
        C[vi] = B[vi]
""",
            "B = T.alloc_buffer((32,))\n",
        )
    )
    assert "reads more of B" in failure(sch.rolling_buffer, "B", 0)


def test_without_overlap():
    sch = tir.Schedule(chain())
    assert "not a loop" in failure(sch.rolling_buffer, "B", 0)
    sch.compute_at("B", sch.get_loops("C")[0])
    assert "slides with a loop" in failure(sch.rolling_buffer, "B", 0)
    assert "output block" in failure(sch.rolling_buffer, "C", 0)
    failure(sch.rolling_buffer, "B", 1)


@pytest.mark.parametrize("seed", range(24))
def test_at_random(seed):
    """Tiles, strides and orders of steps as they come; a step that is refused changes nothing."""
    draw = random.Random(seed)
    k, stride = draw.choice([2, 3, 4]), draw.choice([1, 2])
    h, w = draw.randint(10, 17), draw.randint(10, 17)
    a = te.placeholder((h, w), name="A")
    d = pool(pool(pool(a, "B"), "C", k, stride), "D", 2)
    axes = draw.choice([(0,), (1,), (0, 1), (1, 0)])
    sch = tiled(te.create_prim_func([a, d]), axes, [draw.randint(1, 4) for _ in axes], "D", "C")
    sch.compute_at("B", sch.get_loops("D")[0])
    for name in draw.choice(["B", "C", "BC", "CB"]):
        try:
            sch.rolling_buffer(name, 0)
        except tir.ScheduleError:
            continue
    x = rng.random((h, w)).astype("float32")
    expected = windows(expect_pools(x, k, stride), 2, 2).max((2, 3))
    np.testing.assert_array_equal(results(sch, expected.shape, x, targets=("llvm",)), expected)
