"""Devices and data types."""

from .. import _core

RPC_SESS_MASK = 128


class ArgTypeCode:
    """Type codes of the old calling convention."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    NULL = 4
    TVM_TYPE = 5
    DLDEVICE = 6
    DLTENSOR_HANDLE = 7
    OBJECT_HANDLE = 8
    MODULE_HANDLE = 9
    PACKED_FUNC_HANDLE = 10
    STR = 11
    BYTES = 12
    NDARRAY_HANDLE = 13
    OBJECT_RVALUE_REF_ARG = 14
    EXT_BEGIN = 15


class DataTypeCode:
    """First field of a data type."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    E4M3Float = 10
    E5M2Float = 12


class DataType(_core.DataType):
    """A scalar or vector type such as ``int8``, ``float32x4``, ``bool``, ``handle``.

    Parameters
    ----------
    type_str : str
        The type as text.

    Attributes
    ----------
    type_code : int
        One of `DataTypeCode`.
    bits : int
        Bits of one lane.
    lanes : int
        Number of lanes, 1 for scalars.

    Raises
    ------
    ValueError
        The text is not a type.
    """

    __slots__ = ()

    CODE2STR = {
        DataTypeCode.INT: "int",
        DataTypeCode.UINT: "uint",
        DataTypeCode.FLOAT: "float",
        DataTypeCode.HANDLE: "handle",
        DataTypeCode.BFLOAT: "bfloat",
        DataTypeCode.E4M3Float: "e4m3_float",
        DataTypeCode.E5M2Float: "e5m2_float",
    }

    def itemsize(self):
        """Bytes of one element, all lanes together."""
        return (self.bits * self.lanes + 7) // 8


class Device(_core.Device):
    """A device: its type and number.

    Parameters
    ----------
    device_type : int
        One of the ``kDL...`` numbers; plus 128 for each remote session.
    device_id : int
        Number among the devices of that type.
    """

    __slots__ = ()

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLAOCL = 32
    kDLSDAccel = 6
    kOpenGL = 11
    kDLMicroDev = 13

    MASK2STR = {
        kDLCPU: "cpu",
        kDLCUDA: "cuda",
        kDLCUDAHost: "cuda_host",
        kDLCUDAManaged: "cuda_managed",
        kDLOpenCL: "opencl",
        kDLVulkan: "vulkan",
        kDLMetal: "metal",
        kDLVPI: "vpi",
        kDLROCM: "rocm",
        kDLROCMHost: "rocm_host",
        kDLExtDev: "ext_dev",
        kDLOneAPI: "oneapi",
        kDLWebGPU: "webgpu",
        kDLHexagon: "hexagon",
        kDLAOCL: "aocl",
        kDLSDAccel: "sdaccel",
    }

    STR2MASK = {
        "llvm": kDLCPU,
        "stackvm": kDLCPU,
        "cpu": kDLCPU,
        "c": kDLCPU,
        "test": kDLCPU,
        "hybrid": kDLCPU,
        "composite": kDLCPU,
        "cuda": kDLCUDA,
        "nvptx": kDLCUDA,
        "cl": kDLOpenCL,
        "opencl": kDLOpenCL,
        "sdaccel": kDLOpenCL,
        "aocl": kDLAOCL,
        "aocl_sw_emu": kDLAOCL,
        "vulkan": kDLVulkan,
        "metal": kDLMetal,
        "vpi": kDLVPI,
        "rocm": kDLROCM,
        "ext_dev": kDLExtDev,
        "hexagon": kDLHexagon,
        "webgpu": kDLWebGPU,
    }

    def _attr(self, kind):
        """Attribute `kind` of the device (numbers of the C enumeration), None when it has none."""
        return _function("runtime.GetDeviceAttr")(self.device_type, self.device_id, kind)

    @property
    def exist(self):
        """Is there such a device?"""
        return bool(self._attr(0))

    @property
    def max_threads_per_block(self):
        """Most threads of a block."""
        return self._attr(1)

    @property
    def warp_size(self):
        """Threads that execute together."""
        return self._attr(2)

    @property
    def max_shared_memory_per_block(self):
        """Most bytes of shared memory of a block."""
        return self._attr(3)

    @property
    def compute_version(self):
        """Version of the device's capabilities as ``"major.minor"``."""
        return self._attr(4)

    @property
    def device_name(self):
        """Name that the vendor gives."""
        return self._attr(5)

    @property
    def max_clock_rate(self):
        """Greatest clock rate in kHz."""
        return self._attr(6)

    @property
    def multi_processor_count(self):
        """Number of multiprocessors (cores of a CPU)."""
        return self._attr(7)

    @property
    def max_thread_dimensions(self):
        """Most threads of a block in each dimension: list of three ints."""
        text = self._attr(8)  # "[1024, 1024, 64]"
        return None if text is None else [int(n) for n in str(text).strip("[]").split(",")]

    @property
    def api_version(self):
        """Version of the programming interface as a number."""
        return self._attr(11)

    @property
    def driver_version(self):
        """Version of the driver as text."""
        return self._attr(12)

    @property
    def l2_cache_size_bytes(self):
        """Size of the second level cache in bytes."""
        return self._attr(13)

    @property
    def total_global_memory(self):
        """Bytes of memory."""
        return self._attr(14)

    @property
    def available_global_memory(self):
        """Bytes of memory that are free."""
        return self._attr(15)

    def texture_spatial_limit(self):
        """Greatest width and height of an image; int."""
        return self._attr(16)

    def create_raw_stream(self):
        """A new stream of commands; handle to be given to the functions below."""
        return _function("runtime.DeviceStreamCreate")(self.device_type, self.device_id)

    def free_raw_stream(self, stream):
        """Free a stream made by `create_raw_stream`."""
        _function("runtime.DeviceStreamFree")(self.device_type, self.device_id, stream)

    def set_raw_stream(self, stream):
        """Use a stream for what this thread does on the device from now on."""
        _function("runtime.DeviceStreamSet")(self.device_type, self.device_id, stream)

    def sync_raw_stream(self, stream):
        """Wait until everything in the stream is done."""
        _function("runtime.DeviceSync")(self.device_type, self.device_id, stream)

    def sync(self, stream=None):
        """Wait until everything in the stream (default: the current one) is done."""
        _function("runtime.DeviceSync")(self.device_type, self.device_id, stream)

    def __repr__(self):
        return str(_function("runtime.DeviceText")(self))

    __str__ = __repr__


def _function(name):
    from .registry import get_global_func

    return get_global_func(name)


_core.set_value_class("DataType", DataType)
_core.set_value_class("Device", Device)


def __getattr__(name):
    """Structures of the C interface: they need ctypes, which is slow to import."""
    if name in ("TVMArray", "TVMByteArray", "DLDataType", "DLDevice"):
        from . import dltensor

        return getattr(dltensor, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
