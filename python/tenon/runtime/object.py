"""Base of everything that the native library hands out."""

from .. import _core
from .._ffi.registry import register_object


@register_object("Object")
class Object(_core.Object):
    """A native object.

    Its fields are attributes, read-only; ``==`` and ``hash`` go by identity unless a class says
    otherwise. Objects pickle and copy through their JSON.
    """

    __slots__ = ()

    def legacy_repr(self):
        """Text of the node as the generic printer writes it; str."""
        from . import _ffi_node_api

        return str(_ffi_node_api.AsRepr(self))
