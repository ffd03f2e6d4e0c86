"""Operators that move elements: functions that take several forms of an argument."""

from ...runtime.object_generic import ObjectGeneric
from ..expr import Constant, Expr, Tuple
from . import _make


def _tensors(data):
    """A tuple expression of a list of tensors, or what is one already."""
    if isinstance(data, ObjectGeneric):
        return data.asobject()
    if isinstance(data, list | tuple):
        data = list(data)
        if not data:
            raise ValueError("relay.concatenate requires data to be non-empty.")
        return Tuple(data)
    return data


def concatenate(data, axis):
    """Tensors put one after another.

    Parameters
    ----------
    data : list of RelayExpr, or RelayExpr of tuple type
        The tensors.
    axis : int
        The axis that grows.

    Returns
    -------
    Call
    """
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    return _make.concatenate(_tensors(data), axis)


def reshape(data, newshape, allowzero=False):
    """The same elements under another shape.

    Parameters
    ----------
    data : RelayExpr
        The tensor.
    newshape : int, list of int, or RelayExpr
        The extents: 0 copies that of the input there, -1 is what is left, -2 copies all axes that
        are left, -3 merges the next two, -4 splits the next into the two numbers that follow. An
        expression is a tensor of extents, known at run time only.
    allowzero : bool
        Is 0 an extent, rather than a code?

    Returns
    -------
    Call
    """
    if isinstance(newshape, Constant):
        newshape = [int(x) for x in newshape.data.numpy()]
    if isinstance(newshape, Expr):
        return _make_dynamic("reshape")(data, newshape, allowzero)
    if isinstance(newshape, int):
        newshape = [newshape]
    if isinstance(newshape, list | tuple):
        newshape = [_extent(x) for x in newshape]
    return _make.reshape(data, newshape, allowzero)


def _extent(x):
    if isinstance(x, Constant):
        return int(x.data.numpy())
    try:
        return int(x)
    except (TypeError, ValueError) as err:
        from ...ir.expr import PrimExpr

        if isinstance(x, PrimExpr):
            return x
        raise RuntimeError(f"Unrecognized shape type: {err}") from err


def _make_dynamic(name):
    """Maker of the form of an operator that takes its attributes as tensors."""
    from ..._ffi.registry import get_global_func

    return get_global_func(f"relay.op.dyn._make.{name}")


__all__ = ["concatenate", "reshape"]
