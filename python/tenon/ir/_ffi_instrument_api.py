"""The native functions of the namespace ``instrument``."""

from .._ffi.registry import _init_api

_init_api("instrument", __name__)
