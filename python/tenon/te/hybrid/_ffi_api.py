"""The native functions of the namespace ``te.hybrid``."""

from ..._ffi.registry import _init_api

_init_api("te.hybrid", __name__)
