"""Making tensor expressions."""

import inspect

from .. import _core
from ..ir.expr import PrimExpr, Range
from ..tir.buffer import Buffer, decl_buffer
from ..tir.expr import IterVar, Var, convert
from ..tir.stmt import Evaluate, Stmt
from .tag import current_tag
from .tensor import Tensor
from .tensor_intrin import TensorIntrinCall


def _shape(shape):
    shape = (shape,) if isinstance(shape, PrimExpr | int | float) else shape
    return [convert(_whole(i) if isinstance(i, float) else i) for i in shape]


def _whole(extent):
    """A float as an extent: programs write ``N / 32``."""
    if not extent.is_integer():
        raise ValueError(f"expected a whole number as an extent, got {extent}; divide with //")
    return int(extent)


def _attrs(attrs, tag):
    return dict(attrs or {}), current_tag(tag)


def placeholder(shape, dtype=None, name="placeholder"):
    """A tensor that is given when the program runs.

    Parameters
    ----------
    shape : tuple of int or PrimExpr
        Extents.
    dtype : str, optional
        Type of an element, float32 by default.
    name : str
        Name.

    Returns
    -------
    Tensor
    """
    fields = {"name": name, "shape": _shape(shape), "dtype": str(dtype or "float32")}
    return _core.make_node("PlaceholderOp", fields).output(0)


def _arguments(fcompute, ndim, varargs_names):
    """Names of the axes: those of the function's parameters."""
    spec = inspect.getfullargspec(fcompute)
    names = list(spec.args)
    if inspect.ismethod(fcompute):
        names = names[1:]
    if spec.varargs is not None:
        rest = ndim - len(names)
        if varargs_names is not None:
            if len(varargs_names) != rest:
                raise RuntimeError(
                    f"Number of varargs ({rest}) does not match number of varargs_names "
                    f"({len(varargs_names)})"
                )
            names += list(varargs_names)
        else:
            names += [f"i{i}" for i in range(len(names), ndim)]
    elif not names:
        names = [f"i{i}" for i in range(ndim)]
    if len(names) > ndim:
        raise ValueError(f"fcompute do not match dimension, ndim={ndim}")
    return names


def compute(shape, fcompute, name="compute", tag="", attrs=None, varargs_names=None):
    """A tensor by the value of its elements.

    Parameters
    ----------
    shape : tuple of int or PrimExpr
        Extents.
    fcompute : callable
        Takes an index for every axis, gives the element, or a list of elements for several
        tensors. It may also take fewer and give the call of a `TensorIntrin`, which computes a
        piece over the other axes.
    name : str
        Name.
    tag : str
        Kind of operation.
    attrs : dict, optional
        Attributes.
    varargs_names : list of str, optional
        Names of the axes that a ``*args`` parameter takes.

    Returns
    -------
    Tensor or tuple of Tensor

    Raises
    ------
    ValueError
        If fcompute takes another number of indices, or a reduction is not outermost.
    """
    attrs, tag = _attrs(attrs, tag)
    shape = _shape(shape)
    names = _arguments(fcompute, len(shape), varargs_names)
    nloops = len(names)
    names += [f"ax{i}" for i in range(len(shape) - nloops)]
    axis = [
        IterVar(Range.from_min_extent(0, extent), Var(n, extent.dtype), IterVar.DataPar)
        for n, extent in zip(names, shape, strict=True)
    ]
    takes_indices = len(shape) > 0 or inspect.getfullargspec(fcompute).varargs is not None
    body = fcompute(*[a.var for a in axis[:nloops]]) if takes_indices else fcompute()
    if isinstance(body, TensorIntrinCall):
        return _outputs(_pieces(body, name, tag, attrs, axis, nloops))
    if nloops != len(shape):
        raise ValueError(f"fcompute do not match dimension, ndim={len(shape)}")
    body = [convert(e) for e in (body if isinstance(body, list | tuple) else [body])]
    fields = {"name": name, "tag": tag, "attrs": attrs, "axis": axis, "body": body}
    return _outputs(_core.make_node("ComputeOp", fields))


