"""Depth of networks."""

from ...ir.module import IRModule
from . import _ffi_api


def count_layers(expr, valid_ops):
    """The largest number of calls of some operators on any path through a program.

    Parameters
    ----------
    expr : RelayExpr or IRModule
        The program; of a module its function ``main``.
    valid_ops : list of str
        Names of the operators.

    Returns
    -------
    int
    """
    if isinstance(expr, IRModule):
        expr = expr["main"]
    return int(_ffi_api.CountLayers(expr, list(valid_ops)))
