"""Operators of quantized tensors."""

from ...op import _rows

__getattr__, __dir__ = _rows.attach(__name__, "qnn.", (".qnn",))