def _outputs(op):
    outputs = tuple(op.output(i) for i in range(op.num_outputs))
    return outputs[0] if len(outputs) == 1 else outputs


def _pieces(call, name, tag, attrs, axis, nloops):
    fields = {
        "name": name,
        "tag": tag,
        "attrs": attrs,
        "axis": axis,
        "reduce_axis": call.reduce_axis,
        "schedulable_ndim": nloops,
        "intrin": call.intrin,
        "inputs": call.tensors,
        "input_regions": call.regions,
        "scalar_inputs": call.scalar_inputs,
    }
    return _core.make_node("TensorComputeOp", fields)


def _buffers_of(tensors, given):
    if given is not None:
        given = [given] if not isinstance(given, list | tuple) else given
        if len(given) != len(tensors):
            raise RuntimeError(
                f"Number of inputs and in_buffers mismatch: {len(tensors)} vs {len(given)}."
            )
        return list(given)
    return [
        decl_buffer(t.shape, t.dtype, str(t.op.name), elem_offset=Var("elem_offset", "int32"))
        for t in tensors
    ]


def extern(
    shape,
    inputs,
    fcompute,
    name="extern",
    dtype=None,
    in_buffers=None,
    out_buffers=None,
    tag="",
    attrs=None,
):
    """Tensors computed by a statement, such as a call of a packed function.

    Parameters
    ----------
    shape : tuple or list of tuples
        Shape of the result, or of each result.
    inputs : list of Tensor
        Tensors the statement reads.
    fcompute : callable
        Takes the lists of input and output buffers, gives an expression or statement.
    name : str
        Name.
    dtype : str or list of str, optional
        Types of the results; that of the inputs by default.
    in_buffers, out_buffers : Buffer or list of Buffer, optional
        Buffers to use in place of new ones.
    tag : str
        Kind of operation.
    attrs : dict, optional
        Attributes.

    Returns
    -------
    Tensor or list of Tensor
    """
    attrs, tag = _attrs(attrs, tag)
    shape = (shape,) if isinstance(shape, PrimExpr | int) else shape
    if len(shape) == 0 or isinstance(shape[0], PrimExpr | int):
        shape = [shape]
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise ValueError("expect inputs to be tensor")
    input_buffers = _buffers_of(list(inputs), in_buffers)
    if out_buffers is not None:
        output_buffers = [out_buffers] if isinstance(out_buffers, Buffer) else list(out_buffers)
        if len(output_buffers) != len(shape):
            raise RuntimeError(
                f"Number of outputs and out_buffers mismatch: {len(shape)} vs "
                f"{len(output_buffers)}."
            )
    else:
        output_buffers = _output_buffers(shape, inputs, dtype, name)
    body = fcompute(input_buffers, output_buffers)
    if isinstance(body, PrimExpr):
        body = Evaluate(body)
    if not isinstance(body, Stmt):
        raise ValueError(
            f"Function '{getattr(fcompute, '__name__', fcompute)}' should return PrimExpr or "
            f"Stmt, but it returned '{type(body)}'"
        )
    fields = {
        "name": name,
        "tag": tag,
        "attrs": attrs,
        "inputs": list(inputs),
        "input_placeholders": input_buffers,
        "output_placeholders": output_buffers,
        "body": body,
    }
    op = _core.make_node("ExternOp", fields)
    outputs = [op.output(i) for i in range(len(output_buffers))]
    return outputs[0] if len(outputs) == 1 else outputs


def _output_buffers(shape, inputs, dtype, name):
    if dtype is None:
        types = {str(t.dtype) for t in inputs}
        if len(types) != 1:
            raise ValueError("Cannot infer output type, please provide dtype argument")
        dtype = [types.pop()] * len(shape)
    elif isinstance(dtype, str):
        dtype = [dtype] * len(shape)
    return [
        decl_buffer(s, t, name, elem_offset=Var("elem_offset", "int32"))
        for s, t in zip(shape, dtype, strict=True)
    ]


