"""The native functions that make calls of operators of the virtual machine."""

from ...._ffi.registry import _init_api

_init_api("relay.op.vm._make", __name__)
