"""Sorting: functions that take several forms of an argument."""

from ..expr import Constant, Expr, TupleWrapper
from . import _make, _rows

sort = _rows.wrapper("sort", defaults={"is_ascend": 1}, hidden=("dtype",))
argsort = _rows.wrapper("argsort", defaults={"is_ascend": 1})


def topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"):
    """The best elements along an axis.

    Parameters
    ----------
    data : RelayExpr
        The data.
    k : int or RelayExpr
        How many, all of them when below 1. An expression is known at run time only.
    axis : int
        The axis.
    ret_type : str
        "both", "values" or "indices".
    is_ascend : bool
        The smallest elements rather than the largest?
    dtype : str
        Type of indices.

    Returns
    -------
    TupleWrapper or Call
        Values and indices, or one of them.
    """
    if isinstance(k, Constant):
        k = int(k.data.numpy().item())
    if isinstance(k, Expr):
        make = _rows.dynamic("topk")
        call = make(data, k, 0, axis, ret_type, is_ascend, dtype)
        return TupleWrapper(call, 2) if ret_type == "both" else call
    call = _make.topk(data, k, axis, ret_type, is_ascend, dtype)
    return TupleWrapper(call, 2) if ret_type == "both" else call


def unique(data, is_sorted=True, return_counts=False):
    """The distinct elements of a vector.

    Parameters
    ----------
    data : RelayExpr
        The vector, of n elements.
    is_sorted : bool
        Smallest value first, rather than in the order of the data?
    return_counts : bool
        How often each value occurs as the last result?

    Returns
    -------
    TupleWrapper
        The values (n elements, as many as there are distinct ones count), the place of the first
        element of each value (int32, the same), for each element which value it has (int32), the
        number of values (int32, one element), and the count of each (int32).
    """
    call = _make.unique(data, is_sorted, return_counts)
    return TupleWrapper(call, 5 if return_counts else 4)


__all__ = ["argsort", "sort", "topk", "unique"]
