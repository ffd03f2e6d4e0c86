"""The native functions of the namespace ``relay.dataflow_pattern``."""

from ..._ffi.registry import _init_api

_init_api("relay.dataflow_pattern", __name__)
