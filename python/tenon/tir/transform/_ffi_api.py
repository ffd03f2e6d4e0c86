"""The native functions of the namespace ``tir.transform``."""

from ..._ffi.registry import _init_api

_init_api("tir.transform", __name__)
