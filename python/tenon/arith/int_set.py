"""Sets of integers with symbolic bounds."""

from .._ffi.registry import register_object
from ..ir.base import Node
from . import _ffi_api


@register_object("IntSet")
class IntSet(Node):
    """A set of integers."""

    __slots__ = ()

    def is_nothing(self):
        """Whether it is empty."""
        return _ffi_api.IntSetIsNothing(self)

    def is_everything(self):
        """Whether it has no bounds."""
        return _ffi_api.IntSetIsEverything(self)

    @staticmethod
    def vector(vec):
        """The smallest set that holds all lanes of a vector."""
        return _ffi_api.intset_vector(vec)

    @staticmethod
    def single_point(point):
        """The set of one value."""
        return _ffi_api.intset_single_point(point)


@register_object("arith.IntervalSet")
class IntervalSet(IntSet):
    """The integers from `min_value` to `max_value`, both included.

    Parameters
    ----------
    min_value, max_value : PrimExpr
        The bounds; None: no bound.
    """

    __slots__ = ()

    def __init__(self, min_value, max_value):
        self.__init_handle_by_constructor__(_ffi_api.IntervalSet, min_value, max_value)


def estimate_region_lower_bound(region, var_dom, predicate):
    """What a region covers for certain.

    Parameters
    ----------
    region : list of Range
        The region, over variables of `var_dom`.
    var_dom : dict of Var to Range
        Domains of the variables.
    predicate : PrimExpr
        A condition that limits the variables.

    Returns
    -------
    sets : list of IntSet, or None
        A set for each dimension; None when that cannot be told.
    """
    return _ffi_api.EstimateRegionLowerBound(region, var_dom, predicate)


def estimate_region_strict_bound(region, var_dom, predicate):
    """Exactly what a region covers; parameters and result as for the lower bound."""
    return _ffi_api.EstimateRegionStrictBound(region, var_dom, predicate)


def estimate_region_upper_bound(region, var_dom, predicate):
    """At least what a region covers; parameters as for the lower bound, never None."""
    return _ffi_api.EstimateRegionUpperBound(region, var_dom, predicate)


def pos_inf():
    """The variable that stands for positive infinity."""
    return _ffi_api.PosInf()


def neg_inf():
    """The variable that stands for negative infinity."""
    return _ffi_api.NegInf()


def union_lower_bound(sets):
    """The smallest interval that holds all of the sets."""
    return _ffi_api.UnionLowerBound(sets)
