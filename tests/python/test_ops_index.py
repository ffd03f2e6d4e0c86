"""Elements by index, indices of elements, grids, masks."""

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay


def ints(*values, dtype="int32"):
    return np.array(values, dtype)


@pytest.mark.parametrize(
    "indices",
    [
        [ints(2, -1, 0)],
        [ints([0], [1]), ints(1, 2, -3)],
        [ints(1), ints(2), ints([3, 0], [1, 2])],
    ],
)
def test_adv_index(indices):
    x = rand(3, 4, 5)
    check(relay.adv_index, lambda all: all[0][tuple(all[1:])], [x, *indices])


def test_adv_index_errors():
    x, i = relay.TensorType((3, 4)), relay.TensorType((2,), "int32")
    for types, message in [
        ([x], "expected data and up to as many indices"),
        ([x, i, i, i], "expected data and up to as many indices"),
        ([x, relay.TensorType((2,))], "indices must be integers"),
        ([x, i, relay.TensorType((3,), "int64")], "adv_index: .*broadcast|Incompatible broadcast"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            result_type(relay.adv_index, relay.TupleType(types))


@pytest.mark.parametrize(
    ("begin", "end", "strides"),
    [
        ([1, 0, 1], [3, 3, 4], None),
        ([0, -1], [3, -4], [2, -1]),
        ([2], [0], [-1]),
        ([-2, 0, 0], [3, 4, 3], [1, 3, 2]),
        ([9, -9, -7], [0, 9, 8], [-1, 3, 2]),
    ],
)
def test_strided_set(begin, end, strides):
    x = rand(3, 4, 3)
    part = tuple(slice(*v) for v in zip(begin, end, strides or [1] * len(begin), strict=True))
    v = rand(*x[part].shape, seed=1)

    def reference(a, b):
        a = a.copy()
        a[part] = b
        return a

    a, b = relay.var("a", shape=x.shape), relay.var("b", shape=v.shape)
    func = relay.Function([a, b], relay.strided_set(a, b, begin, end, strides))
    run = relay.create_executor("graph", mod=tenon.IRModule.from_expr(func), target="llvm")
    np.testing.assert_array_equal(run.evaluate()(x, v).numpy(), reference(x, v))


@pytest.mark.parametrize("right", [False, True])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_searchsorted(right, dtype):
    rows = np.sort(np.random.default_rng(0).integers(0, 9, (2, 3, 7)), -1).astype("float32")
    values = np.random.default_rng(1).integers(-1, 10, (2, 3, 5)).astype("float32")
    side = "right" if right else "left"

    def reference(s, v):
        if s.ndim == 1:
            return np.searchsorted(s, v, side)
        rows = [
            np.searchsorted(*r, side) for r in zip(s.reshape(6, 7), v.reshape(6, 5), strict=True)
        ]
        return np.stack(rows).reshape(v.shape)

    def make(s, v):
        return relay.searchsorted(s, v, right=right, dtype=dtype)

    check(make, reference, rows, values)
    check(make, reference, rows[0, 0], values)


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 5)])
def test_unravel_index(shape):
    places = np.random.default_rng(0).integers(0, np.prod(shape), (2, 3)).astype("int64")
    check(
        relay.unravel_index,
        lambda i, s: np.stack(np.unravel_index(i, shape)),
        places,
        np.array(shape, "int32"),
    )


@pytest.mark.parametrize("indexing", ["ij", "xy"])
@pytest.mark.parametrize("sizes", [(3,), (2, 3), (2, 3, 4), (2, 0)])
def test_meshgrid(indexing, sizes):
    vectors = [rand(n, seed=i) if n else np.float32(7) for i, n in enumerate(sizes)]
    vectors = [np.asarray(v) for v in vectors]
    check(
        lambda t: relay.meshgrid(t, indexing).tuple_value,
        lambda all: np.meshgrid(*all, indexing=indexing),
        vectors,
    )
    grids = relay.meshgrid([relay.var(f"v{i}", shape=v.shape) for i, v in enumerate(vectors)])
    assert len(grids) == len(vectors)


