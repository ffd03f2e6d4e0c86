"""Intrinsics: code that computes a piece of a tensor, for `Stage.tensorize`."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.expr import PrimExpr
from ..runtime.object import Object
from ..tir.buffer import decl_buffer
from ..tir.stmt import Evaluate, Stmt


@register_object("TensorIntrin")
class TensorIntrin(Object):
    """What a piece of code computes: `op` over `inputs`, and how: `body`, `reduce_init`,
    `reduce_update` on `buffers`; made by `decl_tensor_intrin`."""

    __slots__ = ()


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
