"""From programs to modules that run."""

from .build_module import build, kernel_cache_clear, kernel_cache_info, lower, schedule_to_module
