"""Sorting against numpy: order of equal elements, directions, types."""

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.relay import TensorType


def order(x, axis, ascend):
    """Stable, as operators promise."""
    if ascend:
        return np.argsort(x, axis=axis, kind="stable")
    flipped = np.flip(x, axis)
    found = np.argsort(flipped, axis=axis, kind="stable")
    return np.flip(x.shape[axis] - 1 - found, axis)


@pytest.mark.parametrize("shape, axis", [((9,), 0), ((3, 17), -1), ((5, 3, 4), 0), ((2, 1), 1)])
@pytest.mark.parametrize("ascend", [True, False])
@pytest.mark.parametrize("target", ["stackvm", "llvm"])
def test_sort(shape, axis, ascend, target):
    x = np.random.default_rng(0).integers(0, 4, shape).astype("float32")
    check(
        lambda d: relay.sort(d, axis, ascend),
        lambda d: np.take_along_axis(d, order(d, axis, ascend), axis),
        x,
        target=target,
    )
    check(
        lambda d: relay.argsort(d, axis, ascend, dtype="int64"),
        lambda d: order(d, axis, ascend),
        x,
        target=target,
    )


@pytest.mark.parametrize("ret_type", ["both", "values", "indices"])
@pytest.mark.parametrize("k, axis", [(1, -1), (3, 0), (0, 1)])
@pytest.mark.parametrize("ascend", [False, True])
def test_topk(ret_type, k, axis, ascend):
    x = np.random.default_rng(1).integers(0, 9, (6, 5)).astype("int32")

    def make(d):
        call = relay.topk(d, k, axis, ret_type, ascend)
        return call.tuple_value if ret_type == "both" else call

    def reference(d):
        found = order(d, axis, ascend)
        if k:
            found = np.take(found, range(k), axis)
        values = np.take_along_axis(d, found, axis)
        return {"both": [values, found], "values": values, "indices": found}[ret_type]

    check(make, reference, x)


@pytest.mark.parametrize("target", ["stackvm", "llvm"])
@pytest.mark.parametrize("k", [2, 17])
def test_nan_is_larger_than_any_number(target, k):
    x = np.random.default_rng(2).integers(0, 9, (3, 20)).astype("float32")
    x[0, 1], x[1, :3], x[2, -1] = np.nan, np.nan, np.nan
    for ascend in (True, False):
        best = np.take(order(x, 1, ascend), range(k), 1)
        how = {"k": k, "is_ascend": ascend, "ret_type": "indices"}
        check(lambda d, how=how: relay.topk(d, **how), lambda d, best=best: best, x, target=target)
        check(
            lambda d, up=ascend: relay.argsort(d, 1, up),
            lambda d, up=ascend: order(d, 1, up),
            x,
            target=target,
        )


def test_sort_types():
    n = tenon.tir.Var("n", "int32")
    assert result_type(relay.argsort, TensorType((n, 3))) == TensorType((n, 3), "int32")
    t = result_type(lambda d: relay.topk(d, 2, dtype="int64").tuple_value, TensorType((n, 3)))
    assert t == relay.TupleType([TensorType((n, 2)), TensorType((n, 2), "int64")])
    with pytest.raises(tenon.error.DiagnosticError, match="k=4 is more than the 3"):
        result_type(lambda d: relay.topk(d, 4, ret_type="values"), TensorType((2, 3)))
    with pytest.raises(tenon.error.DiagnosticError, match="ret_type"):
        result_type(lambda d: relay.topk(d, 1, ret_type="all"), TensorType((2, 3)))
    with pytest.raises(tenon.error.DiagnosticError, match="out of range"):
        result_type(lambda d: relay.sort(d, 2), TensorType((2, 3)))


def test_sort_of_many():
    check(relay.sort, lambda d: np.sort(d), rand(5000), target="llvm")


@pytest.mark.parametrize("rows, columns", [(1, 3), (7, 1), (33, 2), (5, 0)])
def test_rank_of_rows(rows, columns):
    x = np.random.default_rng(3).integers(-2, 3, (rows, columns)).astype("float32")
    v = relay.var("x", shape=x.shape)
    call = tenon.get_global_func("relay.op._make.rank_rows")(v)
    got = relay.create_executor("graph", target="llvm").evaluate(relay.Function([v], call))(x)
    wanted = np.unique(x, return_inverse=True, axis=0)[1].reshape(-1) if columns else np.zeros(rows)
    np.testing.assert_array_equal(got.numpy(), wanted)
