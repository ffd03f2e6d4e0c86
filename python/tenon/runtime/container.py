"""Strings, shapes, tuples and values of algebraic data types."""

from .. import _core
from .._ffi.registry import register_object
from .object import Object


class String(str):
    """A string of the library; to Python simply a ``str``.

    Parameters
    ----------
    content : str
        The text.
    """

    __slots__ = ()


@register_object("runtime.ShapeTuple")
class ShapeTuple(_core.ShapeTuple, Object):
    """An immutable sequence of ints, compared by content.

    Parameters
    ----------
    shape : iterable of int
        The numbers.
    """

    __slots__ = ()


@register_object("runtime.ADT")
class ADT(_core.ADT, Object):
    """A tuple, or a value of an algebraic data type: a tag and fields, read by index.

    Parameters
    ----------
    tag : int
        Which constructor made it; 0 for tuples.
    fields : list of Object
        The fields.
    """

    __slots__ = ()


def tuple_object(fields=None):
    """A native tuple of objects.

    Parameters
    ----------
    fields : list of Object, optional
        What it holds.

    Returns
    -------
    ADT
        With tag 0.
    """
    return ADT(0, list(fields or ()))


_core.set_value_class("String", String)

__all__ = ["ADT", "Object", "ShapeTuple", "String", "tuple_object"]
