"""Sorting: functions that take several forms of an argument."""

from ..expr import Constant, TupleWrapper
from . import _make, _rows

sort = _rows.wrapper("sort", defaults={"is_ascend": 1}, hidden=("dtype",))
argsort = _rows.wrapper("argsort", defaults={"is_ascend": 1})


def topk(data, k=1, axis=-1, ret_type="both", is_ascend=False, dtype="int32"):
    """The best elements along an axis.

    Parameters
    ----------
    data : RelayExpr
        The data.
    k : int or Constant
        How many, all of them when below 1.
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
    call = _make.topk(data, k, axis, ret_type, is_ascend, dtype)
    return TupleWrapper(call, 2) if ret_type == "both" else call


__all__ = ["argsort", "sort", "topk"]
