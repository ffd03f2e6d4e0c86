"""Marks in programs that passes read; see `relay.op.annotation`."""

from .op import annotation as _annotation


def __getattr__(name):
    return getattr(_annotation, name)


def __dir__():
    return dir(_annotation)
