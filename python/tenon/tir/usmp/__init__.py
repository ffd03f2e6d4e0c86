"""Static planning of memory: where tensors lie in pools."""

from . import analysis, utils
from .utils import BufferInfo, PoolAllocation

__all__ = ["BufferInfo", "PoolAllocation", "analysis", "utils"]
