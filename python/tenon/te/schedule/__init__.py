"""Schedules of tensor expressions: how each operation's loops run and where they go."""

from ...tir import Buffer, IterVar
from .bounds import (
    AutoInlineBroadcast,
    AutoInlineElemWise,
    AutoInlineInjective,
    CreateReadGraph,
    InferBound,
    PostDFSOrder,
    ScheduleOps,
    SchedulePostProcToPrimFunc,
    normalize,
)
from .schedule import Fuse, Schedule, Singleton, Split, Stage, create_schedule
