"""Operators of quantized tensors whose parameters are not in the order of their rows."""

from ...op import _rows
from ...op.nn.utils import get_pad_tuple2d
from .. import transform  # noqa: F401  with the operators come their passes


def _pair(value):
    """One number stands for both axes."""
    return (value, value) if isinstance(value, int) else value


_INT32 = {"out_dtype": "int32"}
_HIDDEN = ("auto_scheduler_rewritten_layout", "meta_schedule_original_shape")

conv2d = _rows.wrapper(
    "qnn.conv2d",
    order=(
        "data",
        "kernel",
        "input_zero_point",
        "kernel_zero_point",
        "input_scale",
        "kernel_scale",
        "kernel_size",
        "channels",
    ),
    defaults={**_INT32, "strides": (1, 1), "padding": (0, 0), "dilation": (1, 1)},
    forms={
        "kernel_size": _pair,
        "strides": _pair,
        "dilation": _pair,
        "padding": get_pad_tuple2d,
    },
    hidden=_HIDDEN,
)
conv2d_transpose = _rows.wrapper(
    "qnn.conv2d_transpose",
    order=(
        "data",
        "weight",
        "input_zero_point",
        "kernel_zero_point",
        "input_scale",
        "kernel_scale",
        "strides",
        "padding",
        "dilation",
        "groups",
        "channels",
        "kernel_size",
        "data_layout",
        "kernel_layout",
        "out_layout",
        "output_padding",
        "out_dtype",
    ),
    defaults={**_INT32, "strides": (1, 1), "padding": (0, 0), "dilation": (1, 1)},
    forms={
        "kernel_size": _pair,
        "strides": _pair,
        "dilation": _pair,
        "output_padding": _pair,
        "padding": get_pad_tuple2d,
    },
)
dense = _rows.wrapper("qnn.dense", defaults=_INT32, hidden=_HIDDEN)
batch_matmul = _rows.wrapper(
    "qnn.batch_matmul", defaults=_INT32, hidden=("transpose_a", "transpose_b", *_HIDDEN)
)

__all__ = ["batch_matmul", "conv2d", "conv2d_transpose", "dense"]
