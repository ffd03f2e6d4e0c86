"""Schedules for any target: ``topi.generic.schedule_injective(outs)`` and so on."""

from . import _schedules

default_schedule = _schedules.schedule
__getattr__ = _schedules.attach(__name__)
