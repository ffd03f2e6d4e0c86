"""Exception classes.

Errors raised in the library arrive as the class of their kind; where a class is named like a
builtin (``ValueError``, ``TypeError``, ...) it is the builtin. A Python exception that passes
through the library comes back as itself.
"""

from . import _core


class TVMError(RuntimeError):
    """Base of the library's own errors."""


TenonError = TVMError


class InternalError(TVMError):
    """An invariant of the library was broken: please report it."""


class ShapeError(InternalError, ValueError):
    """A tensor has another shape than a program takes: a ValueError. Existing programs know it as
    an InternalError, which tells of no fault here."""


class DTypeError(InternalError, TypeError):
    """A tensor has another type of elements than a program takes: a TypeError, and for existing
    programs an InternalError."""


class DiagnosticError(TVMError):
    """Parse and type errors, shown with their places."""


class ScheduleError(TVMError):
    """A schedule primitive does not apply."""


class CodegenError(TVMError):
    """Code could not be generated or compiled."""


class DeviceError(TVMError):
    """A device is missing or failed."""


class RPCError(TVMError):
    """A remote call failed."""


class RPCSessionTimeoutError(RPCError, TimeoutError):
    """A remote session ran out of time."""


class OpError(TVMError):
    """An operator cannot be used so."""


class OpNotImplemented(OpError, NotImplementedError):
    """An operator is not supported."""


class OpAttributeRequired(OpError, AttributeError):
    """An attribute of an operator is missing."""


class OpAttributeInvalid(OpError, AttributeError):
    """An attribute of an operator has a wrong value."""


class OpAttributeUnImplemented(OpError, NotImplementedError):
    """An attribute of an operator is not supported."""


# class name -> class, for errors that name their class in the text before the first ":"
ERROR_TYPE = {}


def register_error(func_name=None, cls=None):
    """Say which class errors of a name become. Can be used as a decorator, bare or with the name.

    Parameters
    ----------
    func_name : str or class
        The name; given a class, its own name.
    cls : class, optional
        The class; left out, a decorator is returned.

    Returns
    -------
    class or function

    Examples
    --------
    >>> @tenon.error.register_error
    ... class MyError(RuntimeError):
    ...     pass
    """
    if callable(func_name):
        cls, func_name = func_name, func_name.__name__

    def register(mycls):
        if not (isinstance(mycls, type) and issubclass(mycls, BaseException)):
            raise TypeError(f"register_error: expected an exception class, got {mycls!r}")
        name = func_name if isinstance(func_name, str) else mycls.__name__
        ERROR_TYPE[name] = mycls
        _core.set_error_class(name, mycls)
        return mycls

    return register if cls is None else register(cls)


for _cls in (
    TVMError,
    InternalError,
    ShapeError,
    DTypeError,
    DiagnosticError,
    ScheduleError,
    CodegenError,
    DeviceError,
    RPCError,
    RPCSessionTimeoutError,
    OpError,
    OpNotImplemented,
    OpAttributeRequired,
    OpAttributeInvalid,
    OpAttributeUnImplemented,
    ValueError,
    TypeError,
    AttributeError,
    KeyError,
    IndexError,
    NotImplementedError,
    MemoryError,
    OSError,
    RuntimeError,
):
    register_error(_cls)
del _cls
