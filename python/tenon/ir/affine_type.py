"""Types of quantised values."""

from .._ffi.registry import register_object
from . import _ffi_api
from .base import Node


class AffineType(Node):
    """Any quantisation."""

    __slots__ = ()

    def __eq__(self, other):
        from .base import structural_equal

        return isinstance(other, AffineType) and structural_equal(self, other)

    def __ne__(self, other):
        return not self == other

    __hash__ = Node.__hash__


@register_object("TensorAffineType")
class TensorAffineType(AffineType):
    """Quantisation of a tensor.

    Parameters
    ----------
    scale, zero_point : RelayExpr
        Real value of one step, and the number that stands for zero.
    dtype : str
        How numbers are stored.
    axis : int
        Axis of per-channel scales, or -1.
    """

    __slots__ = ()

    def __init__(self, scale, zero_point, dtype, axis=-1):
        self.__init_handle_by_constructor__(
            _ffi_api.TensorAffineType, scale, zero_point, dtype, axis
        )


@register_object("TupleAffineType")
class TupleAffineType(AffineType):
    """Quantisation of a tuple.

    Parameters
    ----------
    types : list of TensorAffineType
        One for each field.
    """

    __slots__ = ()

    def __init__(self, types):
        self.__init_handle_by_constructor__(_ffi_api.TupleAffineType, types)
