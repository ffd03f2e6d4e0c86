"""Tenon: a compiler and runtime for deep learning models.

Runs programs written for the Relay-era interface: ``import tenon.as_tvm`` lets them keep saying
``import tvm``. Parts are imported when they are first used.
"""

try:
    from . import _core
except ImportError as err:
    err.add_note(
        "tenon._core is the compiled part of the package: install it (pip install .), or build it "
        "and put the build's python folder on PYTHONPATH (tools/bootstrap says how)"
    )
    raise

from . import _classes, _log
from ._ffi.base import TenonError, TVMError, __version__
from ._ffi.registry import (
    get_global_func,
    register_extension,
    register_func,
    register_object,
)
from ._ffi.runtime_ctypes import DataType, DataTypeCode, Device
from ._lazy import attach as _attach
from .runtime.ndarray import (
    cl,
    cpu,
    cuda,
    device,
    ext_dev,
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

_core.set_log_handler(_log.deliver)

_SUBMODULES = (
    "_ffi",
    "arith",
    "as_tvm",
    "auto_scheduler",
    "autotvm",
    "container",
    "contrib",
    "driver",
    "error",
    "exec",
    "instrument",
    "ir",
    "meta_schedule",
    "micro",
    "nd",
    "parser",
    "relay",
    "rpc",
    "runtime",
    "script",
    "support",
    "target",
    "te",
    "testing",
    "tir",
    "topi",
    "transform",
    "utils",
)
_NAMES = {
    "IRModule": ".ir",
    "Object": ".runtime",
    "ConstantMemoryPools": ".ir",
    "ConstantPoolInfo": ".ir",
    "PoolInfoProperties": ".ir",
    "WorkspaceMemoryPools": ".ir",
    "WorkspacePoolInfo": ".ir",
    "build": ".driver.build_module",
    "compile": ".driver.compiled_model",
    "CompiledModel": ".driver.compiled_model",
    "lower": ".driver.build_module",
}
__getattr__, __dir__ = _attach(__name__, _SUBMODULES, _NAMES)
