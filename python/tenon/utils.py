"""Estimates of how near programs come to what a machine can do: the names only."""

from ._later import attach as _attach

__path__ = []
_attach(
    __name__,
    "no such estimate is made yet",
    {
        "": "roofline_analysis",
        "roofline": "SaveLoweredTIR roofline_analysis roofline_from_existing",
        "roofline.cuda": (
            "estimate_peak_bandwidth_global_mem estimate_peak_flops_fma "
            "estimate_peak_flops_tensorcore"
        ),
        "roofline.x86": "estimate_peak_bandwidth_dram estimate_peak_fma_vector_flops",
    },
)
