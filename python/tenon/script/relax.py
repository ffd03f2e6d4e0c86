"""Scripts of Relax: the names only; Tenon's graphs are Relay."""

from .._later import attach as _attach

_attach(
    __name__,
    "graphs are written in Relay (tenon.relay)",
    {
        "": (
            "Callable Object Prim Shape Tensor Tuple call_packed call_tir dataflow emit function "
            "match_cast output"
        ),
    },
)
