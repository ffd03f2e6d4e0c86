"""The Target object and the targets of common devices."""

import json

from .._ffi.registry import register_object
from ..runtime.container import String
from ..runtime.object import Object
from . import _ffi_api


@register_object
class TargetKind(Object):
    """Kind of code; one object for each name."""

    __slots__ = ()

    def __str__(self):
        return str(self.name)

    @property
    def options(self):
        """Names and types of the options; dict of str to str."""
        return {str(k): str(v) for k, v in _ffi_api.ListTargetKindOptions(self).items()}

    @staticmethod
    def options_from_name(kind_name):
        """The options of a kind.

        Parameters
        ----------
        kind_name : str
            The kind.

        Returns
        -------
        dict of str to str
        """
        options = _ffi_api.ListTargetKindOptionsFromName(kind_name)
        return {str(k): str(v) for k, v in options.items()}


def _config(target, what):
    if isinstance(target, Target):
        return target
    if isinstance(target, str):
        if target.startswith("{"):
            return json.loads(target)
        return str(target)
    if isinstance(target, dict):
        return target
    raise ValueError(f"{what} has to be a string or dictionary.")


def _attribute(name, absent, doc):
    def get(self):
        value = self.attrs.get(name)
        if value is None:
            return absent
        return str(value) if isinstance(value, (str, String)) else int(value)

    return property(get, doc=doc)


def _list_attribute(name, doc):
    return property(lambda self: [str(x) for x in self.attrs.get(name) or ()], doc=doc)


