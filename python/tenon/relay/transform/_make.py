"""Functions that make passes which have arguments with names."""

import inspect

from . import _ffi_api

REQUIRED = inspect.Parameter.empty


def maker(name, doc, **defaults):
    """The function that makes the pass of a name.

    Parameters
    ----------
    name : str
        The pass, and the function.
    doc : str
        What the pass does.
    defaults
        Its arguments in order with their defaults; `REQUIRED` where there is none.

    Returns
    -------
    function
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    signature = inspect.Signature(
        inspect.Parameter(arg, kind, default=value) for arg, value in defaults.items()
    )

    def make(*args, **kwargs):
        given = signature.bind(*args, **kwargs)
        given.apply_defaults()
        return getattr(_ffi_api, name)(*given.arguments.values())

    make.__name__ = make.__qualname__ = name
    make.__signature__ = signature
    make.__doc__ = doc
    return make
