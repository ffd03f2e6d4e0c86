"""Operators of `tenon.topi` under the module that programs know them by."""

from .. import topi as _topi


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_topi, name)
