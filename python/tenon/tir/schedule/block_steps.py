"""Steps of schedules that move, divide and copy blocks: a part of the class Schedule."""

from ..index_map import IndexMap
from . import _ffi_api


class BlockSteps:
    """What Schedule can do with blocks, beyond single loops."""

    __slots__ = ()

    # ---- moving ----

    def compute_at(self, block, loop, preserve_unit_loops=False, index=-1):
        """Move a block under a loop of the blocks that use its result.

        It then computes, in new loops ``ax0``, ``ax1``, ..., just what is needed there; a predicate
        is added where that would leave the bounds of the buffer or of its iterators.

        Parameters
        ----------
        block : BlockRV or str
            Complete or a reduction, and not an output of its scope.
        loop : LoopRV
            In the same scope, around all users of the block's result.
        preserve_unit_loops : bool
            Keep new loops that run once.
        index : int
            Place among the statements of the loop: -1 the last possible one, -2 the first.

        Raises
        ------
        ScheduleError
            One of the above does not hold, or the scope is not a stage pipeline.
        """
        _ffi_api.ComputeAt(self, block, loop, preserve_unit_loops, index)

    def reverse_compute_at(self, block, loop, preserve_unit_loops=False, index=-1):
        """Move a block under a loop of the blocks whose results it uses; see `compute_at`."""
        _ffi_api.ReverseComputeAt(self, block, loop, preserve_unit_loops, index)

    # ---- copies ----

    def cache_read(self, block, read_buffer_index, storage_scope, consumer_blocks=None):
        """Copy a buffer that a block reads to another memory.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        read_buffer_index : int, str or Buffer
            Which of the buffers it reads.
        storage_scope : str
            The memory; the copy is named after it: ``A_shared``.
        consumer_blocks : list of (BlockRV or str), optional
            Blocks that are to read the copy; left out, all that read the buffer.

        Returns
        -------
        BlockRV
            The block that copies. It lies right after the one that writes the buffer, or first in
            the scope, and copies what is written there.
        """
        args = [block, consumer_blocks, read_buffer_index, storage_scope]
        return _ffi_api.CacheRead(self, *args)

    def cache_write(self, block, write_buffer_index, storage_scope, consumer_blocks=None):
        """Let a block write to another memory, from which its result is copied.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        write_buffer_index : int, str or Buffer
            Which of the buffers it writes; no other block may write it.
        storage_scope : str
            The memory; what is written there is named after it: ``C_local``.
        consumer_blocks : list of (BlockRV or str), optional
            Blocks that are to read the other memory; the rest read the copy.

        Returns
        -------
        BlockRV
            The block that copies, after the one given.
        """
        args = [block, consumer_blocks, write_buffer_index, storage_scope]
        return _ffi_api.CacheWrite(self, *args)

    def cache_inplace(self, block, read_buffer_index, storage_scope):
        """Copy a buffer that a block reads and writes to another memory, and back after the block.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        read_buffer_index : int, str or Buffer
            Which of the buffers it reads.
        storage_scope : str
            The memory.

        Returns
        -------
        list of BlockRV
            The block that copies in and the one that copies back.
        """
        return list(_ffi_api.CacheInplace(self, block, read_buffer_index, storage_scope))

    def read_at(self, loop, block, read_buffer_index, storage_scope):
        """Copy, in each iteration of a loop, what the blocks in it read of a buffer.

        Parameters
        ----------
        loop : LoopRV
            A loop around the block.
        block : BlockRV or str
            A block that reads the buffer.
        read_buffer_index : int, str or Buffer
            Which of the buffers it reads; no block in the loop may write it.
        storage_scope : str
            The memory of the copy, which all blocks in the loop read then.

        Returns
        -------
        BlockRV
            The block that copies, first in the loop of those that need it. Its annotation
            ``auto_copy`` lets passes distribute the copy over threads.
        """
        return _ffi_api.ReadAt(self, loop, block, read_buffer_index, storage_scope)

    def write_at(self, loop, block, write_buffer_index, storage_scope):
        """Let the blocks in a loop write another memory, copied at the end of each iteration.

        Parameters
        ----------
        loop : LoopRV
            A loop around the block.
        block : BlockRV or str
            A block that writes the buffer.
        write_buffer_index : int, str or Buffer
            Which of the buffers it writes; no block outside of the loop may write it.
        storage_scope : str
            The memory.

        Returns
        -------
        BlockRV
            The block that copies, after those that write; see `read_at`.
        """
        return _ffi_api.WriteAt(self, loop, block, write_buffer_index, storage_scope)

    def cache_index(self, block, storage_scope, cse_thresh=0):
        """Compute the indices of what a block reads once, in their own blocks.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        storage_scope : str
            The memory of the computed indices, ``index_var_0`` and so on.
        cse_thresh : int
            How often an index must occur in the block, or a part of those that do not occur that
            often; 0 and 1: all but iterators and numbers.

        Returns
        -------
        list of BlockRV
            The new blocks, ``index_0`` and so on, first in the scope.
        """
        return list(_ffi_api.CacheIndex(self, block, storage_scope, cse_thresh))

    def reindex(self, block, buffer):
        """Copy a buffer so that a block's own iterators are the indices of the copy.

        Parameters
        ----------
        block : BlockRV or str
            The block; it accesses the buffer at one place.
        buffer : (str, int), str or Buffer
            ("read", n) or ("write", n): which of the buffers it reads or writes; or the buffer.

        Returns
        -------
        BlockRV
            The block that copies, before the one given or, of what that writes, after it.
        """
        return _ffi_api.ReIndex(self, block, buffer)

    def reindex_cache_read(self, block, read_buffer_index, storage_scope, index_map):
        """Copy what a block reads to another memory, with other indices.

        Parameters
        ----------
        block : BlockRV or str
            The block; it accesses the buffer at one place.
        read_buffer_index : int, str or Buffer
            Which of the buffers it reads.
        storage_scope : str
            The memory; the copy is named after it: ``A_shared``.
        index_map : IndexMap or callable
            From the iterators of the block to the indices of the copy.

        Returns
        -------
        BlockRV
            The block that copies, before the one given.
        """
        block, index_map = self._iter_map(block, index_map)
        args = [block, read_buffer_index, storage_scope, index_map]
        return _ffi_api.ReindexCacheRead(self, *args)

    def reindex_cache_write(self, block, write_buffer_index, storage_scope, index_map):
        """Let a block write to another memory with other indices, and copy from there.

        Parameters
        ----------
        block : BlockRV or str
            The block; it accesses the buffer at one place.
        write_buffer_index : int, str or Buffer
            Which of the buffers it writes.
        storage_scope : str
            The memory; what is written there is named after it: ``C_local``.
        index_map : IndexMap or callable
            From the iterators of the block to the indices there.

        Returns
        -------
        BlockRV
            The block that copies, after the one given.
        """
        block, index_map = self._iter_map(block, index_map)
        args = [block, write_buffer_index, storage_scope, index_map]
        return _ffi_api.ReindexCacheWrite(self, *args)

    def _iter_map(self, block, index_map):
        """The block, and a map from its iterators: an IndexMap or a function of them."""
        block = self._block(block)
        if not isinstance(index_map, IndexMap):
            iters = self.get(block).iter_vars
            dtype = str(iters[0].var.dtype) if len(iters) else "int32"
            index_map = IndexMap.from_func(index_map, len(iters), index_dtype=dtype)
        return block, index_map

    # ---- reductions ----

    def rfactor(self, loop, factor_axis):
        """Reduce in parts, one for each value of a loop, and then the parts.

        Parameters
        ----------
        loop : LoopRV
            A loop that the block below reduces over: a sum, product, minimum, maximum, argmin or
            argmax.
        factor_axis : int
            Axis of the new buffers ``C_rf`` for the loop; below 0 from the end.

        Returns
        -------
        BlockRV
            The block that makes the parts, ``C_rf``. The handle of the old block then stands for
            the one that reduces them.
        """
        return _ffi_api.RFactor(self, loop, factor_axis)

    # ---- blocks of blocks ----

    def blockize(self, target, preserve_unit_iters=True):
        """Make a block of a loop and all below it, or of several blocks.

        Parameters
        ----------
        target : LoopRV or list of (BlockRV or str)
            A loop with one block below; or blocks of one scope, with the loops that are around one
            of them only.
        preserve_unit_iters : bool
            Bind iterators that take one value to the loops that run once, not to constants.

        Returns
        -------
        BlockRV
            The new block, ``B_o``. What begins a reduction is in it; the handle of the old block
            stands for the one inside.
        """
        return _ffi_api.Blockize(self, target, preserve_unit_iters)

    def tensorize(self, block_or_loop, tensor_intrin, preserve_unit_iters=True):
        """Let an instruction do what a block or loop computes.

        Parameters
        ----------
        block_or_loop : BlockRV, str or LoopRV
            A block; or a loop, which becomes one (see `blockize`).
        tensor_intrin : str
            Name under which the instruction was registered; see `TensorIntrin.register`.
        preserve_unit_iters : bool
            See `blockize`.

        Raises
        ------
        ScheduleError
            The block computes something else than the instruction is described to.
        """
        _ffi_api.Tensorize(self, block_or_loop, tensor_intrin, preserve_unit_iters)

    # ---- padding ----

    def decompose_padding(self, block, loop):
        """Divide a block that pads into one that fills and one that copies.

        Parameters
        ----------
        block : BlockRV or str
            Stores ``if_then_else(condition, inside, constant)`` or a Select; the condition limits
            each iterator by itself. Its handle then stands for the block that copies.
        loop : LoopRV
            Around the block; the filling is put before it.

        Returns
        -------
        BlockRV
            The block that fills with the constant: ``B_pad_const``.
        """
        return _ffi_api.DecomposePadding(self, block, loop)

    def can_decompose_padding(self, block, loop):
        """Whether `decompose_padding` would succeed."""
        return bool(_ffi_api.CanDecomposePadding(self, self._block(block), loop))

    def pad_einsum(self, block, padding):
        """Let the iterators of a sum of products run to multiples, with operands padded by 0.

        Parameters
        ----------
        block : BlockRV or str
            Adds up products of elements at its own iterators, each bound to a loop.
        padding : list of int or ExprRV
            A factor for each iterator: its extent becomes the next multiple. What was sampled
            counts with its value.

        Raises
        ------
        ScheduleError
            The block computes something else, or its scope is not a stage pipeline.
        """
        _ffi_api.PadEinsum(self, block, padding)
