"""Schedules and computes by the names they have for Arm CPUs."""

from ..._later import attach as _attach
from .. import _schedules

_attach(
    __name__,
    "the compiler chooses kernels itself: use topi.nn.matmul",
    {"matmul": "compute_matmul_sme"},
)
__getattr__ = _schedules.attach(__name__)
