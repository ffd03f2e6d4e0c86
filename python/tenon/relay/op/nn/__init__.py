"""Operators of neural networks."""

from ...expr import Constant, const  # noqa: F401  programs take them from here too
from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "nn.", (".nn", ".sparse"))
