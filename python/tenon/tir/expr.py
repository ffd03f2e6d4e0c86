"""The classes of expressions over numbers, vectors and handles."""

from enum import IntEnum

from .. import _core
from .._ffi.registry import register_object
from ..ir import _ffi_api as _ir_api
from ..ir.expr import Range
from ..runtime.object import Object
from ..runtime.object_generic import ObjectGeneric, const
from ..runtime.script_printer import HasScript
from . import _ffi_api
from ._expr_op import (  # noqa: F401
    BinaryOpExpr,
    CmpExpr,
    ConstExpr,
    EqualOp,
    ExprOp,
    LogicalExpr,
    NotEqualOp,
    PrimExprWithOp,
    convert,
    div_ambiguity_error,
)


@register_object("tir.Var")
class Var(PrimExprWithOp):
    """A variable.

    Parameters
    ----------
    name : str
        Name to show; two variables of one name are different.
    dtype : str or Type
        Its type.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, name, dtype, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Var, name, dtype, span)


@register_object("tir.SizeVar")
class SizeVar(Var):
    """A variable that is never negative: the extent of a tensor, say.

    Parameters
    ----------
    name, dtype, span
        As in `Var`.
    """

    __slots__ = ()

    def __init__(self, name, dtype, span=None):
        self.__init_handle_by_constructor__(_ffi_api.SizeVar, name, dtype, span)


@register_object("tir.IterVar")
class IterVar(HasScript, ExprOp, Object):
    """A variable that iterates over a range.

    Parameters
    ----------
    dom : Range, (begin, end) or None
        Its values.
    var : Var or str
        The variable, or the name of a new one.
    iter_type : int
        One of the numbers below.
    thread_tag : str
        ``"threadIdx.x"`` and the like.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    DataPar = 0
    ThreadIndex = 1
    CommReduce = 2
    Ordered = 3
    Opaque = 4
    DimInfo = 4
    Unrolled = 5
    Vectorized = 6
    Parallelized = 7
    Tensorized = 8

    __hash__ = Object.__hash__

    def __init__(self, dom, var, iter_type, thread_tag="", span=None):
        if dom is not None:
            if isinstance(dom, list | tuple):
                if len(dom) != 2:
                    raise TypeError("need to be list of ranges")
                dom = Range(dom[0], dom[1])
            if not isinstance(dom, Range):
                raise TypeError("dom need to be Range")
        if not isinstance(var, Var):
            var = Var(var, "int32" if dom is None else dom.extent.dtype)
        self.__init_handle_by_constructor__(_ffi_api.IterVar, dom, var, iter_type, thread_tag, span)

    @property
    def dtype(self):
        """Type of the variable."""
        return self.var.dtype


@register_object("tir.CommReducer")
class CommReducer(Object):
    """A commutative combination of values.

    Parameters
    ----------
    lhs, rhs : list of Var
        The accumulated values and those that come in.
    result : list of PrimExpr
        Their combinations.
    identity_element : list of PrimExpr
        Values that change nothing when combined.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, lhs, rhs, result, identity_element, span=None):
        self.__init_handle_by_constructor__(
            _ffi_api.CommReducer, lhs, rhs, result, identity_element, span
        )


@register_object("tir.Reduce")
class Reduce(PrimExprWithOp):
    """A reduction.

    Parameters
    ----------
    combiner : CommReducer
        How values are combined.
    src : list of PrimExpr
        What is reduced.
    rdom : list of IterVar
        Over what.
    condition : PrimExpr
        Which elements take part.
    value_index : int
        Which of the results this is.
    init : list of PrimExpr, optional
        Start values; default: the identity element.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, combiner, src, rdom, condition, value_index, init=None, span=None):
        self.__init_handle_by_constructor__(
            _ffi_api.Reduce, combiner, src, rdom, condition, value_index, init or [], span
        )


