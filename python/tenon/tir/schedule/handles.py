"""Handles of blocks and loops."""

from ..._ffi.registry import register_object
from ...runtime.object import Object


@register_object("tir.BlockRV")
class BlockRV(Object):
    """Handle of a block."""

    __slots__ = ()


@register_object("tir.LoopRV")
class LoopRV(Object):
    """Handle of a loop."""

    __slots__ = ()
