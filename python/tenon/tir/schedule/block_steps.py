"""Steps of schedules that move, divide and copy blocks: a part of the class Schedule."""

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
        block = self._block(block)
        _ffi_api.ComputeAt(self, block, loop, preserve_unit_loops, index, False)
        self._note("ComputeAt", [block, loop], [int(preserve_unit_loops), index])

    def reverse_compute_at(self, block, loop, preserve_unit_loops=False, index=-1):
        """Move a block under a loop of the blocks whose results it uses; see `compute_at`."""
        block = self._block(block)
        _ffi_api.ComputeAt(self, block, loop, preserve_unit_loops, index, True)
        self._note("ReverseComputeAt", [block, loop], [int(preserve_unit_loops), index])
