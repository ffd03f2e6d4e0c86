"""Operators of neural networks: functions that take several forms of an argument."""

from . import _make
from .utils import get_pad_tuple2d


def _tuple(value, n):
    """A number for all of n axes, or a number for each."""
    return (value,) * n if isinstance(value, int) else value


def conv2d(
    data,
    weight,
    strides=(1, 1),
    padding=(0, 0),
    dilation=(1, 1),
    groups=1,
    channels=None,
    kernel_size=None,
    data_layout="NCHW",
    kernel_layout="OIHW",
    out_layout="",
    out_dtype="",
):
    """Convolution of images.

    Parameters
    ----------
    data : RelayExpr
        The images.
    weight : RelayExpr
        The kernels.
    strides : int or tuple of int
        Steps of the window.
    padding : int or tuple of int
        Zeros put around: one number, two (height, width) or four (top, left, bottom, right).
    dilation : int or tuple of int
        Distance of neighbouring elements of the kernel.
    groups : int
        Groups of channels that do not see each other.
    channels : int, optional
        Channels of the result.
    kernel_size : int or tuple of int, optional
        Height and width of the kernel.
    data_layout, kernel_layout : str
        Layouts of data and weight.
    out_layout : str
        Layout of the result, that of data when empty.
    out_dtype : str
        Type of the result, that of data when empty.

    Returns
    -------
    Call
    """
    return _make.conv2d(
        data,
        weight,
        _tuple(strides, 2),
        get_pad_tuple2d(padding),
        _tuple(dilation, 2),
        groups,
        channels,
        _tuple(kernel_size, 2),
        data_layout,
        kernel_layout,
        out_layout,
        out_dtype,
    )


__all__ = ["conv2d"]
