"""Functions of the library, and Python functions passed to it."""

from .. import _core

PackedFunc = _core.Function
# the class of functions is that of the extension: a subclass would make every call slower

__all__ = ["PackedFunc"]
