"""The program of a schedule, seen by its statements instead of handles."""

import collections
import enum

from ..._ffi.registry import register_object
from ...runtime.object import Object
from ..stmt import Block, For
from . import _ffi_api

CachedFlags = collections.namedtuple(
    "CachedFlags", ["affine_binding", "region_cover", "stage_pipeline"]
)


class ScheduleDebugMask(enum.IntEnum):
    """What is verified after each step of a schedule."""

    VERIFY_SREF_TREE = 1
    VERIFY_CACHED_FLAGS = 2


class DepKind(enum.IntEnum):
    """Why a block must run after another one."""

    RAW = 0
    WAW = 1
    WAR = 2
    OPAQUE = 3


@register_object("tir.StmtSRef")
class StmtSRef(Object):
    """A block or loop of a schedule.

    ``stmt`` is the node as it is now, or None once it is gone; ``parent`` the StmtSRef of the block
    or loop around it. The same statement has the same StmtSRef as long as it lives.
    """

    __slots__ = ()


@register_object("tir.Dependency")
class Dependency(Object):
    """``dst`` must run after ``src``, both StmtSRef; ``kind`` is a DepKind."""

    __slots__ = ()


@register_object("tir.BlockScope")
class BlockScope(Object):
    """The blocks directly in a block, and the dependencies among them."""

    __slots__ = ()

    def get_deps_by_src(self, block):
        """Dependencies (list of Dependency) of other blocks on a block, given as StmtSRef."""
        return [dep for dep in self.deps if dep.src.same_as(block)]

    def get_deps_by_dst(self, block):
        """Dependencies (list of Dependency) of a block, given as StmtSRef, on others."""
        return [dep for dep in self.deps if dep.dst.same_as(block)]


class ScheduleState:
    """A program whose statements can be referred to and replaced.

    Parameters
    ----------
    mod : IRModule or PrimFunc
        The program.
    debug_mask : str or int
        As for Schedule.
    enable_check : bool
        Kept for old programs: checks are always made.
    """

    def __init__(self, mod, *, debug_mask="none", enable_check=True):
        from .schedule import Schedule

        schedule = isinstance(mod, Schedule)
        self._schedule = mod if schedule else Schedule(mod, debug_mask=debug_mask)

    @property
    def mod(self):
        """The program as it is now."""
        return self._schedule.mod

    @property
    def debug_mask(self):
        """What is verified after each change, as bits of ScheduleDebugMask."""
        return self._schedule.debug_mask

    def get_sref(self, stmt):
        """The StmtSRef of a block or loop of the program."""
        return _ffi_api.GetSRef(self._schedule, stmt)

    def get_block_scope(self, block_sref):
        """The BlockScope of a block, given as StmtSRef."""
        return _ffi_api.GetBlockScope(self._schedule, block_sref)

    def _get_cached_flags(self, block_sref):
        """CachedFlags of a block, given as StmtSRef.

        Whether its bindings are affine, whether what it reads was written before, and whether the
        blocks in it hand their results on without overwriting what another one reads.
        """
        return CachedFlags(*map(bool, _ffi_api.GetCachedFlags(self._schedule, block_sref)))

    def replace(self, src_sref, tgt_stmt, block_sref_reuse=None):
        """Put another statement at the place of a block or loop.

        Parameters
        ----------
        src_sref : StmtSRef
            The block or loop.
        tgt_stmt : Block, For or BlockRealize
            What takes its place.
        block_sref_reuse : dict of Block to Block, optional
            Blocks inside, and what takes their place: their StmtSRef go on.
        """
        reuse = block_sref_reuse or {}
        _ffi_api.Replace(self._schedule, src_sref, tgt_stmt, reuse)


class BlockDependenceInfo:
    """Dependencies among the blocks of a program.

    Parameters
    ----------
    mod : IRModule or PrimFunc
        The program.
    """

    def __init__(self, mod):
        self._state = ScheduleState(mod)

    @property
    def mod(self):
        """The program."""
        return self._state.mod

    def get_sref(self, block):
        """The StmtSRef of a Block of the program."""
        if not isinstance(block, Block):
            raise TypeError(f"get_sref: expected a Block, got {type(block).__name__}")
        return self._state.get_sref(block)

    def get_block_scope(self, block_sref):
        """The BlockScope of a block, or of the block around a loop, given as StmtSRef."""
        while isinstance(block_sref.stmt, For):
            block_sref = block_sref.parent
        return self._state.get_block_scope(block_sref)
