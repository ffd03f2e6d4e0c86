"""The native functions of the namespace ``relay.analysis``."""

from ..._ffi.registry import _init_api

_init_api("relay.analysis", __name__)
