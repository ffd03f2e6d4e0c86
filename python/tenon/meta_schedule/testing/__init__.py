"""Workloads to test schedules with, and names of helpers that are not there yet."""

from ..._later import attach as _attach
from ..._lazy import attach as _attach_real

_attach(
    __name__,
    "schedules are not searched for yet",
    {
        "dummy_object": "DummyBuilder DummyMutator DummyRunner",
        "local_rpc": "LocalRPC",
        "relay_workload": "get_network",
        "space_generation": "check_sketches generate_design_space get_rules print_sketches",
        "tune_utils": "generate_input_data",
    },
)
__getattr__, __dir__ = _attach_real(__name__, ("te_workload",))
