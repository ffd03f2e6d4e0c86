"""The classes Schedule and Stage."""

from ..._ffi.registry import register_object
from ...runtime.object import Object
from ...tir.expr import IterVar, StringImm, const, convert
from ...tir.index_map import IndexMap
from ..tensor import Operation, Tensor
from . import _ffi_api

_ROOT, _INLINE = 1, 2


@register_object("Split")
class Split(Object):
    """A loop that became two: `parent`, `outer`, `inner`, `factor` or `nparts`."""

    __slots__ = ()


@register_object("Fuse")
class Fuse(Object):
    """Two loops that became one: `outer`, `inner`, `fused`."""

    __slots__ = ()


@register_object("Singleton")
class Singleton(Object):
    """A loop of one iteration: `iter`."""

    __slots__ = ()


def create_schedule(ops):
    """A schedule of operations and all that they need.

    Parameters
    ----------
    ops : Operation, Tensor, or list of them
        What is wanted.

    Returns
    -------
    Schedule
    """
    ops = ops if isinstance(ops, list | tuple) or _is_array(ops) else [ops]
    return _ffi_api.CreateSchedule([op.op if isinstance(op, Tensor) else op for op in ops])


def _is_array(value):
    return not isinstance(value, Operation | Tensor) and hasattr(value, "__len__")


def _op(value, what):
    if isinstance(value, Tensor):
        value = value.op
    if not isinstance(value, Operation):
        raise ValueError(f"Expect {what} to be Tensor or Operation, got {type(value).__name__}")
    return value


@register_object("Schedule")
class Schedule(Object):
    """How operations are computed; made by `create_schedule`.

    ``s[T]`` is the `Stage` of a tensor or operation. `outputs` lists the operations whose results
    are wanted, `stages` all stages with inputs before users.
    """

    __slots__ = ()

    def __getitem__(self, k):
        k = _op(k, "schedule key")
        if k not in self.stage_map:
            raise ValueError(f"Cannot find the operation {k.name} in schedule")
        return _ffi_api.StageOf(self, k)

    def normalize(self):
        """A copy that is ready for `InferBound`: inlined operations are part of their users.

        Returns
        -------
        Schedule
        """
        return _ffi_api.Normalize(self)

    def create_group(self, outputs, inputs, include_inputs=False):
        """Group the stages between some inputs and outputs.

        Parameters
        ----------
        outputs, inputs : Tensor, Operation or list of them
            Where the group ends and begins.
        include_inputs : bool
            Whether the stages of the inputs belong to it.

        Returns
        -------
        Stage
            The group: where it is computed (`Stage.compute_at`) goes for all of its stages that
            nothing else is said of.
        """
        ends = [[x] if isinstance(x, Tensor | Operation) else x for x in (outputs, inputs)]
        return _ffi_api.CreateGroup(
            self,
            [_op(x, "output") for x in ends[0]],
            [_op(x, "input") for x in ends[1]],
            bool(include_inputs),
        )

    def cache_read(self, tensor, scope, readers):
        """Copy a tensor to a memory, where readers find it.

        Parameters
        ----------
        tensor : Tensor
            What is copied.
        scope : str
            "global", "shared", "local" ...
        readers : list of Tensor or Operation
            Who reads the copy.

        Returns
        -------
        Tensor
            The copy.
        """
        readers = [readers] if isinstance(readers, Tensor | Operation) else readers
        ops = [_op(r, "reader") for r in readers]
        return _ffi_api.CacheRead(self, tensor, scope, ops)

    def cache_write(self, tensor, scope):
        """Compute a tensor in a memory; its own stage then copies it from there.

        Parameters
        ----------
        tensor : Tensor, or list of all results of an operation
            What is computed there. Its axes there are the loops that the stage has by now, in
            their order; loops that are reduced over may not have been split or fused.
        scope : str
            "global", "shared", "local" ...

        Returns
        -------
        Tensor or list of Tensor
            What lies in the memory.
        """
        many = isinstance(tensor, list | tuple)
        result = _ffi_api.CacheWrite(self, list(tensor) if many else [tensor], scope)
        return list(result) if many else result[0]

    def rfactor(self, tensor, axis, factor_axis=0):
        """Make a loop of a reduction an axis of partial results, which are then reduced.

        Parameters
        ----------
        tensor : Tensor
            Result of the reduction.
        axis : IterVar
            The loop.
        factor_axis : int
            Where the new axis goes; negative numbers count from the end.

        Returns
        -------
        Tensor or list of Tensor
            The partial results, of an operation before the reduction.
        """
        result = list(_ffi_api.RFactor(self, tensor, axis, factor_axis))
        return result[0] if len(result) == 1 else result


