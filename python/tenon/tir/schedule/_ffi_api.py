"""The native functions of the namespace ``tir.schedule``."""

from ..._ffi.registry import _init_api

_init_api("tir.schedule", __name__)
