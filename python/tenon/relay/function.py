"""Functions."""

from .._ffi.registry import register_object
from ..ir.attrs import DictAttrs, make_attrs
from ..ir.function import BaseFunc
from . import _ffi_api
from .base import astext
from .expr import Call, Constant, _changed


@register_object("relay.Function")
class Function(BaseFunc):
    """A function; calling it gives a call expression.

    Parameters
    ----------
    params : list of Var
        Parameters.
    body : RelayExpr
        The result.
    ret_type : Type, optional
        Its type.
    type_params : list of TypeVar, optional
        Type variables bound here.
    attrs : DictAttrs or dict, optional
        Attributes.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    def __init__(self, params, body, ret_type=None, type_params=None, attrs=None, span=None):
        if attrs is not None and not isinstance(attrs, DictAttrs):
            attrs = make_attrs(**attrs)
        self.__init_handle_by_constructor__(
            _ffi_api.Function, params, body, ret_type, type_params or [], attrs, span
        )

    def __call__(self, *args):
        """A call of the function."""
        return Call(self, args, None, None)

    def get_params(self):
        """Constants kept in the attribute ``__params__``; dict of str to NDArray."""
        params = self.attrs["__params__"] if self.attrs and "__params__" in self.attrs else {}
        return {str(name): value.data for name, value in params.items()}

    def set_params(self, params):
        """A copy with constants in the attribute ``__params__``.

        Parameters
        ----------
        params : dict of str to NDArray
            The constants.
        """
        return self.with_attr(
            "__params__",
            {
                name: value if isinstance(value, Constant) else Constant(value)
                for name, value in params.items()
            },
        )

    def astext(self, show_meta_data=True, annotate=None):
        """Text in the form of the language."""
        return astext(self, show_meta_data, annotate)


def FunctionWithFields(
    function,
    params=None,
    body=None,
    ret_type=None,
    ty_params=None,
    attrs=None,
    virtual_device=None,
    span=None,
):
    """A copy of a `Function`; what is left out stays as it is."""
    return _changed(
        function,
        virtual_device,
        span,
        params=params,
        body=body,
        ret_type=ret_type,
        type_params=ty_params,
        attrs=attrs,
    )