@register_object("Stage")
class Stage(Object):
    """How one operation is computed: its loops, and where it is."""

    __slots__ = ()

    # ---- loops ----

    def split(self, parent, factor=None, nparts=None, disable_predication=False):
        """Split a loop into an outer and an inner one.

        Parameters
        ----------
        parent : IterVar
            The loop.
        factor : int or PrimExpr, optional
            Iterations of the inner loop.
        nparts : int or PrimExpr, optional
            Iterations of the outer loop; one of the two must be given.
        disable_predication : bool
            Check no bounds where the parts do not come out even.

        Returns
        -------
        (outer, inner) : pair of IterVar
        """
        if nparts is not None and factor is not None:
            raise ValueError("Do not need to provide both outer and nparts")
        if nparts is None and factor is None:
            raise ValueError("Either nparts or factor need to be provided")
        outer, inner = _ffi_api.Split(self, parent, factor, nparts, disable_predication)
        return outer, inner

    def fuse(self, *args):
        """Make loops that follow each other one.

        Parameters
        ----------
        args : IterVar
            The loops, outermost first; without any, a loop of one iteration is made.

        Returns
        -------
        IterVar
        """
        return _ffi_api.Fuse(self, list(args))

    def reorder(self, *args):
        """Put loops into the given order, at the places they have."""
        _ffi_api.Reorder(self, list(args))

    def tile(
        self,
        x_parent,
        y_parent,
        x_factor,
        y_factor,
        disable_predication=False,
    ):
        """Split two loops and put the inner parts inside.

        Parameters
        ----------
        x_parent, y_parent : IterVar
            The loops.
        x_factor, y_factor : int or PrimExpr
            Iterations of their inner parts.
        disable_predication : bool
            See `split`.

        Returns
        -------
        (x_outer, y_outer, x_inner, y_inner) : IterVars
        """
        x_outer, x_inner = self.split(x_parent, x_factor, None, disable_predication)
        y_outer, y_inner = self.split(y_parent, y_factor, None, disable_predication)
        self.reorder(x_outer, y_outer, x_inner, y_inner)
        return x_outer, y_outer, x_inner, y_inner

    def transform_layout(self, mapping_function):
        """Store the result in another layout, with loops over its axes.

        Goes before any other step on the operation's axes; the stage is computed at the root. An
        argument of the function, a placeholder among them, then has the new layout for the caller,
        too; places that stand for no element hold anything.

        Parameters
        ----------
        mapping_function : callable or IndexMap
            From the axes of the operation to the new ones; a sequence with `te.AXIS_SEPARATOR`
            where a group of axes begins that is flattened apart.

        Returns
        -------
        list of IterVar
            The new loops; none of a placeholder.

        Raises
        ------
        TVMError
            The map cannot be inverted, or something was said of the axes before.
        """
        index_map, separators = mapping_function, []
        if not isinstance(index_map, IndexMap):
            shape = self.op.output(0).shape
            index_map, separators = IndexMap.from_func_with_separators(
                mapping_function, ndim=len(shape), index_dtype=shape[0].dtype
            )
        axes = [const(i, "int32") for i in separators]
        return list(_ffi_api.TransformLayout(self, index_map, axes))

    def bind(self, ivar, thread_ivar):
        """Bind a loop to a thread axis of `te.thread_axis`."""
        _ffi_api.Bind(self, ivar, thread_ivar)

    def vectorize(self, var):
        """Run the iterations of a loop as lanes of vectors."""
        _ffi_api.SetKind(self, var, IterVar.Vectorized)

    def unroll(self, var):
        """Write the iterations of a loop out."""
        _ffi_api.SetKind(self, var, IterVar.Unrolled)

    def parallel(self, var):
        """Run the iterations of a loop in threads."""
        _ffi_api.SetKind(self, var, IterVar.Parallelized)

    def pragma(self, var, pragma_type, pragma_value=None):
        """Set a pragma of a loop.

        Parameters
        ----------
        var : IterVar
            The loop.
        pragma_type : str
            "auto_unroll_max_step", "unroll_explicit", ...
        pragma_value : int, str or PrimExpr, optional
            Its value; 1 by default.
        """
        if isinstance(pragma_value, str):
            pragma_value = StringImm(pragma_value)
        elif pragma_value is not None:
            pragma_value = convert(pragma_value)
        _ffi_api.Pragma(self, var, pragma_type, pragma_value)

    def prefetch(self, tensor, var, offset):
        """Fetch into the cache what a later iteration of a loop reads of a tensor.

        Parameters
        ----------
        tensor : Tensor
            What is fetched.
        var : IterVar
            The loop.
        offset : int or PrimExpr
            How many iterations ahead.
        """
        _ffi_api.Prefetch(self, tensor, var, offset)

    def tensorize(self, var, tensor_intrin):
        """Let an intrinsic compute what a loop and those inside it do.

        Parameters
        ----------
        var : IterVar
            The outermost of the loops.
        tensor_intrin : TensorIntrin
            What `te.decl_tensor_intrin` gave. When the schedule is lowered, TVMError says where
            the loops compute anything else.
        """
        _ffi_api.Tensorize(self, var, tensor_intrin)

    # ---- where it is computed ----

    def compute_at(self, parent, scope):
        """Compute the stage in a loop of another, as much as one iteration needs.

        Parameters
        ----------
        parent : Stage
            The other stage.
        scope : IterVar
            Its loop.
        """
        _ffi_api.ComputeAt(self, parent, scope)

    def compute_inline(self):
        """Compute each element where it is read."""
        _ffi_api.SetAttach(self, _INLINE)

    def compute_root(self):
        """Compute the stage on its own, before all that need it."""
        _ffi_api.SetAttach(self, _ROOT)

    def set_scope(self, scope):
        """Choose the memory of the results: "global", "shared", "local" ..."""
        _ffi_api.SetField(self, "scope", scope)

    def env_threads(self, threads):
        """Start threads around the stage.

        Parameters
        ----------
        threads : IterVar or list of IterVar
            Thread axes with their ranges.
        """
        threads = [threads] if isinstance(threads, IterVar) else list(threads)
        _ffi_api.SetField(self, "env_threads", threads)

    def set_store_predicate(self, predicate):
        """Store results only where a condition over thread axes holds."""
        _ffi_api.SetField(self, "store_predicate", convert(predicate))

    def storage_align(self, axis, factor, offset):
        """Make the stride of an axis a multiple of `factor`, plus `offset`.

        Parameters
        ----------
        axis : IterVar
            Axis of the operation.
        factor, offset : int
            Of the stride, in elements.
        """
        _ffi_api.StorageAlign(self, axis, factor, offset)

    def double_buffer(self):
        """Keep the results twice, so that one is written while the other is read."""
        _ffi_api.SetField(self, "double_buffer", True)

    def rolling_buffer(self):
        """Let the iterations of the loop that the stage is computed at share its results.

        Where neighbouring iterations need overlapping regions, the buffer becomes circular along
        the outermost axis that slides, and each element is computed once. When the schedule is
        lowered, ValueError says why a buffer cannot be rolled.

        Raises
        ------
        TVMError
            The stage is an output, or no compute operation.
        """
        _ffi_api.RollingBuffer(self)
