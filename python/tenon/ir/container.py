"""Arrays and maps of objects."""

from .. import _core
from .._ffi.registry import register_object


@register_object("Array")
class Array(_core.Array):
    """An immutable sequence of objects.

    Made by `tenon.runtime.convert` of a list. Compares by content; a slice gives a Python list.
    """

    __slots__ = ()


@register_object("Map")
class Map(_core.Map):
    """A mapping of objects, in the order of insertion.

    Made by `tenon.runtime.convert` of a dict. Keys that are strings or numbers compare by content,
    others by identity.
    """

    __slots__ = ()
