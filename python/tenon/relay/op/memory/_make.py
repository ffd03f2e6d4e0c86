"""The native functions that make calls of operators of memory."""

from ...._ffi.registry import _init_api

_init_api("relay.op.memory._make", __name__)
