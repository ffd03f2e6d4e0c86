"""Where values are."""

from .._ffi.registry import register_object
from .._ffi.runtime_ctypes import Device
from ..runtime.object import Object
from . import _ffi_api
from .target import Target


@register_object("VirtualDevice")
class VirtualDevice(Object):
    """Where a value is, as far as a program says so.

    Parameters
    ----------
    device : Device, optional
        The device.
    target : Target, optional
        Target of code that runs there.
    memory_scope : str
        Kind of memory.

    Examples
    --------
    >>> tenon.target.VirtualDevice(tenon.cpu(0), tenon.target.Target("llvm")).device_type
    1
    """

    __slots__ = ()

    def __init__(self, device=None, target=None, memory_scope=""):
        device = Device(-1, -1) if device is None else device
        make = _ffi_api.VirtualDevice_ForDeviceTargetAndMemoryScope
        self.__init_handle_by_constructor__(make, device, target, memory_scope)

    @property
    def device_type(self):
        """Kind of device, -1 when any will do; int."""
        return self.device_type_int


@register_object("CompilationConfig")
class CompilationConfig(Object):
    """Devices and targets of a build; made by `make_compilation_config`."""

    __slots__ = ()


def make_compilation_config(ctxt, target, target_host=None):
    """What a build for the targets knows of its devices.

    Parameters
    ----------
    ctxt : PassContext
        Its option ``relay.fallback_device_type`` says where computations are that say nothing.
    target : str, Target, list or dict
        Targets of the computations.
    target_host : str or Target, optional
        Target of the code that launches them.

    Returns
    -------
    CompilationConfig
    """
    targets = Target.canon_multi_target_and_host(target, target_host)
    return _ffi_api.MakeCompilationConfig(ctxt, targets)
