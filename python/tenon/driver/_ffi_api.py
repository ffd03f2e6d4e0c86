"""The native functions of the namespace ``driver``."""

from .._ffi.registry import _init_api

_init_api("driver", __name__)
