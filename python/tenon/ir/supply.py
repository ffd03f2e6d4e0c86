"""Unique names, of anything and of a module's functions."""

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_api
from .module import IRModule


@register_object("NameSupply")
class NameSupply(Object):
    """Knows the names in use and numbers those that are asked for again.

    Parameters
    ----------
    prefix : str
        Put before names, with an underscore.
    """

    __slots__ = ()

    def __init__(self, prefix=""):
        self.__init_handle_by_constructor__(_ffi_api.NameSupply, prefix)

    def fresh_name(self, name, add_prefix=True, add_underscore=True):
        """A name that was not in use.

        Parameters
        ----------
        name : str
            What it is made of; dots become underscores.
        add_prefix : bool
            Put the prefix before it.
        add_underscore : bool
            Put an underscore between name and number.

        Returns
        -------
        str
        """
        return _ffi_api.NameSupply_FreshName(self, name, add_prefix, add_underscore)

    def reserve_name(self, name, add_prefix=True):
        """Mark a name as in use; the name with its prefix."""
        return _ffi_api.NameSupply_ReserveName(self, name, add_prefix)

    def contains_name(self, name, add_prefix=True):
        """Is the name in use? bool."""
        return bool(_ffi_api.NameSupply_ContainsName(self, name, add_prefix))


@register_object("GlobalVarSupply")
class GlobalVarSupply(Object):
    """Makes GlobalVars of unique names.

    Parameters
    ----------
    value : NameSupply, IRModule, list of IRModule or None
        Where names come from, or modules whose functions are known.
    """

    __slots__ = ()

    def __init__(self, value=None):
        if value is None or isinstance(value, NameSupply):
            make = _ffi_api.GlobalVarSupply_NameSupply
        elif isinstance(value, IRModule):
            make = _ffi_api.GlobalVarSupply_IRModule
        else:
            make, value = _ffi_api.GlobalVarSupply_IRModules, list(value)
        self.__init_handle_by_constructor__(make, value)

    def fresh_global(self, name, add_prefix=True):
        """A GlobalVar of a name that was not in use."""
        return _ffi_api.GlobalVarSupply_FreshGlobal(self, name, add_prefix)

    def unique_global_for(self, name, add_prefix=True):
        """The one GlobalVar of a name."""
        return _ffi_api.GlobalVarSupply_UniqueGlobalFor(self, name, add_prefix)

    def reserve_global(self, global_var, allow_conflict=False):
        """Make a GlobalVar known.

        Raises
        ------
        ValueError
            Another one has its name, and `allow_conflict` is False.
        """
        _ffi_api.GlobalVarSupply_ReserveGlobalVar(self, global_var, allow_conflict)
