"""Marks in programs that passes read."""

from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "annotation.", (".annotation",))
