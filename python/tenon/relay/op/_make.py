"""The native functions that make calls of operators: arguments and attributes in order."""

from ..._ffi.registry import _init_api

_init_api("relay.op._make", __name__)
