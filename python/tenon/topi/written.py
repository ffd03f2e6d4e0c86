"""Functions whose arguments have another form than those of the operators."""

from functools import reduce

from .. import relay, te, tir
from .._ffi.registry import get_global_func
from ._calls import apply, operator, scalar
from .utils import get_const_int


def _operator(name):
    return operator(__name__, "", name)


def adv_index(data, indices):
    """Elements by tensors of indices, as numpy does."""
    return apply(relay.adv_index, [data, *indices])


def argsort(data, valid_count=None, axis=-1, is_ascend=1, dtype="float32"):
    """Indices that sort along an axis; of type float32 unless another one is given."""
    if valid_count is not None:
        raise NotImplementedError(
            "topi.argsort: valid_count is not supported: set what is not valid to a number that "
            "comes last"
        )
    return apply(relay.argsort, data, axis, bool(is_ascend), dtype)


def argwhere(output_shape, condition):
    """Coordinates of the elements that are not 0, int32.

    Parameters
    ----------
    output_shape : Tensor
        Its shape is that of the result: a row for each element, and a column for each axis. Of
        fewer rows the first elements are taken, rows beyond them hold 0.
    condition : Tensor
        Of any type.
    """
    rows, columns = output_shape.shape
    if get_const_int(columns) != len(condition.shape):
        raise ValueError(
            f"topi.argwhere: output_shape has {columns} columns, the condition "
            f"{len(condition.shape)} axes"
        )
    result = relay.TensorType((rows, columns), "int32")
    compute = get_global_func("relay.op.Compute")
    return compute(relay.op.get("argwhere"), None, [condition], result)[0]


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
    return reduce(_operator("add"), xs) if len(xs) > 1 else identity(xs[0])


def one_hot(indices, on_value, off_value, depth, axis=-1, dtype="float32"):
    """`on_value` where the index along a new axis of `depth` is that of the element, else
    `off_value`, both as numbers of type `dtype`."""
    values = [v if isinstance(v, te.Tensor) else scalar(v, dtype) for v in (on_value, off_value)]
    return apply(relay.one_hot, indices, *values, depth, axis, dtype)


def strided_slice(a, begin, end, strides=None, axes=None, slice_mode="end"):
    """The elements between bounds, with steps; None is a bound that cuts nothing off. Where bounds
    or steps are tensors, the extents of the result are variables."""
    if te.Tensor in map(type, (begin, end, strides)):
        return apply(relay.strided_slice, a, begin, end, strides, axes, slice_mode)
    if None in begin or None in end:
        count = len(begin)
        given = list(strides) if strides else []
        given += [1] * (count - len(given))
        down = [int(step) < 0 for step in given]
        begin = [(-1 if d else 0) if b is None else b for b, d in zip(begin, down, strict=True)]
        end = [_last(d, slice_mode) if e is None else e for e, d in zip(end, down, strict=True)]
    return _operator("strided_slice")(a, begin, end, strides, axes, slice_mode)


def _last(down, slice_mode):
    if slice_mode == "size":
        return -1
    return -(2**31) if down else 2**31 - 1


def full(shape, dtype, fill_value):
    """A tensor of one number."""
    return te.compute(shape, lambda *_: tir.const(fill_value, dtype), "tensor", "elemwise")


def full_like(x, fill_value):
    """A tensor of one number, of the shape and type of another."""
    return full(x.shape, x.dtype, fill_value)


def gather(data, axis, indices):
    """Elements along an axis by indices of the other axes' shape."""
    return apply(lambda x, i: relay.gather(x, axis, i), data, indices)


def flip(a, axis=0):
    """The elements of an axis in reverse order."""
    return apply(relay.reverse, a, axis)


def einsum(subscripts, *operand):
    """Sums of products of tensors whose axes have letters, as numpy does."""
    return apply(lambda *tensors: relay.einsum(tensors, subscripts), *operand)


def exp(x):
    """The exponential of each element; truth counts as 0 or 1."""
    truth = isinstance(x, te.Tensor) and x.dtype == "bool"
    return _operator("exp")(cast(x, "float32") if truth else x)


def gather_nd(a, indices, batch_dims=0):
    """Elements by tensors of coordinates."""
    return apply(relay.gather_nd, a, indices, batch_dims)


def take(a, indices, axis=None, batch_dims=0, mode="clip"):
    """Elements, or slices along an axis, by their places."""
    return apply(relay.take, a, indices, axis, batch_dims, mode)


def trilu(data, k, upper):
    """The triangle on one side of diagonal `k`, an int, an expression or a tensor; 0 elsewhere."""
    if not isinstance(k, te.Tensor):
        k = scalar(k, k.dtype if isinstance(k, tir.PrimExpr) else "int32")
    return apply(relay.trilu, data, k, upper)


def _reduction(name):
    def reduce_axes(data, axis=None, keepdims=False):
        """Over the axes that are named, all by default; an empty list names none."""
        if isinstance(axis, list | tuple) and not axis:
            return identity(data)
        return _operator(name)(data, axis, keepdims)

    reduce_axes.__name__ = reduce_axes.__qualname__ = name
    return reduce_axes


all, any, max, min, prod, sum = map(_reduction, ("all", "any", "max", "min", "prod", "sum"))


def expand_like(a, shape_like, axis):
    """A tensor with axes put in and repeated so that it has the shape of another.

    Parameters
    ----------
    a, shape_like : Tensor
        The tensor, and the one whose shape it gets.
    axis : list of int
        Axes of the other tensor that it lacks; none: it has all, and is repeated along those of
        extent 1.
    """
    rank = len(shape_like.shape)
    lacking = sorted(x % rank for x in axis) if len(a.shape) < rank else []

    def expanded(x, like):
        for x_axis in lacking:
            x = relay.expand_dims(x, x_axis)
        return relay.broadcast_to_like(x, like)

    return apply(expanded, a, shape_like)


def collapse_sum(data, target_shape):
    """Sums over the axes along which a shape was repeated."""
    return apply(relay.collapse_sum_like, data, te.placeholder(target_shape, data.dtype, "target"))


def shape(array, dtype="int32"):
    """The extents of a tensor, as a tensor."""
    return apply(relay.shape_of, array, dtype)


def tensordot(a, b, axes):
    """Product summed over axes: the last ones of `a` and the first ones of `b` if a number, else
    those that two lists name."""
    if isinstance(axes, int):
        ra = len(a.shape)
        pairs = [(ra - axes + i, i) for i in range(axes)]
    else:
        left, right = (x if isinstance(x, list | tuple) else [x] for x in axes)
        pairs = list(zip(left, right, strict=True))
    letters = [chr(ord("a") + i) for i in range(26)]
    first = letters[: len(a.shape)]
    second = letters[len(a.shape) : len(a.shape) + len(b.shape)]
    for i, j in pairs:
        second[j] = first[i]
    summed = {first[i] for i, _ in pairs}
    out = [c for c in first + second if c not in summed]
    equation = f"{''.join(first)},{''.join(second)}->{''.join(out)}"
    return apply(lambda x, y: relay.einsum((x, y), equation), a, b)


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
    "all",
    "any",
    "argsort",
    "argwhere",
    "cast",
    "collapse_sum",
    "concatenate",
    "einsum",
    "elemwise_sum",
    "exp",
    "expand_like",
    "flip",
    "full",
    "full_like",
    "gather",
    "gather_nd",
    "identity",
    "matmul",
    "one_hot",
    "max",
    "min",
    "prod",
    "shape",
    "stack",
    "strided_slice",
    "sum",
    "take",
    "tensordot",
    "trilu",
]
