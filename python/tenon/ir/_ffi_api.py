"""The native functions of the namespace ``ir``."""

from .._ffi.registry import _init_api

_init_api("ir", __name__)
