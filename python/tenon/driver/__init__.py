"""From programs to modules that run."""

from .build_module import build, lower, schedule_to_module
