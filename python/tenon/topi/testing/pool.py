"""Pooling."""

import numpy as np


def _space_last(data, layout):
    """Data with the axes of space at the end, how many these are, and the way back."""
    space = [i for i, c in enumerate(layout) if c in "DHW"]
    order = [i for i in range(data.ndim) if i not in space] + space
    return data.transpose(order), len(space), np.argsort(order)


def poolnd_python(
    np_data,
    kernel,
    strides,
    dilation,
    padding_before,
    padding_after,
    pool_type,
    count_include_pad=True,
    ceil_mode=False,
    dtype="float32",
    layout=None,
):
    """Largest element ("max") or mean ("avg") of sliding windows; one number for each axis of
    space. Without a layout the axes of space are the last ones. With `count_include_pad` the
    zeros of the border count, for the largest element too."""
    layout = layout or "NC" + "DHW"[3 - len(kernel) :]
    x, n, back = _space_last(np_data, layout)
    size, extents = [], []
    for i in range(n):
        extent = x.shape[x.ndim - n + i]
        reach = (kernel[i] - 1) * dilation[i] + 1
        room = extent + padding_before[i] + padding_after[i] - reach
        count = (-(-room // strides[i]) if ceil_mode else room // strides[i]) + 1
        size.append(count)
        extents.append(max((count - 1) * strides[i] + reach - extent - padding_before[i], 0))
    lead = [(0, 0)] * (x.ndim - n)
    least = -np.inf if x.dtype.kind == "f" else np.iinfo(x.dtype).min
    border = least if pool_type == "max" and not count_include_pad else 0
    pads = lead + list(zip(padding_before, extents, strict=True))
    wide = np.pad(x, pads, constant_values=border)
    axes = tuple(range(x.ndim - n, x.ndim))

    def windows(data):
        reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
        view = np.lib.stride_tricks.sliding_window_view(data, reach, axes)
        steps = [slice(0, (c - 1) * s + 1, s) for c, s in zip(size, strides, strict=True)]
        inner = [slice(None, None, d) for d in dilation]
        return view[(..., *steps, *inner)]

    within = tuple(range(-n, 0))
    if pool_type == "max":
        result = windows(wide).max(within)
    else:
        inside = np.pad(np.ones(x.shape[-n:]), pads[-n:])
        if count_include_pad:
            inner = [
                (b, min(a, e))
                for b, a, e in zip(padding_before, padding_after, extents, strict=True)
            ]
            inside = np.pad(np.ones(x.shape[-n:]), inner, constant_values=1)
            rest = [(0, w - s) for w, s in zip(wide.shape[-n:], inside.shape, strict=True)]
            inside = np.pad(inside, rest)
        counts = windows(np.broadcast_to(inside, wide.shape)).sum(within)
        result = windows(wide).sum(within) / np.maximum(counts, 1)
    return result.astype(dtype).transpose(back)


def adaptive_pool(np_data, out_size, pool_type, layout="NCHW"):
    """Pooling to a given number of results along each axis of space."""
    x, n, back = _space_last(np_data, layout)
    sizes = [out_size] * n if np.isscalar(out_size) else list(out_size)
    out = np.zeros((*x.shape[: x.ndim - n], *sizes), x.dtype)
    of_window = np.max if pool_type == "max" else np.mean
    for at in np.ndindex(*sizes):
        cut = [
            slice(i * extent // size, -(-(i + 1) * extent // size))
            for i, size, extent in zip(at, sizes, x.shape[-n:], strict=True)
        ]
        out[(..., *at)] = of_window(x[(..., *cut)], tuple(range(-n, 0)))
    return out.transpose(back)


def pool_grad_nchw(
    a_np, out_grad_np, pool_size, strides, padding, pool_type, ceil_mode, count_include_pad=True
):
    """What images get of the adjoint of their pooling; padding is (top, left, bottom, right).

    The size of the result decides how many windows there are, so `ceil_mode` has nothing to add.
    """
    del ceil_mode
    top, left, bottom, right = padding
    h, w = a_np.shape[2:]
    kh, kw = pool_size
    height, width = out_grad_np.shape[2:]
    grad = np.zeros_like(a_np)
    for y, x in np.ndindex(height, width):
        begin = (y * strides[0] - top, x * strides[1] - left)
        rows = slice(max(begin[0], 0), max(min(begin[0] + kh, h), 0))
        columns = slice(max(begin[1], 0), max(min(begin[1] + kw, w), 0))
        part, adjoint = a_np[:, :, rows, columns], out_grad_np[:, :, y, x]
        if part.size == 0:
            continue
        if pool_type == "max":
            flat = part.reshape(*part.shape[:2], -1)
            hit = np.zeros_like(flat)
            np.put_along_axis(hit, flat.argmax(-1)[..., None], adjoint[..., None], -1)
            grad[:, :, rows, columns] += hit.reshape(part.shape)
            continue
        count = part.shape[2] * part.shape[3]
        if count_include_pad:
            count = (min(begin[0] + kh, h + bottom) - begin[0]) * (
                min(begin[1] + kw, w + right) - begin[1]
            )
        grad[:, :, rows, columns] += (adjoint / max(count, 1))[..., None, None]
    return grad
