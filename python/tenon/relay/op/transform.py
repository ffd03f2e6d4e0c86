"""Operators that move elements: functions that take several forms of an argument."""

from ...runtime.object_generic import ObjectGeneric
from ..expr import Constant, Expr, Tuple, TupleWrapper, const
from . import _make, _rows


def _tensors(data):
    """A tuple expression of a list of tensors, or what is one already."""
    if isinstance(data, ObjectGeneric):
        return data.asobject()
    if isinstance(data, list | tuple):
        data = list(data)
        if not data:
            raise ValueError("relay.concatenate requires data to be non-empty.")
        return Tuple(data)
    return data


def concatenate(data, axis):
    """Tensors put one after another.

    Parameters
    ----------
    data : list of RelayExpr, or RelayExpr of tuple type
        The tensors.
    axis : int
        The axis that grows.

    Returns
    -------
    Call
    """
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return _make.concatenate(_tensors(data), axis)


def _numbers(value):
    """Numbers of a constant; anything else as it is."""
    if not isinstance(value, Constant):
        return value
    numbers = value.data.numpy()
    return int(numbers) if numbers.ndim == 0 else [int(x) for x in numbers]


def squeeze(data, axis=None):
    """A tensor without axes of extent 1.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    axis : int, list of int, or RelayExpr, optional
        The axes to drop; default: all that can be. An expression is a vector of them, known at run
        time only.

    Returns
    -------
    Call
    """
    axis = _numbers(axis)
    if isinstance(axis, Expr):
        return _rows.dynamic("squeeze")(data, axis)
    if isinstance(axis, int):
        axis = [axis]
    return _make.squeeze(data, axis if axis is None else list(axis))


def expand_dims(data, axis, num_newaxis=1):
    """Axes of extent 1 before an axis.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    axis : int or RelayExpr
        The axis; negative ones count from behind the last one. An expression is a scalar, known at
        run time only.
    num_newaxis : int
        How many axes are put in.

    Returns
    -------
    Call
    """
    axis = _numbers(axis)
    if isinstance(axis, Expr):
        return _rows.dynamic("expand_dims")(data, axis, num_newaxis)
    return _make.expand_dims(data, axis, num_newaxis)


def reshape(data, newshape, allowzero=False):
    """The same elements under another shape.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    newshape : int, list of int, or RelayExpr
        The extents: 0 copies that of the input there, -1 is what is left, -2 copies all axes that
        are left, -3 merges the next two, -4 splits the next into the two numbers that follow. An
        expression is a tensor of extents, known at run time only.
    allowzero : bool
        Is 0 an extent, rather than a code?

    Returns
    -------
    Call
    """
    if isinstance(newshape, Constant):
        newshape = [int(x) for x in newshape.data.numpy()]
    if isinstance(newshape, Expr):
        return _rows.dynamic("reshape")(data, newshape, allowzero)
    if isinstance(newshape, int):
        newshape = [newshape]
    if isinstance(newshape, list | tuple):
        newshape = [_extent(x) for x in newshape]
    return _make.reshape(data, newshape, allowzero)


def _extent(x):
    if isinstance(x, Constant):
        return int(x.data.numpy())
    try:
        return int(x)
    except (TypeError, ValueError) as err:
        from ...ir.expr import PrimExpr

        if isinstance(x, PrimExpr):
            return x
        raise RuntimeError(f"Unrecognized shape type: {err}") from err


def _length(*vectors):
    """Length of the vectors, from one whose length is known."""
    for vector in vectors:
        if isinstance(vector, list | tuple):
            return len(vector)
        kind = vector._checked_type_ or getattr(vector, "type_annotation", None)
        if kind is not None:
            return int(kind.shape[0])
    raise ValueError("strided_slice: give strides where no length of the bounds is known")


def _const(value, dtype=None):
    return value if isinstance(value, Expr) else const(value, dtype)


def _ints(values):
    """A list of numbers, given as numbers, as a constant, or as arrays."""
    if isinstance(values, Constant):
        values = values.data.numpy().tolist()
    if isinstance(values, int):
        values = [values]
    return [int(value) for value in values]


