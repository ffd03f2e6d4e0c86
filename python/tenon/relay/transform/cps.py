"""Continuation passing style."""

from . import _ffi_api


def to_cps(func, mod=None):
    """A function that calls another one, its last argument, with its result.

    All functions inside take such an argument too. Those of the module that it calls get siblings
    in this style, named ``NAME_cps``, which are added to the module.

    Parameters
    ----------
    func : Function
        The function.
    mod : IRModule, optional
        Where global functions and data types are; it gets the siblings.

    Returns
    -------
    Function
        ``fn <answer>(..., fn (result) -> answer) -> answer``.

    Raises
    ------
    ValueError
        It calls a global function, and `mod` does not have it.
    """
    return _ffi_api.to_cps(func, mod)


def un_cps(func):
    """A function that returns what one in continuation passing style hands on.

    Parameters
    ----------
    func : Function
        What `to_cps` has made.

    Returns
    -------
    Function

    Raises
    ------
    ValueError
        `func` is of another form.
    """
    return _ffi_api.un_cps(func)
