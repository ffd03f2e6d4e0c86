"""The records that ship with this package, as part of its library. Nothing is ever downloaded."""

import functools

from .._ffi import get_global_func
from . import record
from .task import ApplyHistoryBest, DispatchContext, FallbackContext
from .utils import EmptyContext


def _targets(target):
    from ..target import Target

    many = target if isinstance(target, list | tuple) else [target]
    return [Target.canon_target(t) for t in many]


@functools.cache
def _shipped():
    rows = str(get_global_func("tune.records_shipped")()).splitlines()
    found = [record.decode(row) for row in rows if row.strip() and not row.startswith("#")]
    return [r for r in found if r is not None]


def context(target, extra_files=None):
    """The context with what ships for some targets.

    Parameters
    ----------
    target : Target, str, or list of these
        What programs are compiled for.
    extra_files : list of str, optional
        More files of records.

    Returns
    -------
    ApplyHistoryBest
    """
    fits = get_global_func("tune.records_fit")
    targets = _targets(target)
    shipped = [r for r in _shipped() if any(fits(r[0].target, one) for one in targets)]
    best = ApplyHistoryBest(shipped)
    for path in extra_files or []:
        best.load(path)
    return best


def for_build(target):
    """What a build for some targets is done in: the records that ship, unless a context was
    entered, which is left alone.

    Returns
    -------
    ApplyHistoryBest or EmptyContext
    """
    if isinstance(DispatchContext.current, FallbackContext):
        return context(target)
    return EmptyContext()
