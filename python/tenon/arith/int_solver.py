"""Systems of linear equations and inequalities over the integers."""

from .._ffi.registry import register_object
from ..ir.base import Node
from . import _ffi_api


@register_object("arith.IntGroupBounds")
class IntGroupBounds(Node):
    """Bounds of one unknown: ``lower <= coef * unknown <= upper``, and values that it equals.

    Parameters
    ----------
    coef : PrimExpr
        The factor.
    lower, equal, upper : list of PrimExpr
        The bounds.
    """

    __slots__ = ()

    def __init__(self, coef, lower, equal, upper):
        self.__init_handle_by_constructor__(_ffi_api.IntGroupBounds, coef, lower, equal, upper)

    @staticmethod
    def from_range(rng):
        """The bounds that a Range gives."""
        return _ffi_api.IntGroupBounds_from_range(rng)

    def find_best_range(self):
        """The smallest Range that the bounds give, or None."""
        return _ffi_api.IntGroupBounds_FindBestRange(self)


@register_object("arith.IntConstraints")
class IntConstraints(Node):
    """Unknowns and conditions: `variables`, `ranges`, `relations`.

    Parameters
    ----------
    variables : list of Var
        The unknowns.
    ranges : dict of Var to Range
        What is known of them.
    relations : list of PrimExpr
        Conditions.
    """

    __slots__ = ()

    def __init__(self, variables, ranges, relations):
        self.__init_handle_by_constructor__(_ffi_api.IntConstraints, variables, ranges, relations)


@register_object("arith.IntConstraintsTransform")
class IntConstraintsTransform(Node):
    """A system and its solution.

    Parameters
    ----------
    src, dst : IntConstraints
        The system and the solved one.
    src_to_dst, dst_to_src : dict of Var to PrimExpr
        The unknowns of each by those of the other.
    """

    __slots__ = ()

    def __init__(self, src, dst, src_to_dst, dst_to_src):
        self.__init_handle_by_constructor__(
            _ffi_api.IntConstraintsTransform, src, dst, src_to_dst, dst_to_src
        )


def solve_linear_equations(equations, variables=None, ranges=None):
    """Solve linear equations over the integers.

    Parameters
    ----------
    equations : list of PrimExpr
        The equations; other conditions stay conditions.
    variables : list of Var, optional
        The unknowns.
    ranges : dict of Var to Range, optional
        What is known of them.

    Returns
    -------
    result : IntConstraintsTransform
        The unknowns in terms of new variables, which run through all solutions. `dst.relations` is
        ``[False]`` when there is none.
    """
    return _ffi_api.SolveLinearEquations(equations, variables or [], ranges or {})


def solve_linear_inequalities(equations, variables=None, ranges=None, deskew_range=False):
    """Solve linear inequalities over the integers by elimination.

    Parameters
    ----------
    equations : list of PrimExpr
        The inequalities; other conditions stay conditions.
    variables : list of Var, optional
        The unknowns, in the order of their elimination.
    ranges : dict of Var to Range, optional
        What is known of them.
    deskew_range : bool
        Ask for new unknowns, whose ranges begin at 0 and do not depend on each other.

    Returns
    -------
    result : IntConstraints or IntConstraintsTransform
        A range of each unknown, in terms of those behind it, and the conditions that do not follow
        from the ranges; if `deskew_range`, the same in new unknowns. `relations` is ``[False]``
        when there is no solution.

    Raises
    ------
    ValueError
        Elimination leads to too many inequalities.
    """
    solve = _ffi_api.SolveInequalitiesToRange
    if deskew_range:
        solve = _ffi_api.SolveInequalitiesDeskewRange
    return solve(equations, variables or [], ranges or {})
