"""Base of functions."""

from enum import IntEnum

from .._ffi.registry import register_object
from .expr import RelayExpr


class CallingConv(IntEnum):
    """How a function is called; value of the attribute ``calling_conv``."""

    DEFAULT = 0
    C_PACKED_FUNC = 1
    DEVICE_KERNEL_LAUNCH = 2


@register_object("BaseFunc")
class BaseFunc(RelayExpr):
    """Base of functions; `attrs` holds their attributes."""

    __slots__ = ()
