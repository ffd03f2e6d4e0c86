"""Loops, conditions, bindings and plain statements."""

from ... import tir as _tir
from ...ir import PointerType, PrimType, Range
from ...tir.expr import convert
from .. import tir as _script
from .base import IRBuilder
from .frames import TIRFrame, add_stmt, region_of


class ForFrame(TIRFrame):
    """One loop or several around each other."""

    def __init__(self, doms, make):
        super().__init__()
        self.doms = doms
        self.vars = [_tir.Var("v", d.extent.dtype) for d in doms]
        self._loops = make

    def value(self):
        """The loop variable, or all of them."""
        return self.vars[0] if len(self.vars) == 1 else self.vars

    def finish(self):
        """The loops go to the frame around."""
        add_stmt(self._loops(self.vars, self.doms, self.body()))


def _loop(kind, start, stop, annotations, thread=None):
    if stop is None:
        stop = convert(start)
        start = _tir.const(0, stop.dtype)
    start, stop = convert(start), convert(stop)
    binding = None
    if thread is not None:
        var = _tir.Var("iter", stop.dtype)
        binding = _tir.IterVar(None, var, _tir.IterVar.ThreadIndex, thread)

    def make(loop_vars, doms, body):
        return _tir.For(
            loop_vars[0], doms[0].min, doms[0].extent, kind, body, binding, annotations or {}
        )

    return ForFrame([Range(start, stop)], make)


def serial(start, stop=None, *, annotations=None):
    """A loop."""
    return _loop(_tir.ForKind.SERIAL, start, stop, annotations)


def parallel(start, stop=None, *, annotations=None):
    """A loop over threads of the processor."""
    return _loop(_tir.ForKind.PARALLEL, start, stop, annotations)


def vectorized(start, stop=None, *, annotations=None):
    """A loop that becomes vector operations."""
    return _loop(_tir.ForKind.VECTORIZED, start, stop, annotations)


def unroll(start, stop=None, *, annotations=None):
    """A loop that is unrolled."""
    return _loop(_tir.ForKind.UNROLLED, start, stop, annotations)


def thread_binding(start, stop=None, thread=None, *, annotations=None):
    """A loop over a thread axis."""
    if thread is None:
        if not isinstance(stop, str):
            raise ValueError("Thread cannot be None for thread_binding")
        start, stop, thread = 0, start, stop
    return _loop(_tir.ForKind.THREAD_BINDING, start, stop, annotations, thread)


def grid(*extents):
    """Loops around each other."""

    def make(loop_vars, doms, body):
        for var, dom in reversed(list(zip(loop_vars, doms, strict=True))):
            body = _tir.For(var, dom.min, dom.extent, _tir.ForKind.SERIAL, body)
        return body

    return ForFrame([Range(_tir.const(0, convert(e).dtype), convert(e)) for e in extents], make)


def While(condition):  # noqa: N802
    """A frame for a loop while the condition holds."""
    return TIRFrame(lambda body: _tir.While(condition, body))


class IfFrame(TIRFrame):
    """A condition; its branches are the frames of `Then` and `Else`."""

    def __init__(self, condition):
        super().__init__()
        self.condition = convert(condition)
        self.then_case = None
        self.else_case = None

    def finish(self):
        """The condition goes to the frame around."""
        if self.stmts:
            raise ValueError("statements of a condition belong inside of Then or Else")
        if self.then_case is None:
            raise ValueError("IfThenElse frame should have at least one then branch")
        add_stmt(_tir.IfThenElse(self.condition, self.then_case, self.else_case))


class _Branch(TIRFrame):
    def __init__(self, which):
        super().__init__()
        self._which = which

    def finish(self):
        frame = IRBuilder.current().find(TIRFrame)
        if not isinstance(frame, IfFrame):
            raise ValueError("Then and Else belong inside of `with T.If(...)`")
        if getattr(frame, self._which) is not None:
            raise ValueError(f"Duplicate {self._which.removesuffix('_case')} branch declaration")
        setattr(frame, self._which, self.body())


def If(condition):  # noqa: N802
    """A frame for a condition."""
    return IfFrame(condition)


def Then():  # noqa: N802
    """What is done when the condition holds."""
    return _Branch("then_case")


def Else():  # noqa: N802
    """What is done when it does not."""
    return _Branch("else_case")


def Assert(condition, message):  # noqa: N802
    """A check at run time, around what follows in the frame."""
    return TIRFrame(lambda body: _tir.AssertStmt(condition, message, body))


