"""Passes over single tensor programs, made of functions of Python."""

from ..._ffi.registry import register_object
from ...ir.transform import Pass, pass_decorator
from . import _ffi_api


@register_object("tir.PrimFuncPass")
class PrimFuncPass(Pass):
    """A pass that runs on each tensor program of a module; made by `prim_func_pass`."""

    __slots__ = ()


def prim_func_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Make a pass of a function or class. Can be used as a decorator.

    Parameters
    ----------
    pass_func : function or class, optional
        ``(function, module, context) -> function``, or a class with the method
        ``transform_function(function, module, context)``. None as a result takes the function out
        of the module.
    opt_level : int
        Level of the pass; it must be given.
    name : str, optional
        Its name; default: the function's.
    required : list of str, optional
        Passes that a sequence runs before it.
    traceable : bool
        Kept for programs that set it.

    Returns
    -------
    PrimFuncPass, class or decorator
        A pass for a function, a class of passes for a class.

    Examples
    --------
    >>> @tenon.tir.transform.prim_func_pass(opt_level=1)
    ... def mark(func, mod, ctx):
    ...     return func.with_attr("marked", True)
    """
    make = _ffi_api.CreatePrimFuncPass
    return pass_decorator(
        PrimFuncPass, make, "transform_function", pass_func, opt_level, name, required
    )


def Apply(ftransform):  # noqa: N802  named as the other passes
    """A pass that applies a function to each tensor program.

    Parameters
    ----------
    ftransform : function
        ``function -> function``, or None to take it out of the module.

    Returns
    -------
    PrimFuncPass
    """
    return prim_func_pass(lambda func, mod, ctx: ftransform(func), opt_level=0, name="Apply")


def Filter(fcond):  # noqa: N802  named as the other passes
    """A pass that keeps the tensor programs for which a function says so.

    Parameters
    ----------
    fcond : function
        ``function -> bool``.

    Returns
    -------
    PrimFuncPass
    """

    def keep(func, mod, ctx):
        return func if fcond(func) else None

    return prim_func_pass(keep, opt_level=0, name="Filter")
