"""Memory pools: what static memory planning places tensors and constants in."""

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object


@register_object("ir.PoolInfoProperties")
class PoolInfoProperties(Object):
    """What a memory is like. Numbers are -1 where they are not known.

    Parameters
    ----------
    size_hint_bytes : int
        Bytes there are.
    clock_frequency_hz : int
        Clock of the memory.
    read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle : int
        Bytes in a cycle.
    read_latency_cycles, write_latency_cycles : int
        Cycles until it is done.
    target_burst_bytes : dict of Target to int, optional
        Bytes that a target moves at once.
    """

    __slots__ = ()

    def __init__(
        self,
        size_hint_bytes=-1,
        clock_frequency_hz=-1,
        read_bandwidth_bytes_per_cycle=-1,
        write_bandwidth_bytes_per_cycle=-1,
        read_latency_cycles=0,
        write_latency_cycles=0,
        target_burst_bytes=None,
    ):
        fields = {
            "size_hint_bytes": size_hint_bytes,
            "clock_frequency_hz": clock_frequency_hz,
            "read_bandwidth_bytes_per_cycle": read_bandwidth_bytes_per_cycle,
            "write_bandwidth_bytes_per_cycle": write_bandwidth_bytes_per_cycle,
            "read_latency_cycles": read_latency_cycles,
            "write_latency_cycles": write_latency_cycles,
            "target_burst_bytes": target_burst_bytes or {},
        }
        self.__init_handle_by_constructor__(_core.make_node, "ir.PoolInfoProperties", fields)


def _pool(self, type_key, pool_name, targets, properties, **more):
    """Makes the native object of a pool: it has the properties among its own fields."""
    properties = properties if properties is not None else PoolInfoProperties()
    names = [field[0] for field in _core.type_info("ir.PoolInfoProperties")["fields"]]
    fields = {name: getattr(properties, name) for name in names}
    fields.update(pool_name=pool_name, targets=list(targets), **more)
    self.__init_handle_by_constructor__(_core.make_node, type_key, fields)


@register_object("ir.PoolInfo")
class PoolInfo(Object):
    """Any memory pool."""

    __slots__ = ()

    #: whether programs may only read it, or write too
    READ_WRITE_ACCESS = "rw"
    READ_ONLY_ACCESS = "ro"


@register_object("ir.WorkspacePoolInfo")
class WorkspacePoolInfo(PoolInfo):
    """A memory for tensors.

    Parameters
    ----------
    pool_name : str
        Its name.
    targets : list of Target
        Targets that can use it.
    pool_info_properties : PoolInfoProperties, optional
        What it is like.
    """

    __slots__ = ()

    def __init__(self, pool_name, targets, pool_info_properties=None):
        _pool(self, "ir.WorkspacePoolInfo", pool_name, targets, pool_info_properties)


@register_object("ir.ConstantPoolInfo")
class ConstantPoolInfo(PoolInfo):
    """A memory for constants.

    Parameters
    ----------
    pool_name : str
        Its name.
    targets : list of Target
        Targets that can use it.
    constant_info_arr : list of ConstantInfo, optional
        The constants in it.
    pool_info_properties : PoolInfoProperties, optional
        What it is like.
    """

    __slots__ = ()

    def __init__(self, pool_name, targets, constant_info_arr=None, pool_info_properties=None):
        constants = list(constant_info_arr or ())
        _pool(
            self,
            "ir.ConstantPoolInfo",
            pool_name,
            targets,
            pool_info_properties,
            constant_info_array=constants,
        )


@register_object("ir.ConstantInfo")
class ConstantInfo(Object):
    """A constant in a pool.

    Parameters
    ----------
    name_hint : str
        Its name.
    byte_offset : int
        Place in the pool.
    data : NDArray
        Content.
    """

    __slots__ = ()

    def __init__(self, name_hint, byte_offset, data):
        fields = {"name_hint": name_hint, "byte_offset": byte_offset, "data": data}
        self.__init_handle_by_constructor__(_core.make_node, "ir.ConstantInfo", fields)


@register_object("ir.AllocatedPoolInfo")
class AllocatedPoolInfo(Object):
    """A pool with what is used of it.

    Parameters
    ----------
    pool : PoolInfo
        The pool; `pool_info` of the object.
    allocated_size : int
        Bytes in use.
    pool_var_idx : int
        Parameter that points to it.
    """

    __slots__ = ()

    def __init__(self, pool, allocated_size, pool_var_idx=0):
        fields = {
            "pool_info": pool,
            "allocated_size": allocated_size,
            "pool_var_idx": pool_var_idx,
        }
        self.__init_handle_by_constructor__(_core.make_node, "ir.AllocatedPoolInfo", fields)


@register_object("ir.WorkspaceMemoryPools")
class WorkspaceMemoryPools(Object):
    """Pools for tensors, in the order in which they are to be used.

    Parameters
    ----------
    pools : list of WorkspacePoolInfo
        The pools.
    """

    __slots__ = ()

    def __init__(self, pools):
        fields = {"pools": list(pools)}
        self.__init_handle_by_constructor__(_core.make_node, "ir.WorkspaceMemoryPools", fields)


@register_object("ir.ConstantMemoryPools")
class ConstantMemoryPools(Object):
    """Pools for constants, in the order in which they are to be used.

    Parameters
    ----------
    pools : list of ConstantPoolInfo
        The pools.
    """

    __slots__ = ()

    def __init__(self, pools):
        fields = {"pools": list(pools)}
        self.__init_handle_by_constructor__(_core.make_node, "ir.ConstantMemoryPools", fields)
