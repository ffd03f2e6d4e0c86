"""Commutative reductions: over axes of a computation, or of a few values."""

from .. import _core
from . import _ffi_api
from .expr import CommReducer, IterVar, Reduce, Var, const, convert


def comm_reducer(fcombine, fidentity, name="reduce"):
    """Make a reduction of a function that combines two values.

    Parameters
    ----------
    fcombine : function
        ``(accumulated, incoming) -> combined``; for several values reduced together, of lists.
    fidentity : function
        ``dtype -> value`` that changes nothing when combined; for several values
        ``(dtype, ...) -> list of values``.
    name : str
        Name to show.

    Returns
    -------
    function
        ``reducer(expr, axis, where=None, init=None)``: reduces an expression, or a tuple of them,
        over an IterVar or list of IterVar. ``reducer(a, b, ...)`` combines the values themselves.

    Examples
    --------
    >>> n = te.var("n")
    >>> A = te.placeholder((n,), name="A")
    >>> mysum = te.comm_reducer(lambda x, y: x + y, lambda t: tir.const(0, dtype=t), name="mysum")
    >>> k = te.reduce_axis((0, n), name="k")
    >>> B = te.compute((1,), lambda i: mysum(A[k], axis=k), name="B")
    """
    left, right = fcombine.__code__.co_varnames[:2]
    if fcombine.__code__.co_argcount != 2:
        raise ValueError(f"{name}: fcombine takes two arguments")

    def over_axes(expr, axis, where, init):
        several = isinstance(expr, list | tuple | _core.Array)
        source = [convert(e) for e in expr] if several else [convert(expr)]
        types = [e.dtype for e in source]
        suffixes = [f"_{i}" for i in range(len(source))] if several else [""]
        lhs = [Var(left + suffix, t) for suffix, t in zip(suffixes, types, strict=True)]
        rhs = [Var(right + suffix, t) for suffix, t in zip(suffixes, types, strict=True)]
        if several:
            result, identity = list(fcombine(lhs, rhs)), list(fidentity(*types))
        else:
            result, identity = [fcombine(lhs[0], rhs[0])], [fidentity(types[0])]
        combiner = CommReducer(lhs, rhs, result, identity)
        axis = list(axis) if isinstance(axis, list | tuple | _core.Array) else [axis]
        where = convert(True) if where is None else where
        start = [] if init is None else list(init) if several else [init]
        first = Reduce(combiner, source, axis, where, 0, start)
        if not several:
            return first
        # the results share their lists: that tells that they belong together
        shared = (first.combiner, first.source, first.axis, first.condition)
        rest = [Reduce(*shared, i, first.init) for i in range(1, len(source))]
        return (first, *rest)

    def of_values(values):
        result = values[0]
        for value in values[1:]:
            result = fcombine(result, value)
        return result

    def reducer(expr, axis, where=None, init=None, *args):
        if isinstance(axis, IterVar | list | tuple | _core.Array):
            if args:
                raise TypeError(f"{name}: expected expr, axis, where and init, got more arguments")
            return over_axes(expr, axis, where, init)
        given = [expr, axis, where, init, *args]
        while given[-1] is None:
            given.pop()
        return of_values(given)

    reducer.__name__ = reducer.__qualname__ = name
    reducer.__doc__ = f"""Reduces by `{name}`.

    Parameters
    ----------
    expr : PrimExpr or tuple of PrimExpr
        What is reduced; a tuple's elements together.
    axis : IterVar or list of IterVar
        Over what.
    where : PrimExpr, optional
        A bool: which elements take part.
    init : PrimExpr or list of PrimExpr, optional
        Start values; default: the identity element.

    Returns
    -------
    PrimExpr or tuple of PrimExpr
        ``{name}(a, b, ...)`` combines the values themselves.
    """
    return reducer


def _least(x, y):
    return _ffi_api._OpMin(x, y, None)


def _greatest(x, y):
    return _ffi_api._OpMax(x, y, None)


sum = comm_reducer(lambda x, y: x + y, lambda t: const(0, dtype=t), name="sum")
min = comm_reducer(lambda x, y: _least(x, y), lambda t: _ffi_api.max_value(t), name="min")
max = comm_reducer(lambda x, y: _greatest(x, y), lambda t: _ffi_api.min_value(t), name="max")

__all__ = ["comm_reducer", "max", "min", "sum"]
