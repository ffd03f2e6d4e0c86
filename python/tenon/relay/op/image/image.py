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


def resize2d(
    data,
    size,
    roi=None,
    layout="NCHW",
    method="linear",
    coordinate_transformation_mode="half_pixel",
    rounding_method="",
    cubic_alpha=-0.5,
    cubic_exclude=0,
    extrapolation_value=0.0,
    out_dtype=None,
):
    """Images made as large as wanted.

    Parameters
    ----------
    data : RelayExpr
        The images, of four dimensions.
    size : int, tuple of int, or RelayExpr
        Height and width of the results; one number for both. An expression is a vector of two whole
        numbers, known at run time only.
    roi : list of float, optional
        Begin and end of the part that is resized, from 0 to 1 (`coordinate_transformation_mode`
        "tf_crop_and_resize").
    layout : str
        Layout of `data`, "NCHW" or "NHWC".
    method : str
        "nearest_neighbor", "linear" or "cubic".
    coordinate_transformation_mode : str
        Which place of `data` an element is taken from: "half_pixel", "align_corners", "asymmetric",
        "pytorch_half_pixel", "tf_half_pixel_for_nn" or "tf_crop_and_resize".
    rounding_method : str
        Which element is the nearest: "round", "floor", "ceil"; default: what the mode implies.
    cubic_alpha : float
        Coefficient of the spline.
    cubic_exclude : int
        Not 0: elements outside of `data` have weight 0.
    extrapolation_value : float
        What lies outside of `data`.
    out_dtype : str, optional
        Element type of the result; default: that of `data`.

    Returns
    -------
    Call
    """
    rest = (layout, method, coordinate_transformation_mode, rounding_method, cubic_alpha)
    rest = (*rest, cubic_exclude, extrapolation_value)
    if not _rows.is_open(size):
        return _fixed_resize2d(data, size, roi, *rest, out_dtype)
    roi = [0.0] * 4 if roi is None else [float(x) for x in roi]
    return _rows.dynamic("image.resize2d")(data, size, roi, *rest, out_dtype or "")


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
