"""Functions of the library below ``runtime.profiling``."""

from ..._ffi.registry import _init_api

_init_api("runtime.profiling", __name__)
