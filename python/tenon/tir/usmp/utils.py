"""What plans of memory are made of."""

from ... import _core
from ..._ffi.registry import register_object
from ...runtime.object import Object


@register_object("tir.usmp.PoolAllocation")
class PoolAllocation(Object):
    """Where a tensor is in a pool.

    Parameters
    ----------
    pool_info : PoolInfo
        The pool.
    byte_offset : int
        Place in it, in bytes from its beginning.
    """

    __slots__ = ()

    def __init__(self, pool_info, byte_offset):
        fields = {"pool_info": pool_info, "byte_offset": byte_offset}
        self.__init_handle_by_constructor__(_core.make_node, "tir.usmp.PoolAllocation", fields)