@register_object("FloatImm")
class FloatImm(ConstExpr):
    """A floating point constant.

    Parameters
    ----------
    dtype : str
        Its type.
    value : float
        The number.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, dtype, value, span=None):
        self.__init_handle_by_constructor__(_ir_api.FloatImm, dtype, value, span)

    def __float__(self):
        return self.value

    def __eq__(self, other):
        return _ffi_api._OpEQ(self, other, None) if _is_number(other) else EqualOp(self, other)

    def __ne__(self, other):
        return _ffi_api._OpNE(self, other, None) if _is_number(other) else NotEqualOp(self, other)

    __hash__ = ConstExpr.__hash__


@register_object("IntImm")
class IntImm(ConstExpr):
    """An integer or bool constant; it can be used as an index and has a truth value.

    Parameters
    ----------
    dtype : str
        Its type.
    value : int
        The number.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, dtype, value, span=None):
        self.__init_handle_by_constructor__(_ir_api.IntImm, dtype, value, span)

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value

    def __nonzero__(self):
        return self.value != 0

    def __bool__(self):
        return self.value != 0

    def __eq__(self, other):
        return _ffi_api._OpEQ(self, other, None) if _is_expr(other) else False

    def __ne__(self, other):
        return _ffi_api._OpNE(self, other, None) if _is_expr(other) else True

    # equal constants are equal keys
    def __hash__(self):
        return hash(self.value)


def _is_number(value):
    return isinstance(value, int | float | IntImm | FloatImm)


def _is_expr(value):
    return isinstance(value, int | float | ExprOp) or hasattr(value, "__index__")


@register_object("tir.StringImm")
class StringImm(ConstExpr):
    """A text constant.

    Parameters
    ----------
    value : str
        The text.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, value, span=None):
        self.__init_handle_by_constructor__(_ffi_api.StringImm, value, span)

    def __eq__(self, other):
        return self.value == (other.value if isinstance(other, ConstExpr) else other)

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash(self.value)


@register_object("tir.Cast")
class Cast(PrimExprWithOp):
    """A conversion.

    Parameters
    ----------
    dtype : str
        Type of the result.
    value : PrimExpr
        What is converted.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, dtype, value, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Cast, dtype, value, span)


def _operator(name, base, what):
    """The class of a node with operands `a` and `b`."""

    def __init__(self, a, b, span=None):
        self.__init_handle_by_constructor__(getattr(_ffi_api, name), a, b, span)

    doc = f"""{what}

    Parameters
    ----------
    a, b : PrimExpr
        The operands, of one dtype. Nothing is folded.
    span : Span, optional
        Place in a source text.
    """
    body = {
        "__slots__": (),
        "__init__": __init__,
        "__doc__": doc,
        "__module__": __name__,
        "__hash__": base.__hash__,
    }
    __init__.__qualname__ = f"{name}.__init__"
    return register_object(f"tir.{name}")(type(name, (base,), body))


Add = _operator("Add", BinaryOpExpr, "``a + b``.")
Sub = _operator("Sub", BinaryOpExpr, "``a - b``.")
Mul = _operator("Mul", BinaryOpExpr, "``a * b``.")
Div = _operator("Div", BinaryOpExpr, "``a / b``; integers round toward zero.")
Mod = _operator("Mod", BinaryOpExpr, "Remainder of `Div`, with the sign of `a`.")
FloorDiv = _operator("FloorDiv", BinaryOpExpr, "``a / b`` rounded down.")
FloorMod = _operator("FloorMod", BinaryOpExpr, "Remainder of `FloorDiv`, with the sign of `b`.")
Min = _operator("Min", BinaryOpExpr, "The smaller of `a` and `b`.")
Max = _operator("Max", BinaryOpExpr, "The larger of `a` and `b`.")
EQ = _operator("EQ", CmpExpr, "``a == b``.")
NE = _operator("NE", CmpExpr, "``a != b``.")
LT = _operator("LT", CmpExpr, "``a < b``.")
LE = _operator("LE", CmpExpr, "``a <= b``.")
GT = _operator("GT", CmpExpr, "``a > b``.")
GE = _operator("GE", CmpExpr, "``a >= b``.")
And = _operator("And", LogicalExpr, "``a and b``.")
Or = _operator("Or", LogicalExpr, "``a or b``.")


@register_object("tir.Not")
class Not(LogicalExpr):
    """``not a``.

    Parameters
    ----------
    a : PrimExpr
        A bool.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, a, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Not, a, span)


@register_object("tir.Select")
class Select(PrimExprWithOp):
    """A choice without a branch: both values are evaluated.

    Parameters
    ----------
    condition : PrimExpr
        A bool.
    true_value, false_value : PrimExpr
        The values, of one dtype.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, condition, true_value, false_value, span=None):
        if isinstance(condition, bool):
            condition = IntImm("bool", condition)
        self.__init_handle_by_constructor__(
            _ffi_api.Select, condition, true_value, false_value, span
        )


def _lanes(vector):
    n = _core.DataType(str(vector.dtype)).lanes
    if n < 2**15:
        return n
    # vscale() times a constant is a number below 0, which the type holds as an unsigned one
    return Call("int32", "tir.vscale", []) * (2**16 - n)


