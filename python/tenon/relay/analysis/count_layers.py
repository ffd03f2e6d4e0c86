"""Depth of networks."""

from . import _ffi_api


def count_layers(expr, valid_ops):
    """The largest number of calls of some operators on any path through a program.

    Parameters
    ----------
    expr : RelayExpr
        The program.
    valid_ops : list of str
        Names of the operators.

    Returns
    -------
    int
    """
    return int(_ffi_api.CountLayers(expr, list(valid_ops)))
