"""Systems of linear equations over the integers."""

from .._ffi.registry import register_object
from ..ir.base import Node
from . import _ffi_api


@register_object("arith.IntGroupBounds")
class IntGroupBounds(Node):
    """Bounds of one unknown: `coef`, `lower`, `equal`, `upper`."""

    __slots__ = ()


@register_object("arith.IntConstraints")
class IntConstraints(Node):
    """Unknowns and conditions: `variables`, `ranges`, `relations`."""

    __slots__ = ()


@register_object("arith.IntConstraintsTransform")
class IntConstraintsTransform(Node):
    """A system and its solution: `src`, `dst`, `src_to_dst`, `dst_to_src`."""

    __slots__ = ()


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
