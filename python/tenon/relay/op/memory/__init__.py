"""Memory of values, where programs for the virtual machine say it."""

from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "memory.", (".memory",))