def LetStmt(value, type_annotation=None, *, var=None):  # noqa: N802
    """A variable bound to a value; the frame is where it is visible."""
    value = convert(value)
    if var is None:
        if isinstance(type_annotation, _script.Name):
            type_annotation = PrimType(type_annotation.path)
        var = _tir.Var("v", type_annotation or value.dtype)
    return TIRFrame(lambda body: _tir.LetStmt(var, value, body), var)


def realize(buffer_slice, storage_scope, condition=True):
    """Memory for a region of a buffer."""
    region = region_of(buffer_slice)

    def make(body):
        done = _tir.BufferRealize(region.buffer, region.region, condition, body)
        return _tir.AttrStmt(region.buffer, "realize_scope", _tir.StringImm(storage_scope), done)

    return TIRFrame(make)


def allocate(extents, dtype, scope="global", condition=None, annotations=None):
    """Memory for the statements of the frame; ``as`` binds its pointer."""
    dtype = dtype.path if isinstance(dtype, _script.Name) else dtype
    var = _tir.Var("v", PointerType(PrimType(dtype), scope))
    cond = _tir.const(True, "bool") if condition is None else condition
    extents = list(extents) if hasattr(extents, "__len__") else [extents]
    return TIRFrame(
        lambda body: _tir.Allocate(var, dtype, extents, cond, body, annotations or {}), var
    )


def allocate_const(data, dtype, extents, annotations=None):
    """Constants for the statements of the frame; ``as`` binds their pointer."""
    import numpy

    from ...runtime import ndarray

    dtype = dtype.path if isinstance(dtype, _script.Name) else dtype
    values = ndarray.array(numpy.asarray(data, dtype).reshape([int(e) for e in extents]))
    var = _tir.Var("v", PointerType(PrimType(dtype)))
    return TIRFrame(
        lambda body: _tir.AllocateConst(var, dtype, extents, values, body, annotations or {}), var
    )


def attr(node, attr_key, value):
    """An attribute over the statements of the frame."""
    value = _tir.StringImm(value) if isinstance(value, str) else convert(value)
    return TIRFrame(lambda body: _tir.AttrStmt(convert(node), attr_key, value, body))


def env_thread(thread_tag, dtype="int32"):
    """A thread axis, to be launched with `launch_thread`."""
    return _tir.IterVar(None, _tir.Var("v", dtype), _tir.IterVar.ThreadIndex, thread_tag)


def launch_thread(thread, extent):
    """Threads over the statements of the frame; ``as`` binds the variable."""
    extent = convert(extent)
    if isinstance(thread, str):
        thread = env_thread(thread, extent.dtype)
    dom = Range(_tir.const(0, extent.dtype), extent)
    bound = _tir.IterVar(dom, thread.var, _tir.IterVar.ThreadIndex, thread.thread_tag)
    key = "virtual_thread" if str(thread.thread_tag).startswith("vthread") else "thread_extent"
    return TIRFrame(lambda body: _tir.AttrStmt(bound, key, extent, body), thread.var)


class meta_var:  # noqa: N801
    """A value of the program that builds, not of the one that is built; a list of them unpacks."""

    def __init__(self, value):
        self.value = value

    def __iter__(self):
        return (meta_var(value) for value in self.value)


def evaluate(value):
    """An expression that is computed for its effect."""
    value = _tir.StringImm(value) if isinstance(value, str) else convert(value)
    add_stmt(_tir.Evaluate(value))


def buffer_store(buffer, value, indices):
    """Writes an element, or a vector where the last index is a slice."""
    indices = list(indices) if isinstance(indices, list | tuple) else [indices]
    made = []
    for index in indices:
        if isinstance(index, slice):
            step = 1 if index.step is None else index.step
            lanes = (index.stop - index.start + step - 1) // step
            made.append(index.start if lanes == 1 else _tir.Ramp(index.start, step, int(lanes)))
        else:
            made.append(index)
    value = convert(value)
    if str(value.dtype) != str(buffer.dtype) and "x" not in str(value.dtype):
        value = (
            _tir.Cast(str(buffer.dtype), value)
            if not isinstance(value, _tir.IntImm | _tir.FloatImm)
            else _tir.const(value.value, str(buffer.dtype))
        )
    add_stmt(_tir.BufferStore(buffer, value, made))


def prefetch(buffer, bounds):
    """A hint that a region is read soon."""
    add_stmt(_tir.Prefetch(buffer, bounds))
