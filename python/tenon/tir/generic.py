"""The operators behind ``+``, ``-`` and the like, on expressions and plain numbers.

What gives them another meaning for its own classes (element by element on tensors) replaces the
functions of this module, as expressions call them through it.
"""

from . import _ffi_api


def add(lhs, rhs, span=None):
    """``lhs + rhs``; constants are folded."""
    return _ffi_api._OpAdd(lhs, rhs, span)


def subtract(lhs, rhs, span=None):
    """``lhs - rhs``; constants are folded."""
    return _ffi_api._OpSub(lhs, rhs, span)


def multiply(lhs, rhs, span=None):
    """``lhs * rhs``; constants are folded."""
    return _ffi_api._OpMul(lhs, rhs, span)


def divide(lhs, rhs, span=None):
    """``lhs / rhs`` of floats; integers are divided toward zero."""
    return _ffi_api._OpDiv(lhs, rhs, span)


def floordiv(lhs, rhs, span=None):
    """``lhs // rhs``: the quotient rounded down."""
    return _ffi_api._OpFloorDiv(lhs, rhs, span)


def cast(src, dtype, span=None):
    """`src` converted to `dtype`."""
    return _ffi_api._cast(dtype, src, span)
