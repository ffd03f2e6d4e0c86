"""The native functions that make calls of operators of neural networks."""

from ...._ffi.registry import _init_api

_init_api("relay.op.nn._make", __name__)
