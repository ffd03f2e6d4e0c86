"""``a + b`` on te tensors, element by element with broadcasting, once topi is imported."""

from ..te import Tensor
from ..tir import generic as _generic

_BINARY = ("add", "subtract", "multiply", "divide")


def _binary(of_tensors, of_expressions):
    def operator(lhs, rhs, span=None):
        if isinstance(lhs, Tensor) or isinstance(rhs, Tensor):
            return of_tensors(lhs, rhs)
        return of_expressions(lhs, rhs, span)

    operator.__doc__ = of_expressions.__doc__
    return operator


def _cast(of_tensors, of_expressions):
    def cast(src, dtype, span=None):
        if isinstance(src, Tensor):
            return of_tensors(src, dtype)
        return of_expressions(src, dtype, span)

    cast.__doc__ = of_expressions.__doc__
    return cast


def install(topi):
    """Lets the operators of expressions take tensors; they do once only."""
    for name in _BINARY:
        setattr(_generic, name, _binary(getattr(topi, name), getattr(_generic, name)))
    _generic.cast = _cast(topi.cast, _generic.cast)
