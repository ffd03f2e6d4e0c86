"""Containers of the IR and the runtime, under their old name."""

from .ir.container import Array, Map
from .runtime.container import ADT, ShapeTuple, String