@register_object
class Target(Object):
    """What code is generated for.

    Parameters
    ----------
    target : str, dict or Target
        ``"llvm -mcpu=skylake"``, ``{"kind": "llvm", "mcpu": "skylake"}``, or the tag of a known
        device.
    host : str, dict or Target, optional
        Target of the code that launches this one's.

    Raises
    ------
    ValueError
        An unknown kind or option, or a value of the wrong type.

    Examples
    --------
    >>> str(Target("llvm -mattr=+avx2"))
    'llvm -keys=cpu -mattr=+avx2'
    """

    __slots__ = ()

    def __init__(self, target, host=None):
        arguments = [_config(target, "target")]
        if host is not None:
            arguments.append(_config(host, "target host"))
        self.__init_handle_by_constructor__(_ffi_api.Target, *arguments)

    def __enter__(self):
        _ffi_api.TargetEnterScope(self)
        return self

    def __exit__(self, kind, value, trace):
        _ffi_api.TargetExitScope(self)

    def __str__(self):
        return str(_ffi_api.TargetText(self))

    __repr__ = __str__

    def export(self):
        """The options as a dict, kind, tag and host among them."""
        return _ffi_api.TargetExport(self)

    def with_host(self, host=None):
        """The same target with another host.

        Parameters
        ----------
        host : str, dict or Target, optional
            The host; None takes it away.

        Returns
        -------
        Target
        """
        return _ffi_api.WithHost(self, None if host is None else Target(host))

    @staticmethod
    def current(allow_none=True):
        """The target of the innermost ``with`` statement.

        Parameters
        ----------
        allow_none : bool
            Return None when there is none; otherwise that is a ValueError.

        Returns
        -------
        Target or None
        """
        return _ffi_api.TargetCurrent(allow_none)

    @staticmethod
    def list_kinds():
        """Names of all kinds; list of str."""
        return [str(name) for name in _ffi_api.ListTargetKinds()]

    @staticmethod
    def from_device(device):
        """The target of a device of this machine, with the limits that it tells.

        Parameters
        ----------
        device : str or Device
            ``"cuda"``, ``tenon.cuda(1)``, ...

        Returns
        -------
        Target

        Raises
        ------
        ValueError
            There is no such device, or no target for it.
        """
        from ..runtime import device as make_device

        return _ffi_api.FromDevice(make_device(device) if isinstance(device, str) else device)

    @staticmethod
    def canon_target(target):
        """The target of a text, dict or Target; None for None."""
        return target if target is None or isinstance(target, Target) else Target(target)

    @staticmethod
    def canon_target_and_host(target, target_host=None):
        """A target with its host, and that host.

        Parameters
        ----------
        target : str, dict or Target
            The target; its own host counts when no other is given.
        target_host : str, dict or Target, optional
            The host.

        Returns
        -------
        target, host : tuple of Target
        """
        target = Target.canon_target(target)
        if target is None:
            if target_host is not None:
                raise AssertionError("Target host is not empty when target is empty.")
            return None, None
        host = Target.canon_target(target_host)
        if host is not None:
            target = target.with_host(host)
        return target, target.host

    @staticmethod
    def canon_multi_target(multi_targets):
        """A target, or a list or dict of targets, as a list of targets."""
        if multi_targets is None:
            return None
        if isinstance(multi_targets, (str, Target)):
            return [Target.canon_target(multi_targets)]
        if hasattr(multi_targets, "values"):
            if "kind" in multi_targets:
                return [Target(multi_targets)]
            multi_targets = multi_targets.values()
        return [Target.canon_target(t) for t in multi_targets]

    @staticmethod
    def canon_multi_target_and_host(target, target_host=None):
        """The same with a host for each."""
        targets = Target.canon_multi_target(target)
        if targets is None:
            raise AssertionError("a host needs a target")
        return [Target.canon_target_and_host(t, target_host)[0] for t in targets]

    @staticmethod
    def canon_target_map_and_host(target_map, target_host=None):
        """The keys of a dict from targets to modules as targets with their host."""
        host = Target.canon_target(target_host)
        result = {}
        for target, module in target_map.items():
            target, host = Target.canon_target_and_host(target, host)
            result[target] = module
        return result, host

    def get_kind_attr(self, attr_name):
        """A fact about the kind, for example ``"default_keys"``; None when there is none."""
        return getattr(self.kind, attr_name, None)

    def get_target_device_type(self):
        """Device type that the code runs on; int."""
        return _ffi_api.TargetGetDeviceType(self)

    model = _attribute("model", "unknown", "Name of the device.")
    device_name = _attribute("device", "", "Family of the device.")
    mcpu = _attribute("mcpu", "", "Processor.")
    arch = _attribute("arch", "", "Architecture of a GPU.")
    mattr = _list_attribute("mattr", "Features of the processor, ``+avx2`` and the like.")
    libs = _list_attribute("libs", "Libraries to use.")
    max_num_threads = _attribute("max_num_threads", 0, "Threads of a block.")
    max_block_size_x = _attribute("max_num_threads", 0, "Threads of a block along x.")
    max_block_size_y = _attribute("max_num_threads", 0, "Threads of a block along y.")
    thread_warp_size = _attribute("thread_warp_size", 1, "Threads that run in step.")
    max_shared_memory_per_block = _attribute(
        "max_shared_memory_per_block", 0, "Bytes that the threads of a block share."
    )
    vtcm_capacity = _attribute("vtcm-capacity", 0, "Bytes of tightly coupled memory (hexagon).")
    l2_cache_size_bytes = _attribute("l2_cache_size_bytes", 0, "Bytes of the second cache.")
    supports_integer_dot_product = _attribute(
        "supports_integer_dot_product", False, "Has it dot products of bytes?"
    )
    supports_cooperative_matrix = _attribute(
        "supports_cooperative_matrix", False, "Has it products of small matrices?"
    )
    max_function_args = _attribute(
        "max_function_args", 0, "Arguments a kernel can take; 0: any number."
    )

    @staticmethod
    def target_or_current(target):
        """The target given, or without one the current one.

        Parameters
        ----------
        target : str, dict, Target or None
            The target.

        Returns
        -------
        Target

        Raises
        ------
        ValueError
            There is neither.
        """
        target = Target.current() if target is None else target
        if target is None:
            raise ValueError("Target is not set in env or passed as argument.")
        return target if isinstance(target, Target) else Target(target)

    @property
    def features(self):
        """What the processor has, as far as the options tell: ``target.features.has_dsp``,
        ``has_mve``, ``is_aarch64``, ``has_asimd``, ``has_dotprod``, ``has_matmul_i8``,
        ``has_fp16_simd``, ``has_sve``, ``has_sme`` of processors by Arm. Options by attribute too:
        ``target.features.mcpu``. None for what is not known."""
        return _Features(self)


class _Features:
    def __init__(self, target):
        self._target = target

    def __getattr__(self, name):
        known = _ffi_api.TargetGetFeature(self._target, name)
        if known is not None:
            return known
        attrs = self._target.attrs
        return attrs.get(name, attrs.get(name.replace("_", "-")))


def _options(*groups):
    options = []
    for group in groups:
        if group is not None:
            options += [group] if isinstance(group, str) else list(group)
    return options


def create(target):
    """A target from a text or dict; the old name of `Target`."""
    return Target(target)


def list_tags():
    """Known devices; dict from tag to Target."""
    return {str(tag): target for tag, target in _ffi_api.TargetTagListTags().items()}


def cuda(model="unknown", arch=None, options=None):
    """CUDA for a GPU.

    Parameters
    ----------
    model : str
        Name of the GPU.
    arch : str, optional
        ``sm_80`` and the like.
    options : str or list of str, optional
        More options.
    """
    found = _options(options, f"-arch={arch}" if arch else None, f"-model={model}")
    return Target(" ".join(["cuda", *found]))


