"""Reading scripts: the decorators and `tenon.script.from_source` by their older names."""

from ..._later import attach as _attach
from .. import ir, tir
from .._host import from_source
from .._host import from_source as parse
from ..ir import ir_module
from ..tir import prim_func
from . import core

_attach(
    __name__,
    "graphs are written in Relay (tenon.relay)",
    {
        "relax": "function",
        "relax.entry": "CallableProxy ObjectProxy ShapeProxy TensorProxy TupleProxy",
    },
)
