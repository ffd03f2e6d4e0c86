"""Features of boxes."""

import numpy as np


def _point(image, y, x):
    """A point of an image (C, H, W), interpolated; none (None) more than one element outside."""
    h, w = image.shape[1:]
    if y < -1 or y > h or x < -1 or x > w:
        return None
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
    fy, fx = y - y0, x - x0
    top = image[:, y0, x0] * (1 - fx) + image[:, y0, x1] * fx
    return top * (1 - fy) + (image[:, y1, x0] * (1 - fx) + image[:, y1, x1] * fx) * fy


def _cell(image, top, left, height, width, samples, average):
    """The mean, or the largest, of points of a cell."""
    rows, columns = samples
    values = []
    for i, j in np.ndindex(rows, columns):
        y, x = top + (i + 0.5) * height / rows, left + (j + 0.5) * width / columns
        value = _point(image, y, x)
        values.append(np.zeros(image.shape[0]) if value is None else value)
    return np.mean(values, 0) if average else np.max(values, 0)


def roi_align_nchw_python(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode=b"avg"):
    """Boxes (image, left, top, right, bottom) on a grid, from interpolated points."""
    height, width = (pooled_size,) * 2 if np.isscalar(pooled_size) else pooled_size
    average = mode in (b"avg", "avg", 0)
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for n, (image, *box) in enumerate(rois_np):
        left, top, right, bottom = (v * spatial_scale for v in box)
        h, w = max(bottom - top, 1.0), max(right - left, 1.0)
        samples = (
            (sample_ratio, sample_ratio)
            if sample_ratio > 0
            else (int(np.ceil(h / height)), int(np.ceil(w / width)))
        )
        for i, j in np.ndindex(height, width):
            at = top + i * h / height, left + j * w / width, h / height, w / width
            out[n, :, i, j] = _cell(a_np[int(image)], *at, samples, average)
    return out


def roi_align_nhwc_python(a_np, rois_np, pooled_size, spatial_scale, sample_ratio, mode=b"avg"):
    """The same with channels last."""
    out = roi_align_nchw_python(
        a_np.transpose(0, 3, 1, 2), rois_np, pooled_size, spatial_scale, sample_ratio, mode
    )
    return out.transpose(0, 2, 3, 1)


def roi_pool_nchw_python(a_np, rois_np, pooled_size, spatial_scale):
    """The largest elements of the cells of boxes (image, left, top, right, bottom)."""
    height, width = (pooled_size,) * 2 if np.isscalar(pooled_size) else pooled_size
    h, w = a_np.shape[2:]
    out = np.zeros((len(rois_np), a_np.shape[1], height, width), a_np.dtype)
    for n, (image, *box) in enumerate(rois_np):
        left, top, right, bottom = (int(np.floor(v * spatial_scale + 0.5)) for v in box)
        step_y = max(bottom - top + 1, 1) / height
        step_x = max(right - left + 1, 1) / width
        for i, j in np.ndindex(height, width):
            y0, y1 = (
                int(np.clip(v + top, 0, h))
                for v in (np.floor(i * step_y), np.ceil((i + 1) * step_y))
            )
            x0, x1 = (
                int(np.clip(v + left, 0, w))
                for v in (np.floor(j * step_x), np.ceil((j + 1) * step_x))
            )
            if y1 > y0 and x1 > x0:
                out[n, :, i, j] = a_np[int(image), :, y0:y1, x0:x1].max((1, 2))
    return out
