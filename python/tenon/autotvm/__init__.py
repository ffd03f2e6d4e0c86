"""Records of measured schedules, and the contexts in which programs look them up.

Kernels of this library are chosen by rules and ask for no records; programs that register
schedules of their own do. What is measured is kept in files, one JSON record a line.
"""

from . import record, task, tophub, utils
from .task import (
    ApplyHistoryBest,
    ConfigEntity,
    DispatchContext,
    FallbackConfigEntity,
    FallbackContext,
    apply_history_best,
)
