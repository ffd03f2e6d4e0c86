"""Operators for code generators of their own."""

from ...._lazy import attach as _attach
from . import register
from .register import LIBRARIES as _LIBRARIES
from .register import get_pattern_table, register_pattern_table

_NAMES = {f"partition_for_{name}": f".{name}" for name in _LIBRARIES}
__getattr__, __dir__ = _attach(__name__, _LIBRARIES, _NAMES)

__all__ = ["get_pattern_table", "register", "register_pattern_table"]
