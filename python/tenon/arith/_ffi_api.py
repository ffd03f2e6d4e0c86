"""The native functions of the namespace ``arith``."""

from .._ffi.registry import _init_api

_init_api("arith", __name__)
