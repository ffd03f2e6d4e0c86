"""The expressions of Relay."""

import sys

from .. import _core
from .._ffi.registry import register_object
from ..ir.expr import GlobalVar, RelayExpr
from ..ir.op import Op
from ..ir.tensor_type import TensorType
from ..runtime.object_generic import ObjectGeneric
from . import _ffi_api
from .base import RelayNode, as_list, astext

Expr = RelayExpr


def _is_number(value):
    if isinstance(value, int | float):
        return True
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.number | numpy.bool_)


def _apply(op, lhs, rhs):
    from .op import _make

    return getattr(_make, op)(lhs, rhs)


def _operand(other):
    if _is_number(other):
        raise TypeError(f'convert "{other}" with `const` first')
    other = other.asobject() if isinstance(other, ObjectGeneric) else other
    if isinstance(other, RelayExpr):
        return other
    raise TypeError(f"type {type(other)} not supported")


class ExprWithOp(RelayExpr):
    """Expressions with Python's operators: they give calls of the operators of that meaning."""

    __slots__ = ()

    def astype(self, dtype):
        """The value with its elements converted to `dtype`."""
        from .op import _make

        return _make.cast(self, dtype)

    def __neg__(self):
        from .op import _make

        return _make.negative(self)

    def __lt__(self, other):
        return _apply("less", self, _operand(other))

    def __gt__(self, other):
        return _apply("greater", self, _operand(other))

    def __ge__(self, other):
        return _apply("greater_equal", self, _operand(other))

    def __le__(self, other):
        return _apply("less_equal", self, _operand(other))

    def __add__(self, other):
        return _apply("add", self, _operand(other))

    def __radd__(self, other):
        return self.__add__(other)

    def __sub__(self, other):
        return _apply("subtract", self, _operand(other))

    def __rsub__(self, other):
        return _apply("subtract", _operand(other), self)

    def __mul__(self, other):
        return _apply("multiply", self, _operand(other))

    def __rmul__(self, other):
        return self.__mul__(other)

    def __div__(self, other):
        return _apply("divide", self, _operand(other))

    def __rdiv__(self, other):
        return _apply("divide", _operand(other), self)

    def __truediv__(self, other):
        return self.__div__(other)

    def __rtruediv__(self, other):
        return self.__rdiv__(other)

    def __call__(self, *args):
        """A call of the function that the expression is.

        Parameters
        ----------
        args : RelayExpr
            Arguments.

        Returns
        -------
        Call
        """
        return Call(self, args)

    def astext(self, show_meta_data=True, annotate=None):
        """Text in the form of the language."""
        return astext(self, show_meta_data, annotate)


@register_object("relay.Constant")
class Constant(ExprWithOp):
    """A tensor that is known; see also `const`.

    Parameters
    ----------
    data : NDArray
        The value.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, data, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Constant, data, span)


@register_object("relay.Tuple")
class Tuple(ExprWithOp):
    """Several values as one.

    Parameters
    ----------
    fields : list of RelayExpr
        The values.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, fields, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Tuple, as_list(fields), span)

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError("Tuple index out of range")
        return self.fields[index]

    def __len__(self):
        return len(self.fields)

    def astype(self, _):
        """Tuples have no element type: TypeError."""
        raise TypeError("astype cannot be used on tuple")


@register_object("relay.Var")
class Var(ExprWithOp):
    """A variable; no other is the same, whatever its name. See also `var`.

    Parameters
    ----------
    name_hint : str or Id
        Name to show, or the identity of a variable that exists.
    type_annotation : Type, optional
        Its type.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, name_hint, type_annotation=None, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Var, name_hint, type_annotation, span)

    @property
    def name_hint(self):
        """The name; str."""
        return self.vid.name_hint


@register_object("relay.Call")
class Call(ExprWithOp):
    """A call.

    Parameters
    ----------
    op : RelayExpr
        Operator, function, constructor, or an expression that gives a function.
    args : list of RelayExpr
        Arguments.
    attrs : Attrs, optional
        Attributes of the operator.
    type_args : list of Type, optional
        Types put in for the type parameters.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, op, args, attrs=None, type_args=None, span=None):
        self.__init_handle_by_constructor__(
            _ffi_api.Call, op, as_list(args), attrs, type_args or [], span
        )


