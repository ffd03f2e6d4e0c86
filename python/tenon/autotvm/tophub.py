"""The records that ship with this package: a file ``records/<key>.log`` for each key of targets.

Nothing is ever downloaded. Kernels of this library need no records, so there need not be a file.
"""

import pathlib

from .task import ApplyHistoryBest

_FOLDER = pathlib.Path(__file__).parent / "records"


def _targets(target):
    from ..target import Target

    many = target if isinstance(target, list | tuple) else [target]
    return [Target.canon_target(t) for t in many]


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
    best, loaded = ApplyHistoryBest([]), set()
    for one in _targets(target):
        for key in one.keys:
            path = _FOLDER / f"{key}.log"
            if path not in loaded and path.is_file():
                best.load(path)
            loaded.add(path)
    for path in extra_files or []:
        best.load(path)
    return best
