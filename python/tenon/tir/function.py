"""Functions of tensor programs."""

from .. import _core
from .._ffi.registry import register_object
from ..ir.function import BaseFunc
from ..runtime.object import Object
from ..runtime.script_printer import Scriptable
from .buffer import Buffer
from .expr import Var, convert


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
            param = convert(param) if not isinstance(param, Object) else param
            if isinstance(param, Buffer):
                var = Var(f"{param.name}_handle", "handle")
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

    def with_body(self, new_body, span=None):
        """The function with another body."""
        return PrimFunc(
            self.params, new_body, self.ret_type, self.buffer_map, self.attrs, span or self.span
        )


@register_object("tir.IndexMap")
class IndexMap(Object):
    """Mapping between index spaces; made by `IndexMap.from_func`."""

    __slots__ = ()

    def __init__(self, initial_indices, final_indices, inverse_index_map=None):
        fields = {
            "initial_indices": initial_indices,
            "final_indices": [convert(i) for i in final_indices],
            "inverse_index_map": inverse_index_map,
        }
        self.__init_handle_by_constructor__(_core.make_node, "tir.IndexMap", fields)

    @staticmethod
    def from_func(mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"):
        """An index map from a Python function of the old indices.

        Parameters
        ----------
        mapping_function : callable
            Takes the old indices, gives a new index or a sequence of them.
        ndim : int, optional
            Number of old indices, where the function takes ``*args``.
        inverse_index_map : IndexMap or callable, optional
            The inverse, where it cannot be found.
        index_dtype : str
            Type of the indices.
        """
        import inspect

        args, variadic = [], None
        for name, param in inspect.signature(mapping_function).parameters.items():
            if param.kind == inspect.Parameter.VAR_POSITIONAL:
                variadic = name
            elif param.kind in (
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                inspect.Parameter.POSITIONAL_ONLY,
            ):
                args.append(Var(name, index_dtype))
            else:
                raise ValueError("transform_layout mapping may not have keyword arguments")
        if variadic:
            if ndim is None:
                raise ValueError("ndim must be specified for a mapping with *args")
            args += [Var(f"{variadic}_{i}", index_dtype) for i in range(ndim - len(args))]
        result = mapping_function(*args)
        result = list(result) if isinstance(result, list | tuple) else [result]
        if callable(inverse_index_map) and not isinstance(inverse_index_map, IndexMap):
            inverse_index_map = IndexMap.from_func(
                inverse_index_map, len(result), index_dtype=index_dtype
            )
        return IndexMap(args, result, inverse_index_map)

    def __call__(self, *args):
        return self.map_indices(args)
