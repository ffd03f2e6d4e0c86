"""Targets: what code is generated for."""

from . import codegen
from .target import (
    Target,
    TargetKind,
    arm_cpu,
    create,
    cuda,
    hexagon,
    intel_graphics,
    list_tags,
    mali,
    rasp,
    riscv_cpu,
    rocm,
)