def split(data, indices_or_sections, axis=0):
    """Parts of a tensor along an axis.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    indices_or_sections : int or tuple of int
        Number of equal parts, or where the parts after the first begin.
    axis : int
        The axis that is divided.

    Returns
    -------
    TupleWrapper
    """
    if isinstance(indices_or_sections, int):
        size = indices_or_sections
    else:
        indices_or_sections = _ints(indices_or_sections)
        size = len(indices_or_sections) + 1
    return TupleWrapper(_make.split(data, indices_or_sections, axis), size)


def full(fill_value, shape=(), dtype=""):
    """A tensor of one value.

    Parameters
    ----------
    fill_value : RelayExpr
        The value, a scalar.
    shape : tuple of int, or RelayExpr
        Extents of the tensor; an expression is known at run time only.
    dtype : str
        Type of its elements; that of the value by default.

    Returns
    -------
    Call
    """
    if _rows.is_open(shape):
        return _rows.dynamic("full")(fill_value, shape, dtype)
    return _make.full(fill_value, _ints(shape), dtype)


def zeros(shape, dtype):
    """A tensor of zeros.

    Parameters
    ----------
    shape : tuple of int, or RelayExpr
        Extents of the tensor; an expression is known at run time only.
    dtype : str
        Type of its elements.

    Returns
    -------
    Call
    """
    if _rows.is_open(shape):
        return _rows.dynamic("zeros")(shape, dtype)
    return _make.zeros(_ints(shape), dtype)


def ones(shape, dtype):
    """A tensor of ones.

    Parameters
    ----------
    shape : tuple of int, or RelayExpr
        Extents of the tensor; an expression is known at run time only.
    dtype : str
        Type of its elements.

    Returns
    -------
    Call
    """
    if _rows.is_open(shape):
        return _rows.dynamic("ones")(shape, dtype)
    return _make.ones(_ints(shape), dtype)


def tile(data, reps):
    """A tensor repeated along its axes.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    reps : tuple of int, or RelayExpr
        How often along each axis; an expression is known at run time only.

    Returns
    -------
    Call
    """
    if _rows.is_open(reps):
        return _rows.dynamic("tile")(data, reps)
    return _make.tile(data, _ints(reps))


def broadcast_to(data, shape):
    """A tensor repeated to other extents, as numpy does.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    shape : tuple of int, or RelayExpr
        Extents of the result; an expression is known at run time only.

    Returns
    -------
    Call
    """
    if _rows.is_open(shape):
        return _rows.dynamic("broadcast_to")(data, shape)
    if isinstance(shape, Constant):
        shape = _ints(shape)
    return _make.broadcast_to(data, [shape] if isinstance(shape, int) else shape, "")


def one_hot(indices, on_value, off_value, depth, axis, dtype):
    """One value where an index says, another one elsewhere.

    Parameters
    ----------
    indices : RelayExpr
        The indices.
    on_value, off_value : RelayExpr
        The values, scalars.
    depth : int or RelayExpr
        Length of the new axis; an expression is known at run time only.
    axis : int
        Where the new axis is.
    dtype : str
        Type of the result.

    Returns
    -------
    Call
    """
    if isinstance(depth, Constant):
        depth = int(depth.data.numpy().item())
    if isinstance(depth, Expr):
        return _rows.dynamic("one_hot")(indices, on_value, off_value, depth, axis, dtype)
    return _make.one_hot(indices, on_value, off_value, depth, axis, dtype)


def arange(start, stop=None, step=None, dtype="float32"):
    """Evenly spaced values.

    Parameters
    ----------
    start : RelayExpr or number
        First value; the end, from 0 on, where `stop` is not given.
    stop : RelayExpr or number, optional
        End, not reached.
    step : RelayExpr or number, optional
        Distance of the values; 1 by default.
    dtype : str
        Type of the values.

    Returns
    -------
    Call
    """
    if stop is None:
        start, stop = 0, start
    start, stop = _const(start, dtype), _const(stop, dtype)
    step = _const(1 if step is None else step, dtype)
    return _make.arange(start, stop, step, start, stop, step, dtype)


def gather(data, axis, indices):
    """Elements of an axis by index, one for each index.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    axis : int
        The axis that is indexed.
    indices : RelayExpr
        Indices, with as many axes as `data`.

    Returns
    -------
    Call
    """
    return _make.gather(data, indices, axis)


