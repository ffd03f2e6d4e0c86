"""Algebraic data types: patterns and matching."""

from .._ffi.registry import register_object
from ..ir.adt import Constructor, TypeData
from ..runtime.object import Object
from . import _ffi_api
from .base import RelayNode
from .expr import ExprWithOp, RelayExpr


class Pattern(RelayNode):
    """Base of patterns."""

    __slots__ = ()


@register_object("relay.PatternWildcard")
class PatternWildcard(Pattern):
    """Matches everything."""

    __slots__ = ()

    def __init__(self):
        self.__init_handle_by_constructor__(_ffi_api.PatternWildcard)


@register_object("relay.PatternVar")
class PatternVar(Pattern):
    """Matches everything and binds it.

    Parameters
    ----------
    var : Var
        The variable.
    """

    __slots__ = ()

    def __init__(self, var):
        self.__init_handle_by_constructor__(_ffi_api.PatternVar, var)


@register_object("relay.PatternConstructor")
class PatternConstructor(Pattern):
    """Matches what a constructor has made.

    Parameters
    ----------
    constructor : Constructor
        The constructor.
    patterns : list of Pattern, optional
        One for each field.
    """

    __slots__ = ()

    def __init__(self, constructor, patterns=None):
        self.__init_handle_by_constructor__(
            _ffi_api.PatternConstructor, constructor, patterns or []
        )


@register_object("relay.PatternTuple")
class PatternTuple(Pattern):
    """Matches tuples.

    Parameters
    ----------
    patterns : list of Pattern, optional
        One for each field.
    """

    __slots__ = ()

    def __init__(self, patterns=None):
        self.__init_handle_by_constructor__(_ffi_api.PatternTuple, patterns or [])


@register_object("relay.Clause")
class Clause(Object):
    """A case of a match.

    Parameters
    ----------
    lhs : Pattern
        The pattern.
    rhs : RelayExpr
        Result where it matches.
    """

    __slots__ = ()

    def __init__(self, lhs, rhs):
        self.__init_handle_by_constructor__(_ffi_api.Clause, lhs, rhs)


@register_object("relay.Match")
class Match(ExprWithOp):
    """Takes a value apart: the first clause that matches gives the result.

    Parameters
    ----------
    data : RelayExpr
        The value.
    clauses : list of Clause
        The cases.
    complete : bool
        Must they cover every value?
    """

    __slots__ = ()

    def __init__(self, data, clauses, complete=True):
        self.__init_handle_by_constructor__(_ffi_api.Match, data, clauses, complete)


__all__ = [
    "Clause",
    "Constructor",
    "Match",
    "Pattern",
    "PatternConstructor",
    "PatternTuple",
    "PatternVar",
    "PatternWildcard",
    "RelayExpr",
    "TypeData",
]
