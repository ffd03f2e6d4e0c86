"""Passes over single functions of Relay, made of functions of Python."""

from ..._ffi.registry import register_object
from ...ir.transform import Pass, pass_decorator
from . import _ffi_api


@register_object("relay.FunctionPass")
class FunctionPass(Pass):
    """A pass that runs on each Relay function of a module; made by `function_pass`."""

    __slots__ = ()


def function_pass(pass_func=None, opt_level=None, name=None, required=None):
    """Make a pass of a function or class. Can be used as a decorator.

    Parameters
    ----------
    pass_func : function or class, optional
        ``(function, module, context) -> function``, or a class with the method
        ``transform_function(function, module, context)``.
    opt_level : int
        Level of the pass; it must be given.
    name : str, optional
        Its name; default: the function's.
    required : list of str, optional
        Passes that a sequence runs before it.

    Returns
    -------
    FunctionPass, class or decorator
        A pass for a function, a class of passes for a class.

    Examples
    --------
    >>> @tenon.relay.transform.function_pass(opt_level=1)
    ... def mark(func, mod, ctx):
    ...     return func.with_attr("marked", True)
    """
    make = _ffi_api.MakeFunctionPass
    return pass_decorator(
        FunctionPass, make, "transform_function", pass_func, opt_level, name, required
    )
