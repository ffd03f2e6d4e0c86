"""Records of measured kernels, and the contexts in which builds and programs look them up.

Tiles of kernels are chosen by rules; where a record says what was faster, that is taken. Records
are kept in files, one JSON object a line.
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
