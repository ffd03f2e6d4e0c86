"""The native functions of the namespace ``relay._transform``."""

from ..._ffi.registry import _init_api

_init_api("relay._transform", __name__)
