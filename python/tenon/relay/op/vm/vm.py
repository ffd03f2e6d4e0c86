"""Operators of the virtual machine: functions whose arguments differ from the row's."""

from . import _make


def shape_of(expr):
    """The extents of a tensor, int64, read by the machine.

    Parameters
    ----------
    expr : RelayExpr
        The tensor.

    Returns
    -------
    Call
    """
    return _make.shape_of(expr, "int64")


def shape_func(func, inputs, outputs, is_inputs):
    """Writes extents of a kernel's results.

    Parameters
    ----------
    func : RelayExpr
        The kernel.
    inputs, outputs : RelayExpr of tuple type, or list of RelayExpr
        What is read, and the shapes that are written.
    is_inputs : list of int
        For each input 1 where its values are read, 0 where it is a shape.

    Returns
    -------
    Call
    """
    return _make.shape_func(func, inputs, outputs, is_inputs)


__all__ = ["shape_func", "shape_of"]
