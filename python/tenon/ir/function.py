"""Base of functions."""

from enum import IntEnum

from .._ffi.registry import register_object
from ..runtime.object_generic import convert
from . import _ffi_api
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

    def with_attr(self, attr_key_or_dict, attr_value=None):
        """A copy with attributes set.

        Parameters
        ----------
        attr_key_or_dict : str or dict of str to Any
            One key, or keys and values.
        attr_value : Any, optional
            Value of the one key.

        Returns
        -------
        BaseFunc
        """
        if isinstance(attr_key_or_dict, dict):
            return self.with_attrs(attr_key_or_dict)
        return _ffi_api.BaseFuncWithAttr(self, attr_key_or_dict, convert(attr_value))

    def with_attrs(self, attr_map):
        """A copy with all attributes of a dict set.

        Parameters
        ----------
        attr_map : dict of str to Any, or DictAttrs
            The attributes.
        """
        result = _ffi_api.BaseFuncCopy(self)
        for key, value in attr_map.items():
            result = _ffi_api.BaseFuncWithAttr(result, key, convert(value))
        return result

    def without_attr(self, attr_key):
        """A copy without an attribute."""
        return _ffi_api.BaseFuncWithoutAttr(self, attr_key)
