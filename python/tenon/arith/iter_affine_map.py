"""Iteration maps: indices as split and fused loop variables."""

from enum import IntEnum

from .._ffi.registry import register_object
from ..ir.base import Node
from ..ir.expr import PrimExpr
from . import _ffi_api


class IterMapLevel(IntEnum):
    """What indices are checked for."""

    Bijective = 0
    Surjective = 1
    NoCheck = 3

    @staticmethod
    def from_str(name):
        """The level of a name in any case: "bijective", "surjective", "nocheck"."""
        levels = {level.name.lower(): level for level in IterMapLevel}
        try:
            return levels[name.lower()]
        except KeyError:
            raise ValueError(f"check level {name!r}: expected one of {sorted(levels)}") from None


@register_object("arith.IterMapExpr")
class IterMapExpr(PrimExpr):
    """Part of an iteration map."""

    __slots__ = ()


@register_object("arith.IterMark")
class IterMark(Node):
    """Iterates from 0 to before `extent`.

    Parameters
    ----------
    source : PrimExpr
        A variable or IterSumExpr.
    extent : PrimExpr
        Number of values.
    """

    __slots__ = ()

    def __init__(self, source, extent):
        self.__init_handle_by_constructor__(_ffi_api.IterMark, source, extent)


@register_object("arith.IterSplitExpr")
class IterSplitExpr(IterMapExpr):
    """``source // lower_factor % extent * scale``.

    Parameters
    ----------
    source : IterMark
        What is split.
    lower_factor, extent, scale : PrimExpr
        The factors.
    """

    __slots__ = ()

    def __init__(self, source, lower_factor, extent, scale):
        self.__init_handle_by_constructor__(
            _ffi_api.IterSplitExpr, source, lower_factor, extent, scale
        )


@register_object("arith.IterSumExpr")
class IterSumExpr(IterMapExpr):
    """Sum of splits and a base.

    Parameters
    ----------
    args : list of IterSplitExpr
        The splits.
    base : PrimExpr
        The rest.
    """

    __slots__ = ()

    def __init__(self, args, base):
        self.__init_handle_by_constructor__(_ffi_api.IterSumExpr, args, base)


@register_object("arith.IterMapResult")
class IterMapResult(Node):
    """Result of detect_iter_map: `indices` (empty when they are not a map), `errors`,
    `padding_predicate`."""

    __slots__ = ()


def _level(check_level):
    return IterMapLevel.from_str(check_level) if isinstance(check_level, str) else check_level


def detect_iter_map(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
):
    """Detect whether indices are an iteration map.

    Parameters
    ----------
    indices : list of PrimExpr
        The indices.
    input_iters : dict of Var to Range
        Domains of the variables.
    predicate : PrimExpr
        A condition that limits the variables.
    check_level : IterMapLevel or str
        What is checked.
    simplify_trivial_iterators : bool
        Whether a variable of extent 1 is replaced by its value.

    Returns
    -------
    result : IterMapResult
    """
    return _ffi_api.DetectIterMap(
        indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators
    )


def normalize_to_iter_sum(index, input_iters):
    """One index as a sum of splits of the variables; IterSumExpr."""
    return _ffi_api.NormalizeToIterSum(index, input_iters)


def iter_map_simplify(
    indices,
    input_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
):
    """Indices simplified as iteration maps; parameters as for detect_iter_map.

    Returns
    -------
    indices : list of PrimExpr
    """
    return _ffi_api.IterMapSimplify(
        indices, input_iters, predicate, _level(check_level), simplify_trivial_iterators
    )


def normalize_iter_map_to_expr(expr):
    """A part of an iteration map as a plain expression."""
    return _ffi_api.NormalizeIterMapToExpr(expr)


def subspace_divide(
    bindings,
    input_iters,
    sub_iters,
    predicate=True,
    check_level=IterMapLevel.Surjective,
    simplify_trivial_iterators=True,
):
    """Divide bindings into an outer space and one over `sub_iters`.

    Parameters
    ----------
    bindings : list of PrimExpr
        The indices.
    input_iters : dict of Var to Range
        Domains of the variables.
    sub_iters : list of Var
        Variables of the inner space.
    predicate, check_level, simplify_trivial_iterators
        As for detect_iter_map.

    Returns
    -------
    results : list of [IterMark, IterMark]
        Outer and inner part of each binding and, last, of the predicate; empty when the bindings
        cannot be divided.
    """
    return _ffi_api.SubspaceDivide(
        bindings, input_iters, sub_iters, predicate, _level(check_level), simplify_trivial_iterators
    )


def inverse_affine_iter_map(iter_map, outputs):
    """The variables of a bijective map in terms of its indices.

    Parameters
    ----------
    iter_map : list of IterSumExpr
        The map, as detect_iter_map gives it.
    outputs : list of PrimExpr
        What its indices are called.

    Returns
    -------
    inverse : dict of Var to PrimExpr
    """
    return _ffi_api.InverseAffineIterMap(iter_map, outputs)