def test_affine_grid():
    m = rand(2, 2, 3)

    def reference(a):
        y, x = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
        points = np.stack([x, y, np.ones_like(x)]).reshape(3, -1)
        return (a @ points).reshape(2, 2, 4, 5).astype("float32")

    check(lambda a: relay.image.affine_grid(a, (4, 5)), reference, m, rtol=1e-4)
    with pytest.raises(tenon.error.DiagnosticError, match="2 rows and 3 columns"):
        result_type(lambda a: relay.image.affine_grid(a, (4, 5)), relay.TensorType((2, 3, 3)))


@pytest.mark.parametrize("k", [-1, 0, 2])
@pytest.mark.parametrize("upper", [True, False])
def test_trilu(k, upper):
    reference = np.triu if upper else np.tril
    check(
        lambda a, b: relay.trilu(a, b, upper),
        lambda a, b: reference(a, k),
        rand(2, 3, 4),
        np.array(k, "int64"),
    )
    call = relay.trilu(relay.var("x", shape=(3, 3)), k)
    assert int(call.args[1].data.numpy()) == k and call.attrs.upper


@pytest.mark.parametrize("axis", [0, 1])
def test_sequence_mask(axis):
    x = rand(3, 4, 2)
    lengths = np.array([2, 0, 4] if axis else [1, 3, 0, 2], "int32")

    def reference(a, n):
        place = np.arange(a.shape[axis])
        kept = place[:, None] < n[None, :] if axis == 0 else place[None, :] < n[:, None]
        return np.where(kept[..., None], a, np.float32(-5))

    check(lambda a, n: relay.sequence_mask(a, n, mask_value=-5, axis=axis), reference, x, lengths)
    with pytest.raises(tenon.error.DiagnosticError, match="axis must be 0 or 1, got 2"):
        kind = relay.TensorType((3,), "int32")
        result_type(lambda a, n: relay.sequence_mask(a, n, axis=2), relay.TensorType((3, 3)), kind)


def test_indices_of_few_bits():
    """An extent of 300 does not fit into the type of the index."""
    x, i = rand(300, 2), ints(-1, 100, dtype="int8")
    check(relay.adv_index, lambda all: all[0][all[1]], [x, i])
    check(lambda a, b: relay.gather_nd(a, b), lambda a, b: a[b[0]], x, i[None])
    check(lambda a, b: relay.gather(a, 0, b), lambda a, b: np.take_along_axis(a, b, 0), x, i[None])
    check(lambda a, b: relay.take(a, b, 0, mode="wrap"), lambda a, b: a[b], x, i)
    check(lambda a, b: relay.take(a, b, 0), lambda a, b: a[np.maximum(b, 0)], x, i)

    def added(a, b, c):
        a = a.copy()
        a[b[0]] += c
        return a

    check(lambda a, b, c: relay.scatter_nd(a, b, c, "add"), added, x, i[None], rand(2, 2, seed=1))
    lengths = ints(5, 100, dtype="int8")
    kept = np.arange(300)[:, None] < lengths
    check(relay.sequence_mask, lambda a, n: np.where(kept, a, np.float32(0)), x, lengths)


def test_computes_of_te_tensors():
    from tenon import te, topi

    x, i = te.placeholder((3, 4), name="x"), te.placeholder((2, 1), "int32", "i")
    y = topi.adv_index(x, [i])
    assert [int(n) for n in y.shape] == [2, 1, 4]
    assert [int(n) for n in topi.trilu(x, te.placeholder((), "int32", "k"), True).shape] == [3, 4]


def test_coordinates_that_are_floats_are_cut_off():
    x = rand(3, 4)
    i = np.float32([[0, 2.9, -1, 99, np.nan], [3, 0, 1.5, -99, np.inf]])
    want = x[[0, 2, 2, 2, 0], [3, 0, 1, 0, 0]]
    for target in ("stackvm", "llvm"):
        check(relay.gather_nd, lambda *_: want, x, i, target=target)
    kinds = relay.TensorType((3, 4)), relay.TensorType((2, 5), "handle")
    with pytest.raises(tenon.TVMError, match="must be tensor of integer, got handle"):
        result_type(relay.gather_nd, *kinds)
