"""Indices that come from data: nothing outside of a tensor is read or written."""

import itertools
from functools import partial

import numpy as np
import pytest
import tenon
from op_cases import result_type
from tenon import relay, tir
from tenon.script import tir as T

X = np.arange(12, dtype="float32").reshape(3, 4)
FAR = np.array([10**9, -(10**9), 2**40, -(2**62), 1, -1], "int64")
CLIPPED = np.array([2, 0, 2, 0, 1, 0])
FROM_END = np.array([2, 0, 2, 0, 1, 2])


def fold(make, *arrays):
    """The value of a call on constants, as FoldConstant finds it."""
    call = make(*[relay.const(a) for a in arrays])
    mod = relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([], call)))
    return relay.transform.FoldConstant()(mod)["main"].body.data.numpy()


def run(make, *arrays, executor="graph", target="llvm", dynamic=False):
    types = [
        relay.TensorType([relay.Any()] * a.ndim if dynamic else a.shape, str(a.dtype))
        for a in arrays
    ]
    params = [relay.var(f"x{i}", t) for i, t in enumerate(types)]
    mod = tenon.IRModule.from_expr(relay.Function(params, make(*params)))
    return relay.create_executor(executor, mod, tenon.cpu(), target).evaluate()(*arrays).numpy()


def weights(n=4):
    return np.ones(n, "float32")


CASES = {
    "take": (lambda x, i: relay.take(x, i, axis=0), X, FAR, X[CLIPPED]),
    "take fast": (lambda x, i: relay.take(x, i, axis=0, mode="fast"), X, FAR, X[CLIPPED]),
    "take wrap": (lambda x, i: relay.take(x, i, axis=0, mode="wrap"), X, FAR, X[FAR % 3]),
    "take flat": (lambda x, i: relay.take(x, i), X, FAR, X.ravel()[[11, 0, 11, 0, 1, 0]]),
    "gather": (
        lambda x, i: relay.gather(x, 0, i),
        X,
        np.tile(FAR[:, None], (1, 4)),
        X[FROM_END],
    ),
    "gather_nd": (lambda x, i: relay.gather_nd(x, i, index_rank=1), X, FAR[None], X[FROM_END]),
    "adv_index": (lambda x, i: relay.adv_index([x, i]), X, FAR, X[FROM_END]),
}


@pytest.mark.parametrize("name", CASES)
def test_indices_far_away(name):
    make, x, i, want = CASES[name]
    np.testing.assert_array_equal(fold(make, x, i), want)
    for target in ("llvm", "stackvm"):
        np.testing.assert_array_equal(run(make, x, i, target=target), want)
    np.testing.assert_array_equal(run(make, x, i, executor="vm", dynamic=True), want)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_indices_of_any_type(dtype):
    info = np.iinfo(dtype)
    i = np.array([info.min, info.max, 1], dtype)
    x = np.arange(300, dtype="float32")
    want = x[[0, min(info.max, 299), 1]]
    np.testing.assert_array_equal(run(lambda x, i: relay.take(x, i, axis=0), x, i), want)
    want[0] = x[int(info.min)] if info.min and info.min > -300 else x[0]
    np.testing.assert_array_equal(run(lambda x, i: relay.gather(x, 0, i), x, i), want)


def test_classes_far_away():
    def make(p, t, w):
        return relay.nn.nll_loss(p, t, w, "none", ignore_index=-7)

    t = np.array([10**12, -(10**12), -7], "int64")
    want = -np.array([X[0, 3], X[1, 0], 0])
    np.testing.assert_array_equal(run(make, X, t, weights()), want)
    np.testing.assert_array_equal(fold(make, X, t, weights()), want)


def test_lengths_of_sequences_far_away():
    lengths = np.array([2**40 + 1, -(2**40), 2], "int64")
    got = run(lambda x, n: relay.reverse_sequence(x, n, 1, 0), X, lengths)
    np.testing.assert_array_equal(got, [X[0, ::-1], X[1], [X[2, 1], X[2, 0], *X[2, 2:]]])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e30, -1e30])
def test_places_that_are_no_numbers(bad):
    """Whatever a coordinate is, the result is some number of the image, or none of it."""
    image = np.ones((1, 1, 3, 3), "float32")
    grid = np.full((1, 2, 2, 2), bad, "float32")
    for method, padding in itertools.product(
        ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")
    ):
        make = partial(relay.image.grid_sample, method=method, padding_mode=padding)
        assert run(make, image, grid).shape == (1, 1, 2, 2)
    boxes = np.full((1, 4), bad, "float32")
    for method in ("bilinear", "nearest_neighbor"):
        make = partial(relay.image.crop_and_resize, crop_size=(2, 2), layout="NCHW", method=method)
        assert run(make, image, boxes, np.array([7], "int32")).shape == (1, 1, 2, 2)
    rois = np.full((1, 5), bad, "float32")
    for mode in ("avg", "max"):
        make = partial(relay.vision.roi_align, pooled_size=(2, 2), spatial_scale=1.0, mode=mode)
        assert run(make, image, rois).shape == (1, 1, 2, 2)
    offsets = np.full((1, 18, 1, 1), bad, "float32")
    got = run(
        lambda x, o, w: relay.nn.deformable_conv2d(x, o, w, kernel_size=(3, 3), channels=1),
        image,
        offsets,
        np.ones((1, 1, 3, 3), "float32"),
    )
    assert got.shape == (1, 1, 1, 1)


