"""Old name of `tenon.contrib.debugger.debug_executor`."""

import warnings

from . import debug_executor
from .debug_executor import GraphModuleDebug  # noqa: F401


def create(*args, **kwargs):
    """Make a debug executor: see `tenon.contrib.debugger.debug_executor.create`."""
    warnings.warn(
        "debug_runtime is the old name of tenon.contrib.debugger.debug_executor",
        DeprecationWarning,
        stacklevel=2,
    )
    return debug_executor.create(*args, **kwargs)
