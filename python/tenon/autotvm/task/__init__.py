"""Configurations of schedules, and the contexts that tell them."""

from . import dispatcher, space
from .dispatcher import ApplyHistoryBest, DispatchContext, FallbackContext, apply_history_best
from .space import ConfigEntity, FallbackConfigEntity
from .task import Task, extract_from_multiple_program, extract_from_program
