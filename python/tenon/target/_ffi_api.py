"""The native functions of the namespace ``target``."""

from .._ffi.registry import _init_api

_init_api("target", __name__)
