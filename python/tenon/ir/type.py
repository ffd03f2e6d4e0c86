"""Types that all dialects share."""

from enum import IntEnum

from .._ffi.registry import register_object
from ..runtime.object import Object
from ..runtime.script_printer import HasScript
from . import _ffi_api
from .base import Node


@register_object("Type")
class Type(HasScript, Node):
    """Any type; compares by structure."""

    __slots__ = ()

    def __eq__(self, other):
        if not isinstance(other, Type):
            return False
        from .base import structural_equal

        return structural_equal(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = Object.__hash__

    def same_as(self, other):
        """Are both one object?"""
        return Object.same_as(self, other)


class TypeKind(IntEnum):
    """What a type variable stands for."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


@register_object("PrimType")
class PrimType(Type):
    """Type of a primitive value.

    Parameters
    ----------
    dtype : str
        The data type.
    """

    __slots__ = ()

    def __init__(self, dtype):
        self.__init_handle_by_constructor__(_ffi_api.PrimType, dtype)


@register_object("PointerType")
class PointerType(Type):
    """A pointer.

    Parameters
    ----------
    element_type : Type
        Type of what it points to.
    storage_scope : str
        Memory that it points into.
    """

    __slots__ = ()

    def __init__(self, element_type, storage_scope=""):
        self.__init_handle_by_constructor__(_ffi_api.PointerType, element_type, storage_scope)


@register_object("TypeVar")
class TypeVar(Type):
    """A type variable.

    Parameters
    ----------
    name_hint : str
        Its name.
    kind : TypeKind
        What it stands for.
    """

    __slots__ = ()

    def __init__(self, name_hint, kind=TypeKind.Type):
        self.__init_handle_by_constructor__(_ffi_api.TypeVar, name_hint, kind)

    def __call__(self, *args):
        """The type with types put in for its parameters."""
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("GlobalTypeVar")
class GlobalTypeVar(Type):
    """Name of a type definition of a module.

    Parameters
    ----------
    name_hint : str
        The name.
    kind : TypeKind
        What it stands for.
    """

    __slots__ = ()

    def __init__(self, name_hint, kind=TypeKind.AdtHandle):
        self.__init_handle_by_constructor__(_ffi_api.GlobalTypeVar, name_hint, kind)

    def __call__(self, *args):
        """The type with types put in for its parameters."""
        from .type_relation import TypeCall

        return TypeCall(self, args)


@register_object("TupleType")
class TupleType(Type):
    """Type of tuples.

    Parameters
    ----------
    fields : list of Type
        Types of the fields.
    """

    __slots__ = ()

    def __init__(self, fields):
        self.__init_handle_by_constructor__(_ffi_api.TupleType, fields)


@register_object("TypeConstraint")
class TypeConstraint(Type):
    """A condition on types."""

    __slots__ = ()


@register_object("FuncType")
class FuncType(Type):
    """Type of functions.

    Parameters
    ----------
    arg_types : list of Type
        Types of the arguments.
    ret_type : Type
        Type of the result.
    type_params : list of TypeVar, optional
        Type variables bound here.
    type_constraints : list of TypeConstraint, optional
        Relations that hold.
    """

    __slots__ = ()

    def __init__(self, arg_types, ret_type, type_params=None, type_constraints=None):
        self.__init_handle_by_constructor__(
            _ffi_api.FuncType, arg_types, ret_type, type_params or [], type_constraints or []
        )


@register_object("IncompleteType")
class IncompleteType(Type):
    """A type that inference is to find.

    Parameters
    ----------
    kind : TypeKind
        What it stands for.
    """

    __slots__ = ()

    def __init__(self, kind=TypeKind.Type):
        self.__init_handle_by_constructor__(_ffi_api.IncompleteType, kind)


@register_object("relay.RefType")
class RelayRefType(Type):
    """Type of references.

    Parameters
    ----------
    value : Type
        Type of what they hold.
    """

    __slots__ = ()

    def __init__(self, value):
        self.__init_handle_by_constructor__(_ffi_api.RelayRefType, value)
