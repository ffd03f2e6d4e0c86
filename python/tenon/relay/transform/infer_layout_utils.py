"""What functions that say the layouts of an operator answer."""

from ..._ffi.registry import register_object
from ...runtime.object import Object
from . import _ffi_api


@register_object("relay._transform.InferCorrectLayoutOutput")
class InferCorrectLayoutOutput(Object):
    """Layouts that a call takes and gives.

    Parameters
    ----------
    input_layouts : list of tir.Layout
        Of the arguments, the fields of tuples one after another.
    output_layouts : list of tir.Layout
        Of the results.
    new_attrs : Attrs
        The attributes that the call needs for them.
    """

    __slots__ = ()

    def __init__(self, input_layouts, output_layouts, new_attrs):
        self.__init_handle_by_constructor__(
            _ffi_api.InferCorrectLayoutOutput, input_layouts, output_layouts, new_attrs
        )
