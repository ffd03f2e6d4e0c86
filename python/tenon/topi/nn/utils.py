"""Paddings by name."""

from ..utils import get_const_int


def _numbers(value, n):
    return [value] * n if isinstance(value, int) else [int(x) for x in value]


def spread(padding, kernel, dilation=1, strides=1):
    """Paddings before all axes and after them.

    Parameters
    ----------
    padding : int, tuple of int or str
        Numbers as operators take them, "VALID" for none, "SAME" for as many as keep extents that
        steps of one would have.
    kernel : list of int or PrimExpr
        Extents of the kernel.
    dilation, strides : int or tuple of int
        Of the window.

    Returns
    -------
    int or tuple of int
    """
    del strides
    if not isinstance(padding, str):
        return padding
    if padding == "VALID":
        return (0,) * (2 * len(kernel))
    if padding != "SAME":
        raise ValueError(f"Unknown padding option {padding}")
    steps = _numbers(dilation, len(kernel))
    both = [(get_const_int(k) - 1) * d for k, d in zip(kernel, steps, strict=True)]
    before = [total - total // 2 for total in both]
    return (*before, *(t - b for t, b in zip(both, before, strict=True)))


def get_pad_tuple(padding, kernel):
    """Paddings (top, left, bottom, right) of numbers or of a name."""
    from ...relay.op.nn.utils import get_pad_tuple2d

    return tuple(get_pad_tuple2d(spread(padding, list(kernel))))


def get_pad_tuple1d(padding, kernel):
    """Paddings (left, right) of numbers or of a name."""
    from ...relay.op.nn.utils import get_pad_tuple1d as numbers

    return tuple(numbers(spread(padding, list(kernel))))


def get_pad_tuple3d(padding, kernel):
    """Paddings (front, top, left, back, bottom, right) of numbers or of a name."""
    from ...relay.op.nn.utils import get_pad_tuple3d as numbers

    return tuple(numbers(spread(padding, list(kernel))))
