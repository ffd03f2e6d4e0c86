"""Operators of quantized tensors: an integer q stands for (q - zero point) * scale."""

from ..._lazy import attach as _attach

__getattr__, __dir__ = _attach(__name__, ("op", "transform"), fallback=".op")
