"""Operators for code generators of their own."""

from ...._lazy import attach as _attach
from . import register
from .register import get_pattern_table as _registered
from .register import register_pattern_table

_LIBRARIES = ("cublas", "cudnn", "cutlass")
_NAMES = {f"partition_for_{name}": f".{name}" for name in _LIBRARIES}
__getattr__, __dir__ = _attach(__name__, _LIBRARIES, _NAMES)


def get_pattern_table(compiler):
    """The patterns of a code generator.

    Parameters
    ----------
    compiler : str
        Name of the code generator.

    Returns
    -------
    list or None
        None where none are registered.
    """
    if compiler in _LIBRARIES:
        __getattr__(compiler)  # its import registers the table
    return _registered(compiler)


__all__ = ["get_pattern_table", "register", "register_pattern_table"]
