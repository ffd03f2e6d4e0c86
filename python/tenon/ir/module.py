"""Modules of the IR: functions by name, and type definitions."""

from .._ffi.registry import register_object
from ..runtime.object import Object
from ..runtime.object_generic import convert
from ..runtime.script_printer import Scriptable
from . import _ffi_api
from .base import Node, astext
from .expr import GlobalVar, RelayExpr
from .function import BaseFunc
from .type import GlobalTypeVar, Type


@register_object("IRModule")
class IRModule(Scriptable, Node):
    """Functions by name, and type definitions. The unit that passes work on.

    Parameters
    ----------
    functions : dict of str or GlobalVar to BaseFunc, optional
        The functions.
    type_definitions : dict of str or GlobalTypeVar to Type, optional
        The types defined.
    attrs : dict or DictAttrs, optional
        Attributes of the module.

    Attributes
    ----------
    functions : Map
        GlobalVar to function.
    type_definitions : Map
        GlobalTypeVar to type.
    attrs : DictAttrs or None
        Attributes.
    """

    __slots__ = ()

    # modules of other dialects have other texts
    __str__ = Node.__str__
    __repr__ = Node.__repr__

    def __init__(self, functions=None, type_definitions=None, attrs=None):
        functions, types = functions or {}, type_definitions or {}
        if not all(isinstance(name, str | GlobalVar) for name in functions):
            raise TypeError("Expect functions to be Dict[GlobalVar, Function]")
        if not all(isinstance(name, str | GlobalTypeVar) for name in types):
            raise TypeError("Expect type_definitions to be Dict[GlobalTypeVar, Type]")
        types = {
            GlobalTypeVar(name) if isinstance(name, str) else name: value
            for name, value in types.items()
        }
        self.__init_handle_by_constructor__(
            _ffi_api.IRModule, dict(functions), types, attrs if attrs else None
        )

    def clone(self):
        """A copy that can be changed without changing this one."""
        return _ffi_api.Module_Clone(self)

    def functions_items(self):
        """Pairs of GlobalVar and function, in the order of names; list."""
        return sorted(self.functions.items(), key=lambda item: str(item[0].name_hint))

    def __setitem__(self, var, val):
        """Put a function or type definition in, in place of one of that name. Another expression
        becomes a function of its free variables."""
        if isinstance(val, Type):
            var = GlobalTypeVar(var) if isinstance(var, str) else var
            _ffi_api.Module_AddDef(self, var, val, True)
            return
        self._add(var, val, True)

    def _add(self, var, val, update=False):
        """Put a function in, in place of one of that name only where `update` says so."""
        if isinstance(var, str):
            known = _ffi_api.Module_ContainGlobalVar(self, var)
            var = _ffi_api.Module_GetGlobalVar(self, var) if known else GlobalVar(var)
        if isinstance(val, RelayExpr) and not isinstance(val, BaseFunc | GlobalVar):
            val = IRModule.from_expr(val, {}, self.type_definitions)["main"]
        _ffi_api.Module_Add(self, var, val, update)

    def __getitem__(self, var):
        """The function (or type definition) of a GlobalVar (or GlobalTypeVar) or name.

        Raises
        ------
        ValueError
            There is none.
        """
        if isinstance(var, str):
            return _ffi_api.Module_Lookup_str(self, var)
        if isinstance(var, GlobalVar):
            return _ffi_api.Module_Lookup(self, var)
        return _ffi_api.Module_LookupDef(self, var)

    def __delitem__(self, var):
        _ffi_api.Module_Remove(self, var)

    def __contains__(self, var):
        name = var.name_hint if isinstance(var, GlobalVar) else var
        return bool(_ffi_api.Module_ContainGlobalVar(self, name))

    def remove(self, var):
        """Take a function out; `var` is a GlobalVar or a name."""
        del self[var]

    def update(self, other):
        """Put everything of another module (or dict of functions) in, replacing equal names."""
        if isinstance(other, dict):
            other = IRModule(other)
        _ffi_api.Module_Update(self, other)

    def update_func(self, var, func):
        """Replace the function of a GlobalVar."""
        self[var] = func

    def get_global_var(self, name):
        """The GlobalVar of a name.

        Raises
        ------
        ValueError
            There is none; the text lists those there are.
        """
        return _ffi_api.Module_GetGlobalVar(self, name)

    def get_global_vars(self):
        """All GlobalVars; list."""
        return list(_ffi_api.Module_GetGlobalVars(self))

    def get_global_type_vars(self):
        """All GlobalTypeVars; list."""
        return list(_ffi_api.Module_GetGlobalTypeVars(self))

    def get_global_type_var(self, name):
        """The GlobalTypeVar of a name; ValueError if there is none."""
        return _ffi_api.Module_GetGlobalTypeVar(self, name)

    def get_constructor(self, tag):
        """The constructor of an algebraic data type with a tag; ValueError if there is none."""
        return _ffi_api.Module_LookupTag(self, tag)

    def get_type(self, name):
        """GlobalTypeVar and constructors of an algebraic data type, as a tuple."""
        var = self.get_global_type_var(name)
        return (var, *self[var].constructors)

    def import_from_std(self, file_to_import):
        """Add the functions and types of a file of the standard library, unless they are there.

        Parameters
        ----------
        file_to_import : str
            Name of the file, such as "prelude.rly" (Relay text).
        """
        from ..relay.stdlib import import_into

        import_into(self, file_to_import)

    @staticmethod
    def from_expr(expr, functions=None, type_defs=None):
        """The module of a function: it is called by its ``global_symbol``, else ``main``.

        Parameters
        ----------
        expr : BaseFunc
            The function.
        functions : dict of GlobalVar to BaseFunc, optional
            More functions.
        type_defs : dict of GlobalTypeVar to Type, optional
            Type definitions.

        Returns
        -------
        IRModule
        """
        return _ffi_api.Module_FromExpr(expr, functions or {}, type_defs or {})

    def get_attrs(self):
        """The attributes; DictAttrs or None."""
        return self.attrs

    def get_attr(self, attr_key):
        """Value of an attribute of the module; None if there is none."""
        return _ffi_api.Module_GetAttr(self, attr_key)

    def with_attr(self, attr_key, attr_value):
        """A copy with an attribute set."""
        return _ffi_api.Module_WithAttr(self, attr_key, convert(attr_value))

    def without_attr(self, attr_key):
        """A copy without an attribute."""
        return _ffi_api.Module_WithoutAttr(self, attr_key)

    def with_attrs(self, attr_map):
        """A copy with all attributes of a dict set."""
        result = self
        for key, value in attr_map.items():
            result = _ffi_api.Module_WithAttr(result, key, convert(value))
        return result.clone() if result is self else result

    def astext(self, show_meta_data=True, annotate=None):
        """Text in the form of the language."""
        return astext(self, show_meta_data, annotate)

    __hash__ = Object.__hash__


__all__ = ["IRModule"]
