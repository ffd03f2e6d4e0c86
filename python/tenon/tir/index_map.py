"""Maps from one index space to another."""

import inspect

from .. import _core
from .._ffi.registry import register_object
from ..ir.expr import PrimExpr, Range
from ..runtime.object import Object
from . import _ffi_api
from .expr import Var, convert


def _parameters(function, ndim, index_dtype):
    """Variables for the parameters of a mapping function: for those by position, and by keyword.

    ``*args`` takes the axes that the others leave; keywords come after it.
    """
    args, keywords, variadic = [], {}, None
    for name, param in inspect.signature(function).parameters.items():
        if param.kind == inspect.Parameter.VAR_POSITIONAL:
            variadic = name
        elif param.kind == inspect.Parameter.VAR_KEYWORD:
            raise ValueError("transform_layout mapping may not have keyword arguments")
        elif param.kind == inspect.Parameter.KEYWORD_ONLY:
            keywords[name] = Var(name, index_dtype)
        else:
            args.append(Var(name, index_dtype))
    named = len(args) + len(keywords)
    if variadic:
        if ndim is None:
            raise ValueError("ndim must be specified for a mapping with *args")
        args += [Var(f"{variadic}_{i}", index_dtype) for i in range(ndim - named)]
    elif ndim is not None and named != ndim:
        raise ValueError(f"the mapping takes {named} indices, expected {ndim}")
    return args, keywords


@register_object("tir.IndexMap")
class IndexMap(Object):
    """A map from one index space to another.

    Parameters
    ----------
    initial_indices : list of Var
        The old indices.
    final_indices : list of PrimExpr
        The new ones, in terms of these.
    inverse_index_map : IndexMap, optional
        The inverse, where it cannot be found.
    """

    __slots__ = ()

    #: among the results of a mapping function: axes before and after it are flattened apart
    AXIS_SEPARATOR = "axis_separator"

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

        Returns
        -------
        IndexMap
        """
        index_map, separators = IndexMap.from_func_with_separators(
            mapping_function, ndim, inverse_index_map, index_dtype=index_dtype
        )
        if separators:
            raise ValueError(
                "The mapping_function of IndexMap.from_func may not return "
                "IndexMap.AXIS_SEPARATOR: use IndexMap.from_func_with_separators"
            )
        return index_map

    @staticmethod
    def from_func_with_separators(
        mapping_function, ndim=None, inverse_index_map=None, *, index_dtype="int64"
    ):
        """Like `from_func`, for functions that also say where groups of axes end.

        Returns
        -------
        (IndexMap, list of int)
            The map, and the axes before which `AXIS_SEPARATOR` stood.
        """
        args, keywords = _parameters(mapping_function, ndim, index_dtype)
        result = mapping_function(*args, **keywords)
        args = [*args, *keywords.values()]
        if not isinstance(result, list | tuple) and not hasattr(result, "__iter__"):
            result = [result]
        final, separators = [], []
        for value in list(result):
            if isinstance(value, str) and value == IndexMap.AXIS_SEPARATOR:
                separators.append(len(final))
            elif isinstance(value, PrimExpr | int):
                final.append(convert(value) if isinstance(value, PrimExpr) else value)
            else:
                raise TypeError(
                    "Expected mapping function to return list of either PrimExpr or "
                    f"IndexMap.AXIS_SEPARATOR, got {value!r} of type {type(value).__name__}"
                )
        if callable(inverse_index_map) and not isinstance(inverse_index_map, IndexMap):
            inverse_index_map = IndexMap.from_func(
                inverse_index_map, len(final), index_dtype=index_dtype
            )
        return IndexMap(args, final, inverse_index_map), separators

    def __call__(self, *args):
        return self.map_indices(args)

    def is_equivalent_to(self, other_map):
        """Whether both maps always give the same; bool."""
        return _ffi_api.IndexMapIsEquivalent(self, other_map)

    def map_indices(self, indices):
        """The new indices for old ones.

        Parameters
        ----------
        indices : list of PrimExpr
            The old indices.

        Returns
        -------
        list of PrimExpr
        """
        return _ffi_api.IndexMapMapIndices(self, [convert(i) for i in indices])

    def map_shape(self, shape):
        """The extents of the new axes, with padding, for those of the old ones."""
        return _ffi_api.IndexMapMapShape(self, [convert(i) for i in shape])

    def map_ranges(self, ranges):
        """The ranges of the new indices, with padding, for those of the old ones (Range)."""
        ranges = [r if isinstance(r, Range) else Range(*r) for r in ranges]
        return _ffi_api.IndexMapMapRanges(self, ranges)

    def map_ndarray(self, arr_src):
        """A tensor with the elements of another at their new places; padding is 0.

        Parameters
        ----------
        arr_src : NDArray
            On the CPU.

        Returns
        -------
        NDArray
        """
        return _ffi_api.IndexMapMapNDArray(self, arr_src)

    def inverse(self, shape):
        """The map from new indices to old ones, for a bijection.

        Parameters
        ----------
        shape : list of int, PrimExpr or Range
            Extents of the old axes.

        Returns
        -------
        IndexMap

        Raises
        ------
        TVMError
            The map is not a bijection on this shape: it needs padding, or is not affine.
        """
        return _ffi_api.IndexMapInverse(self, _extents(shape))

    def non_surjective_inverse(self, shape):
        """The map from new indices to old ones where the new space has padding.

        Returns
        -------
        (IndexMap, PrimExpr)
            The map, and the condition over the new indices that tells the padding.
        """
        result, padding = _ffi_api.IndexMapNonSurjectiveInverse(self, _extents(shape))
        return result, padding


def _extents(shape):
    return [dim.extent if isinstance(dim, Range) else convert(dim) for dim in shape]
