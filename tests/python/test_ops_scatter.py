"""Operators that write elements by index, run along axes, or sum products by names of axes."""

import numpy as np
import pytest
import tenon
from op_cases import check, compute, result_type
from tenon import relay

rng = np.random.default_rng(11)
MODES = {"update": None, "add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}


def scattered(x, index, updates, axis, how):
    r = x.copy()
    for at in np.ndindex(*index.shape):
        to = list(at)
        to[axis] = index[at]
        r[tuple(to)] = updates[at] if how is None else how(r[tuple(to)], updates[at])
    return r


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_scatter_elements(mode, axis):
    x = rng.integers(-9, 9, (4, 5)).astype("float32")
    index = rng.integers(-4, 4, (3, 5)).astype("int64")
    updates = rng.integers(-9, 9, (3, 5)).astype("float32")
    check(
        lambda d, i, u: relay.scatter_elements(d, i, u, axis, mode),
        lambda d, i, u: scattered(d, i, u, axis, MODES[mode]),
        x, index, updates,
    )  # fmt: skip


def test_scatter_elements_mean():
    x = np.array([1, 2, 3], "float32")
    index, updates = np.array([0, 0, 2], "int32"), np.array([4, 7, 5], "float32")
    got = compute(lambda d, i, u: relay.scatter_elements(d, i, u, 0, "mean"), x, index, updates)
    np.testing.assert_allclose(got, [4, 2, 4])


def test_updates_outside_are_left_out():
    x = np.zeros(3, "float32")
    index, updates = np.array([3, -4, 1, 1 << 20], "int32"), np.ones(4, "float32")
    got = compute(lambda d, i, u: relay.scatter_elements(d, i, u, 0, "add"), x, index, updates)
    np.testing.assert_array_equal(got, [0, 1, 0])
    got = compute(lambda d, i, u: relay.scatter_nd(d, i, u, "add"), x, index[None], updates)
    np.testing.assert_array_equal(got, [0, 1, 0])


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("coordinates", [1, 2, 3])
def test_scatter_nd(mode, coordinates):
    x = rng.integers(-9, 9, (4, 5, 2)).astype("int32")
    index = np.stack([rng.integers(-n, n, (2, 3)) for n in x.shape[:coordinates]])
    updates = rng.integers(-9, 9, (2, 3, *x.shape[coordinates:])).astype("int32")

    def reference(d, i, u):
        r = d.copy()
        for at in np.ndindex(2, 3):
            to = tuple(i[(slice(None), *at)])
            r[to] = u[at] if mode == "update" else MODES[mode](r[to], u[at])
        return r

    check(lambda d, i, u: relay.scatter_nd(d, i, u, mode), reference, x, index, updates)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_sums_and_products(axis, exclusive):
    x = rng.integers(1, 4, (3, 4)).astype("int32")

    def reference(f, none):
        def run(d):
            r = f(d, axis=axis, dtype="int64")
            if not exclusive:
                return r
            k = 0 if axis is None else axis
            first = np.full_like(np.take(r, [0], k), none)
            return np.concatenate([first, np.delete(r, -1, k)], k)

        return run

    how = {"axis": axis, "dtype": "int64", "exclusive": exclusive}
    check(lambda d: relay.cumsum(d, **how), reference(np.cumsum, 0), x)
    check(lambda d: relay.cumprod(d, **how), reference(np.cumprod, 1), x)


def test_none_is_an_attribute_that_was_not_given():
    x = rng.integers(1, 4, (3, 4)).astype("int32")
    how = {"axis": 1, "dtype": None, "exclusive": None}
    check(lambda d: relay.cumsum(d, **how), lambda d: np.cumsum(d, 1, dtype="int32"), x)


@pytest.mark.parametrize("seq, batch", [(0, 1), (1, 0), (2, 1)])
def test_reverse_sequence(seq, batch):
    x = rng.normal(0, 1, (4, 5, 3)).astype("float32")
    lengths = rng.integers(0, x.shape[seq] + 1, x.shape[batch]).astype("int32")

    def reference(d, n):
        r = np.moveaxis(d, (batch, seq), (0, 1)).copy()
        for b, k in enumerate(n):
            r[b, :k] = r[b, :k][::-1].copy()
        return np.moveaxis(r, (0, 1), (batch, seq))

    check(lambda d, n: relay.reverse_sequence(d, n, seq, batch), reference, x, lengths)


@pytest.mark.parametrize(
    "equation, shapes",
    [
        ("ij,jk->ik", [(2, 3), (3, 4)]),
        ("ij,jk", [(2, 3), (3, 4)]),
        ("...ii->...i", [(2, 3, 3)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("i,j->ji", [(3,), (4,)]),
        ("ij->", [(3, 4)]),
        ("...ij,...jk->...ik", [(5, 2, 3), (3, 4)]),
        ("abc, cd, be -> ade", [(2, 3, 4), (4, 5), (3, 2)]),
        ("ii", [(3, 3)]),
    ],
)
def test_einsum(equation, shapes):
    given = [rng.normal(0, 1, s).astype("float32") for s in shapes]
    check(lambda d: relay.einsum(d, equation), lambda d: np.asarray(np.einsum(equation, *d)), given)


def test_errors():
    t = relay.TensorType
    with pytest.raises(tenon.error.DiagnosticError, match="updates are float32, data is int32"):
        result_type(
            lambda d, i, u: relay.scatter_elements(d, i, u),
            t((3,), "int32"), t((2,), "int32"), t((2,), "float32"),
        )  # fmt: skip
    with pytest.raises(tenon.error.DiagnosticError, match="2 coordinates for 1 dimensions"):
        result_type(
            lambda d, i, u: relay.scatter_nd(d, i, u),
            t((3,), "float32"), t((2, 4), "int32"), t((4,), "float32"),
        )  # fmt: skip
    for equation, text in [
        ("ij,jk->iz", "a name that no operand has"),
        ("ij->ii", "another number of|fewer|a name twice"),
        ("i.,jk->ik", "single dot|another number"),
        ("ij,ik", "different extents"),
        ("ij,jk,kl", "too many operands"),
        ("ij", "fewer terms"),
        ("i?,jk->ik", "another number|expected letters"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=text):
            result_type(
                lambda d, e=equation: relay.einsum(d, e),
                relay.TupleType([t((2, 3), "float32"), t((3, 4), "float32")]),
            )
