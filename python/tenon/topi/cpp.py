"""Computes that were native functions elsewhere: the names of their groups only."""

from .._later import attach as _attach

__path__ = []
_attach(
    __name__,
    "call the function of the same name in topi or topi.nn",
    {
        "": "generic rocm x86",
        "cuda": "schedule_injective schedule_injective_from_existing schedule_reduce",
        "nn": "",
        "utils": "is_empty_shape",
        "vision": "reorg",
    },
)
