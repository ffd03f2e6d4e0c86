"""The names scripts use for modules: ``from tenon.script import ir as I``."""

import inspect

from ._host import captured, parse_object


def ir_module(mod=None, check_well_formed=True):
    """Decorator: the class becomes an IRModule of the functions in it.

    Parameters
    ----------
    mod : class
        The class.
    check_well_formed : bool
        Kept for old programs.

    Returns
    -------
    IRModule
    """
    frame = inspect.currentframe().f_back

    def decorate(cls):
        if not inspect.isclass(cls):
            raise TypeError(f"Expect a class, but got: {cls}")
        module = parse_object(cls, captured(cls, frame))
        return module

    return decorate if mod is None else decorate(mod)


# a class body with this decorator above it is parsed as a whole, not function by function
ir_module.is_script_module = True


def module_attrs(attrs):
    """Attributes of a module; for the parser of ``@I.ir_module``. Python, which runs the body of
    the class before, does nothing here."""


def Range(begin, end):
    """``begin`` to before ``end``."""
    from ..ir import Range as make

    return make(begin, end)
