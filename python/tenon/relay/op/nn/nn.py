"""Operators of neural networks: functions that take several forms of an argument."""

from ...expr import Constant, Expr, TupleWrapper, const
from .. import _rows
from . import _make
from .utils import get_pad_tuple1d, get_pad_tuple2d, get_pad_tuple3d


def _tuple(value, n):
    """A number for all of n axes, or a number for each."""
    return (value,) * n if isinstance(value, int) else value


_PADS = {1: get_pad_tuple1d, 2: get_pad_tuple2d, 3: get_pad_tuple3d}


def _made(name, n, *spread, **more):
    """The function of an operator with windows over n axes: one number stands for all axes in the
    parameters `spread`, and paddings are spread to those before and after each axis."""
    forms = {parameter: lambda value: _tuple(value, n) for parameter in spread}
    if "strides" in spread:
        forms["padding"] = _PADS[n]
    function = _rows.wrapper(f"nn.{name}", forms=forms, **more)
    function.__module__ = __name__
    return function


def _pool(name, n):
    defaults = {"pool_size": (1,) * n, "strides": (1,) * n, "dilation": (1,) * n}
    return _made(
        name,
        n,
        "pool_size",
        "strides",
        "dilation",
        defaults={**defaults, "padding": (0,) * n},
    )


_CONV = ("strides", "dilation", "kernel_size")
_TRANSPOSED = (
    "data weight strides padding dilation groups channels kernel_size data_layout kernel_layout "
    "out_layout output_padding out_dtype"
).split()


_REWRITE = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape")


def _conv(name, n):
    return _made(
        name,
        n,
        *_CONV,
        defaults=dict.fromkeys(("strides", "dilation"), (1,) * n) | {"padding": (0,) * n},
        hidden=_REWRITE,
    )


def _conv_transpose(name, n):
    ones, zeros = (1,) * n, (0,) * n
    defaults = {"strides": ones, "dilation": ones, "padding": zeros, "output_padding": zeros}
    return _made(name, n, *_CONV, "output_padding", order=_TRANSPOSED, defaults=defaults)


def _adaptive(name, n):
    return _rows.wrapper(
        f"nn.{name}", forms={"output_size": lambda size: _tuple(size, 1) if size else []}
    )


max_pool1d, avg_pool1d = _pool("max_pool1d", 1), _pool("avg_pool1d", 1)
max_pool2d, avg_pool2d = _pool("max_pool2d", 2), _pool("avg_pool2d", 2)
max_pool3d, avg_pool3d = _pool("max_pool3d", 3), _pool("avg_pool3d", 3)
adaptive_max_pool1d = _adaptive("adaptive_max_pool1d", 1)
adaptive_avg_pool1d = _adaptive("adaptive_avg_pool1d", 1)
adaptive_max_pool2d = _adaptive("adaptive_max_pool2d", 2)
adaptive_avg_pool2d = _adaptive("adaptive_avg_pool2d", 2)
adaptive_max_pool3d = _adaptive("adaptive_max_pool3d", 3)
adaptive_avg_pool3d = _adaptive("adaptive_avg_pool3d", 3)
conv1d = _made("conv1d", 1, *_CONV, defaults={"strides": 1, "padding": 0, "dilation": 1})
conv2d, conv3d = _conv("conv2d", 2), _conv("conv3d", 3)
contrib_conv2d_nchwc = _conv("contrib_conv2d_NCHWc", 2)
contrib_depthwise_conv2d_nchwc = _conv("contrib_depthwise_conv2d_NCHWc", 2)
for _function in (contrib_conv2d_nchwc, contrib_depthwise_conv2d_nchwc):
    _function.__name__ = _function.__qualname__ = _function.__name__.lower()
conv1d_transpose = _conv_transpose("conv1d_transpose", 1)
conv2d_transpose = _conv_transpose("conv2d_transpose", 2)
conv3d_transpose = _conv_transpose("conv3d_transpose", 3)
dense = _rows.wrapper("nn.dense", hidden=_REWRITE)
matmul = _rows.wrapper("nn.matmul", hidden=_REWRITE)
batch_matmul = _rows.wrapper("nn.batch_matmul", hidden=_REWRITE)
contrib_dense_pack = _rows.wrapper(
    "nn.contrib_dense_pack", order=("data", "weight", "weight_layout", "units", "out_dtype")
)
_fixed_upsampling = _rows.wrapper("nn.upsampling")
_fixed_upsampling3d = _rows.wrapper("nn.upsampling3d")


def _enlarged(name, fixed, data, factors, rest):
    """By the operator of known factors, or by that of tensors where one of them is dynamic."""
    if any(_rows.is_open(f) for f in factors):
        factors = [f if isinstance(f, Expr) else const(f, "float64") for f in factors]
        return _rows.dynamic(f"nn.{name}")(data, *factors, *rest)
    factors = [f.data.numpy().item() if isinstance(f, Constant) else f for f in factors]
    return fixed(data, *factors, *rest)


def upsampling(
    data, scale_h=1, scale_w=1, layout="NCHW", method="nearest_neighbor", align_corners=False
):
    """Images enlarged by factors.

    Parameters
    ----------
    data : RelayExpr
        The images, of four dimensions.
    scale_h, scale_w : float or RelayExpr
        Factors of height and width. An expression is a scalar, known at run time only.
    layout : str
        Layout of `data`.
    method : str
        "nearest_neighbor", "bilinear" or "bicubic".
    align_corners : bool
        Do the elements in the corners keep their places?

    Returns
    -------
    Call
    """
    rest = (layout, method, align_corners)
    return _enlarged("upsampling", _fixed_upsampling, data, (scale_h, scale_w), rest)


