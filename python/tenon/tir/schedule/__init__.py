"""Schedules: programs that are rewritten step by step, through handles of blocks and loops."""

from ...error import ScheduleError
from .intrin import TensorIntrin
from .schedule import BlockRV, ExprRV, LoopRV, Schedule, ScheduleState, StmtSRef
