"""Targets: what code is generated for."""

from . import codegen
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
)
from .virtual_device import CompilationConfig, VirtualDevice, make_compilation_config
