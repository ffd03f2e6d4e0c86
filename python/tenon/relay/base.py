"""Base of Relay's nodes."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.base import Node as RelayNode
from ..ir.base import Span as Span


@register_object("relay.Id")
class Id(RelayNode):
    """Identity of a variable; made with it."""

    __slots__ = ()

    def __init__(self, name_hint):
        from . import _ffi_api

        self.__init_handle_by_constructor__(_ffi_api.Id, name_hint)


def pretty_print(obj):
    """Print an object in the form of the language."""
    from ..ir.base import pretty_print as show

    show(obj)


def astext(obj, show_meta_data=True, annotate=None):
    """Text of an object in the form of the language."""
    from ..ir.base import astext as text

    return text(obj, show_meta_data, annotate)


def as_list(values):
    """A list of objects: wrappers such as `TupleWrapper` replaced by what they stand for."""
    return [_core.convert_to_object(value) for value in values]