def rocm(model="unknown", options=None):
    """ROCm for a GPU."""
    return Target(" ".join(["rocm", f"-model={model}", *_options(options)]))


def mali(model="unknown", options=None):
    """OpenCL for ARM Mali."""
    return Target(" ".join(["opencl", "-device=mali", f"-model={model}", *_options(options)]))


def intel_graphics(model="unknown", options=None):
    """OpenCL for integrated graphics of Intel."""
    found = [f"-model={model}", "-thread_warp_size=16", *_options(options)]
    return Target(" ".join(["opencl", "-device=intel_graphics", *found]))


_ARM_CPUS = {
    "pixel2": ["-model=snapdragon835", "-mtriple=arm64-linux-android", "-mattr=+neon"],
    "rasp3b": ["-model=bcm2837", "-mtriple=armv7l-linux-gnueabihf", "-mattr=+neon"],
    "rasp4b": ["-model=bcm2711", "-mtriple=armv8l-linux-gnueabihf", "-mattr=+neon"],
    "rasp4b64": [
        "-model=bcm2711",
        "-mtriple=aarch64-linux-gnu",
        "-mcpu=cortex-a72",
        "-mattr=+neon",
    ],
    "rk3399": ["-model=rk3399", "-mtriple=aarch64-linux-gnu", "-mattr=+neon"],
    "ultra96": ["-model=ultra96", "-mtriple=aarch64-linux-gnu", "-mattr=+neon"],
}


def arm_cpu(model="unknown", options=None):
    """LLVM for an ARM processor.

    Parameters
    ----------
    model : str
        Name of a board (``rasp4b64``, ``rk3399``, ...), or anything else.
    options : str or list of str, optional
        More options.
    """
    found = _ARM_CPUS.get(model, [f"-model={model}"])
    return Target(
        " ".join(["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", *found, *_options(options)])
    )


def rasp(options=None):
    """A Raspberry Pi 3."""
    return arm_cpu("rasp3b", options)


def riscv_cpu(model="sifive-u54", options=None):
    """LLVM for a RISC-V processor."""
    found = ["-mtriple=riscv64-unknown-linux-gnu", "-mabi=lp64d", "-mattr=+64bit,+m,+a,+f,+d,+c"]
    return Target(
        " ".join(
            ["llvm", "-keys=arm_cpu,cpu", "-device=arm_cpu", f"-model={model}"]
            + found
            + _options(options)
        )
    )


def hexagon(cpu_ver="v66", **options):
    """LLVM for a Hexagon processor."""
    words = [f"-{name.replace('_', '-')}={value}" for name, value in options.items()]
    return Target(" ".join(["hexagon", f"-mcpu=hexagon{cpu_ver}", *words]))


_MICRO = {
    "host": [],
    "atsamd51": ["-mcpu=cortex-m4"],
    "cxd5602gg": ["-mcpu=cortex-m4"],
    "esp32": [],
    "imxrt10xx": ["-mcpu=cortex-m7"],
    "mps2_an521": ["-mcpu=cortex-m33"],
    "mps3_an547": ["-mcpu=cortex-m55"],
    "nrf52840": ["-mcpu=cortex-m4+nodsp"],
    "nrf5340dk": ["-mcpu=cortex-m33"],
    "rp2040": ["-mcpu=cortex-m0"],
    "sam3x8e": ["-mcpu=cortex-m3"],
    "stm32f746xx": ["-mcpu=cortex-m7", "-march=armv7e-m"],
    "stm32h7xx": ["-mcpu=cortex-m7"],
    "stm32l4r5zi": ["-mcpu=cortex-m4"],
    "stm32u5xx": ["-mcpu=cortex-m33"],
    "zynq_mp_r5": ["-mcpu=cortex-r5"],
}


def micro(model="unknown", options=None):
    """C for a microcontroller.

    Parameters
    ----------
    model : str
        Name of a chip (``stm32f746xx``, ``nrf52840``, ...) or ``host``.
    options : str or list of str, optional
        More options.
    """
    if model not in _MICRO:
        raise ValueError(f"Model {model} not supported by tvm.target.micro.")
    return Target(" ".join(["c", *_MICRO[model], f"-model={model}", *_options(options)]))


def bifrost(model="unknown", options=None):
    """OpenCL for ARM Mali of the Bifrost generation."""
    return Target(" ".join(["opencl", "-device=bifrost", f"-model={model}", *_options(options)]))


def vta(model="unknown", options=None):
    """The versatile tensor accelerator: an extension device with VTA's schedules.

    Parameters
    ----------
    model : str
        Name of the configuration.
    options : str or list of str, optional
        More options.
    """
    words = ["ext_dev", "-keys=vta,cpu", "-device=vta", f"-model={model}", *_options(options)]
    return Target(" ".join(words))
