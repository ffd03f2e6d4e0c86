"""Forms of arguments that operators of neural networks share."""


def _numbers(padding):
    return (padding,) if isinstance(padding, int) else tuple(padding)


def get_pad_tuple1d(padding):
    """Paddings (left, right) of a number or of one or two.

    Raises
    ------
    ValueError
        There are more.
    """
    pads = _numbers(padding)
    if len(pads) == 1:
        return pads[0], pads[0]
    if len(pads) == 2:
        return pads
    raise ValueError("Size of padding can only be 1 or 2")


def get_pad_tuple2d(padding):
    """Paddings (top, left, bottom, right) of a number or of one, two (height, width) or four.

    Raises
    ------
    ValueError
        There is another number of them.
    """
    pads = _numbers(padding)
    if len(pads) == 1:
        return pads * 4
    if len(pads) == 2:
        return pads * 2
    if len(pads) == 4:
        return pads
    raise ValueError("Size of padding can only be 2 or 4")


def get_pad_tuple3d(padding):
    """Paddings (front, top, left, back, bottom, right) of a number or of one, three or six.

    Raises
    ------
    ValueError
        There is another number of them.
    """
    pads = _numbers(padding)
    if len(pads) == 1:
        return pads * 6
    if len(pads) == 3:
        return pads * 2
    if len(pads) == 6:
        return pads
    raise ValueError("Size of padding can only be 3 or 6")


__all__ = ["get_pad_tuple1d", "get_pad_tuple2d", "get_pad_tuple3d"]
