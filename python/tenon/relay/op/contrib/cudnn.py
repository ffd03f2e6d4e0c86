"""Convolutions and softmax for cuDNN: the partition. Code for it is not there; `tenon.build` for
CUDA makes its own kernels."""

from ...dataflow_pattern import is_op, wildcard
from ._partition import partition, types_of
from .register import register_pattern_table

_FLOATS = ("float64", "float32", "float16")


def _takes_softmax(call):
    return call.args[0].checked_type.dtype in _FLOATS


def _takes_log_softmax(call):
    two = len(call.args[0].checked_type.shape) == 2
    return _takes_softmax(call) and two and int(call.attrs.axis) in (1, -1)


def _takes_conv2d(call):
    top, left, bottom, right = (int(p) for p in call.attrs.padding)
    layouts = (call.attrs.data_layout, call.attrs.kernel_layout) == ("NCHW", "OIHW")
    return types_of(call)[0] in _FLOATS and layouts and top == bottom and left == right


@register_pattern_table("cudnn")
def pattern_table():
    """Patterns that cuDNN computes; list of (name, pattern, check)."""
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    biased = is_op("nn.bias_add")(conv2d, wildcard()).optional(is_op("nn.relu"))
    return [
        ("cudnn.softmax", is_op("nn.softmax")(wildcard()), _takes_softmax),
        ("cudnn.log_softmax", is_op("nn.log_softmax")(wildcard()), _takes_log_softmax),
        ("cudnn.conv2d_bias_act", biased, lambda call: True),
        ("cudnn.conv2d", is_op("nn.conv2d")(wildcard(), wildcard()), _takes_conv2d),
    ]


def partition_for_cudnn(mod, params=None):
    """Cut convolutions and softmax out of a program.

    Parameters
    ----------
    mod : IRModule
        The program.
    params : dict of str to NDArray, optional
        Accepted, without effect.

    Returns
    -------
    IRModule
    """
    return partition(mod, "cudnn", pattern_table())
