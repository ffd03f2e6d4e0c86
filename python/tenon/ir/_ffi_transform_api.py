"""The native functions of the namespace ``transform``."""

from .._ffi.registry import _init_api

_init_api("transform", __name__)
