"""Operators of neural networks."""

from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "nn.", (".nn", ".sparse"))
