"""Operators of images: functions that take several forms of an argument."""

from ...expr import Constant
from .. import _rows


def _resize(n):
    def size(value):
        if isinstance(value, Constant):
            return [int(x) for x in value.data.numpy().reshape(-1)]
        return [value] * n if isinstance(value, int) else value

    function = _rows.wrapper(
        f"image.resize{n}d",
        defaults={"out_dtype": None},
        forms={
            "size": size,
            "roi": lambda value: [0.0] * (2 * n) if value is None else [float(x) for x in value],
            "out_dtype": lambda value: value or "",
        },
    )
    function.__module__ = __name__
    return function


resize1d, resize2d, resize3d = _resize(1), _resize(2), _resize(3)

__all__ = ["resize1d", "resize2d", "resize3d"]
