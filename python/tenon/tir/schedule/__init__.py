"""Schedules: programs that are rewritten step by step, through handles of blocks and loops."""

from ...error import ScheduleError
from .handles import BlockRV, LoopRV
from .intrin import TensorIntrin
from .schedule import ExprRV, Schedule
from .state import (
    BlockDependenceInfo,
    BlockScope,
    CachedFlags,
    Dependency,
    DepKind,
    ScheduleDebugMask,
    ScheduleState,
    StmtSRef,
)
from .trace import Instruction, InstructionKind, Trace