@register_object("relay.Let")
class Let(ExprWithOp):
    """Binds a variable in an expression.

    Parameters
    ----------
    variable : Var
        The variable.
    value : RelayExpr
        Its value.
    body : RelayExpr
        The result.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, variable, value, body, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Let, variable, value, body, span)


@register_object("relay.If")
class If(ExprWithOp):
    """A choice.

    Parameters
    ----------
    cond : RelayExpr
        Scalar of type bool.
    true_branch, false_branch : RelayExpr
        The results; only one is computed.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, cond, true_branch, false_branch, span=None):
        self.__init_handle_by_constructor__(_ffi_api.If, cond, true_branch, false_branch, span)


@register_object("relay.TupleGetItem")
class TupleGetItem(ExprWithOp):
    """A field of a tuple.

    Parameters
    ----------
    tuple_value : RelayExpr
        The tuple.
    index : int
        Which field.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, tuple_value, index, span=None):
        self.__init_handle_by_constructor__(_ffi_api.TupleGetItem, tuple_value, index, span)


@register_object("relay.RefCreate")
class RefCreate(ExprWithOp):
    """A new reference.

    Parameters
    ----------
    value : RelayExpr
        What it holds at first.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, value, span=None):
        self.__init_handle_by_constructor__(_ffi_api.RefCreate, value, span)


@register_object("relay.RefRead")
class RefRead(ExprWithOp):
    """What a reference holds.

    Parameters
    ----------
    ref : RelayExpr
        The reference.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, ref, span=None):
        self.__init_handle_by_constructor__(_ffi_api.RefRead, ref, span)


@register_object("relay.RefWrite")
class RefWrite(ExprWithOp):
    """Changes what a reference holds; its own value is the empty tuple.

    Parameters
    ----------
    ref : RelayExpr
        The reference.
    value : RelayExpr
        What it holds from then on.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, ref, value, span=None):
        self.__init_handle_by_constructor__(_ffi_api.RefWrite, ref, value, span)


class TempExpr(ExprWithOp):
    """What only a pass sees, between its rewrites."""

    __slots__ = ()

    def realize(self):
        """The expression it stands for."""
        return _ffi_api.TempExprRealize(self)


class TupleWrapper(ObjectGeneric):
    """An expression of tuple type of which the number of fields is known: can be indexed and
    unpacked.

    Parameters
    ----------
    tuple_value : RelayExpr
        The expression.
    size : int
        Number of fields.
    """

    def __init__(self, tuple_value, size):
        self.tuple_value = tuple_value
        self.size = size

    def asobject(self):
        """The expression."""
        return self.tuple_value

    @property
    def span(self):
        """Where the expression comes from."""
        return self.tuple_value.span

    def astuple(self):
        """The expression, as `asobject`."""
        return self.tuple_value

    def astext(self):
        """Text in the form of the language."""
        return self.tuple_value.astext()

    def __getitem__(self, index):
        if index >= len(self):
            raise IndexError("Tuple index out of range")
        return TupleGetItem(self.tuple_value, index, span=self.tuple_value.span)

    def __len__(self):
        return self.size

    def __repr__(self):
        return f"TupleWrapper({self.tuple_value!r}, {self.size})"

    def astype(self, _):
        """Tuples have no element type: TypeError."""
        raise TypeError("astype cannot be used on tuple")


def var(name_hint, type_annotation=None, shape=None, dtype="float32", span=None):
    """A new variable.

    Parameters
    ----------
    name_hint : str
        Name to show.
    type_annotation : Type or str, optional
        Its type; a str is the type of a scalar.
    shape : list of int or PrimExpr, optional
        Extents, for a tensor.
    dtype : str
        Type of an element, where `shape` is given.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Var

    Raises
    ------
    ValueError
        Both type_annotation and shape are given.

    Examples
    --------
    >>> x = relay.var("x", relay.TensorType([1, 2]))
    >>> y = relay.var("y", "float32")
    >>> z = relay.var("z", shape=(1, 2), dtype="float32")
    """
    if type_annotation is not None and shape is not None:
        raise ValueError("Can only specify either type_annotation or shape.")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value, dtype=None, span=None):
    """A constant.

    Parameters
    ----------
    value : bool, int, float, list, numpy.ndarray or NDArray
        The value.
    dtype : str, optional
        Type of an element; left out, int becomes int32 and float float32, arrays keep theirs.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Constant

    Raises
    ------
    ValueError
        The value is of another kind.
    """
    import numpy as np

    from ..runtime import ndarray

    if isinstance(value, bool | int | float | list | np.int32 | np.float16 | np.float32):
        value = np.array(value, dtype=dtype)
        if not dtype:
            dtype = {"int64": "int32", "float64": "float32"}.get(str(value.dtype))
    if isinstance(value, np.ndarray | np.generic):
        if dtype is not None:
            value = value.astype(dtype)
        value = ndarray.array(value)
    if not isinstance(value, ndarray.NDArray):
        raise ValueError("value has to be scalar or NDArray")
    return Constant(value, span)


