"""Functions on expressions. Arguments may be plain numbers; constants are folded.

Every function takes ``span`` last where it has one: the place in a source text, or None.
"""

from ..ir.op import register_intrin_lowering  # noqa: F401  offered here too
from . import _ffi_api
from . import generic as _generic
from .builtin import *  # noqa: F403  the old interface has all functions in this module
from .calls import *  # noqa: F403
from .intrin import *  # noqa: F403
from .reduce import comm_reducer, max, min, sum  # noqa: F401


def div(a, b, span=None):
    """Quotient, toward zero for integers, as C has it."""
    return _generic.divide(a, b, span)


def truncdiv(a, b, span=None):
    """Quotient of integers, rounded toward zero."""
    return _ffi_api._OpTruncDiv(a, b, span)


def truncmod(a, b, span=None):
    """Remainder of `truncdiv`: it has the sign of `a`."""
    return _ffi_api._OpTruncMod(a, b, span)


def floordiv(a, b, span=None):
    """Quotient rounded down, as Python's ``//``."""
    return _generic.floordiv(a, b, span)


def floormod(a, b, span=None):
    """Remainder of `floordiv`, as Python's ``%``: it has the sign of `b`."""
    return _ffi_api._OpFloorMod(a, b, span)


def indexdiv(a, b, span=None):
    """Quotient of operands known to be not negative."""
    return _ffi_api._OpIndexDiv(a, b, span)


def indexmod(a, b, span=None):
    """Remainder of operands known to be not negative."""
    return _ffi_api._OpIndexMod(a, b, span)


def ceildiv(lhs, rhs, span=None):
    """Quotient rounded up."""
    return _ffi_api._OpCeilDiv(lhs, rhs, span)


def power(x, y, span=None):
    """``x ** y`` of floats."""
    return _ffi_api._OpPow(x, y, span)


pow = power


def abs(x, span=None):
    """Absolute value."""
    return _ffi_api.abs(x, span)


def floor(x, span=None):
    """`x` rounded down."""
    return _ffi_api.floor(x, span)


def ceil(x, span=None):
    """`x` rounded up."""
    return _ffi_api.ceil(x, span)


def trunc(x, span=None):
    """`x` rounded toward zero."""
    return _ffi_api.trunc(x, span)


def round(x, span=None):
    """`x` rounded to the nearest integer."""
    return _ffi_api.round(x, span)


def nearbyint(x, span=None):
    """`x` rounded to the nearest integer, ties to even."""
    return _ffi_api.nearbyint(x, span)


def isnan(x, span=None):
    """Is `x` not a number?"""
    return _ffi_api.isnan(x, span)


def isinf(x, span=None):
    """Is `x` infinite?"""
    return _ffi_api.isinf(x, span)


def isfinite(x, span=None):
    """Is `x` a number and not infinite?"""
    return _ffi_api.isfinite(x, span)


def likely(cond, span=None):
    """`cond`, marked as expected to hold."""
    return _ffi_api.likely(cond, span)


def if_then_else(cond, t, f, span=None):
    """`t` where `cond` holds, else `f`; only the one that is needed is evaluated."""
    return _ffi_api._OpIfThenElse(cond, t, f, span)


def bitwise_and(x, y, span=None):
    """Bitwise and."""
    return _ffi_api.bitwise_and(x, y, span)


def bitwise_or(x, y, span=None):
    """Bitwise or."""
    return _ffi_api.bitwise_or(x, y, span)


def bitwise_xor(x, y, span=None):
    """Bitwise exclusive or."""
    return _ffi_api.bitwise_xor(x, y, span)


def bitwise_not(x, span=None):
    """Bitwise complement."""
    return _ffi_api.bitwise_not(x, span)


def shift_left(x, y, span=None):
    """``x << y``."""
    return _ffi_api.left_shift(x, y, span)


def shift_right(x, y, span=None):
    """``x >> y``; the sign is kept."""
    return _ffi_api.right_shift(x, y, span)


def reinterpret(dtype, value, span=None):
    """The bits of `value` as another type of the same size."""
    return _ffi_api.reinterpret(dtype, value, span)


def min_value(dtype, span=None):
    """Least value of a type."""
    return _ffi_api.min_value(dtype, span)


def max_value(dtype, span=None):
    """Greatest finite value of a type."""
    return _ffi_api.max_value(dtype, span)


def infinity(dtype, span=None):
    """Infinity of a float type."""
    return _ffi_api.infinity(dtype, span)


def _fold(operator, name, args, span):
    if not args:
        raise ValueError(f"{name}: expected at least one expression")
    result = args[0]
    for arg in args[1:]:
        result = operator(result, arg, span)
    return result


def any(*args, span=None):
    """Does one of the expressions hold? At least one is needed."""
    return _fold(_ffi_api._OpOr, "tir.any", args, span)


def all(*args, span=None):
    """Do all of the expressions hold? At least one is needed."""
    return _fold(_ffi_api._OpAnd, "tir.all", args, span)
