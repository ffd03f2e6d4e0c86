"""Arrays on devices."""

from .. import _core
from .._ffi.registry import register_object
from .._ffi.runtime_ctypes import DataType, DataTypeCode, Device
from . import _ffi_api

# dtypes that numpy itself does not have: the numpy type that `numpy()` gives instead
_NUMPY_OF = {
    "bool": "bool",
    "bfloat16": "uint16",
    "int4": "int8",
    "uint4": "uint8",
    "e4m3_float8": "uint8",
    "e5m2_float8": "uint8",
    "handle": "uint64",
}
# dtypes that numpy has too
_BUFFER_DTYPES = frozenset(
    "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64".split()
)
# names of ml_dtypes that differ from ours
_OURS_OF = {"float8_e4m3fn": "e4m3_float8", "float8_e5m2": "e5m2_float8"}


def _copy_of(buffer):
    """numpy.array(buffer); after the first call it is that function itself."""
    global _copy_of
    from numpy import array as _copy_of

    return _copy_of(buffer)


class NDArrayBase(_core.Object):
    """Base of arrays: of `NDArray`, and of classes for arrays that libraries define in C++."""

    __slots__ = ()


@register_object("runtime.NDArray")
class NDArray(_core.Tensor, NDArrayBase):
    """An array on a device.

    Made by `array`, `empty` and `from_dlpack`. ``numpy.asarray(a)`` and other libraries'
    ``from_dlpack(a)`` share its memory; `numpy` copies.

    Attributes
    ----------
    shape : tuple of int
        Extents.
    dtype : str
        Type of the elements.
    device : Device
        Where the memory is.
    ndim : int
        Number of dimensions.
    is_view : bool
        Does it borrow memory that a caller lent for the time of a call? An array that is kept
        becomes a copy when the call ends; arrays of numpy over its memory must not be kept.
    """

    __slots__ = ()

    def __repr__(self):
        if self.handle.value is None:
            return super().__repr__()
        return f"<tenon.nd.NDArray shape={self.shape}, {self.device}>\n{self.numpy()!r}"

    def __str__(self):
        return repr(self) if self.handle.value is None else str(self.numpy())

    @property
    def ctx(self):
        """Old name of `device`."""
        return self.device

    def __getitem__(self, index):
        """A compact part of the array that shares its memory: ``a[i]``, ``a[2:5]``.

        Parameters
        ----------
        index : int or slice
            Position or range (step 1) in the first dimension.
        """
        if self.ndim == 0:
            raise IndexError("an array of 0 dimensions has no parts")
        extent, inner = self.shape[0], self.shape[1:]
        if isinstance(index, slice):
            start, stop, step = index.indices(extent)
            if step != 1:
                raise ValueError(f"slice of an array: expected step 1, got {step}")
            shape = (max(stop - start, 0), *inner)
        else:
            start, shape = range(extent)[index.__index__()], inner
        row = 1
        for n in inner:
            row *= n
        t = DataType(self.dtype)
        bits = start * row * t.bits * t.lanes
        if t.bits % 8 and self.dtype != "bool":
            if bits % 8:
                raise ValueError(f"part of a {self.dtype} array begins inside a byte")
        elif self.dtype == "bool":
            bits = start * row * 8
        return self._create_view(shape, relative_byte_offset=bits // 8)

    def __setitem__(self, in_slice, value):
        """Write all elements: ``a[:] = value``; or those of a part: ``a[i] = value``.

        Parameters
        ----------
        in_slice : slice or int
            ``:`` or ``...``, or what ``a[...]`` takes.
        value : NDArray, array-like or number
            What to write; a number goes everywhere.
        """
        whole = in_slice is Ellipsis or isinstance(in_slice, slice) and in_slice == slice(None)
        target = self if whole else self[in_slice]
        if isinstance(value, NDArray):
            if not value.same_as(target):
                value.copyto(target)
            return
        import numpy as np

        value = np.asarray(value)
        if value.ndim == 0:
            value = np.full(_numpy_shape(target), value)
        target.copyfrom(value)

    @property
    def _tvm_handle(self):
        """Address of the C description (DLTensor), for functions called through ctypes."""
        return _ffi_api.TensorHandle(self).value

    def copyfrom(self, source_array):
        """Write the elements of another array, converted to this one's dtype.

        Parameters
        ----------
        source_array : NDArray or array-like
            Of the same shape. An NDArray must have the same dtype. Elements for bfloat16 are
            rounded to nearest even if they are floats; uint16 elements are taken as their bits.

        Returns
        -------
        NDArray
            This array.

        Raises
        ------
        ValueError
            The shapes differ, or the dtypes of two NDArrays.
        TypeError
            The source is not an array.
        """
        if isinstance(source_array, NDArray):
            source_array.copyto(self)
            return self
        import numpy as np

        if not isinstance(source_array, np.ndarray):
            try:
                source_array = np.array(source_array, dtype=_numpy_dtype(self.dtype))
            except (TypeError, ValueError) as err:
                raise TypeError(
                    f"array must be an array_like data, type {type(source_array)} is not supported"
                ) from err
        shape = _numpy_shape(self)
        if source_array.shape != shape:
            raise ValueError(
                f"array shape do not match the shape of NDArray {source_array.shape} vs {shape}"
            )
        if self.dtype in _BUFFER_DTYPES and self.device.device_type == Device.kDLCPU:
            np.copyto(np.asarray(self), source_array, casting="unsafe")
        else:
            _write(self, source_array, np)
        return self

    def asnumpy(self):
        """Old name of `numpy`."""
        return self.numpy()

    def numpy(self):
        """A copy as a numpy array.

        Returns
        -------
        numpy.ndarray
            Of the same shape (and one more dimension for vector types) and dtype. bfloat16 gives
            its bits as uint16, int4 gives int8.
        """
        t = self.dtype
        if t in _BUFFER_DTYPES:
            try:
                # numpy would take an array without a buffer for an object and say nothing
                return _copy_of(memoryview(self))
            except BufferError:  # not in host memory
                pass
        import numpy as np

        out_dtype = _numpy_dtype(t)
        host = self if self.device.device_type == Device.kDLCPU else self.copyto(cpu(0))
        if t == out_dtype:
            return np.array(host)  # through the buffer protocol
        if t in ("int4", "uint4"):
            wide = empty(self.shape, out_dtype)
            _ffi_api.TensorConvert(host, wide)
            host = wide
        out = np.empty(_numpy_shape(self), out_dtype)
        _ffi_api.TensorCopyToBytes(host, _address(out), out.nbytes)
        return out

    def copyto(self, target, mem_scope=None):
        """Copy to another array, or to a new one on a device.

        Parameters
        ----------
        target : NDArray or Device
            An array of the same shape and dtype, or the device of a new array.
        mem_scope : str, optional
            Memory scope of the new array.

        Returns
        -------
        NDArray
            The array that was written.

        Raises
        ------
        ValueError
            Shape or dtype differ, or the target is something else.
        """
        if isinstance(target, NDArray):
            _ffi_api.TensorCopyFromTo(self, target)
            return target
        if isinstance(target, _core.Device):
            out = empty(self.shape, self.dtype, target, mem_scope)
            _ffi_api.TensorCopyFromTo(self, out)
            return out
        raise ValueError(f"Unsupported target type {type(target)}")

    def _create_view(self, shape, dtype=None, relative_byte_offset=0):
        """An array over part of this one's memory.

        Parameters
        ----------
        shape : sequence of int
            Extents.
        dtype : str, optional
            Type of its elements; default: the same.
        relative_byte_offset : int
            Where it begins, in bytes from this array's first element.

        Returns
        -------
        NDArray

        Raises
        ------
        ValueError
            It would reach beyond this array.
        """
        return _ffi_api.TensorView(
            self, str(dtype or self.dtype), relative_byte_offset, *_shape(shape)
        )


def _shape(shape):
    """A shape given as int, IntImm, numpy int or sequence of these -> tuple of int."""
    try:
        sizes = list(shape)
    except TypeError:
        sizes = [shape]
    try:
        whole = tuple(int(n) for n in sizes)
    except (TypeError, ValueError):
        whole = None
    if whole is None or any(
        isinstance(n, float) and n != w for n, w in zip(sizes, whole, strict=True)
    ):
        raise TypeError(f"shape: expected an integer or a sequence of integers, got {shape!r}")
    return whole


def _numpy_dtype(dtype):
    """numpy's name for the elements of one lane."""
    if dtype in _NUMPY_OF:
        return _NUMPY_OF[dtype]
    base = dtype.partition("x")[0] if "x" in dtype else dtype
    return _NUMPY_OF.get(base, base)


def _numpy_shape(array):
    """Shape that numpy sees: lanes are a dimension."""
    lanes = DataType(array.dtype).lanes
    return array.shape if lanes == 1 else (*array.shape, lanes)


def _address(np_array):
    import ctypes

    return ctypes.c_void_p(np_array.ctypes.data)


def _write(target, source, np):
    """Write a numpy array of the right shape, converting its elements."""
    name, wanted = str(source.dtype), _numpy_dtype(target.dtype)
    name = _OURS_OF.get(name, name)
    kind = target.dtype.partition("x")[0]
    if kind == "bfloat16" and source.dtype.kind == "f":
        _convert(target, np.ascontiguousarray(source, np.float32), "float32")
        return
    if kind in ("int4", "uint4"):
        if source.dtype.itemsize != 1 or source.dtype.kind not in "iu":
            source = np.asarray(source).astype(wanted)
        _convert(target, np.ascontiguousarray(source).view(wanted), wanted)
        return
    if name in (kind, target.dtype):
        source = np.ascontiguousarray(source).view(wanted)  # the same type, maybe of ml_dtypes
    source = np.ascontiguousarray(source, dtype=wanted)
    _ffi_api.TensorCopyFromBytes(target, _address(source), source.nbytes)


def _convert(target, source, dtype):
    """Write through the library's own conversion (bfloat16, int4)."""
    wide = empty(target.shape, dtype)
    _ffi_api.TensorCopyFromBytes(wide, _address(source), source.nbytes)
    on_host = target.device.device_type == Device.kDLCPU
    narrow = target if on_host else empty(target.shape, target.dtype)
    _ffi_api.TensorConvert(wide, narrow)
    if not on_host:
        narrow.copyto(target)


def empty(shape, dtype="float32", device=None, mem_scope=None):
    """An array with arbitrary content.

    Parameters
    ----------
    shape : int or sequence of int
        Extents; IntImm and numpy ints are fine.
    dtype : str
        Type of the elements.
    device : Device, optional
        Where; default ``cpu(0)``.
    mem_scope : str, optional
        Kind of memory, where the device has several.

    Returns
    -------
    NDArray

    Raises
    ------
    ValueError
        A negative extent, or no such dtype or scope.
    DeviceError
        There is no such device.
    """
    if hasattr(dtype, "name") and not isinstance(dtype, str):
        dtype = _OURS_OF.get(dtype.name, dtype.name)
    elif isinstance(dtype, type):
        import numpy as np

        dtype = np.dtype(dtype).name
    return _ffi_api.TensorEmpty(str(dtype), device or cpu(0), mem_scope, *_shape(shape))


def array(arr, device=None, mem_scope=None):
    """A new array with the content of another.

    Parameters
    ----------
    arr : numpy.ndarray, NDArray or array-like
        The content; a list of floats becomes float64, one of ints int64, as numpy has it.
    device : Device, optional
        Where; default ``cpu(0)``.
    mem_scope : str, optional
        Kind of memory, where the device has several.

    Returns
    -------
    NDArray

    Raises
    ------
    AttributeError
        `arr` is an Array of the IR.
    TypeError
        numpy makes nothing of `arr` that has a dtype here.

    Examples
    --------
    >>> a = tenon.nd.array([[1, 2], [3, 4]])
    >>> a.shape, a.dtype
    ((2, 2), 'int64')
    """
    if isinstance(arr, NDArray):
        return arr.copyto(device or cpu(0), mem_scope)
    if isinstance(arr, _core.Array):
        raise AttributeError(f"arr is an instance of {type(arr)}: expected numpy or NDArray")
    import numpy as np

    if not isinstance(arr, np.ndarray):
        arr = np.array(arr)
    if arr.dtype.kind in "iufb" and arr.dtype.isnative and device is None and mem_scope is None:
        return _core.from_buffer(arr)
    if arr.dtype.kind not in "biufV" or arr.dtype.hasobject:
        raise TypeError(f"array: elements of numpy type {arr.dtype} are not supported")
    name = arr.dtype.name
    return empty(arr.shape, _OURS_OF.get(name, name), device, mem_scope).copyfrom(arr)


def from_dlpack(dltensor):
    """An array over the memory of another library's tensor, without a copy.

    Parameters
    ----------
    dltensor : object or capsule
        A tensor with ``__dlpack__``, or what that gives (usable once). It is kept alive.

    Returns
    -------
    NDArray

    Raises
    ------
    ValueError
        The capsule was used before, or is not a tensor.
    """
    return _core.from_dlpack(dltensor)


def numpyasarray(np_data):
    """A C description (DLTensor) of a numpy array, for calls through ctypes.

    Parameters
    ----------
    np_data : numpy.ndarray
        Contiguous; must outlive the result.

    Returns
    -------
    TVMArray, ctypes array
        The description, and its shape, which must be kept too.
    """
    from .._ffi import dltensor

    return dltensor.describe(np_data)


def device(dev_type, dev_id=0):
    """A device.

    Parameters
    ----------
    dev_type : str or int
        Name (``"cuda"``, ``"llvm"``, ``"cuda:3"``; of a target with options the first word counts)
        or number of the type.
    dev_id : int
        Number among the devices of that type.

    Returns
    -------
    Device

    Raises
    ------
    ValueError
        No type is called so.

    Examples
    --------
    >>> tenon.device("cuda:3")
    cuda(3)
    """
    if not isinstance(dev_id, int):
        try:
            dev_id = dev_id.__index__()
        except AttributeError:
            raise ValueError(f"Invalid device id: {dev_id}") from None
    if isinstance(dev_type, str):
        return _ffi_api.ParseDevice(dev_type, dev_id)
    try:
        return Device(dev_type.__index__(), dev_id)
    except AttributeError:
        raise TypeError(
            f"device: expected the name or number of a type, got {type(dev_type).__name__}"
        ) from None


def _of_type(mask, what):
    def make(dev_id=0):
        return Device(mask, dev_id)

    make.__doc__ = f"""{what}

    Parameters
    ----------
    dev_id : int
        Its number.

    Returns
    -------
    Device
    """
    return make


cpu = _of_type(Device.kDLCPU, "The CPU.")
cuda = _of_type(Device.kDLCUDA, "A CUDA device.")
gpu = _of_type(Device.kDLCUDA, "Old name of `cuda`.")
rocm = _of_type(Device.kDLROCM, "A ROCm device.")
opencl = _of_type(Device.kDLOpenCL, "An OpenCL device.")
cl = _of_type(Device.kDLOpenCL, "An OpenCL device.")
metal = _of_type(Device.kDLMetal, "A Metal device.")
mtl = _of_type(Device.kDLMetal, "A Metal device.")
vpi = _of_type(Device.kDLVPI, "A VPI simulator.")
vulkan = _of_type(Device.kDLVulkan, "A Vulkan device.")
ext_dev = _of_type(Device.kDLExtDev, "An extension device.")
micro_dev = _of_type(Device.kDLMicroDev, "A microcontroller.")
hexagon = _of_type(Device.kDLHexagon, "A Hexagon device.")
webgpu = _of_type(Device.kDLWebGPU, "A WebGPU device.")
for (
    _name
) in "cpu cuda gpu rocm opencl cl metal mtl vpi vulkan ext_dev micro_dev hexagon webgpu".split():
    globals()[_name].__name__ = globals()[_name].__qualname__ = _name
del _name

_core.set_value_class("NDArray", NDArray)

__all__ = [
    "DataType",
    "DataTypeCode",
    "Device",
    "NDArray",
    "array",
    "cl",
    "cpu",
    "cuda",
    "device",
    "empty",
    "ext_dev",
    "from_dlpack",
    "gpu",
    "hexagon",
    "metal",
    "micro_dev",
    "mtl",
    "numpyasarray",
    "opencl",
    "rocm",
    "vpi",
    "vulkan",
    "webgpu",
]
