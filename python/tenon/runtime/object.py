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

    def __getstate__(self):
        """Content of the object.

        Returns
        -------
        dict
            ``{"handle": JSON text}``.
        """
        return {"handle": _core.get_global_func("node.SaveJSON")(self)}

    def __setstate__(self, state):
        """Become a copy of the object that a state was taken of.

        Parameters
        ----------
        state : dict
            From `__getstate__`, or attributes that a class of Python keeps.
        """
        if "handle" in state:
            load = _core.get_global_func("node.LoadJSON")
            self.__init_handle_by_constructor__(load, state["handle"])
        else:
            self.__dict__.update(state)
