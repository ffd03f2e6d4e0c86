"""Patterns of expressions: matching, rewriting and partitioning of Relay programs.

A pattern object that occurs twice stands for one expression.
"""

from ..._ffi.registry import register_object
from ...ir import make_node
from ...ir.base import Node
from ...ir.op import Op
from ..expr import RelayExpr
from ..op import get
from . import _ffi as ffi


def _as_pattern(value):
    """A pattern; expressions and numbers stand for themselves."""
    if isinstance(value, DFPattern):
        return value
    if isinstance(value, RelayExpr | Op):
        return ExprPattern(value)
    from ..expr import const

    return ExprPattern(const(value))


@register_object("DFPatternNode")
class DFPattern(Node):
    """Base of patterns. Operators make patterns of calls: ``a + b``, ``a | b`` is either."""

    __slots__ = ()

    def __call__(self, *args):
        """Pattern of a call of what this pattern matches; ``None`` alone: with any arguments."""
        args = list(args)
        if len(args) == 1 and args[0] is None:
            args = None
        return CallPattern(self, args)

    def __or__(self, other):
        return AltPattern(self, other)

    def __add__(self, other):
        return is_op("add")(self, other)

    def __sub__(self, other):
        return is_op("subtract")(self, other)

    def __mul__(self, other):
        return is_op("multiply")(self, other)

    def __truediv__(self, other):
        return is_op("divide")(self, other)

    def has_attr(self, attrs):
        """The same with attributes (of an operator, a call or a function).

        Parameters
        ----------
        attrs : dict
            Attributes by name.

        Returns
        -------
        DFPattern
        """
        return AttrPattern(self, make_node("DictAttrs", **attrs))

    def has_type(self, ttype):
        """The same of a type."""
        return has_type(ttype, self)

    def has_dtype(self, dtype):
        """The same of an element type."""
        return has_dtype(dtype, self)

    def has_shape(self, shape):
        """The same of a shape."""
        return has_shape(shape, self)

    def match(self, expr):
        """Does the expression match?

        Parameters
        ----------
        expr : RelayExpr
            The expression.

        Returns
        -------
        bool
        """
        return match(self, expr)

    def partition(self, expr, attrs=None, check=lambda x: True):
        """Put every match into its own function; see `partition`."""
        return partition(self, expr, attrs, check)

    def dominates(self, parent, path=None):
        """Pattern of this one where every way up leads to `parent` over `path`; see `dominates`."""
        return DominatorPattern(parent, wildcard() if path is None else path, self)

    def optional(self, option_constructor):
        """This pattern, with what the function makes of it around or without.

        Parameters
        ----------
        option_constructor : function
            (DFPattern) -> DFPattern.

        Returns
        -------
        DFPattern
        """
        return self | option_constructor(self)


def _pattern(key, doc, *fields):
    """The class of a kind of pattern whose constructor takes patterns, or lists of them."""

    def __init__(self, *args, **kwargs):
        given = dict(zip(fields, args, strict=False)) | kwargs
        values = []
        for name in fields:
            value = given.get(name)
            if isinstance(value, list | tuple):
                value = [_as_pattern(v) for v in value]
            elif value is not None:
                value = _as_pattern(value)
            values.append(value)
        self.__init_handle_by_constructor__(getattr(ffi, key), *values)

    made = type(key, (DFPattern,), {"__slots__": (), "__doc__": doc, "__init__": __init__})
    made.__module__ = __name__
    return register_object(f"relay.dataflow_pattern.{key}")(made)


