"""Algebraic data types."""

from .._ffi.registry import register_object
from . import _ffi_api
from .expr import RelayExpr
from .type import Type


@register_object("relay.Constructor")
class Constructor(RelayExpr):
    """Makes values of an algebraic data type; calling it gives a call expression.

    Parameters
    ----------
    name_hint : str
        Name, unique in the module.
    inputs : list of Type
        Types of the fields.
    belong_to : GlobalTypeVar
        The type it makes values of.
    """

    __slots__ = ()

    def __init__(self, name_hint, inputs, belong_to):
        self.__init_handle_by_constructor__(_ffi_api.Constructor, name_hint, inputs, belong_to)

    def __call__(self, *args):
        """A call of the constructor."""
        from .. import relay

        return relay.Call(self, args)


@register_object("relay.TypeData")
class TypeData(Type):
    """Definition of an algebraic data type.

    Parameters
    ----------
    header : GlobalTypeVar
        Its name.
    type_vars : list of TypeVar
        Its type parameters.
    constructors : list of Constructor
        The ways to make a value.
    """

    __slots__ = ()

    def __init__(self, header, type_vars, constructors):
        self.__init_handle_by_constructor__(_ffi_api.TypeData, header, type_vars, constructors)
