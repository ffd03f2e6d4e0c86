"""Variables and axes."""

from ..ir.expr import Range
from ..tir.expr import IterVar, SizeVar, Var


def var(name="tindex", dtype="int32", span=None):
    """A variable.

    Parameters
    ----------
    name : str
        Name to show.
    dtype : str or Type
        Its type.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    Var
    """
    return Var(name, dtype, span)


def size_var(name="size", dtype="int32", span=None):
    """A variable that is never negative; parameters as in `var`.

    Returns
    -------
    SizeVar
    """
    return SizeVar(name, dtype, span)


def thread_axis(dom=None, tag="", name="", span=None):
    """An axis of threads.

    Parameters
    ----------
    dom : Range, (begin, end) or str, optional
        Its values; a str is taken as `tag`.
    tag : str
        ``"threadIdx.x"`` and the like.
    name : str
        Name of the variable; default: the tag.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    IterVar
    """
    if isinstance(dom, str):
        tag, dom = dom, None
    if not tag:
        raise ValueError("tag must be given as Positional or keyword argument")
    return IterVar(_range(dom), name or tag, IterVar.ThreadIndex, tag, span)


def reduce_axis(dom, name="rv", thread_tag="", span=None):
    """An axis to reduce over.

    Parameters
    ----------
    dom : Range or (begin, end)
        Its values.
    name : str
        Name of the variable.
    thread_tag : str
        ``"threadIdx.x"`` and the like.
    span : Span, optional
        Place in a source text.

    Returns
    -------
    IterVar
    """
    return IterVar(_range(dom), name, IterVar.CommReduce, thread_tag, span)


def _range(dom):
    if dom is None or isinstance(dom, Range):
        return dom
    if len(dom) != 2:
        raise TypeError(f"expected a range as (begin, end), got {dom}")
    return Range(dom[0], dom[1])