CallPattern = _pattern("CallPattern", "A call; `args` None: with any arguments.", "op", "args")
FunctionPattern = _pattern("FunctionPattern", "A function.", "params", "body")
LetPattern = _pattern("LetPattern", "A binding.", "var", "value", "body")
IfPattern = _pattern("IfPattern", "A choice.", "cond", "true_branch", "false_branch")
TuplePattern = _pattern("TuplePattern", "A tuple; `fields` None: any.", "fields")
AltPattern = _pattern("AltPattern", "One of two patterns.", "left", "right")
DominatorPattern = _pattern(
    "DominatorPattern",
    "`child` where every way up leads to `parent` over expressions that are `path`.",
    "parent",
    "path",
    "child",
)
WildcardPattern = _pattern("WildcardPattern", "Anything.")
ConstantPattern = _pattern("ConstantPattern", "A constant.")


@register_object("relay.dataflow_pattern.ExprPattern")
class ExprPattern(DFPattern):
    """One expression: an operator, a constant.

    Parameters
    ----------
    expr : RelayExpr
        The expression.
    """

    __slots__ = ()

    def __init__(self, expr):
        self.__init_handle_by_constructor__(ffi.ExprPattern, expr)


@register_object("relay.dataflow_pattern.VarPattern")
class VarPattern(DFPattern):
    """A variable.

    Parameters
    ----------
    name_hint : str
        Its name; empty: any.
    """

    __slots__ = ()

    def __init__(self, name_hint=""):
        self.__init_handle_by_constructor__(ffi.VarPattern, name_hint)


@register_object("relay.dataflow_pattern.TupleGetItemPattern")
class TupleGetItemPattern(DFPattern):
    """A field of a tuple.

    Parameters
    ----------
    tuple_value : DFPattern
        The tuple.
    index : int, optional
        Which field; default: any.
    """

    __slots__ = ()

    def __init__(self, tuple_value, index=None):
        self.__init_handle_by_constructor__(
            ffi.TupleGetItemPattern, _as_pattern(tuple_value), -1 if index is None else index
        )


@register_object("relay.dataflow_pattern.AttrPattern")
class AttrPattern(DFPattern):
    """Something with attributes; see `DFPattern.has_attr`."""

    __slots__ = ()

    def __init__(self, pattern, attrs):
        self.__init_handle_by_constructor__(ffi.AttrPattern, pattern, attrs)


@register_object("relay.dataflow_pattern.TypePattern")
class TypePattern(DFPattern):
    """Something of a type."""

    __slots__ = ()

    def __init__(self, pattern, ttype):
        self.__init_handle_by_constructor__(ffi.TypePattern, pattern, ttype)


@register_object("relay.dataflow_pattern.ShapePattern")
class ShapePattern(DFPattern):
    """A tensor of a shape."""

    __slots__ = ()

    def __init__(self, pattern, shape):
        self.__init_handle_by_constructor__(ffi.ShapePattern, pattern, list(shape))


@register_object("relay.dataflow_pattern.DataTypePattern")
class DataTypePattern(DFPattern):
    """A tensor of an element type."""

    __slots__ = ()

    def __init__(self, pattern, dtype):
        self.__init_handle_by_constructor__(ffi.DataTypePattern, pattern, dtype)


# ---- making patterns ----


def wildcard():
    """Pattern of anything."""
    return WildcardPattern()


def is_op(op_name):
    """Pattern of an operator; call it for a pattern of its calls.

    Parameters
    ----------
    op_name : str
        Name of the operator.

    Returns
    -------
    DFPattern
    """
    return ExprPattern(get(op_name))


def is_expr(expr):
    """Pattern of one expression."""
    return ExprPattern(expr)


def is_var(name=""):
    """Pattern of a variable of a name, of any without a name."""
    return VarPattern(name)


def is_constant():
    """Pattern of a constant."""
    return ConstantPattern()


def is_tuple(fields):
    """Pattern of a tuple of these fields; None: any."""
    return TuplePattern(fields)


def is_tuple_get_item(tuple_value, index=None):
    """Pattern of a field of a tuple; `index` None: any."""
    return TupleGetItemPattern(tuple_value, index)


def is_if(cond, true_branch, false_branch):
    """Pattern of a choice."""
    return IfPattern(cond, true_branch, false_branch)