def scan(init, update, state_placeholder, inputs=None, name="scan", tag="", attrs=None):
    """Tensors whose steps along the first axis are computed from earlier steps.

    The first values, the updates, the states and the results share one buffer each.

    Parameters
    ----------
    init : Tensor or list of Tensor
        The first steps; as many as its first extent, the others as in the state.
    update : Tensor or list of Tensor
        Values of a step, of the shape of the state, from earlier steps of the states.
    state_placeholder : Tensor or list of Tensor
        Placeholders that stand for the results in `update`.
    inputs : Tensor or list of Tensor, optional
        Other tensors that the updates read.
    name : str
        Name.
    tag : str
        Kind of operation.
    attrs : dict, optional
        Attributes.

    Returns
    -------
    Tensor or list of Tensor
        The states of all steps.

    Raises
    ------
    ValueError
        If lengths, shapes or types do not fit.

    Examples
    --------
    Sums of the rows above, of an array of m rows::

        X = te.placeholder((m, n), name="X")
        state = te.placeholder((m, n), name="state")
        first = te.compute((1, n), lambda _, i: X[0, i])
        step = te.compute((m, n), lambda t, i: state[t - 1, i] + X[t, i])
        S = te.scan(first, step, state, inputs=[X])
    """
    attrs, tag = _attrs(attrs, tag)
    init, update, states = (
        [ts] if isinstance(ts, Tensor) else list(ts) for ts in (init, update, state_placeholder)
    )
    if not init or not update:
        raise ValueError("scan: expected at least one tensor as init and update")
    first, steps = init[0].shape[0], update[0].shape[0]
    axis = IterVar(Range.from_min_extent(first, steps - first), f"{name}.idx", IterVar.Ordered)
    fields = {
        "name": name,
        "tag": tag,
        "attrs": attrs,
        "scan_axis": axis,
        "init": init,
        "update": update,
        "state_placeholder": states,
        "inputs": [inputs] if isinstance(inputs, Tensor) else list(inputs or []),
    }
    op = _core.make_node("ScanOp", fields)
    outputs = [op.output(i) for i in range(len(update))]
    return outputs[0] if len(outputs) == 1 else outputs


def extern_primfunc(input_tensors, primfunc, **kwargs):
    """Tensors computed by a PrimFunc whose last buffers are the results.

    Parameters
    ----------
    input_tensors : list of Tensor
        One for each of the function's first buffers.
    primfunc : PrimFunc
        The program.

    Returns
    -------
    Tensor or list of Tensor
    """
    buffers = [primfunc.buffer_map[p] for p in primfunc.params]
    ins, outs = buffers[: len(input_tensors)], buffers[len(input_tensors) :]
    for tensor, buffer in zip(input_tensors, ins, strict=True):
        if len(tensor.shape) != len(buffer.shape):
            raise ValueError(
                f"The input input_tensors provided do not match the input buffers in the primfunc: "
                f"{tensor.shape} and {buffer.shape}"
            )
    return extern(
        [b.shape for b in outs],
        list(input_tensors),
        lambda _ins, _outs: primfunc.body,
        in_buffers=ins,
        out_buffers=outs,
        dtype=[str(b.dtype) for b in outs],
        **kwargs,
    )


def create_prim_func(ops, index_dtype_override=None):
    """The tensor program of tensor expressions.

    Parameters
    ----------
    ops : list of Tensor or Var
        Its parameters in order: inputs and results.
    index_dtype_override : str, optional
        Type for all indices, extents and loops, ``"int64"`` for example.

    Returns
    -------
    PrimFunc
        One block for each operation.

    Raises
    ------
    ValueError
        If a placeholder is used that is not among the parameters.
    """
    ops = [ops] if not isinstance(ops, list | tuple) and not hasattr(ops, "__len__") else list(ops)
    return _core.get_global_func("te.CreatePrimFunc")(ops, index_dtype_override)


__all__ = [
    "compute",
    "create_prim_func",
    "extern",
    "extern_primfunc",
    "placeholder",
    "scan",
]
