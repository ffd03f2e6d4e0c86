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


resize1d, _fixed_resize2d, resize3d = _resize(1), _resize(2), _resize(3)
_open_resize2d = _rows.wrapper(
    "dyn.image.resize2d",
    defaults={"out_dtype": None},
    forms={
        "roi": lambda value: [0.0] * 4 if value is None else [float(x) for x in value],
        "out_dtype": lambda value: value or "",
    },
)


resize2d = _rows.open_or_fixed(_fixed_resize2d, _open_resize2d, ("size",))

crop_and_resize = _rows.wrapper(
    "image.crop_and_resize",
    defaults={"out_dtype": None, "extrapolation_value": 0},
    forms={"out_dtype": lambda value: value or ""},
)
crop_and_resize.__module__ = __name__
dilation2d = _rows.wrapper(
    "image.dilation2d",
    forms={
        name: lambda value: [value] * 2 if isinstance(value, int) else value
        for name in ("strides", "padding", "dilations")
    },
)
dilation2d.__module__ = __name__

__all__ = ["crop_and_resize", "dilation2d", "resize1d", "resize2d", "resize3d"]
