"""Questions about the program of a schedule."""

from ..._ffi.registry import register_object
from ...runtime.object import Object
from ..expr import const
from . import _ffi_api


@register_object("tir.schedule.TensorizeInfo")
class TensorizeInfo(Object):
    """Which loops of a block an instruction does.

    ``loop_map`` maps loops of the program (StmtSRef) to loops of the instruction's description
    (For), ``desc_loop_indexer`` these to their number, from the outermost. ``block_iter_paddings``
    has a number for each iterator of the block whose multiple its extent must become; None where
    nothing has to be padded.
    """

    __slots__ = ()


@register_object("tir.schedule.AutoTensorizeMappingInfo")
class AutoTensorizeMappingInfo(Object):
    """How the iterators of an instruction stand for those of a block.

    ``mappings`` holds maps (IndexMap) from the block's iterators to fused ones, those that stay by
    themselves first; ``lhs_buffer_map`` maps buffers of the description to the block's,
    ``rhs_buffer_indices`` to how they are indexed; ``lhs_iters`` and ``rhs_iters`` are the
    iterators of both.
    """

    __slots__ = ()


def get_auto_tensorize_mapping_info(sch, block, desc_func):
    """Find how an instruction can do a block whose layouts may be changed for it.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block : BlockRV
        The block.
    desc_func : PrimFunc
        What the instruction computes.

    Returns
    -------
    AutoTensorizeMappingInfo or None
        None where the block computes something else, or where an iterator of the instruction has no
        partner: iterators that index the same buffers belong together.
    """
    return _ffi_api.GetAutoTensorizeMappingInfo(sch, block, desc_func)


def get_tensorize_loop_mapping(sch, block, desc_func, allow_padding=False):
    """Find the loops of a block that an instruction can do.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block : BlockRV
        The block.
    desc_func : PrimFunc
        What the instruction computes: loops around one block.
    allow_padding : bool
        Whether extents need not be multiples of the instruction's.

    Returns
    -------
    TensorizeInfo or None
        None where there are no such loops. Only loops are looked at, not what is computed.
    """
    return _ffi_api.GetTensorizeLoopMapping(sch, block, desc_func, allow_padding)


def suggest_index_map(buffer, indices, loops, predicate):
    """Layout of a buffer in which loops walk through it from one element to the next.

    Parameters
    ----------
    buffer : Buffer
        The buffer.
    indices : list of PrimExpr
        Where the body of the loops accesses it.
    loops : list of For
        The loops, outermost first.
    predicate : PrimExpr or bool
        The access happens where this holds.

    Returns
    -------
    IndexMap or None
        None where the access is not a one-to-one map of the loops.
    """
    holds = const(predicate, "bool") if isinstance(predicate, bool) else predicate
    return _ffi_api.SuggestIndexMap(buffer, indices, loops, holds)


def is_output_block(sch, block):
    """Whether a block writes what the block around it does not allocate.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block : BlockRV
        One of its blocks.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.IsOutputBlock(sch, block))


def has_block(sch, block_name):
    """Whether the program of a schedule has a block of a name.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block_name : str
        The name.

    Returns
    -------
    bool
    """
    return bool(_ffi_api.HasBlock(sch, block_name))
