"""The native functions of the namespace ``diagnostics``."""

from ..._ffi.registry import _init_api

_init_api("diagnostics", __name__)
