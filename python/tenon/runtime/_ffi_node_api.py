"""The native functions of the namespace ``node``."""

from .._ffi.registry import _init_api

_init_api("node", __name__)
