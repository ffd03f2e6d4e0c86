"""Schedules and computes by the names they have for NVIDIA GPUs."""

from .. import _schedules

__getattr__ = _schedules.attach(__name__)
