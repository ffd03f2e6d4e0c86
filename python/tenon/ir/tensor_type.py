"""Types of tensors."""

from .._ffi.registry import register_object
from . import _ffi_api
from .type import Type


@register_object("relay.BaseTensorType")
class BaseTensorType(Type):
    """Type of tensors of any layout."""

    __slots__ = ()


@register_object("relay.TensorType")
class TensorType(BaseTensorType):
    """Type of dense tensors.

    Parameters
    ----------
    shape : list of int or PrimExpr
        Extents; `relay.Any()` for one that is known at run time only.
    dtype : str
        Type of an element.
    """

    __slots__ = ()

    def __init__(self, shape, dtype="float32"):
        self.__init_handle_by_constructor__(_ffi_api.TensorType, shape, dtype)

    @property
    def concrete_shape(self):
        """The extents as a tuple of int; they must all be constant."""
        return tuple(int(extent) for extent in self.shape)
