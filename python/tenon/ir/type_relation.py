"""Conditions on types and applied type definitions."""

from .._ffi.registry import register_object
from . import _ffi_api
from .type import Type, TypeConstraint


@register_object("TypeCall")
class TypeCall(Type):
    """A type definition with types put in for its parameters.

    Parameters
    ----------
    func : GlobalTypeVar
        The definition.
    args : list of Type
        What is put in.
    """

    __slots__ = ()

    def __init__(self, func, args):
        self.__init_handle_by_constructor__(_ffi_api.TypeCall, func, args)


@register_object("TypeRelation")
class TypeRelation(TypeConstraint):
    """A relation of types that a function decides.

    Parameters
    ----------
    func : EnvFunc
        ``(types, number of inputs, attributes, reporter) -> bool``.
    args : list of Type
        Types that are related: inputs, then results.
    num_inputs : int
        How many of them are inputs.
    attrs : Attrs or None
        Attributes of the operator.
    """

    __slots__ = ()

    def __init__(self, func, args, num_inputs, attrs):
        self.__init_handle_by_constructor__(_ffi_api.TypeRelation, func, args, num_inputs, attrs)
