"""Images of other sizes."""

import math

import numpy as np


def _source(i, size, target, mode):
    """Where element i of `target` lies among `size`."""
    if mode == "align_corners":
        return (size - 1) / (target - 1) * i if target > 1 else 0.0
    scale = size / target
    return scale * (i + 0.5) - 0.5 if mode == "half_pixel" else scale * i


def _cubic(t, a=-0.5):
    """Weights of four neighbours of a point t behind the second (Keys, 1981)."""

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _weights(size, target, method, mode):
    """(target, size): each result as a sum of elements."""
    w = np.zeros((target, size))
    for i in range(target):
        x = _source(i, size, target, mode)
        if method == "nearest_neighbor":
            parts = {math.floor(x + 0.5) if mode == "align_corners" else math.floor(x + 1e-5): 1.0}
        elif method in ("bilinear", "trilinear", "linear"):
            parts = {math.floor(x): 1 - (x - math.floor(x)), math.floor(x) + 1: x - math.floor(x)}
        elif method in ("bicubic", "cubic", "tricubic"):
            parts = {math.floor(x) - 1 + k: v for k, v in enumerate(_cubic(x - math.floor(x)))}
        else:
            raise ValueError(f"resize: unknown method {method}")
        for k, v in parts.items():
            w[i, min(max(k, 0), size - 1)] += v
    return w


def _resize(data, scale, layout, method, mode, sizes=None):
    out = data.astype("float64")
    space = [i for i, c in enumerate(layout) if c in "DHW"]
    for k, axis in enumerate(space):
        size = data.shape[axis]
        target = sizes[k] if sizes else round(size * scale[k])
        w = _weights(size, target, method, mode)
        out = np.moveaxis(np.tensordot(w, out, (1, axis)), 0, axis)
    return out.astype(data.dtype)


def resize1d_python(
    data,
    scale,
    layout="NCW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
):
    """Rows of another length, by (factor,)."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode)


def resize2d_python(
    data,
    scale,
    layout="NCHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
):
    """Images of another size, by (factor of height, factor of width)."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode)


def resize3d_python(
    data,
    scale,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="align_corners",
):
    """Volumes of another size, by factors of depth, height and width."""
    return _resize(data, scale, layout, method, coordinate_transformation_mode)


def upsampling_python(data, scale, layout="NCHW"):
    """Images with every element repeated."""
    for axis, times in zip((layout.index("H"), layout.index("W")), scale, strict=True):
        data = np.repeat(data, int(times), axis)
    return data


def upsampling3d_python(data, scale, layout="NCDHW"):
    """Volumes with every element repeated."""
    for axis, times in zip((layout.index(c) for c in "DHW"), scale, strict=True):
        data = np.repeat(data, int(times), axis)
    return data


def crop_and_resize_python(
    image, boxes, box_indices, crop_size, layout="NCHW", method="bilinear", extrapolation_value=0
):
    """Boxes (top, left, bottom, right, between 0 and 1) of images, all of one size."""
    data = image if layout == "NCHW" else image.transpose(0, 3, 1, 2)
    h, w = data.shape[2:]
    out = np.zeros((len(boxes), data.shape[1], *crop_size), image.dtype)
    for b, (top, left, bottom, right) in enumerate(boxes):

        def at(i, begin, end, size, count):
            if count == 1:
                return 0.5 * (begin + end) * (size - 1)
            return begin * (size - 1) + i * (end - begin) * (size - 1) / (count - 1)

        for i, j in np.ndindex(*crop_size):
            y, x = at(i, top, bottom, h, crop_size[0]), at(j, left, right, w, crop_size[1])
            if not (0 <= y <= h - 1 and 0 <= x <= w - 1):
                out[b, :, i, j] = extrapolation_value
                continue
            picture = data[int(box_indices[b])]
            if method == "nearest_neighbor":
                out[b, :, i, j] = picture[:, round(y), round(x)]
                continue
            y0, x0 = int(y), int(x)
            y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
            upper = picture[:, y0, x0] * (x0 + 1 - x) + picture[:, y0, x1] * (x - x0)
            lower = picture[:, y1, x0] * (x0 + 1 - x) + picture[:, y1, x1] * (x - x0)
            out[b, :, i, j] = upper * (y0 + 1 - y) + lower * (y - y0)
    return out if layout == "NCHW" else out.transpose(0, 2, 3, 1)


def affine_grid_python(data, target_shape):
    """Coordinates (N, 2, height, width) of a grid between -1 and 1, moved by matrices (N, 2, 3)."""
    height, width = target_shape
    y, x = np.meshgrid(np.linspace(-1, 1, height), np.linspace(-1, 1, width), indexing="ij")
    points = np.stack([x, y, np.ones_like(x)]).reshape(3, -1)
    return np.matmul(data, points).reshape(len(data), 2, height, width).astype(data.dtype)


def _reflect(x, low, high):
    """Coordinates folded back between two borders."""
    span = high - low
    if span <= 0:
        return np.zeros_like(x)
    t = np.abs(x - low) % (2 * span)
    return low + np.where(t > span, 2 * span - t, t)


def grid_sample_python(
    data,
    grid,
    method="bilinear",
    layout="NCHW",
    padding_mode="zeros",
    align_corners=True,
):
    """Points of images by a grid (N, 2 or 3, ...) of coordinates between -1 and 1, x first."""
    n = len(layout) - 2
    sizes = data.shape[2:]
    places = []
    for k, size in enumerate(sizes):
        g = grid[:, n - 1 - k].astype("float64")
        x = (g + 1) * (size - 1) / 2 if align_corners else ((g + 1) * size - 1) / 2
        if padding_mode == "reflection":
            x = _reflect(x, 0, size - 1) if align_corners else _reflect(x, -0.5, size - 0.5)
        if padding_mode in ("border", "reflection") and method != "bicubic":
            x = np.clip(x, 0, size - 1)
        places.append(x)
    out = np.zeros((*data.shape[:2], *grid.shape[2:]))
    for b in range(len(data)):
        out[b] = _sampled(data[b], [p[b] for p in places], method, padding_mode, align_corners)
    return out.astype(data.dtype)


def _sampled(image, places, method, padding_mode, align_corners):
    sizes = image.shape[1:]
    axes = []
    for x in places:
        base = np.floor(x).astype(int)
        if method == "nearest":
            axes.append([(np.rint(x).astype(int), 1.0)])
        elif method == "bicubic":
            cubic = _cubic(x - base, -0.75)
            axes.append([(base - 1 + k, v) for k, v in enumerate(cubic)])
        else:
            axes.append([(base, base + 1 - x), (base + 1, x - base)])
    total = 0
    for pick in np.ndindex(*[len(a) for a in axes]):
        index, weight = [], 1.0
        for k, i in enumerate(pick):
            at, w = axes[k][i]
            if padding_mode == "reflection":
                low, high = (0, sizes[k] - 1) if align_corners else (-0.5, sizes[k] - 0.5)
                at = np.clip(np.rint(_reflect(at, low, high)), 0, sizes[k] - 1).astype(int)
            inside = (at >= 0) & (at < sizes[k])
            weight = weight * w * (1.0 if padding_mode != "zeros" else inside)
            index.append(np.clip(at, 0, sizes[k] - 1))
        total = total + image[(slice(None), *index)] * weight
    return total
