"""Functions whose arguments have another form than those of the operators."""

from functools import reduce

from .. import relay, te, tir
from ._calls import apply, operator


def _operator(name):
    return operator(__name__, "", name)


def adv_index(data, indices):
    """Elements by tensors of indices, as numpy does."""
    return apply(relay.adv_index, [data, *indices])


def cast(x, dtype, span=None):
    """`x` converted to another type: a tensor or an expression."""
    if isinstance(x, tir.PrimExpr):
        return tir.Cast(dtype, x, span)
    return apply(relay.cast, x, dtype)


def concatenate(a_tuple, axis=0):
    """Tensors put one after another."""
    return apply(relay.concatenate, list(a_tuple), axis)


def elemwise_sum(xs):
    """The sum of tensors of one shape."""
    return reduce(_operator("add"), xs)


def full(shape, dtype, fill_value):
    """A tensor of one number."""
    return te.compute(shape, lambda *_: tir.const(fill_value, dtype), "tensor", "elemwise")


def full_like(x, fill_value):
    """A tensor of one number, of the shape and type of another."""
    return full(x.shape, x.dtype, fill_value)


def gather(data, axis, indices):
    """Elements along an axis by indices of the other axes' shape."""
    return apply(lambda x, i: relay.gather(x, axis, i), data, indices)


def identity(x):
    """The tensor itself, computed."""
    return apply(relay.copy, x)


def matmul(a, b, transp_a=False, transp_b=False):
    """Matrix product."""
    return apply(relay.nn.matmul, a, b, transpose_a=transp_a, transpose_b=transp_b)


def stack(a, axis):
    """Tensors put one after another along a new axis."""
    return apply(relay.stack, list(a), axis)


__all__ = [
    "adv_index",
    "cast",
    "concatenate",
    "elemwise_sum",
    "full",
    "full_like",
    "gather",
    "identity",
    "matmul",
    "stack",
]
