"""What follows for a whole schedule: bounds of all variables, inlining by kind of operation."""

from . import _ffi_api


def InferBound(sch):
    """The range of every iteration variable of a schedule that is normalized.

    Parameters
    ----------
    sch : Schedule
        As `Schedule.normalize` gives it.

    Returns
    -------
    Map of IterVar to Range
    """
    return _ffi_api.InferBound(sch)


def normalize(sch):
    """See `Schedule.normalize`."""
    return sch.normalize()


def AutoInlineElemWise(sch):
    """Inline what is computed element by element and nothing was said of yet."""
    _ffi_api.AutoInline(sch, 0)


def AutoInlineBroadcast(sch):
    """Inline also operations with the tag ``broadcast``."""
    _ffi_api.AutoInline(sch, 1)


def AutoInlineInjective(sch):
    """Inline all operations without reduction that nothing was said of yet."""
    _ffi_api.AutoInline(sch, 2)
