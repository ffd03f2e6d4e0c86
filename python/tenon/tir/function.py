"""Functions of tensor programs."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.function import BaseFunc
from ..runtime.object import Object
from ..runtime.script_printer import Scriptable
from .buffer import Buffer
from .expr import Var, convert
from .ir_builder import BufferVar


@register_object("tir.PrimFunc")
class PrimFunc(BaseFunc, Scriptable):
    """A tensor program.

    Parameters
    ----------
    params : list of Var or Buffer
        Parameters; a Buffer stands for a handle that points to it.
    body : Stmt
        Body.
    ret_type : Type, optional
        Type of the result.
    buffer_map : dict of Var to Buffer, optional
        Buffers that handle parameters point to.
    attrs : DictAttrs, optional
        Attributes of the function.
    span : Span, optional
        Place in a source text.
    """

    __slots__ = ()

    __str__ = Scriptable.__str__
    __repr__ = Scriptable.__repr__

    def __init__(self, params, body, ret_type=None, buffer_map=None, attrs=None, span=None):
        variables, buffers = [], dict(buffer_map.items() if buffer_map else {})
        for param in params:
            if isinstance(param, BufferVar):
                param = param.asobject().data  # a bare pointer: its extent is not known
            param = convert(param) if not isinstance(param, Object) else param
            if isinstance(param, Buffer):
                var = Var(param.name, "handle")
                buffers[var] = param
                param = var
            if not isinstance(param, Var):
                raise TypeError(f"params must be Var or Buffer, got {type(param)}")
            variables.append(param)
        fields = {
            "params": variables,
            "body": body,
            "ret_type": ret_type,
            "buffer_map": buffers,
            "attrs": attrs,
            "span": span,
        }
        self.__init_handle_by_constructor__(_core.make_node, "tir.PrimFunc", fields)

    @property
    def __name__(self):
        """The function's ``global_symbol``, or "main"."""
        symbol = (
            self.attrs["global_symbol"] if self.attrs and "global_symbol" in self.attrs else None
        )
        return "main" if symbol is None else str(symbol)

    def with_body(self, new_body, span=None):
        """The function with another body."""
        return PrimFunc(
            self.params, new_body, self.ret_type, self.buffer_map, self.attrs, span or self.span
        )

    def specialize(self, param_map):
        """The function for known values of its parameters.

        Parameters
        ----------
        param_map : dict of Var to Buffer or PrimExpr
            For a parameter that is a buffer, one that says what the variables in its shape, strides
            and offset are: of the same dtype and number of axes (TypeError, ValueError). For a
            number its value; the parameter goes.

        Returns
        -------
        PrimFunc
        """
        return _core.get_global_func("tir.Specialize")(self, param_map)


def __getattr__(name):
    # a part of schedules, which programs also look for here
    if name == "TensorIntrin":
        from .schedule.intrin import TensorIntrin

        return TensorIntrin
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
