"""The native functions of the namespace ``runtime``."""

from .._ffi.registry import _init_api

_init_api("runtime", __name__)