def bind(expr, binds):
    """Put expressions in for variables.

    Parameters
    ----------
    expr : RelayExpr
        Expression or function.
    binds : dict of Var to RelayExpr
        What to put in; parameters among them are taken from the function.

    Returns
    -------
    RelayExpr
    """
    return _ffi_api.Bind(expr, binds)


def _with_fields(node, **fields):
    """A copy of a node with some fields replaced."""
    return _ffi_api.WithFields(
        node, list(fields), [_core.convert_to_object(v) for v in fields.values()]
    )


def _changed(node, virtual_device, span, **fields):
    """A copy of `node` with the fields that are given; `node` itself where none is."""
    fields.update(virtual_device_=virtual_device, span=span)
    given = {name: value for name, value in fields.items() if value is not None}
    return _with_fields(node, **given) if given else node


def ConstantWithFields(constant, data=None, virtual_device=None, span=None):
    """A copy of a `Constant`; what is left out stays as it is."""
    return _changed(constant, virtual_device, span, data=data)


def TupleWithFields(tup, fields=None, virtual_device=None, span=None):
    """A copy of a `Tuple`; what is left out stays as it is."""
    return _changed(tup, virtual_device, span, fields=fields)


def VarWithFields(variable, vid=None, type_annotation=None, virtual_device=None, span=None):
    """A copy of a `Var`; what is left out stays as it is; with its `vid` it stays the same one."""
    return _changed(variable, virtual_device, span, vid=vid, type_annotation=type_annotation)


def CallWithFields(
    call, op=None, args=None, attrs=None, type_args=None, virtual_device=None, span=None
):
    """A copy of a `Call`; what is left out stays as it is."""
    return _changed(call, virtual_device, span, op=op, args=args, attrs=attrs, type_args=type_args)


def LetWithFields(let, variable=None, value=None, body=None, virtual_device=None, span=None):
    """A copy of a `Let`; what is left out stays as it is."""
    return _changed(let, virtual_device, span, var=variable, value=value, body=body)


def IfWithFields(
    if_expr, cond=None, true_branch=None, false_branch=None, virtual_device=None, span=None
):
    """A copy of an `If`; what is left out stays as it is."""
    return _changed(
        if_expr,
        virtual_device,
        span,
        cond=cond,
        true_branch=true_branch,
        false_branch=false_branch,
    )


def TupleGetItemWithFields(
    tuple_get_item, tuple_value=None, index=None, virtual_device=None, span=None
):
    """A copy of a `TupleGetItem`; what is left out stays as it is."""
    return _changed(tuple_get_item, virtual_device, span, tuple_value=tuple_value, index=index)


def RefCreateWithFields(ref_create, value=None, virtual_device=None, span=None):
    """A copy of a `RefCreate`; what is left out stays as it is."""
    return _changed(ref_create, virtual_device, span, value=value)


def RefReadWithFields(ref_read, ref=None, virtual_device=None, span=None):
    """A copy of a `RefRead`; what is left out stays as it is."""
    return _changed(ref_read, virtual_device, span, ref=ref)


def RefWriteWithFields(ref_write, ref=None, value=None, virtual_device=None, span=None):
    """A copy of a `RefWrite`; what is left out stays as it is."""
    return _changed(ref_write, virtual_device, span, ref=ref, value=value)


__all__ = [
    "Call",
    "CallWithFields",
    "Constant",
    "ConstantWithFields",
    "Expr",
    "ExprWithOp",
    "GlobalVar",
    "If",
    "IfWithFields",
    "Let",
    "LetWithFields",
    "Op",
    "RefCreate",
    "RefCreateWithFields",
    "RefRead",
    "RefReadWithFields",
    "RefWrite",
    "RefWriteWithFields",
    "RelayExpr",
    "RelayNode",
    "TempExpr",
    "Tuple",
    "TupleWithFields",
    "TupleGetItem",
    "TupleGetItemWithFields",
    "TupleWrapper",
    "Var",
    "VarWithFields",
    "bind",
    "const",
    "var",
]
