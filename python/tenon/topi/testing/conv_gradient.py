"""Derivatives of convolutions."""

import numpy as np

from .conv import _list, _pads


def conv2d_backward_weight_python(
    dy_np, x_np, kernel_size, stride, padding, layout="NCHW", groups=1, channels=None
):
    """What the weights of a convolution of images get of the adjoint of its result.

    Returns
    -------
    numpy.ndarray
        (out, in by groups, height, width), or (out, height, width, in) for the layout NHWC.
    """
    del channels
    if layout == "NHWC":
        dy_np, x_np = dy_np.transpose(0, 3, 1, 2), x_np.transpose(0, 3, 1, 2)
    kh, kw = _list(kernel_size, 2)
    sh, sw = _list(stride, 2)
    x = np.pad(x_np, [(0, 0), (0, 0), *_pads(padding, (kh, kw), (1, 1))])
    height, width = dy_np.shape[2:]
    out, inner = dy_np.shape[1], x.shape[1] // groups
    grad = np.zeros((out, inner, kh, kw), x_np.dtype)
    for g, (dy, part) in enumerate(
        zip(np.split(dy_np, groups, 1), np.split(x, groups, 1), strict=True)
    ):
        rows = slice(g * (out // groups), (g + 1) * (out // groups))
        for i, j in np.ndindex(kh, kw):
            seen = part[:, :, i : i + height * sh : sh, j : j + width * sw : sw][
                :, :, :height, :width
            ]
            grad[rows, :, i, j] = np.tensordot(dy, seen, ([0, 2, 3], [0, 2, 3]))
    return grad.transpose(0, 2, 3, 1) if layout == "NHWC" else grad
