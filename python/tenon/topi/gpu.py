"""Schedules and computes by the names they have for GPUs of any kind."""

from . import _schedules

__getattr__ = _schedules.attach(__name__)
