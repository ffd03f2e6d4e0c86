"""Intrinsics: code that computes a piece of a tensor, for `Stage.tensorize`."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.expr import PrimExpr, Range
from ..runtime.object import Object
from ..tir.buffer import decl_buffer
from ..tir.expr import convert
from ..tir.stmt import Evaluate, Stmt
from .tensor import Tensor, TensorSlice


@register_object("TensorIntrin")
class TensorIntrin(Object):
    """What a piece of code computes: `op` over `inputs`, and how: `body`, `reduce_init`,
    `reduce_update` on `buffers`; made by `decl_tensor_intrin`."""

    __slots__ = ()

    def __call__(self, *args, **kwargs):
        """The intrinsic on regions of tensors: what the function of a `compute` gives.

        Parameters
        ----------
        args : TensorSlice, Tensor or PrimExpr
            Regions, ``A[i, 0:16]`` for example, in the order of `inputs`; between them numbers in
            the order of `scalar_params`.
        reduce_axis : IterVar or list of IterVar, optional
            Axes whose pieces are reduced into one.

        Returns
        -------
        TensorIntrinCall
        """
        axes = kwargs.pop("reduce_axis", None)
        if kwargs:
            raise TypeError(f"{self.name}: unexpected argument {next(iter(kwargs))}")
        axes = [] if axes is None else axes
        axes = list(axes) if isinstance(axes, list | tuple) else [axes]
        slices = [_slice(a) for a in args if isinstance(a, Tensor | TensorSlice)]
        scalars = [convert(a) for a in args if not isinstance(a, Tensor | TensorSlice)]
        regions = [_region(s) for s in slices]
        return TensorIntrinCall(self, [s.tensor for s in slices], regions, scalars, axes)


class TensorIntrinCall:
    """An intrinsic with what it is applied to; `compute` makes an operation of it."""

    def __init__(self, intrin, tensors, regions, scalar_inputs, reduce_axis):
        self.intrin = intrin
        self.tensors = tensors
        self.regions = regions
        self.scalar_inputs = scalar_inputs
        self.reduce_axis = reduce_axis


def _slice(region):
    return region[(slice(None),) * region.ndim] if isinstance(region, Tensor) else region


def _region(region):
    """Range of each dimension that is given."""
    shape = region.tensor.shape
    if len(region.indices) != len(shape):
        raise ValueError(
            f"{region.tensor.op.name}: expected {len(shape)} indices or slices, got "
            f"{len(region.indices)}"
        )
    return [_range(i, extent) for i, extent in zip(region.indices, shape, strict=True)]


def _range(index, extent):
    if not isinstance(index, slice):
        return Range.from_min_extent(convert(index), 1)
    if index.step not in (None, 1):
        raise ValueError(f"a region has no gaps: expected a slice of step 1, got {index.step}")
    start = 0 if index.start is None else index.start
    return Range(start, extent if index.stop is None else index.stop)


def _statement(code):
    if code is None or isinstance(code, Stmt):
        return code
    if isinstance(code, PrimExpr):
        return Evaluate(code)
    raise ValueError(f"expected statements or expressions of an intrinsic, got {type(code)}")


def decl_tensor_intrin(
    op, fcompute, name="tensor_intrin", binds=None, scalar_params=None, default_buffer_params=None
):
    """An intrinsic by what it computes and the code that does so.

    Parameters
    ----------
    op : Operation
        What it computes, from placeholders.
    fcompute : callable
        Takes the lists of input and output buffers (and `scalar_params`, where given) and gives a
        statement or expression, or up to three: the whole computation; the first values of a
        reduction; a step of the reduction. Without the second, the first step of a reduction that
        is cut into pieces is done by the first.
    name : str
        Name.
    binds : dict of Tensor to Buffer, optional
        Buffers to use in place of new ones: with strides, offsets, a memory.
    scalar_params : list of Var, optional
        Variables that the code uses besides.
    default_buffer_params : dict, optional
        Arguments of `tir.decl_buffer` for the new buffers, ``{"offset_factor": 1}`` for example.

    Returns
    -------
    TensorIntrin

    Raises
    ------
    ValueError
        If an input is not a placeholder, or a buffer does not fit its tensor.
    """
    binds = binds or {}
    inputs = list(op.input_tensors)
    tensors = inputs + [op.output(i) for i in range(op.num_outputs)]
    buffers = [
        binds[t]
        if t in binds
        else decl_buffer(t.shape, t.dtype, str(t.op.name), **(default_buffer_params or {}))
        for t in tensors
    ]
    given = [buffers[: len(inputs)], buffers[len(inputs) :]]
    code = fcompute(*given, scalar_params) if scalar_params else fcompute(*given)
    code = list(code) if isinstance(code, list | tuple) else [code]
    if not 1 <= len(code) <= 3:
        raise ValueError(f"{name}: expected body, reduce_init and reduce_update, got {len(code)}")
    body, init, update = [_statement(c) for c in code] + [None] * (3 - len(code))
    fields = {
        "name": name,
        "op": op,
        "inputs": inputs,
        "buffers": buffers,
        "scalar_params": list(scalar_params or []),
        "body": body,
        "reduce_init": init,
        "reduce_update": update,
    }
    return _core.make_node("TensorIntrin", fields)
