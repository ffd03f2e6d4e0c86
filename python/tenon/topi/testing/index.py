"""Elements by index."""

import numpy as np


def gather_python(data, axis, indices):
    """Elements along an axis by indices of the other axes' shape."""
    return np.take_along_axis(data, indices.astype("int64"), axis)


def gather_nd_python(a_np, indices_np):
    """Elements or slices by coordinates, which are the first axis of the indices."""
    return a_np[tuple(indices_np.astype("int64"))]


def slice_axis_python(data, axis, begin, end=None):
    """A piece along one axis."""
    cut = [slice(None)] * data.ndim
    cut[axis] = slice(begin, end)
    return data[tuple(cut)]


def _ends(data, begin, end, strides, slice_mode, axes):
    axes = range(len(begin)) if axes is None else axes
    strides = [] if strides is None else list(strides)
    for i, axis in enumerate(axes):
        stop = end[i] if i < len(end) and end[i] is not None else data.shape[axis]
        step = strides[i] if i < len(strides) and strides[i] is not None else 1
        start = begin[i] if begin[i] is not None else (0 if step > 0 else data.shape[axis] - 1)
        if slice_mode == "size":
            step = 1
            at = start + data.shape[axis] if start < 0 else start
            stop = data.shape[axis] if stop < 0 else at + stop
        if stop is not None and stop < -data.shape[axis]:
            stop = None
        yield axis, slice(start, stop, step)


def strided_slice_python(data, begin, end, strides, slice_mode="end", axes=None):
    """A piece, by the rules of the operator strided_slice."""
    cut = [slice(None)] * data.ndim
    for axis, part in _ends(data, begin, end, strides, slice_mode, axes):
        cut[axis] = part
    return data[tuple(cut)]


def strided_set_python(data, v, begin, end, strides):
    """A copy with a piece replaced."""
    cut = [slice(None)] * data.ndim
    for axis, part in _ends(data, begin, end, strides, "end", None):
        cut[axis] = part
    result = data.copy()
    result[tuple(cut)] = v
    return result


def one_hot(indices, on_value, off_value, depth, axis, dtype):
    """`on_value` at the index along a new axis, `off_value` elsewhere."""
    axis = indices.ndim if axis == -1 else axis
    shape = [1] * (indices.ndim + 1)
    shape[axis] = depth
    hit = np.expand_dims(indices, axis) == np.arange(depth).reshape(shape)
    return np.where(hit, on_value, off_value).astype(dtype)


def sequence_mask(data, valid_length, mask_value, axis):
    """Data with what lies behind each sequence's length replaced; `axis` is time, 0 or 1."""
    steps = np.arange(data.shape[axis])
    valid = steps[:, None] < valid_length[None, :]
    valid = valid if axis == 0 else valid.T
    return np.where(valid.reshape(valid.shape + (1,) * (data.ndim - 2)), data, mask_value)


def searchsorted_ref(sorted_sequence, values, right, out_dtype):
    """Where values would be inserted into each sorted row."""
    side = "right" if right else "left"
    rows = sorted_sequence.reshape(-1, sorted_sequence.shape[-1])
    if sorted_sequence.ndim == 1:
        return np.searchsorted(sorted_sequence, values, side).astype(out_dtype)
    wanted = values.reshape(len(rows), -1)
    found = [np.searchsorted(r, v, side) for r, v in zip(rows, wanted, strict=True)]
    return np.array(found).reshape(values.shape).astype(out_dtype)


def _diagonal_move(d, n, length, align):
    """How far diagonal d of n elements is moved in its row of the array of diagonals."""
    above, below = align.split("_")
    to_left = (d >= 0 and above == "LEFT") or (d <= 0 and below == "LEFT")
    return 0 if to_left else length - n


def matrix_set_diag(input_np, diagonal, k=0, align="RIGHT_LEFT"):
    """Matrices with diagonals k (or k[0] to k[1]) replaced."""
    low, high = (k, k) if np.isscalar(k) else (k[0], k[-1])
    out = np.array(input_np)
    rows, columns = out.shape[-2:]
    for d in range(low, high + 1):
        values = diagonal if low == high else diagonal[..., high - d, :]
        n = min(columns - max(d, 0), rows + min(d, 0))
        move = _diagonal_move(d, n, diagonal.shape[-1], align)
        i = np.arange(n)
        out[..., i + max(-d, 0), i + max(d, 0)] = values[..., move : move + n]
    return out
