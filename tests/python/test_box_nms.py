"""Boxes of detectors against what numpy makes of them, with extents known and open."""

import numpy as np
import pytest
import tenon
from tenon import relay

ANY = relay.Any()


def run(make, *args, open_extents=True):
    """The results with known extents, which are those of a program with open ones."""
    results = []
    for is_open in {False, open_extents}:
        dims = [[ANY] * (a.ndim - 1) + [a.shape[-1]] if is_open else a.shape for a in args]
        if is_open:
            dims = [[ANY] * a.ndim if a.ndim < 3 else d for a, d in zip(args, dims, strict=True)]
        params = [
            relay.var(f"x{i}", shape=d, dtype=str(a.dtype))
            for i, (a, d) in enumerate(zip(args, dims, strict=True))
        ]
        out = make(*params)
        out = out.astuple() if isinstance(out, relay.expr.TupleWrapper) else out
        mod = tenon.IRModule.from_expr(relay.Function(params, out))
        vm = tenon.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
        got = vm.run(*args)
        single = isinstance(got, tenon.nd.NDArray)
        results.append([got.numpy()] if single else [got[i].numpy() for i in range(len(got))])
    for a, b in zip(results[0], results[-1], strict=True):
        np.testing.assert_array_equal(a, b)
    return results[0]


def boxes(batch, n, seed=0):
    rng = np.random.default_rng(seed)
    data = np.empty((batch, n, 6), "float32")
    data[..., 0] = rng.integers(-1, 3, (batch, n))
    data[..., 1] = rng.random((batch, n)).round(1)
    data[..., 2:4] = rng.random((batch, n, 2)) * 5
    data[..., 4:6] = data[..., 2:4] + 1 + rng.random((batch, n, 2)) * 4
    return data


def valid_counts(data, least, id_index, score_index):
    out, places = np.full_like(data, -1), np.full(data.shape[:2], -1, "int32")
    count = np.zeros(data.shape[0], "int32")
    for b, image in enumerate(data):
        good = image[:, score_index] > least
        if id_index >= 0:
            good &= image[:, id_index] >= 0
        (found,) = np.nonzero(good)
        count[b] = len(found)
        out[b, : len(found)], places[b, : len(found)] = image[found], found
    return count, out, places


@pytest.mark.parametrize("least, id_index", [(0.0, 0), (0.45, 0), (0.45, -1), (2.0, 0)])
def test_valid_counts(least, id_index):
    data = boxes(2, 17)
    got = run(lambda x: relay.vision.get_valid_counts(x, least, id_index, 1), data)
    for g, w in zip(got, valid_counts(data, least, id_index, 1), strict=True):
        np.testing.assert_array_equal(g, w)


def overlap(a, b):
    common = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    shared = np.prod(np.maximum(common, 0))
    both = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - shared
    return shared / both if both > 0 else 0.0


def suppressed(data, count, most, limit, force, top_k):
    """Boxes by score with those struck out marked, and which ones they are."""
    out, which = np.full_like(data, -1), np.full(data.shape[:2], -1)
    for b, n in enumerate(count):
        if limit <= 0:
            out[b, :n], which[b, :n] = data[b, :n], np.arange(n)
            continue
        order = np.argsort(-data[b, :n, 1], kind="stable")[: top_k if top_k > 0 else n]
        n, taken = len(order), 0
        out[b, :n], which[b, :n] = data[b, order], order
        for i in range(n):
            if taken == most:
                out[b, i], which[b, i] = -1, -1
                continue
            if out[b, i, 1] <= 0:
                continue
            taken += 1
            for j in range(i + 1, n):
                same = force or out[b, i, 0] == out[b, j, 0]
                if out[b, j, 1] > 0 and same and overlap(out[b, i, 2:], out[b, j, 2:]) >= limit:
                    out[b, j, :2], which[b, j] = -1, -1
    return out, which


def to_front(rows, which):
    out = np.full_like(rows, -1)
    for b in range(len(rows)):
        left = rows[b][which[b] >= 0]
        out[b, : len(left)] = left
    return out


@pytest.mark.parametrize(
    "most, limit, force, top_k",
    [
        (-1, 0.3, False, -1),
        (-1, 0.3, True, -1),
        (3, 0.3, False, -1),
        (-1, 0.5, True, 5),
        (2, 0, 0, -1),
    ],
)
def test_non_max_suppression(most, limit, force, top_k):
    data = boxes(2, 13, 1)
    count, data, places = valid_counts(data, 0.15, 0, 1)
    out, which = suppressed(data, count, most, limit, force, top_k)
    own = {"force_suppress": bool(force), "top_k": top_k}
    args = (data, count, places)

    def make(**more):
        def call(x, n, i):
            return relay.vision.non_max_suppression(x, n, i, most, limit, **own, **more)

        return call

    kept, left = run(make(), *args)
    np.testing.assert_array_equal(left[:, 0], (which >= 0).sum(1))
    from_input = np.take_along_axis(places, np.maximum(which, 0), 1)
    np.testing.assert_array_equal(kept, to_front(from_input, which))
    (marked,) = run(make(return_indices=False), *args, open_extents=False)
    np.testing.assert_array_equal(marked, out)
    (front,) = run(make(return_indices=False, invalid_to_bottom=True), *args, open_extents=False)
    np.testing.assert_array_equal(front, to_front(out, which))


def test_counts_beyond_the_boxes():
    data = boxes(1, 4)
    args = data, np.array([99], "int32"), np.arange(4, dtype="int32")[None]
    kept, left = run(lambda *x: relay.vision.non_max_suppression(*x, iou_threshold=2.0), *args)
    assert left[0, 0] <= 4 and sorted(kept[0]) == list(range(4))


@pytest.mark.parametrize("more", [{"score_index": 6}, {"coord_start": 3}, {"id_index": 9}])
def test_places_beyond_a_box(more):
    x = relay.var("x", shape=(1, 4, 6))
    count = relay.var("n", shape=(1,), dtype="int32")
    places = relay.var("i", shape=(1, 4), dtype="int32")
    call = relay.vision.non_max_suppression(x, count, places, return_indices=False, **more)
    with pytest.raises(tenon.TVMError, match="is not a place in a box"):
        relay.transform.InferType()(
            tenon.IRModule.from_expr(relay.Function([x, count, places], call))
        )
