"""Executors that can be looked into: single nodes, their times and outputs."""

from ..._lazy import attach as _attach

__getattr__, __dir__ = _attach(__name__, ("debug_executor", "debug_result", "debug_runtime"))
