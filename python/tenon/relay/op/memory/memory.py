"""Memory of values: functions that take several forms of an argument."""

from ...expr import Constant, const
from . import _make


def _numbers(value):
    """A number or list of numbers as a constant, int64; an expression as it is."""
    return const(value, "int64") if isinstance(value, int | list | tuple) else value


def alloc_storage(size, alignment, virtual_device=None, dtype_hint="float32"):
    """Memory that tensors can be in.

    Parameters
    ----------
    size : int, or RelayExpr
        Bytes, or the extents of a tensor of this type.
    alignment : int, or RelayExpr
        Bytes; a power of two.
    virtual_device : VirtualDevice, optional
        Where it is; None: where the program runs.
    dtype_hint : str
        Type of the elements of what is to be in it.

    Returns
    -------
    Call
        Of type Storage, which the module has to define: ``extern type Storage``.
    """
    return _make.alloc_storage(_numbers(size), _numbers(alignment), virtual_device, dtype_hint)


def alloc_tensor(storage, offset, shape, dtype="float32", assert_shape=None):
    """A tensor in a storage.

    Parameters
    ----------
    storage : RelayExpr
        The memory.
    offset : int, or RelayExpr
        Bytes from its begin.
    shape : list of int, or RelayExpr
        The extents, int64.
    dtype : str
        Type of an element.
    assert_shape : list of int or Any, optional
        The extents as far as they are known; None: those of a constant `shape`, none of another.

    Returns
    -------
    Call
    """
    shape = _numbers(shape)
    if assert_shape is None and isinstance(shape, Constant):
        assert_shape = [int(extent) for extent in shape.data.numpy()]
    return _make.alloc_tensor(storage, _numbers(offset), shape, dtype, assert_shape)


__all__ = ["alloc_storage", "alloc_tensor"]
