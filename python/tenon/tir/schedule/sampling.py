"""Steps of schedules that make random choices."""

from . import _ffi_api


class Sampling:
    """The random part of `Schedule`."""

    __slots__ = ()

    def seed(self, seed):
        """Start the random choices anew.

        Parameters
        ----------
        seed : int
            Where to start; -1: anywhere.
        """
        _ffi_api.Seed(self, seed)

    def fork_seed(self):
        """A seed for another schedule, drawn from this one; int."""
        return _ffi_api.ForkSeed(self)

    def sample_categorical(self, candidates, probs, decision=None):
        """Choose one of several integers.

        Parameters
        ----------
        candidates : list of int
            What to choose from.
        probs : list of float
            How likely each of them is.
        decision : int, optional
            Number of the one to take; left out, it is drawn.

        Returns
        -------
        ExprRV
            Stands for the integer.
        """
        return _ffi_api.SampleCategorical(self, candidates, probs, decision)

    def sample_compute_location(self, block, decision=None):
        """Choose where a block is computed.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        decision : int, optional
            Number of the loop of its first consumer, -1 to leave it where it is, -2 to inline it;
            left out, it is drawn from what is possible.

        Returns
        -------
        LoopRV
            For `compute_at`.
        """
        return _ffi_api.SampleComputeLocation(self, block, decision)

    def sample_perfect_tile(self, loop, n, max_innermost_factor=16, decision=None):
        """Choose the extents of `n` loops whose product is the extent of a loop.

        Parameters
        ----------
        loop : LoopRV
            The loop that is to be split.
        n : int
            Number of loops.
        max_innermost_factor : int
            Limit of the last extent; -1: none.
        decision : list of int, optional
            The extents to take; left out, they are drawn.

        Returns
        -------
        list of ExprRV
            For `split`, outermost first.
        """
        return list(_ffi_api.SamplePerfectTile(self, loop, n, max_innermost_factor, decision))

    def sample_partitioned_tile(self, loop, n, partition_pos=0, innerpart_factor=1, decision=None):
        """Like `sample_perfect_tile`, with a condition on the inner extents.

        Parameters
        ----------
        loop : LoopRV
            The loop that is to be split.
        n : int
            Number of loops.
        partition_pos : int
            The first of the inner loops.
        innerpart_factor : int
            The product of the inner extents is a multiple of it.
        decision : list of int, optional
            The extents to take; left out, they are drawn.

        Returns
        -------
        list of ExprRV
            For `split`, outermost first.
        """
        args = [loop, n, partition_pos, innerpart_factor]
        return list(_ffi_api.SamplePartitionedTile(self, *args, decision))
