"""Functions ``tir.analysis.*`` of the library."""

from ..._ffi.registry import _init_api

_init_api("tir.analysis", __name__)
