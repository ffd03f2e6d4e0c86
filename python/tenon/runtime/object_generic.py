"""Python values as objects."""

import math
import sys

from .. import _core


class ObjectGeneric:
    """Base of Python classes that stand for an object: arguments of these are replaced by what
    `asobject` returns."""

    __slots__ = ()

    def asobject(self):
        """The object."""
        raise NotImplementedError(f"{type(self).__name__} does not say which object it stands for")


ObjectTypes = (_core.Object, ObjectGeneric)


def convert_to_object(value, span=None):
    """See `convert`; the name that the old interface uses inside."""
    return convert(value, span)


def convert(value, span=None):
    """Make an object of a Python value.

    Parameters
    ----------
    value : Any
        int becomes IntImm int32, float FloatImm float32, bool IntImm bool, a number of numpy a
        constant of its type, str String, list and tuple Array, dict Map, a function PackedFunc;
        None and objects stay as they are. Containers are converted with all they hold.
    span : Span, optional
        Place in a source text, for numbers.

    Returns
    -------
    Object or None

    Raises
    ------
    TypeError
        Values of that type have no object.

    Examples
    --------
    >>> tenon.runtime.convert([1, 2, 3])[-1].value
    3
    """
    if span is not None and isinstance(value, int | float):
        return const(value, span=span)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.number | numpy.bool_):
        return const(value)
    return _core.convert_to_object(value)


asobject = convert


def const(value, dtype=None, span=None):
    """A constant of the IR.

    Parameters
    ----------
    value : int, float or bool
        The number.
    dtype : str, optional
        Its type; default int32, float32 or bool, of 64 bits where the number needs them.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    PrimExpr

    Raises
    ------
    ValueError
        The number does not fit in the type.
    """
    from . import _ffi_node_api

    if dtype is None:
        dtype = _scalar_type(value)
    if dtype == "uint64" and value >= 1 << 63:
        return _ffi_node_api.LargeUIntImm(dtype, value & ((1 << 32) - 1), value >> 32, span)
    return _ffi_node_api._const(value, dtype, span)


_FLOAT32_MAX = float.fromhex("0x1.fffffep+127")


def _scalar_type(value):
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        return "bool"
    dtype = getattr(value, "dtype", None)
    if dtype is not None:
        return str(dtype)
    if isinstance(value, float):
        # numbers that need it are float64; infinities and nan do not
        return "float64" if _FLOAT32_MAX < abs(value) < math.inf else "float32"
    if isinstance(value, int):
        # ints that need it are int64, as in numpy
        return "int32" if -(1 << 31) <= value < 1 << 31 else "int64"
    raise NotImplementedError(f"Cannot automatically inference the type. value={value}")
