"""What importers share: types of parts of a program, places, attributes that are text."""

import ast

from ... import transform as _transform
from ...ir.base import SourceName, Span
from ...ir.module import IRModule
from ...topi.utils import get_const_tuple
from ..adt import Constructor
from ..analysis import free_vars
from ..expr import Expr, GlobalVar, Op, TupleWrapper, _with_fields
from ..expr_functor import ExprMutator
from ..function import Function
from ..transform import InferType


def infer_type(node, mod=None):
    """An expression with its type.

    Parameters
    ----------
    node : RelayExpr
        The expression; variables in it are free, or parameters where it is a function.
    mod : IRModule, optional
        Functions and types that it uses.

    Returns
    -------
    RelayExpr
    """
    if isinstance(node, TupleWrapper):
        node = node.astuple()
    whole = node if isinstance(node, Function) else Function(free_vars(node), node)
    new = IRModule() if mod is None else mod.clone()
    new["main"] = whole
    typed = InferType()(new)["main"]
    return typed if isinstance(node, Function) else typed.body


def infer_shape(inputs, mod=None):
    """Extents of a tensor expression: a tuple of int, with `Any` and symbols as they are.

    Raises
    ------
    TypeError
        It is not a tensor.
    """
    kind = infer_type(inputs, mod).checked_type
    if not hasattr(kind, "shape"):
        raise TypeError(f"infer_shape: expected a tensor, got {kind}")
    return get_const_tuple(kind.shape)


class _Filler(ExprMutator):
    """Gives a place to what has none; what is below a place is older."""

    def __init__(self, span):
        super().__init__()
        self._span = span

    def visit(self, expr):
        if expr.span is not None or isinstance(expr, Op | GlobalVar | Constructor):
            return expr  # a named expression stands for several places
        made = super().visit(expr)
        return _with_fields(made, span=self._span) if isinstance(made, Expr) else made


def set_span(sym, span):
    """Note where an expression comes from, down to what has a place already; nothing where the
    option ``relay.frontend.fill_span`` of the context is off.

    Parameters
    ----------
    sym : RelayExpr, TupleWrapper, or list or tuple of them
        The expression.
    span : Span or str
        The place, or the name of a source.

    Returns
    -------
    Any
        As `sym`.
    """
    if not _transform.PassContext.current().config.get("relay.frontend.fill_span", True):
        return sym
    if isinstance(span, str):
        span = Span(SourceName(span), 0, 0, 0, 0)
    if isinstance(sym, list | tuple):
        return type(sym)(set_span(part, span) for part in sym)
    if isinstance(sym, TupleWrapper):
        return TupleWrapper(set_span(sym.tuple_value, span), sym.size)
    return _Filler(span).visit(sym) if isinstance(sym, Expr) else sym


class RequiredAttr:
    """Says that an attribute has no default."""


_REQUIRED = RequiredAttr()


class StrAttrsDict:
    """Attributes whose values are text, as some model files have them.

    Parameters
    ----------
    attrs : dict of str to str
        The attributes.

    Notes
    -----
    ``get_x(key, default)`` gives a value as x. Where the attribute is missing it gives the default,
    or raises AttributeError without one. Text that is not a value of that kind is a ValueError.
    """

    def __init__(self, attrs):
        self.attrs = attrs

    def has_attr(self, key):
        """Is the attribute there?"""
        return key in self.attrs

    def _get(self, key, default, convert):
        if key in self.attrs:
            try:
                return convert(self.attrs[key])
            except (ValueError, SyntaxError, TypeError) as err:
                text = self.attrs[key]
                raise ValueError(f"attribute {key!r}: cannot read {text!r}") from err
        if isinstance(default, RequiredAttr):
            raise AttributeError(f"Required attribute {key} not found.")
        return default

    def get_float(self, key, default=_REQUIRED):
        """A float."""
        return self._get(key, default, float)

    def get_int(self, key, default=_REQUIRED):
        """An int; None where the text says so."""
        return self._get(key, default, lambda text: None if text == "None" else int(text))

    def get_str(self, key, default=_REQUIRED):
        """The text."""
        return self._get(key, default, str)

    def get_bool(self, key, default=_REQUIRED):
        """A bool: "True", "true" and numbers other than 0."""
        return self._get(key, default, _bool)

    def get_int_tuple(self, key, default=_REQUIRED):
        """A tuple of int, from "(1, 2)", "[1, 2]" or "1"; None among them stays."""
        return self._get(key, default, lambda text: _numbers(text, int))

    def get_float_tuple(self, key, default=_REQUIRED):
        """A tuple of float."""
        return self._get(key, default, lambda text: _numbers(text, float))

    def get_tuple_tuple_int(self, key, default=_REQUIRED):
        """A tuple of tuples of int."""
        return self._get(
            key, default, lambda text: tuple(tuple(map(int, x)) for x in ast.literal_eval(text))
        )

    def get_int_list(self, key, default=_REQUIRED):
        """A list of int."""
        return self._get(key, default, lambda text: list(_numbers(text, int)))


def _bool(text):
    if text in ("True", "true"):
        return True
    if text in ("False", "false"):
        return False
    return bool(int(text))


def _numbers(text, kind):
    value = ast.literal_eval(text)
    value = value if isinstance(value, list | tuple) else (value,)
    return tuple(None if x is None else kind(x) for x in value)
