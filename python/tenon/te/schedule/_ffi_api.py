"""The native functions of the namespace ``te.schedule``."""

from ..._ffi.registry import _init_api

_init_api("te.schedule", __name__)
