"""The native functions of the namespace ``relay.backend``."""

from ..._ffi.registry import _init_api

_init_api("relay.backend", __name__)
