"""What plans of memory are made of."""

from ... import _core
from ..._ffi.registry import get_global_func, register_object
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


#: annotation of allocations: the pools that they may lie in
CANDIDATE_MEMORY_POOL_ATTR = "candidate_memory_pools"


@register_object("tir.usmp.BufferInfo")
class BufferInfo(Object):
    """Memory that needs a place in a pool.

    Parameters
    ----------
    name_hint : str
        Name, for messages.
    size_bytes : int
        Bytes.
    pool_candidates : list of PoolInfo
        Pools that it may lie in, the best first.
    alignment : int, optional
        Its place is a multiple of so many bytes; 1 by default.

    Attributes
    ----------
    conflicts : list of BufferInfo or None
        Those that are needed at the same time. Algorithms of memory plans see them; afterwards
        they are None.
    """

    __slots__ = ()

    def __init__(self, name_hint, size_bytes, pool_candidates, alignment=None):
        fields = {
            "name_hint": name_hint,
            "size_bytes": size_bytes,
            "pool_candidates": pool_candidates,
            "alignment": 1 if alignment is None else alignment,
            "conflicts": [],
        }
        self.__init_handle_by_constructor__(_core.make_node, "tir.usmp.BufferInfo", fields)

    def set_conflicts(self, conflicts):
        """Say which buffers must not overlap this one.

        Parameters
        ----------
        conflicts : list of BufferInfo
            The others. Buffers that name each other keep each other alive: give each an empty
            list when they are no longer needed.
        """
        get_global_func("tir.usmp.BufferInfoSetConflicts")(self, conflicts)


@register_object("tir.usmp.BufferInfoAnalysis")
class BufferInfoAnalysis(Object):
    """All memory of a program that needs a place.

    Attributes
    ----------
    buffer_info_stmts : Map of BufferInfo to Stmt
        What allocates each.
    memory_pressure : int
        Bytes that are needed at the same time, at the most.
    """

    __slots__ = ()
