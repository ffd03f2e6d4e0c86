"""Targets: what code is generated for."""

from . import codegen, datatype, tag
from .generic_func import (
    GenericFunc,
    generic_func,
    get_native_generic_func,
    override_native_generic_func,
)
from .tag import register_tag
from .target import (
    Target,
    TargetKind,
    arm_cpu,
    bifrost,
    create,
    cuda,
    hexagon,
    intel_graphics,
    list_tags,
    mali,
    micro,
    rasp,
    riscv_cpu,
    rocm,
    vta,
)
from .virtual_device import CompilationConfig, VirtualDevice, make_compilation_config
