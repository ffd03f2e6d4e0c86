"""From programs to modules that run."""

from .._lazy import attach as _attach
from .build_module import build, kernel_cache_clear, kernel_cache_info, lower, schedule_to_module

__getattr__, __dir__ = _attach(__name__, ("tvmc",))
