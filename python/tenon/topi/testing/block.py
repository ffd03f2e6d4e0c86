"""Space moved to batch or depth and back."""

import numpy as np


def space_to_depth_python(data, block_size):
    """Blocks of images (NCHW) as channels."""
    n, c, h, w = data.shape
    b = block_size
    parts = data.reshape(n, c, h // b, b, w // b, b)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)


def depth_to_space_python(data, block_size, mode="DCR"):
    """Channels as blocks of images (NCHW)."""
    n, c, h, w = data.shape
    b = block_size
    if mode == "DCR":
        parts = data.reshape(n, b, b, c // (b * b), h, w).transpose(0, 3, 4, 1, 5, 2)
    else:
        parts = data.reshape(n, c // (b * b), b, b, h, w).transpose(0, 1, 4, 2, 5, 3)
    return parts.reshape(n, c // (b * b), h * b, w * b)


def space_to_batch_nd_python(data, block_shape, pad_before, pad_after, pad_value=0):
    """Blocks of axes 1, 2, ... as further images."""
    m = len(block_shape)
    rest = [(0, 0)] * (data.ndim - 1 - m)
    pads = [(0, 0), *zip(pad_before, pad_after, strict=True), *rest]
    x = np.pad(data, pads, constant_values=pad_value)
    n, tail = x.shape[0], x.shape[1 + m :]
    shape = [
        k for size, b in zip(x.shape[1 : 1 + m], block_shape, strict=True) for k in (size // b, b)
    ]
    x = x.reshape(n, *shape, *tail)
    inner, outer = [2 + 2 * i for i in range(m)], [1 + 2 * i for i in range(m)]
    x = x.transpose(*inner, 0, *outer, *range(1 + 2 * m, x.ndim))
    return x.reshape(n * int(np.prod(block_shape)), *shape[::2], *tail)


def batch_to_space_nd_python(data, block_shape, crop_begin_list, crop_end_list):
    """Images as blocks of axes 1, 2, ..., which are then cut."""
    m, blocks = len(block_shape), int(np.prod(block_shape))
    n, space, tail = data.shape[0] // blocks, data.shape[1 : 1 + m], data.shape[1 + m :]
    x = data.reshape(*block_shape, n, *space, *tail)
    order = [k for i in range(m) for k in (m + 1 + i, i)]
    x = x.transpose(m, *order, *range(1 + 2 * m, x.ndim))
    x = x.reshape(n, *(s * b for s, b in zip(space, block_shape, strict=True)), *tail)
    cuts = [
        slice(b, x.shape[1 + i] - e)
        for i, (b, e) in enumerate(zip(crop_begin_list, crop_end_list, strict=True))
    ]
    return x[(slice(None), *cuts)]


def reorg_python(a_np, stride):
    """The reorganization of YOLO: images (NCHW) by a stride, with its order of channels."""
    n, c, h, w = a_np.shape
    s, part = stride, c // (stride * stride)
    image = a_np.reshape(n, part, h * s, w * s)
    out = np.empty_like(a_np)
    for k in range(c):
        place, offset = k % part, k // part
        out[:, k] = image[:, place, offset // s :: s, offset % s :: s]
    return out.reshape(n, c * s * s, h // s, w // s)
