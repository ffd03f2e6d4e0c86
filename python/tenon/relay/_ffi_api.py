"""The native functions of the namespace ``relay.ir``."""

from .._ffi.registry import _init_api

_init_api("relay.ir", __name__)
