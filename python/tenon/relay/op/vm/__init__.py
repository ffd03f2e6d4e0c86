"""What the virtual machine does for kernels, one instruction each."""

from .. import _rows

__getattr__, __dir__ = _rows.attach(__name__, "vm.", (".vm",))
