"""What expressions have in common: Python's operators on them, and the bases of their classes.

Operators build expressions and fold constants. ``==`` gives something that is true when both sides
are one object, and that stands for the comparison when it is used as an expression.
"""

from ..ir.expr import PrimExpr
from ..runtime.object import Object
from ..runtime.object_generic import ObjectGeneric, const
from . import _ffi_api
from . import generic as _generic


def convert(expr):
    """The expression that a value stands for: numbers become constants."""
    return _ffi_api.convert(expr)


def div_ambiguity_error():
    """What ``/`` between integers raises."""
    return RuntimeError(
        "TVM supports multiple types of integer divisions, please call div, indexdiv/indexmod, "
        "floordiv/floormod or truncdiv/truncmod directly to avoid the ambiguity in the code."
    )


def _dtype_is_int(value):
    if isinstance(value, int):
        return True
    return isinstance(value, ExprOp) and str(getattr(value, "dtype", "")).startswith(
        ("int", "uint", "bool")
    )


def _dtype_is_float(value):
    if isinstance(value, float):
        return True
    return isinstance(value, ExprOp) and str(getattr(value, "dtype", "")).startswith(
        ("float", "bfloat")
    )


class ExprOp:
    """The operators of expressions, for every class that stands for one."""

    __slots__ = ()

    def __add__(self, other):
        return _generic.add(self, other)

    def __radd__(self, other):
        return _generic.add(other, self)

    def __sub__(self, other):
        return _generic.subtract(self, other)

    def __rsub__(self, other):
        return _generic.subtract(other, self)

    def __mul__(self, other):
        return _generic.multiply(self, other)

    def __rmul__(self, other):
        return _generic.multiply(other, self)

    def __div__(self, other):
        if _dtype_is_int(self) and _dtype_is_int(other):
            raise div_ambiguity_error()
        return _generic.divide(self, other)

    def __rdiv__(self, other):
        if _dtype_is_int(self) and _dtype_is_int(other):
            raise div_ambiguity_error()
        return _generic.divide(other, self)

    __truediv__ = __div__
    __rtruediv__ = __rdiv__

    def __floordiv__(self, other):
        return _generic.floordiv(self, other)

    def __rfloordiv__(self, other):
        return _generic.floordiv(other, self)

    def __mod__(self, other):
        return _ffi_api._OpFloorMod(self, other, None)

    def __rmod__(self, other):
        return _ffi_api._OpFloorMod(other, self, None)

    def __pow__(self, other):
        return _ffi_api._OpPow(self, other, None)

    def __rpow__(self, other):
        return _ffi_api._OpPow(other, self, None)

    def __neg__(self):
        if str(self.dtype).startswith("uint"):
            return _ffi_api._OpNeg(self, None)
        return self * const(-1, self.dtype)

    def __lshift__(self, other):
        return _ffi_api.left_shift(self, other, None)

    def __rlshift__(self, other):
        return _ffi_api.left_shift(other, self, None)

    def __rshift__(self, other):
        return _ffi_api.right_shift(self, other, None)

    def __rrshift__(self, other):
        return _ffi_api.right_shift(other, self, None)

    def __and__(self, other):
        return _ffi_api.bitwise_and(self, other, None)

    def __rand__(self, other):
        return _ffi_api.bitwise_and(other, self, None)

    def __or__(self, other):
        return _ffi_api.bitwise_or(self, other, None)

    def __ror__(self, other):
        return _ffi_api.bitwise_or(other, self, None)

    def __xor__(self, other):
        return _ffi_api.bitwise_xor(self, other, None)

    def __rxor__(self, other):
        return _ffi_api.bitwise_xor(other, self, None)

    def __invert__(self):
        if _dtype_is_float(self):
            raise RuntimeError("Cannot use ~ operator on float type Expr.")
        return _ffi_api.bitwise_not(self, None)

    def __lt__(self, other):
        return _ffi_api._OpLT(self, other, None)

    def __le__(self, other):
        return _ffi_api._OpLE(self, other, None)

    def __gt__(self, other):
        return _ffi_api._OpGT(self, other, None)

    def __ge__(self, other):
        return _ffi_api._OpGE(self, other, None)

    def __eq__(self, other):
        return EqualOp(self, other)

    def __ne__(self, other):
        return NotEqualOp(self, other)

    def __nonzero__(self):
        raise ValueError(
            "Cannot use and / or / not operator to Expr, "
            "hint: use tvm.tir.all / tvm.tir.any instead"
        )

    def __bool__(self):
        return self.__nonzero__()

    __hash__ = None

    def equal(self, other, span=None):
        """The expression ``self == other``.

        Parameters
        ----------
        other : PrimExpr or number
            What to compare with.
        span : Span, optional
            Place in a source text.

        Returns
        -------
        PrimExpr
            A bool.
        """
        return _ffi_api._OpEQ(self, other, span)

    def astype(self, dtype, span=None):
        """This expression converted to a type.

        Parameters
        ----------
        dtype : str
            The type.
        span : Span, optional
            Place in a source text.

        Returns
        -------
        PrimExpr
        """
        return _generic.cast(self, dtype, span)


class _DeferredCompare(ObjectGeneric, ExprOp):
    """What ``a == b`` and ``a != b`` give: a truth value by identity, and an expression when used
    as one."""

    __slots__ = ("a", "b", "span")

    def __init__(self, a, b, span=None):
        self.a = a
        self.b = b
        self.span = span

    def _same(self):
        if isinstance(self.a, Object) and isinstance(self.b, Object):
            return self.a.same_as(self.b)
        return self.a is self.b

    @property
    def dtype(self):
        """Type of the expression."""
        return self.asobject().dtype

    def __hash__(self):
        return hash((type(self), self.a, self.b))

    def __repr__(self):
        return repr(self.asobject())


class EqualOp(_DeferredCompare):
    """``a == b``: true when both are one object; as an expression, the comparison.

    Parameters
    ----------
    a, b : PrimExpr
        The sides.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __nonzero__(self):
        return self._same()

    def __bool__(self):
        return self._same()

    def asobject(self):
        """The expression."""
        return _ffi_api._OpEQ(self.a, self.b, self.span)


class NotEqualOp(_DeferredCompare):
    """``a != b``: true unless both are one object; as an expression, the comparison.

    Parameters
    ----------
    a, b : PrimExpr
        The sides.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __nonzero__(self):
        return not self._same()

    def __bool__(self):
        return not self._same()

    def asobject(self):
        """The expression."""
        return _ffi_api._OpNE(self.a, self.b, self.span)


class PrimExprWithOp(ExprOp, PrimExpr):
    """Base of expressions that have operators."""

    __slots__ = ()

    # ExprOp's == builds expressions: the hash goes by identity, as objects' do
    __hash__ = PrimExpr.__hash__


class ConstExpr(PrimExprWithOp):
    """Base of constants."""

    __slots__ = ()


class BinaryOpExpr(PrimExprWithOp):
    """Base of expressions with two operands of one dtype: `a` and `b`."""

    __slots__ = ()


class CmpExpr(PrimExprWithOp):
    """Base of comparisons."""

    __slots__ = ()


class LogicalExpr(PrimExprWithOp):
    """Base of operators on bool."""

    __slots__ = ()
