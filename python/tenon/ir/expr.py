"""Base classes of expressions, ranges, and the names of a module's functions."""

from .._ffi.registry import register_object
from ..runtime.object import Object
from ..runtime.script_printer import HasScript
from . import _ffi_api
from .base import Node, Span, astext


@register_object("BaseExpr")
class BaseExpr(Node):
    """Any expression."""

    __slots__ = ()


@register_object("PrimExpr")
class PrimExpr(HasScript, BaseExpr):
    """An expression over numbers, vectors and handles; `dtype` is the type of its value."""

    __slots__ = ()


@register_object("RelayExpr")
class RelayExpr(BaseExpr):
    """An expression over tensors, functions and data."""

    __slots__ = ()

    @property
    def checked_type(self):
        """The type that type inference has found.

        Raises
        ------
        ValueError
            It has not run.
        """
        found = self._checked_type_
        if found is None:
            raise ValueError("The type checker has not populated the checked_type for this node")
        return found

    @property
    def struct_info(self):
        """None: there is no structure information in this dialect."""
        return None


@register_object("GlobalVar")
class GlobalVar(RelayExpr):
    """A function of a module, by name.

    Parameters
    ----------
    name_hint : str
        The name, unique in the module.
    type_annot : Type, optional
        Type of the function.
    """

    __slots__ = ()

    def __init__(self, name_hint, type_annot=None):
        self.__init_handle_by_constructor__(_ffi_api.GlobalVar, name_hint, type_annot)

    def __call__(self, *args):
        """A call of the function: of Relay or of tensor programs, as the arguments are."""
        from .. import tir

        if all(isinstance(arg, RelayExpr) for arg in args):
            from .. import relay

            return relay.Call(self, args)
        if all(isinstance(arg, int | float | PrimExpr) for arg in args):
            return tir.Call("void", self, [tir.convert(arg) for arg in args])
        kinds = [type(arg).__name__ for arg in args]
        raise RuntimeError(f"Do not know how to handle GlobalVar.__call__ for types {kinds}")

    def astext(self, show_meta_data=True, annotate=None):
        """Text in the form of the language."""
        return astext(self, show_meta_data, annotate)


@register_object("Range")
class Range(HasScript, Node):
    """The integers from `min`, `extent` of them.

    Parameters
    ----------
    begin : PrimExpr or int
        First value; given alone, the end, and values begin at 0.
    end : PrimExpr or int, optional
        One past the last value.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, begin, end=None, span=None):
        self.__init_handle_by_constructor__(_ffi_api.Range, begin, end, span)

    @staticmethod
    def from_min_extent(min_value, extent, span=None):
        """The range of a first value and a number of values.

        Parameters
        ----------
        min_value, extent : PrimExpr or int
            First value, and how many there are.
        span : Span, optional
            Place in a source text.
        """
        return _ffi_api.Range_from_min_extent(min_value, extent, span)

    def __eq__(self, other):
        if not isinstance(other, Range):
            return False
        from .base import structural_equal

        return structural_equal(self, other, map_free_vars=False)

    def __ne__(self, other):
        return not self == other

    __hash__ = Object.__hash__


__all__ = ["BaseExpr", "GlobalVar", "PrimExpr", "Range", "RelayExpr", "Span"]
