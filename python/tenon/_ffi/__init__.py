"""The boundary to the native library: registry of functions and classes, devices and data types."""

from .._lazy import attach as _attach
from .base import register_error
from .registry import (
    _init_api,
    get_global_func,
    list_global_func_names,
    register_extension,
    register_func,
    register_object,
    remove_global_func,
)

__getattr__, __dir__ = _attach(__name__, ("libinfo",))
