"""The native functions of the namespace ``tir``."""

from .._ffi.registry import _init_api

_init_api("tir", __name__)
