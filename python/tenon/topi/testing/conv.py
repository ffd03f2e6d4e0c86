"""Convolutions. Paddings are a number, one for each axis, those before all axes and then those
after, "VALID" or "SAME"."""

import numpy as np


def _list(value, n):
    return [int(value)] * n if np.isscalar(value) else [int(v) for v in value]


def _pads(padding, kernel, dilation):
    """(before, after) of each axis."""
    n = len(kernel)
    if padding == "VALID":
        return [(0, 0)] * n
    if padding == "SAME":
        both = [(k - 1) * d for k, d in zip(kernel, dilation, strict=True)]
        return [((b + 1) // 2, b // 2) for b in both]
    numbers = _list(padding, n)
    after = numbers[n:] if len(numbers) == 2 * n else numbers
    return list(zip(numbers[:n], after, strict=True))


def _windows(x, kernel, strides, dilation):
    """Windows of the axes from 2 on, as further axes at the end."""
    n = len(kernel)
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    view = np.lib.stride_tricks.sliding_window_view(x, reach, tuple(range(2, 2 + n)))
    outer = [slice(None, None, s) for s in strides]
    inner = [slice(None, None, d) for d in dilation]
    return view[(slice(None), slice(None), *outer, *inner)]


def _conv(x, w, stride, padding, dilation=1, groups=1):
    """Data (N, C, ...), weights (O, C by groups, ...)."""
    kernel = w.shape[2:]
    n = len(kernel)
    dilation = _list(dilation, n)
    x = np.pad(x, [(0, 0), (0, 0), *_pads(padding, kernel, dilation)])
    view = _windows(x, kernel, _list(stride, n), dilation)
    space = list(range(2 + n, 2 + 2 * n))
    parts = [
        np.tensordot(a, b, ([1, *space], [1, *range(2, 2 + n)]))
        for a, b in zip(np.split(view, groups, 1), np.split(w, groups), strict=True)
    ]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1).astype(x.dtype)


def _moved(data, layout, to):
    return data.transpose([layout.index(c) for c in to])


def conv1d_ncw_python(a_np, w_np, stride, padding, dilation):
    """Convolution of rows."""
    return _conv(a_np, w_np, stride, padding, dilation)


def group_conv1d_ncw_python(a_np, w_np, stride, padding, dilation, groups):
    """Convolution of rows in groups of channels."""
    return _conv(a_np, w_np, stride, padding, dilation, groups)


def conv2d_nchw_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of images; weights (out, in, height, width)."""
    return _conv(a_np, w_np, stride, padding, 1, groups)


def conv2d_nhwc_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of images, channels last; weights (height, width, in, out)."""
    out = _conv(
        _moved(a_np, "NHWC", "NCHW"), _moved(w_np, "HWIO", "OIHW"), stride, padding, 1, groups
    )
    return _moved(out, "NCHW", "NHWC")


def conv2d_hwcn_python(a_np, w_np, stride, padding):
    """Convolution of images, images last; weights (height, width, in, out)."""
    out = _conv(_moved(a_np, "HWCN", "NCHW"), _moved(w_np, "HWIO", "OIHW"), stride, padding)
    return _moved(out, "NCHW", "HWCN")


def conv3d_ncdhw_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of volumes; weights (out, in, depth, height, width)."""
    return _conv(a_np, w_np, stride, padding, 1, groups)


def conv3d_ndhwc_python(a_np, w_np, stride, padding, groups=1):
    """Convolution of volumes, channels last; weights (depth, height, width, in, out)."""
    x, w = _moved(a_np, "NDHWC", "NCDHW"), _moved(w_np, "DHWIO", "OIDHW")
    return _moved(_conv(x, w, stride, padding, 1, groups), "NCDHW", "NDHWC")


def _depthwise(x, w, stride, padding):
    """Weights (C, multiplier, height, width)."""
    c, m = w.shape[:2]
    return _conv(x, w.reshape(c * m, 1, *w.shape[2:]), stride, padding, 1, c)


def depthwise_conv2d_python_nchw(input_np, filter_np, stride, padding):
    """Convolution of each channel; weights (channel, multiplier, height, width)."""
    return _depthwise(input_np, filter_np, stride, padding)


def depthwise_conv2d_python_nhwc(input_np, filter_np, stride, padding):
    """Convolution of each channel, channels last; weights (height, width, channel, multiplier)."""
    x, w = _moved(input_np, "NHWC", "NCHW"), _moved(filter_np, "HWIO", "IOHW")
    return _moved(_depthwise(x, w, stride, padding), "NCHW", "NHWC")


def depthwise_conv2d_python_nchwc(input_np, filter_np, stride, padding):
    """Convolution of each channel, in blocks of channels; weights (out block, 1, height, width, 1,
    channels of a block)."""
    n, blocks, h, w, c = input_np.shape
    x = input_np.transpose(0, 1, 4, 2, 3).reshape(n, blocks * c, h, w)
    out_blocks, _, kh, kw, _, out_c = filter_np.shape
    weights = filter_np.transpose(0, 5, 1, 4, 2, 3).reshape(blocks * c, -1, kh, kw)
    out = _depthwise(x, weights, stride, padding)
    return out.reshape(n, out_blocks, out_c, *out.shape[2:]).transpose(0, 1, 3, 4, 2)


def dilate_python(input_np, strides, dilation_value=0.0, out_dtype=None):
    """Data with numbers put between its elements."""
    shape = [(n - 1) * s + 1 for n, s in zip(input_np.shape, strides, strict=True)]
    out = np.full(shape, dilation_value, out_dtype or input_np.dtype)
    out[tuple(slice(None, None, s) for s in strides)] = input_np
    return out


def _transposed(x, w, stride, padding, output_padding, groups=1):
    """Weights (C, O by groups, ...)."""
    kernel = w.shape[2:]
    n = len(kernel)
    strides, more = _list(stride, n), _list(output_padding, n)
    pads = [
        (k - 1 - before, k - 1 - after + extra)
        for (before, after), k, extra in zip(
            _pads(padding, kernel, [1] * n), kernel, more, strict=True
        )
    ]
    wide = dilate_python(x, [1, 1, *strides])
    wide = np.pad(wide, [(0, 0), (0, 0), *((max(b, 0), max(a, 0)) for b, a in pads)])
    cut = [slice(max(-b, 0), wide.shape[2 + i] - max(-a, 0)) for i, (b, a) in enumerate(pads)]
    parts = [
        _conv(a, np.flip(b, tuple(range(2, 2 + n))).swapaxes(0, 1), 1, 0)
        for a, b in zip(
            np.split(wide[(slice(None), slice(None), *cut)], groups, 1),
            np.split(w, groups),
            strict=True,
        )
    ]
    return np.concatenate(parts, 1)


def conv1d_transpose_ncw_python(a_np, w_np, stride, padding, output_padding):
    """Transposed convolution of rows; weights (in, out, width)."""
    return _transposed(a_np, w_np, stride, padding, output_padding)


def group_conv1d_transpose_ncw_python(a_np, w_np, stride, padding, output_padding, groups=1):
    """Transposed convolution of rows in groups of channels."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nchw_python(a_np, w_np, stride, padding, output_padding, groups=1):
    """Transposed convolution of images; weights (in, out, height, width)."""
    return _transposed(a_np, w_np, stride, padding, output_padding, groups)


def conv2d_transpose_nhwc_python(
    a_nhwc, weight, weight_format, stride, padding, output_padding=(0, 0)
):
    """Transposed convolution of images, channels last; `weight_format` is a layout of the letters
    H, W, I (channels of the data) and O."""
    x, w = _moved(a_nhwc, "NHWC", "NCHW"), _moved(weight, weight_format, "IOHW")
    return _moved(_transposed(x, w, stride, padding, output_padding), "NCHW", "NHWC")


def conv3d_transpose_ncdhw_python(a_np, w_np, stride, padding, output_padding):
    """Transposed convolution of volumes; weights (in, out, depth, height, width)."""
    return _transposed(a_np, w_np, stride, padding, output_padding)


def correlation_nchw_python(
    data1, data2, kernel_size, max_displacement, stride1, stride2, padding, is_multiply
):
    """Correlation of patches of one image with moved patches of another."""
    pads = _list(padding, 2)
    pads = [(0, 0), (0, 0), (pads[0], pads[0]), (pads[1], pads[1])]
    a, b = np.pad(data1, pads), np.pad(data2, pads)
    radius = (kernel_size - 1) // 2
    border, steps = max_displacement + radius, max_displacement // stride2
    height, width = (-(-(size - 2 * border) // stride1) for size in a.shape[2:])
    moves = [
        (y * stride2, x * stride2)
        for y in range(-steps, steps + 1)
        for x in range(-steps, steps + 1)
    ]
    out = np.zeros((a.shape[0], len(moves), height, width), a.dtype)

    def patches(data, dy, dx):
        top, left = border - radius + dy, border - radius + dx
        bottom = top + (height - 1) * stride1 + kernel_size
        right = left + (width - 1) * stride1 + kernel_size
        view = data[:, :, top:bottom, left:right]
        size = (kernel_size, kernel_size)
        view = np.lib.stride_tricks.sliding_window_view(view, size, (2, 3))
        return view[:, :, ::stride1, ::stride1]

    here = patches(a, 0, 0)
    for i, (dy, dx) in enumerate(moves):
        there = patches(b, dy, dx)
        both = here * there if is_multiply else np.abs(here - there)
        out[:, i] = both.sum((1, 4, 5)) / (kernel_size * kernel_size * a.shape[1])
    return out


def _bilinear(image, y, x):
    """Points (arrays y, x) of an image (C, H, W); what lies outside counts as zero."""
    h, w = image.shape[1:]
    total = 0
    y0, x0 = np.floor(y).astype(int), np.floor(x).astype(int)
    for row, wy in ((y0, y0 + 1 - y), (y0 + 1, y - y0)):
        for column, wx in ((x0, x0 + 1 - x), (x0 + 1, x - x0)):
            inside = (row >= 0) & (row < h) & (column >= 0) & (column < w)
            values = image[:, np.clip(row, 0, h - 1), np.clip(column, 0, w - 1)]
            total = total + values * (wy * wx * inside)
    return total


def deformable_conv2d_nchw_python(
    a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups
):
    """Convolution of images at moved points; offsets (N, groups * kernel * 2, height, width)."""
    kh, kw = w_np.shape[2:]
    strides, dilation = _list(stride, 2), _list(dilation, 2)
    (top, _), (left, _) = _pads(padding, (kh, kw), dilation)
    n, c = a_np.shape[:2]
    height, width = offset_np.shape[2:]
    per = c // deformable_groups
    offsets = offset_np.reshape(n, deformable_groups, kh, kw, 2, height, width)
    ys = np.arange(height)[:, None] * strides[0] - top
    xs = np.arange(width)[None, :] * strides[1] - left
    points = np.zeros((n, c, height, width, kh, kw), a_np.dtype)
    for b, g, i, j in np.ndindex(n, deformable_groups, kh, kw):
        y = ys + i * dilation[0] + offsets[b, g, i, j, 0]
        x = xs + j * dilation[1] + offsets[b, g, i, j, 1]
        cut = slice(g * per, (g + 1) * per)
        points[b, cut, :, :, i, j] = _bilinear(a_np[b, cut], y, x)
    parts = [
        np.tensordot(p, w, ([1, 4, 5], [1, 2, 3]))
        for p, w in zip(np.split(points, groups, 1), np.split(w_np, groups), strict=True)
    ]
    return np.moveaxis(np.concatenate(parts, -1), -1, 1)


def deformable_conv2d_nhwc_python(
    a_np, offset_np, w_np, stride, padding, dilation, deformable_groups, groups
):
    """The same with channels last; weights (height, width, in, out)."""
    x, offset = _moved(a_np, "NHWC", "NCHW"), _moved(offset_np, "NHWC", "NCHW")
    w = _moved(w_np, "HWIO", "OIHW")
    out = deformable_conv2d_nchw_python(
        x, offset, w, stride, padding, dilation, deformable_groups, groups
    )
    return _moved(out, "NCHW", "NHWC")
