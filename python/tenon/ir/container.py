"""Arrays and maps of objects."""

from collections.abc import Mapping, Sequence

from .. import _core
from .._ffi.registry import register_object
from .base import Node


@register_object("Array")
class Array(_core.Array, Node):
    """An immutable sequence of objects.

    Made by `tenon.runtime.convert` of a list. Compares by content; a slice gives a Python list.
    """

    __slots__ = ()


@register_object("Map")
class Map(_core.Map, Node):
    """A mapping of objects, in the order of insertion.

    Made by `tenon.runtime.convert` of a dict. Keys that are strings or numbers compare by content,
    others by identity.
    """

    __slots__ = ()


Sequence.register(Array)
Mapping.register(Map)
