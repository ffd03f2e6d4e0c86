"""Deduction of a variable's bounds from a condition."""

from . import _ffi_api


def deduce_bound(var, cond, hint_map, relax_map):
    """The values of a variable for which a condition holds.

    Parameters
    ----------
    var : Var
        The variable.
    cond : PrimExpr
        A comparison, or several joined by `and`.
    hint_map : dict of Var to IntSet
        What is known of other variables.
    relax_map : dict of Var to IntSet
        The condition has to hold for all values of these.

    Returns
    -------
    result : IntSet
        Empty when nothing can be told.
    """
    return _ffi_api.DeduceBound(var, cond, hint_map, relax_map)
