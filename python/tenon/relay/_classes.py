"""Imports every module that defines a class of Relay, for objects that come out before any of them
was asked for."""

from ..ir import _classes  # noqa: F401
from . import adt, expr, function  # noqa: F401
from .op import op  # noqa: F401