def is_let(var, value, body):
    """Pattern of a binding."""
    return LetPattern(var, value, body)


def has_type(ttype, pattern=None):
    """Pattern of what has a type."""
    return TypePattern(wildcard() if pattern is None else pattern, ttype)


def has_dtype(dtype, pattern=None):
    """Pattern of tensors of an element type."""
    return DataTypePattern(wildcard() if pattern is None else pattern, dtype)


def has_shape(shape, pattern=None):
    """Pattern of tensors of a shape."""
    return ShapePattern(wildcard() if pattern is None else pattern, shape)


def has_attr(attrs, pattern=None):
    """Pattern of what has attributes (a dictionary)."""
    return (wildcard() if pattern is None else pattern).has_attr(attrs)


def dominates(parent, path, child):
    """Pattern of `child` where every way up leads to `parent` over expressions that are `path`."""
    return DominatorPattern(parent, path, child)


# ---- using them ----


def match(pattern, expr):
    """Does the expression match the pattern?"""
    return bool(ffi.match(pattern, expr))


@register_object("relay.dataflow_pattern.DFPatternCallback")
class _DFPatternCallback(Node):
    """A pattern and what replaces it, as the native side sees them."""

    __slots__ = ()

    def __init__(self, pattern, callback, require_type, rewrite_once):
        self.__init_handle_by_constructor__(
            ffi.DFPatternCallback, pattern, callback, require_type, rewrite_once
        )


class DFPatternCallback:
    """Base of classes that replace what a pattern matches.

    A class sets ``self.pattern`` and has a method ``callback``.

    Parameters
    ----------
    require_type : bool
        Are types inferred before?
    rewrite_once : bool
        Only one round, instead of until nothing changes.

    Examples
    --------
    >>> class Once(DFPatternCallback):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.x = wildcard()
    ...         self.pattern = is_op("negative")(is_op("negative")(self.x))
    ...
    ...     def callback(self, pre, post, node_map):
    ...         return node_map[self.x][0]
    """

    def __init__(self, require_type=False, rewrite_once=False):
        self.pattern = None
        self.require_type = require_type
        self.rewrite_once = rewrite_once

    def rewrite(self, expr):
        """`expr` with every match replaced."""
        return rewrite(self, expr)

    def callback(self, pre, post, node_map):
        """What stands for a match.

        Parameters
        ----------
        pre : RelayExpr
            The match as it was.
        post : RelayExpr
            The match with what is below it rewritten.
        node_map : Map
            From patterns to arrays of expressions.

        Returns
        -------
        RelayExpr
        """
        raise NotImplementedError("callback of a DFPatternCallback")


def rewrite(callbacks, expr, mod=None):
    """Replace what patterns match, until nothing changes.

    Parameters
    ----------
    callbacks : DFPatternCallback or list of DFPatternCallback
        The patterns with what replaces them.
    expr : RelayExpr
        The program.
    mod : IRModule, optional
        What types are inferred in.

    Returns
    -------
    RelayExpr
    """
    if isinstance(callbacks, DFPatternCallback):
        callbacks = [callbacks]
    native = []
    for c in callbacks:
        if c.pattern is None:
            raise ValueError(f"{type(c).__name__} has no pattern")
        native.append(_DFPatternCallback(c.pattern, c.callback, c.require_type, c.rewrite_once))
    return ffi.rewrite(native, expr, mod)


def partition(pattern, expr, attrs=None, check=lambda x: True):
    """Put every match into its own function, which is called instead.

    Parameters
    ----------
    pattern : DFPattern
        What is looked for.
    expr : RelayExpr
        The program.
    attrs : dict, optional
        Attributes of the functions.
    check : function, optional
        (RelayExpr) -> bool, which matches to take.

    Returns
    -------
    RelayExpr
    """
    return ffi.partition(pattern, expr, attrs, check)