# ---- axes without elements


EMPTY = [
    (lambda x, i: relay.take(x, i, axis=0), (0, 4), (2,)),
    (lambda x, i: relay.take(x, i), (0, 4), (2,)),
    (lambda x, i: relay.gather(x, 0, i), (0, 4), (2, 4)),
    (lambda x, i: relay.gather_nd(x, i), (0, 4), (1, 2)),
    (lambda x, i: relay.adv_index([x, i]), (0, 4), (2,)),
]


@pytest.mark.parametrize("case", range(len(EMPTY)))
def test_nothing_is_taken_from_an_empty_axis(case):
    make, shape, indices = EMPTY[case]
    with pytest.raises(tenon.TVMError, match="has no elements to take"):
        run(make, np.zeros(shape, "float32"), np.zeros(indices, "int64"))
    with pytest.raises(tenon.TVMError, match="do not fit"):
        x, i = np.zeros(shape, "float32"), np.zeros(indices, "int64")
        if make is EMPTY[3][0]:  # the number of coordinates must be known
            params = [
                relay.var("x", relay.TensorType((relay.Any(), 4))),
                relay.var("i", relay.TensorType((1, relay.Any()), "int64")),
            ]
            mod = tenon.IRModule.from_expr(relay.Function(params, make(*params)))
            relay.create_executor("vm", mod).evaluate()(x, i)
        else:
            run(make, x, i, executor="vm", dynamic=True)


def test_nothing_is_taken_where_the_result_is_empty():
    got = run(
        lambda x, i: relay.take(x, i, axis=0), np.zeros((0, 4), "float32"), np.zeros(0, "int64")
    )
    assert got.shape == (0, 4)


def test_batches_of_take_are_the_same():
    def types(n):
        return relay.TensorType((3, 4)), relay.TensorType((n, 2), "int64")

    def make(x, i):
        return relay.take(x, i, axis=1, batch_dims=1)

    assert result_type(make, *types(3)) == relay.TensorType((3, 2))
    with pytest.raises(tenon.TVMError, match="take: batch_dims=1: axis 0 of data .* differ"):
        result_type(make, *types(5))
    i = np.zeros((5, 2), "int64")
    with pytest.raises(tenon.TVMError, match="do not fit"):
        run(make, X, i, executor="vm", dynamic=True)


# ---- borders


@pytest.mark.parametrize("n", [1, 2, 3, 5])
@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge"])
@pytest.mark.parametrize("pads", [(0, 0), (1, 2), (4, 3), (9, 14)])
def test_mirrors_wider_than_the_axis(n, mode, pads):
    x = np.arange(n, dtype="float32") + 1
    want = np.pad(x, [pads], mode)

    def make(v):
        if mode == "edge":
            return relay.nn.pad(v, [pads], 0, mode)
        return relay.nn.mirror_pad(v, [pads], mode.upper())

    np.testing.assert_array_equal(run(make, x, target="stackvm"), want)
    np.testing.assert_array_equal(run(make, x, target="stackvm", executor="vm", dynamic=True), want)
    if mode != "symmetric":
        got = run(
            lambda v, p: relay.nn.pad(v, p, 0, mode),
            x,
            np.array([pads]),
            executor="vm",
            target="stackvm",
        )
        np.testing.assert_array_equal(got, want)


# ---- the analysis


@T.prim_func
def unguarded(
    A: T.Buffer((8,), "float32"), J: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")
):
    for i in range(4):
        B[i] = A[J[i]]


@T.prim_func
def clipped(A: T.Buffer((8,), "float32"), J: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[T.max(T.min(J[i], 7), 0)]


@T.prim_func
def half_clipped(
    A: T.Buffer((8,), "float32"), J: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")
):
    for i in range(4):
        B[i] = A[T.min(J[i], 7)]


@T.prim_func
def guarded(A: T.Buffer((8,), "float32"), J: T.Buffer((4,), "int64"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        if J[i] >= T.int64(0) and J[i] < T.int64(8):
            A[J[i]] = B[i]


@T.prim_func
def guarded_too_late(A: T.Buffer((8,), "float32"), J: T.Buffer((4,), "int32")):
    for i in range(4):
        if J[i] >= 0 and J[i] < 8:
            J[i] = J[i] + 5
            A[J[i]] = T.float32(0)


@T.prim_func
def beyond_a_loop(A: T.Buffer((8,), "float32"), N: T.Buffer((1,), "int32")):
    for i in range(N[0]):
        A[i] = T.float32(0)


@T.prim_func
def own_count(
    A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32"), n: T.Buffer((1,), "int32")
):
    n[0] = 0
    for i in range(8):
        if A[i] > T.float32(0):
            B[n[0]] = A[i]
            n[0] = n[0] + 1


def test_accesses_at_data_are_found():
    unbounded = tir.analysis.unbounded_data_indices
    for func in (unguarded, half_clipped, guarded_too_late, beyond_a_loop):
        assert len(unbounded(func)) == 1, func
    assert unbounded(unguarded)[0].startswith("buffer A: index 0, ")
    for func in (clipped, guarded, own_count):
        assert unbounded(func) == [], func
