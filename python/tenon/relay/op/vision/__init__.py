"""Operators on boxes of images."""

from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "vision.", (".nms", ".anchors", ".regions"))
