"""Steps that are made of other steps."""

from . import analysis
from .intrin import TensorIntrin


def _inline_padding(sch, block, before):
    """Inline the blocks that pad_einsum put around a block, but for results of the program."""
    producers, consumers = before
    for other in sch.get_producers(block):
        if not any(sch.get(other).same_as(old) for old in producers):
            sch.compute_inline(other)
    for other in sch.get_consumers(block):
        known = any(sch.get(other).same_as(old) for old in consumers)
        if not known and not analysis.is_output_block(sch, other):
            sch.compute_inline(other)


def tile_with_tensor_intrin(sch, block, intrin_name, allow_padding=False):
    """Split the loops of a block by the extents of an instruction, and move the inner ones inwards.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    block : BlockRV
        The block.
    intrin_name : str
        Name of a registered instruction.
    allow_padding : bool
        Whether loops are padded to multiples of its extents.

    Returns
    -------
    LoopRV or None
        The outermost loop of those that the instruction does, for ``sch.tensorize``; None where the
        block has no such loops (nothing is changed then).
    """
    desc = TensorIntrin.get(intrin_name).desc
    info = analysis.get_tensorize_loop_mapping(sch, block, desc, allow_padding)
    if info is None:
        return None
    if info.block_iter_paddings is not None:
        before = (
            [sch.get(b) for b in sch.get_producers(block)],
            [sch.get(b) for b in sch.get_consumers(block)],
        )
        sch.pad_einsum(block, [int(i) for i in info.block_iter_paddings])
        _inline_padding(sch, block, before)
        info = analysis.get_tensorize_loop_mapping(sch, block, desc)
    inner_of = {}  # number of the description's loop -> inner loop
    others, found = [], False
    mapped = list(info.loop_map.items())
    for loop in sch.get_loops(block):
        theirs = next((d for ref, d in mapped if ref.same_as(sch.get_sref(loop))), None)
        if theirs is None:
            if found:
                others.append(loop)
            continue
        found = True
        outer, inner = sch.split(loop, [None, int(theirs.extent)])
        inner_of[int(info.desc_loop_indexer[theirs])] = inner
        others.append(outer)
    suffix = [inner_of[i] for i in sorted(inner_of)]
    sch.reorder(*others, *suffix)
    return suffix[0]
