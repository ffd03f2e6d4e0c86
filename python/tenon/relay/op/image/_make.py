"""The native functions that make calls of operators of images."""

from ...._ffi.registry import _init_api

_init_api("relay.op.image._make", __name__)
