"""Handles of blocks and loops."""

from ... import _core
from ..._ffi.registry import register_object
from ...runtime.object import Object


@register_object("tir.BlockRV")
class BlockRV(Object):
    """Handle of a block; one that is made by calling the class stands for nothing yet."""

    __slots__ = ()

    def __init__(self):
        self.__init_handle_by_constructor__(_core.make_node, "tir.BlockRV", {})


@register_object("tir.LoopRV")
class LoopRV(Object):
    """Handle of a loop; one that is made by calling the class stands for nothing yet."""

    __slots__ = ()

    def __init__(self):
        self.__init_handle_by_constructor__(_core.make_node, "tir.LoopRV", {})
