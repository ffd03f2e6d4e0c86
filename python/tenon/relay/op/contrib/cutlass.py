"""Products and convolutions for CUTLASS: the partition. Code for it is not there; `tenon.build` for
CUDA makes its own kernels."""

from functools import partial

from ...dataflow_pattern import is_constant, is_op, wildcard
from ._partition import find_call, partition, types_of
from .register import register_pattern_table

_BYTES = ("int8", "uint8")


def _biased(product):
    return (is_op("add") | is_op("nn.bias_add"))(product, wildcard())


def _gelu(x, half):
    scaled = is_op("multiply")(x, is_constant() | wildcard())
    error = is_op("erf")(is_op("cast")(scaled) if half else scaled)
    error = is_op("cast")(error) if half else error
    halved = is_op("multiply")(error, is_constant() | wildcard())
    return is_op("multiply")(is_op("add")(halved, is_constant() | wildcard()), x)


def _hardswish(x):
    clipped = is_op("clip")(is_op("add")(x, is_constant()))
    return is_op("multiply")(x, is_op("divide")(clipped, is_constant()))


_ACTIVATIONS = {
    "_hardswish": _hardswish,
    "_silu": lambda x: is_op("multiply")(x, is_op("sigmoid")(x)),
    "_relu": lambda x: is_op("nn.relu")(x),
    "_sigmoid": lambda x: is_op("sigmoid")(x),
    "": lambda x: x,
}


def _takes_types(call):
    first, second = types_of(call)
    same = first == second and first in ("float16", "float32")
    return same or (first in _BYTES and second in _BYTES)


def _takes_dense(call):
    return _takes_types(find_call(call, "nn.dense"))


def _takes_batch_matmul(call):
    attrs = call.attrs
    return _takes_types(call) and not attrs.transpose_a and bool(attrs.transpose_b)


def _takes_conv2d(call, operator="nn.conv2d", kernel_layout="OHWI"):
    conv2d = find_call(call, operator)
    attrs = conv2d.attrs
    if (attrs.data_layout, attrs.kernel_layout) != ("NHWC", kernel_layout):
        return False
    data, weight = (argument.checked_type for argument in conv2d.args[:2])
    depthwise = int(data.shape[3]) == int(weight.shape[0]) == int(attrs.groups)
    return _takes_types(conv2d) and not depthwise


def _takes_residual(call, operator):
    """The sum's other operand has the same shape, and does not come from the convolution too."""
    if not _takes_conv2d(call):
        return False
    conv2d = find_call(call, "nn.conv2d")
    sides = find_call(call, operator).args
    roots = [find_call(side, "nn.conv2d") for side in sides]
    if all(root is not None and root.same_as(conv2d) for root in roots):
        return False
    first, second = ([int(x) for x in side.checked_type.shape] for side in sides)
    return first == second


def _conv2d():
    return is_op("nn.conv2d")(wildcard(), wildcard())


def _residuals():
    for after, ending in ((lambda x: is_op("nn.relu")(x), "_relu"), (lambda x: x, "")):
        for name, activation in _ACTIVATIONS.items():
            for operator in ("add", "multiply"):
                made, other = activation(_biased(_conv2d())), wildcard()
                joined = is_op(operator)(made, other) | is_op(operator)(other, made)
                full = f"cutlass.conv2d_bias{name}_residual_{operator}{ending}"
                yield full, after(joined), partial(_takes_residual, operator=operator)


def _dense():
    return is_op("nn.dense")(wildcard(), wildcard())


@register_pattern_table("cutlass")
def pattern_table():
    """Patterns that CUTLASS computes, the larger ones first; list of (name, pattern, check)."""
    dense = [
        ("cutlass.dense_bias_gelu_fp16", _gelu(_biased(_dense()), True), _takes_dense),
        ("cutlass.dense_bias_gelu_fp32", _gelu(_biased(_dense()), False), _takes_dense),
        ("cutlass.dense_bias_relu", is_op("nn.relu")(_biased(_dense())), _takes_dense),
        ("cutlass.dense_bias", _biased(_dense()), _takes_dense),
        ("cutlass.dense", _dense(), _takes_dense),
        (
            "cutlass.batch_matmul",
            is_op("nn.batch_matmul")(wildcard(), wildcard()),
            _takes_batch_matmul,
        ),
    ]
    conv2d = [
        (f"cutlass.conv2d_bias{name}", activation(_biased(_conv2d())), _takes_conv2d)
        for name, activation in _ACTIVATIONS.items()
    ]
    # the gradient for the data is a convolution with input and output channels exchanged
    transpose = (
        "cutlass.conv2d_transpose",
        is_op("nn.conv2d_transpose")(wildcard(), wildcard()),
        partial(_takes_conv2d, operator="nn.conv2d_transpose", kernel_layout="IHWO"),
    )
    plain = ("cutlass.conv2d", _conv2d(), _takes_conv2d)
    return [*_residuals(), *dense, *conv2d, plain, transpose]


def partition_for_cutlass(mod, params=None):
    """Cut products and convolutions out of a program.

    Parameters
    ----------
    mod : IRModule
        The program.
    params : dict of str to NDArray, optional
        Values of parameters of ``main``; batch norms are then folded into weights first.

    Returns
    -------
    IRModule
    """
    options = {"include_non_call_ops": False, "bind_constants": False}
    return partition(mod, "cutlass", pattern_table(), params, **options)
