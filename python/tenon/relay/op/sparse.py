"""Operators on elements and where they belong."""

import importlib

from ..expr import Constant, Expr, Tuple, TupleWrapper, const
from . import _make, _rows


def _call(name, *args, **kwargs):
    """A call by the public function, which takes more forms of arguments."""
    return getattr(importlib.import_module(__package__), name)(*args, **kwargs)


def sparse_to_dense(sparse_indices, output_shape, sparse_values, default_value=0):
    """A tensor of its elements and their coordinates.

    Parameters
    ----------
    sparse_indices : RelayExpr
        Coordinates of the elements, integers (elements, dimensions), or (elements,) for a result
        of one dimension, or a scalar.
    output_shape : list of int, Constant or RelayExpr
        Shape of the result; an expression is a vector of extents, known at run time only.
    sparse_values : RelayExpr
        The elements (elements,), or one for all.
    default_value : RelayExpr or number
        What is at all other places.

    Returns
    -------
    Call
    """
    if isinstance(output_shape, Constant):
        output_shape = output_shape.data.numpy()
    if not isinstance(default_value, Expr):
        default_value = const(default_value)
    if isinstance(output_shape, Expr):
        make = _rows.dynamic("sparse_to_dense")
        return make(sparse_indices, sparse_values, default_value, output_shape)
    shape = [int(n) for n in output_shape]
    return _make.sparse_to_dense(sparse_indices, sparse_values, default_value, shape)


sparse_reshape = _rows.wrapper("sparse_reshape", finish=lambda call: TupleWrapper(call, 2))

sparse_fill_empty_rows = _rows.wrapper(
    "sparse_fill_empty_rows", finish=lambda call: Tuple(list(TupleWrapper(call, 3)))
)


def segment_sum(data, segment_ids, num_segments=None):
    """Sums of the slices of a tensor that have the same number.

    Parameters
    ----------
    data : RelayExpr
        The slices, along its first axis.
    segment_ids : RelayExpr
        The number of each slice, integers.
    num_segments : int, optional
        How many sums there are; by default one more than the largest number, found at run time.

    Returns
    -------
    Call
        Of shape (num_segments, *data.shape[1:]).
    """
    if num_segments is None:
        count = _make.add(_call("max", segment_ids), _make.cast_like(const(1), segment_ids))
    else:
        count = _make.cast_like(const(num_segments), segment_ids)
    extents = _make.shape_of(data, "int64")
    rest = _call("strided_slice", extents, [1], [-1], slice_mode="size")
    count = _call("reshape", _make.cast(count, "int64"), (1,))
    zeros = _call("full", _make.cast_like(const(0), data), _call("concatenate", [count, rest], 0))
    return _make.scatter_nd(zeros, _make.expand_dims(segment_ids, 0), data, "add")


def matrix_set_diag(data, diagonal, k=0, align="RIGHT_LEFT"):
    """Matrices with diagonals replaced.

    Parameters
    ----------
    data : RelayExpr
        The matrices, the last two axes.
    diagonal : RelayExpr
        Elements of one diagonal (..., length), or of several (..., diagonals, length of the
        longest), the uppermost first.
    k : int or (int, int)
        Which diagonal, 0 for the main one and positive above it, or the lowest and the uppermost.
    align : str
        Where diagonals stand that are shorter than the longest one: above the main one and below
        it, ``"RIGHT_LEFT"``, ``"LEFT_RIGHT"``, ``"LEFT_LEFT"`` or ``"RIGHT_RIGHT"``.

    Returns
    -------
    Call
    """
    low, high = (k, k) if isinstance(k, int) else (k[0], k[-1])
    sides = align.split("_")
    if len(sides) != 2 or any(side not in ("LEFT", "RIGHT") for side in sides):
        raise ValueError(f"matrix_set_diag: align: expected LEFT or RIGHT twice, got {align!r}")
    above, below = (side == "RIGHT" for side in sides)
    return _make.matrix_set_diag(data, diagonal, int(low), int(high), above, below)


__all__ = [
    "matrix_set_diag",
    "segment_sum",
    "sparse_fill_empty_rows",
    "sparse_reshape",
    "sparse_to_dense",
]