def upsampling3d(
    data,
    scale_d=1,
    scale_h=1,
    scale_w=1,
    layout="NCDHW",
    method="nearest_neighbor",
    coordinate_transformation_mode="half_pixel",
):
    """Volumes enlarged by factors.

    Parameters
    ----------
    data : RelayExpr
        The volumes, of five dimensions.
    scale_d, scale_h, scale_w : float or RelayExpr
        Factors of depth, height and width. An expression is a scalar, known at run time only.
    layout : str
        Layout of `data`.
    method : str
        "nearest_neighbor" or "trilinear".
    coordinate_transformation_mode : str
        Which place of `data` an element is taken from: "half_pixel", "align_corners" or
        "asymmetric".

    Returns
    -------
    Call
    """
    rest = (layout, method, coordinate_transformation_mode)
    factors = (scale_d, scale_h, scale_w)
    return _enlarged("upsampling3d", _fixed_upsampling3d, data, factors, rest)


_SUBPIXEL = ("data", "block_size", "layout")
space_to_depth = _rows.wrapper("nn.space_to_depth", order=_SUBPIXEL, hidden=("mode",))
# what programs print of calls with these defaults names them: attributes have others
leaky_relu = _rows.wrapper("nn.leaky_relu", defaults={"alpha": 0.01})
lrn = _rows.wrapper("nn.lrn", defaults={"alpha": 1e-05})
batch_norm = _rows.wrapper("nn.batch_norm", finish=lambda call: TupleWrapper(call, 3))


def global_max_pool1d(data, layout="NCW", out_layout=""):
    """Largest element of each channel of each row; parameters as of `global_max_pool2d`."""
    return _make.adaptive_max_pool1d(data, [1], layout, out_layout)


def global_avg_pool1d(data, layout="NCW", out_layout=""):
    """Mean of each channel of each row; parameters as of `global_avg_pool2d`."""
    return _make.adaptive_avg_pool1d(data, [1], layout, out_layout)


def global_max_pool3d(data, layout="NCDHW", out_layout=""):
    """Largest element of each channel of each volume; parameters as of `global_max_pool2d`."""
    return _make.adaptive_max_pool3d(data, [1, 1, 1], layout, out_layout)


def global_avg_pool3d(data, layout="NCDHW", out_layout=""):
    """Mean of each channel of each volume; parameters as of `global_avg_pool2d`."""
    return _make.adaptive_avg_pool3d(data, [1, 1, 1], layout, out_layout)


def dropout(data, rate=0.5):
    """Data as it is: dropout does nothing outside of training.

    Parameters
    ----------
    data : RelayExpr
        The data.
    rate : float
        Part of the elements that training sets to 0.

    Returns
    -------
    TupleGetItem
    """
    return dropout_raw(data, rate)[0]


def dropout_raw(data, rate=0.5):
    """Data and the mask of what is kept; parameters as of `dropout`."""
    return TupleWrapper(_make.dropout(data, rate), 2)


def pad(data, pad_width, pad_value=0, pad_mode="constant"):
    """Data with a border.

    Parameters
    ----------
    data : RelayExpr
        The data.
    pad_width : tuple of tuple of int, or RelayExpr
        Numbers of elements before and after, for each axis.
    pad_value : float or RelayExpr
        What the border is made of.
    pad_mode : str
        "constant", "edge" (the nearest element) or "reflect".

    Returns
    -------
    Call
    """
    if isinstance(pad_value, int | float):
        pad_value = const(pad_value)
    if isinstance(pad_width, Constant):
        pad_width = [[int(x) for x in pair] for pair in pad_width.data.numpy()]
    if isinstance(pad_width, Expr):
        return _rows.dynamic("nn.pad")(data, pad_width, pad_value, pad_mode)
    return _make.pad(data, pad_value, pad_width, pad_mode)


def mirror_pad(data, pad_width, mode="SYMMETRIC"):
    """Data with a border in which it is mirrored.

    Parameters
    ----------
    data : RelayExpr
        The data.
    pad_width : tuple of tuple of int
        Numbers of elements before and after, for each axis.
    mode : str
        "SYMMETRIC": with the edge itself; "REFLECT": without.

    Returns
    -------
    Call
    """
    return _make.mirror_pad(data, mode, pad_width)


__all__ = [
    "adaptive_avg_pool1d",
    "adaptive_avg_pool2d",
    "adaptive_avg_pool3d",
    "adaptive_max_pool1d",
    "adaptive_max_pool2d",
    "adaptive_max_pool3d",
    "avg_pool1d",
    "avg_pool2d",
    "avg_pool3d",
    "batch_matmul",
    "batch_norm",
    "contrib_conv2d_nchwc",
    "contrib_dense_pack",
    "contrib_depthwise_conv2d_nchwc",
    "conv1d",
    "conv1d_transpose",
    "conv2d",
    "conv2d_transpose",
    "conv3d",
    "conv3d_transpose",
    "dense",
    "dropout",
    "dropout_raw",
    "global_avg_pool1d",
    "global_avg_pool3d",
    "global_max_pool1d",
    "global_max_pool3d",
    "leaky_relu",
    "lrn",
    "matmul",
    "max_pool1d",
    "max_pool2d",
    "max_pool3d",
    "mirror_pad",
    "pad",
    "space_to_depth",
    "upsampling",
    "upsampling3d",
]
