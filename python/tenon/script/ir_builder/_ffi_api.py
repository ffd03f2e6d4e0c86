"""Functions ``script.ir_builder.*`` of the library."""

from ..._ffi.registry import _init_api

_init_api("script.ir_builder", __name__)
