"""The C description of a tensor (DLTensor) as ctypes structures."""

import ctypes


class DLDevice(ctypes.Structure):
    """Device type and number."""

    _fields_ = [("device_type", ctypes.c_int), ("device_id", ctypes.c_int)]


class DLDataType(ctypes.Structure):
    """Code, bits and lanes."""

    _fields_ = [
        ("type_code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
    ]


class TVMArray(ctypes.Structure):
    """A tensor: memory, device, shape, layout."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", DLDevice),
        ("ndim", ctypes.c_int),
        ("dtype", DLDataType),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


class TVMByteArray(ctypes.Structure):
    """Bytes of the C interface."""

    _fields_ = [("data", ctypes.POINTER(ctypes.c_byte)), ("size", ctypes.c_size_t)]


def describe(np_data):
    """Body of `tenon.nd.numpyasarray`; see there."""
    from .runtime_ctypes import DataType

    if not np_data.flags["C_CONTIGUOUS"]:
        raise ValueError("numpyasarray: expected a contiguous array")
    dtype = DataType(str(np_data.dtype))
    shape = (ctypes.c_int64 * max(np_data.ndim, 1))(*np_data.shape)
    array = TVMArray(
        data=np_data.ctypes.data,
        device=DLDevice(1, 0),
        ndim=np_data.ndim,
        dtype=DLDataType(dtype.type_code, dtype.bits, dtype.lanes),
        shape=shape,
        strides=None,
        byte_offset=0,
    )
    return array, shape