def strided_slice(data, begin, end, strides=None, axes=None, slice_mode="end"):
    """Part of a tensor by begin, end and step along axes.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    begin : list of int
        First index along each axis; negative ones count from the end.
    end : list of int
        Index after the last one, or numbers of elements.
    strides : list of int, optional
        Steps, which may be negative; 1 by default.
    axes : list of int, optional
        Axes that the lists are about; the first ones by default.
    slice_mode : str
        ``"end"``, or ``"size"`` where `end` holds numbers of elements, -1 for all that is left.

    Returns
    -------
    Call
    """
    given = (begin, end, strides)
    if any(_rows.is_open(x) for x in given):
        if axes is not None:
            raise ValueError("strided_slice: axes go with bounds that are numbers")
        if strides is None:
            strides = [1] * _length(begin, end)
        begin, end, strides = (_const(x, "int64") for x in (begin, end, strides))
        return _rows.dynamic("strided_slice")(data, begin, end, strides, slice_mode)
    begin, end = _ints(begin), _ints(end)
    strides = None if strides is None else _ints(strides)
    axes = None if axes is None else _ints(axes)
    return _make.strided_slice(data, begin, end, strides, axes, slice_mode)


def reverse_reshape(data, newshape):
    """`reshape` with its codes read from the end.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    newshape : int or tuple of int
        Extents and codes 0, -1, -2 and -3.

    Returns
    -------
    Call
    """
    newshape = [newshape] if isinstance(newshape, int) else list(newshape)
    return _make.contrib_reverse_reshape(data, newshape)


def collapse_sum_to(data, shape):
    """What broadcasting to the shape of a tensor repeats, summed up.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    shape : tuple of int or Constant
        Extents of the result.

    Returns
    -------
    Call
    """
    return _make.collapse_sum_to(data, _ints(shape))


def adv_index(inputs):
    """Elements of a tensor by tensors of indices, as numpy does.

    Parameters
    ----------
    inputs : list of RelayExpr, or RelayExpr of tuple type
        The tensor, then indices for its first axes, which are broadcast.

    Returns
    -------
    Call
    """
    return _make.adv_index(_tensors(inputs))


def meshgrid(data, indexing="ij"):
    """Coordinates of the points of a grid.

    Parameters
    ----------
    data : list of RelayExpr, or RelayExpr of tuple type
        Vectors of the coordinates along each axis.
    indexing : str
        ``"ij"``; ``"xy"`` exchanges the first two axes.

    Returns
    -------
    TupleWrapper
        A tensor for each vector.
    """
    data = _tensors(data)
    if isinstance(data, Tuple):
        count = len(data.fields)
    else:
        from ..testing import run_infer_type

        count = len(run_infer_type(data).checked_type.fields)
    return TupleWrapper(_make.meshgrid(data, indexing), count)


def trilu(data, k, upper=True):
    """The upper or lower triangle of matrices, zeros elsewhere.

    Parameters
    ----------
    data : RelayExpr
        Tensor whose last two axes are matrices.
    k : int or RelayExpr
        The last diagonal that stays: 0 is the main one, above it are positive numbers.
    upper : bool
        Keep what is above.

    Returns
    -------
    Call
    """
    return _make.trilu(data, _const(k, "int32"), upper)


def strided_set(data, v, begin, end, strides=None):
    """A tensor with values in the place of a part of it.

    Parameters
    ----------
    data, v : RelayExpr
        The tensor, and what is put in.
    begin, end : RelayExpr or list of int
        First index and index after the last one along the first axes; negative ones count from
        the end.
    strides : RelayExpr or list of int, optional
        Steps, which may be negative; 1 by default.

    Returns
    -------
    Call
    """
    strides = [1] if strides is None else strides
    return _make.strided_set(data, v, *(_const(x, "int64") for x in (begin, end, strides)))


__all__ = [
    "adv_index",
    "arange",
    "broadcast_to",
    "collapse_sum_to",
    "concatenate",
    "expand_dims",
    "full",
    "gather",
    "meshgrid",
    "one_hot",
    "ones",
    "reshape",
    "reverse_reshape",
    "split",
    "squeeze",
    "strided_set",
    "strided_slice",
    "tile",
    "trilu",
    "zeros",
]
