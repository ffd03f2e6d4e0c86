"""The native functions of the namespace ``testing``."""

from .._ffi import _init_api

_init_api("testing", __name__)
