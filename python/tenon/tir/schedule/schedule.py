"""The class Schedule and its handles."""

from ..._ffi.registry import register_object
from ...error import ScheduleError  # noqa: F401
from ...ir.expr import PrimExpr
from ...ir.module import IRModule
from ...runtime.object import Object
from ..expr import IntImm
from ..function import PrimFunc
from . import _ffi_api
from .block_steps import BlockSteps
from .layout_steps import LayoutSteps
from .sampling import Sampling
from .state import ScheduleState, StmtSRef

# handles of integers are expressions
ExprRV = PrimExpr

_DEBUG = {"all": -1, "none": 0, "verify_sref_tree": 1, "verify_cached_flags": 2}
_RENDER = {"detail": 0, "fast": 1, "none": 2}


def _module(mod):
    if isinstance(mod, PrimFunc):
        return IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise TypeError(f"Schedule: expected an IRModule or PrimFunc, got {type(mod).__name__}")
    return mod


def _choice(name, value, choices):
    if value is None:
        value = "none" if name == "debug_mask" else "detail"
    if isinstance(value, str):
        if value not in choices:
            raise ValueError(f"{name}: expected one of {', '.join(choices)}, got {value!r}")
        return choices[value]
    return int(value)


@register_object("tir.Schedule")
class Schedule(Object, BlockSteps, Sampling, LayoutSteps):
    """A program being scheduled.

    Each step rewrites the program; `mod` is the program so far. Modules taken out before stay as
    they are, and a step that fails changes nothing.

    Parameters
    ----------
    mod : IRModule or PrimFunc
        The program; a function becomes ``main`` of a module.
    seed : int, optional
        Start of random choices.
    debug_mask : str or int
        What is checked after each step; a step with a fault raises `InternalError` and changes
        nothing. "none"; "verify_sref_tree" (1): each loop and block stands at one place, binds
        its own variables, and every variable is bound around its uses; "verify_cached_flags"
        (2): no statement is lost, new buffers are written before they are read, blocks touch only
        what they declare, and indices lie in the shapes; "all" (-1).
    error_render_level : str
        "detail" (with the program), "fast" (a fixed text) or "none".
    enable_check : bool
        Kept for old programs: checks are always made.
    """

    __slots__ = ()

    def __init__(
        self,
        mod,
        *,
        seed=None,
        debug_mask="none",
        error_render_level="detail",
        enable_check=True,
    ):
        if seed is not None and (not isinstance(seed, int) or seed < 0):
            raise ValueError(f"seed: expected an integer that is not negative, got {seed!r}")
        self.__init_handle_by_constructor__(
            _ffi_api.Schedule,
            _module(mod),
            _choice("debug_mask", debug_mask, _DEBUG),
            _choice("error_render_level", error_render_level, _RENDER),
            seed,
        )

    # ---- the program and its handles ----

    @property
    def state(self):
        """The program without handles."""
        return ScheduleState(self)

    @property
    def func_working_on(self):
        """The function that `get_block` looks into (GlobalVar), None: `work_on` was not called."""
        return None if self.work_name is None else self.mod.get_global_var(self.work_name)

    def enter_postproc(self):
        """Note in the trace that the steps from here on are postprocessing."""
        _ffi_api.EnterPostproc(self)

    def copy(self):
        """A schedule of the same program, in which the handles of this one are known too."""
        return _ffi_api.Copy(self)

    def work_on(self, func_name):
        """Choose the function that `get_block` looks into."""
        _ffi_api.WorkOn(self, func_name)

    def get(self, rand_var_or_sref):
        """What a handle stands for now: Block, For or an integer."""
        if isinstance(rand_var_or_sref, StmtSRef):
            return rand_var_or_sref.stmt
        result = _ffi_api.Get(self, rand_var_or_sref)
        return result.value if isinstance(result, IntImm) else result

    def get_sref(self, rand_var_or_stmt):
        """The block or loop of a handle, as StmtSRef."""
        return _ffi_api.GetSRef(self, rand_var_or_stmt)

    def remove_rv(self, rand_var):
        """Forget a handle."""
        _ffi_api.RemoveRV(self, rand_var)

    def show(self, *args, **kwargs):
        """Print the program; see `IRModule.show`."""
        self.mod.show(*args, **kwargs)

    def get_block(self, name, func_name=None):
        """The block of a name.

        Parameters
        ----------
        name : str
            Its name; it must be the only one.
        func_name : str, optional
            Function to look into; left out, that of `work_on`, else ``main`` or the only one.

        Returns
        -------
        BlockRV

        Raises
        ------
        ScheduleError
            No or several blocks have the name.
        """
        return _ffi_api.GetBlock(self, name, func_name)

    def _block(self, block):
        return self.get_block(block) if isinstance(block, str) else block

    def get_loops(self, block):
        """Loops around a block, up to the block it lies in; outermost first."""
        return list(_ffi_api.GetLoops(self, block))

    def get_child_blocks(self, block_or_loop):
        """Blocks directly below a block or loop."""
        return list(_ffi_api.GetChildBlocks(self, block_or_loop))

    def get_producers(self, block):
        """Blocks of the same scope that write what a block reads."""
        return list(_ffi_api.GetProducers(self, block))

    def get_consumers(self, block):
        """Blocks of the same scope that read what a block writes."""
        return list(_ffi_api.GetConsumers(self, block))

    def get_output_blocks(self, scope_block):
        """Blocks in a block that write what it does not allocate."""
        return list(_ffi_api.GetOutputBlocks(self, scope_block))

    # ---- loops ----

    def split(self, loop, factors, preserve_unit_iters=True, disable_predication=False):
        """Split a loop into nested ones.

        Parameters
        ----------
        loop : LoopRV
            Starts at 0, without annotations and thread binding.
        factors : list of int, ExprRV or None
            Extents, outermost first; one of them may be None and is inferred. Where their product
            is more than the extent, blocks below get a predicate.
        preserve_unit_iters : bool
            Keep loops that run once in the bindings of blocks.
        disable_predication : bool
            Add no predicate.

        Returns
        -------
        list of LoopRV
            Outermost first.
        """
        args = [loop, factors, preserve_unit_iters, disable_predication]
        return list(_ffi_api.Split(self, *args))

    def fuse(self, *loops, preserve_unit_iters=True):
        """Make nested loops, outermost first, one; returns its LoopRV."""
        return _ffi_api.Fuse(self, loops, preserve_unit_iters)

    def merge(self, *loops):
        """Make loops next to each other one.

        Parameters
        ----------
        loops : LoopRV
            Each the innermost to be merged: the loops around it, up to where they meet, are merged
            too. They have the same extents, and no iteration of one uses what another iteration
            of another one writes.

        Returns
        -------
        LoopRV
            The innermost of the new loops.
        """
        return _ffi_api.Merge(self, loops)

    def loop_partition(self, loop, factors, preserve_unit_iters=True):
        """Divide the iterations of a loop among several loops, one after the other.

        Parameters
        ----------
        loop : LoopRV
            Has a constant extent, no annotations and no thread binding.
        factors : list of int, ExprRV or None
            Extents of the parts; one of them may be None and is what the others leave. Without
            None, what they leave becomes a last part.
        preserve_unit_iters : bool
            Keep the variables of loops that run once in the bindings of blocks.

        Returns
        -------
        list of LoopRV
            The parts in their order. Handles of the loop and of what was below it are no more:
            the blocks of part 0 of a loop `i` are named `B_i0`.
        """
        return list(_ffi_api.LoopPartition(self, loop, factors, preserve_unit_iters))

    def reorder(self, *ordered_loops):
        """Put loops of one chain into the given order; others between them stay."""
        _ffi_api.Reorder(self, ordered_loops)

    def parallel(self, loop):
        """Run the iterations of a loop in threads."""
        _ffi_api.Parallel(self, loop)

    def vectorize(self, loop):
        """Run the iterations of a loop as lanes of vectors."""
        _ffi_api.Vectorize(self, loop)

    def unroll(self, loop):
        """Write the iterations of a loop out. Possible for any loop."""
        _ffi_api.Unroll(self, loop)

    def bind(self, loop, thread_axis):
        """Bind a loop to a thread axis.

        Parameters
        ----------
        loop : LoopRV
            The loop.
        thread_axis : str
            "blockIdx.x" ... "threadIdx.z", "vthread", "vthread.x" ...
        """
        _ffi_api.Bind(self, loop, thread_axis)

    def add_unit_loop(self, block_or_loop):
        """Put a loop that runs once around a block or loop; returns its LoopRV."""
        return _ffi_api.AddUnitLoop(self, block_or_loop)

    # ---- annotations ----

    def annotate(self, block_or_loop, ann_key, ann_val):
        """Set an annotation of a block or loop: str, int, float, expression, list or dict."""
        _ffi_api.Annotate(self, block_or_loop, ann_val, ann_key)

    def unannotate(self, block_or_loop, ann_key):
        """Take an annotation away; it must be there."""
        _ffi_api.Unannotate(self, block_or_loop, ann_key)

    # ---- blocks ----

    def compute_inline(self, block):
        """Compute each element where it is read, and remove the block."""
        _ffi_api.ComputeInline(self, block)

    def reverse_compute_inline(self, block):
        """Compute what a block makes of its only producer's result in the producer."""
        _ffi_api.ReverseComputeInline(self, block)

    def decompose_reduction(self, block, loop):
        """Move the first value of a reduction into its own block, before a loop.

        Parameters
        ----------
        block : BlockRV or str
            The reduction; its handle then stands for the update.
        loop : LoopRV
            Around it, not below a loop that it reduces over.

        Returns
        -------
        BlockRV
            The block of the first values.
        """
        return _ffi_api.DecomposeReduction(self, block, loop)

    def set_scope(self, block, buffer_index, storage_scope):
        """Move a buffer that a block writes to another memory.

        Parameters
        ----------
        block : BlockRV or str
            The block.
        buffer_index : int, str or Buffer
            Which of the buffers it writes.
        storage_scope : str
            "global", "shared", "local" ...
        """
        _ffi_api.SetScope(self, block, buffer_index, storage_scope)