@register_object("tir.Ramp")
class Ramp(PrimExprWithOp):
    """The vector ``base, base + stride, ...``.

    Parameters
    ----------
    base, stride : PrimExpr
        First lane, and difference of neighbouring lanes.
    lanes : int or PrimExpr
        Number of lanes: a constant, or ``tir.vscale()`` times one.
    span : Span, optional
        Place in a source text.

    Raises
    ------
    ValueError
        `lanes` is another expression.

    Examples
    --------
    >>> i = tenon.tir.Var("i", "int32")
    >>> tenon.tir.Ramp(i, 1, tenon.tir.vscale() * 4).dtype
    'int32xvscalex4'
    """

    __slots__ = ()

    def __init__(self, base, stride, lanes, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Ramp, base, stride, lanes, span)

    @property
    def lanes(self):
        """Number of lanes: an int, or ``vscale() * n`` as an expression."""
        return _lanes(self)


@register_object("tir.Broadcast")
class Broadcast(PrimExprWithOp):
    """A vector of equal lanes.

    Parameters
    ----------
    value : PrimExpr
        Value of every lane.
    lanes : int or PrimExpr
        Number of lanes: a constant, or ``tir.vscale()`` times one.
    span : Span, optional
        Place in a source text.

    Raises
    ------
    ValueError
        `lanes` is another expression.
    """

    __slots__ = ()

    def __init__(self, value, lanes, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Broadcast, value, lanes, span)

    @property
    def lanes(self):
        """Number of lanes: an int, or ``vscale() * n`` as an expression."""
        return _lanes(self)


@register_object("tir.Shuffle")
class Shuffle(PrimExprWithOp):
    """Lanes of vectors, rearranged.

    Parameters
    ----------
    vectors : list of PrimExpr
        Vectors, thought of one after another.
    indices : list of PrimExpr or int
        Lane for each lane of the result.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, vectors, indices, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Shuffle, vectors, indices, span)


class CallEffectKind(IntEnum):
    """What a call may do besides giving a value."""

    ExprAnnotation = 0
    Pure = 1
    ReadState = 2
    UpdateState = 3
    SpecialCallArg = 4
    EmbedInfo = 5
    ControlJump = 6
    Opaque = UpdateState


def _argument(value):
    """A buffer among the arguments of a call is the pointer to its data."""
    value = value.asobject() if isinstance(value, ObjectGeneric) else value
    return value.data if getattr(value, "type_key", None) == "tir.Buffer" else value


@register_object("tir.Call")
class Call(PrimExprWithOp):
    """A call of an intrinsic or of a function of the module.

    Parameters
    ----------
    dtype : str
        Type of the result.
    op : Op, GlobalVar or str
        What is called; a name stands for the intrinsic of that name.
    args : list of PrimExpr or Buffer
        Arguments; a buffer stands for the pointer to its data.
    span : Span, optional
        Place in a source text.

    Raises
    ------
    ValueError
        There is no intrinsic of that name.
    """

    __slots__ = ()

    def __init__(self, dtype, op, args, span=None):
        if isinstance(op, str):
            from ..ir.op import Op

            if not op.startswith("tir."):
                raise ValueError(
                    f"Cannot handle str op argument {op}. This function only handles str argument "
                    "with the tir namespace. If you are certain about the intrinsic name, pass in "
                    "Op.get(name) instead"
                )
            op = Op.get(op)
        if isinstance(args, list | tuple):
            args = [_argument(a) for a in args]
        self.__init_handle_by_constructor__(_ffi_api.Call, dtype, op, args, span)


@register_object("tir.Let")
class Let(PrimExprWithOp):
    """Binds a variable in an expression.

    Parameters
    ----------
    var : Var
        The variable.
    value : PrimExpr
        Its value.
    body : PrimExpr
        The result, in which `var` may appear.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, var, value, body, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Let, var, value, body, span)


@register_object("tir.Any")
class Any(PrimExprWithOp):
    """An extent known at run time only.

    Parameters
    ----------
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Any, span)


__all__ = [name for name in dir() if not name.startswith("_")]
__all__ += ["const"]


@register_object("tir.ProducerLoad")
class ProducerLoad(PrimExprWithOp):
    """Element of a tensor expression."""

    __slots__ = ()

    def __init__(self, producer, indices, span=None):
        fields = {"producer": producer, "indices": [convert(i) for i in indices], "span": span}
        fields["dtype"] = producer.dtype
        self.__init_handle_by_constructor__(_core.make_node, "tir.ProducerLoad", fields)
