"""Objects, functions, arrays and modules: what running compiled code needs."""

from .._ffi.runtime_ctypes import DataType, DataTypeCode, Device
from .._lazy import attach as _attach
from ..ir.container import Array as _Array  # noqa: F401  results are of these classes
from ..ir.container import Map as _Map  # noqa: F401
from .container import ADT, ShapeTuple, String, tuple_object
from .module import (
    Module,
    ModulePropertyMask,
    enabled,
    load_module,
    load_static_library,
    num_threads,
    system_lib,
)
from .ndarray import (
    NDArray,
    array,
    cl,
    cpu,
    cuda,
    device,
    empty,
    ext_dev,
    from_dlpack,
    gpu,
    hexagon,
    metal,
    micro_dev,
    mtl,
    opencl,
    rocm,
    vpi,
    vulkan,
    webgpu,
)
from .object import Object
from .object_generic import ObjectGeneric, ObjectTypes, asobject, const, convert
from .object_path import ObjectPath
from .packed_func import PackedFunc
from .params import (
    load_param_dict,
    load_param_dict_from_file,
    save_param_dict,
    save_param_dict_to_file,
)

from . import ndarray as nd  # isort: skip

__getattr__, __dir__ = _attach(
    __name__,
    (
        "_ffi_api",
        "_ffi_node_api",
        "executor",
        "name_transforms",
        "profiler_vm",
        "profiling",
        "vm",
    ),
    {"BenchmarkResult": ".module"},
)
