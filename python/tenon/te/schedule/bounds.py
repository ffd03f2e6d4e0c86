"""What follows for a whole schedule: bounds of all variables, inlining, its statements."""

from . import _ffi_api


def InferBound(sch):
    """The range of every iteration variable of a schedule that is normalized.

    Parameters
    ----------
    sch : Schedule
        As `Schedule.normalize` gives it.

    Returns
    -------
    Map of IterVar to Range
    """
    return _ffi_api.InferBound(sch)


def normalize(sch):
    """See `Schedule.normalize`."""
    return sch.normalize()


def AutoInlineElemWise(sch):
    """Inline what is computed element by element and nothing was said of yet."""
    _ffi_api.AutoInline(sch, 0)


def AutoInlineBroadcast(sch):
    """Inline also operations with the tag ``broadcast``."""
    _ffi_api.AutoInline(sch, 1)


def AutoInlineInjective(sch):
    """Inline all operations without reduction that nothing was said of yet."""
    _ffi_api.AutoInline(sch, 2)


def ScheduleOps(sch, bounds, debug_keep_trivial_loop=False):
    """The statements of a schedule.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    bounds : Map of IterVar to Range
        What `InferBound` gives for it. The bounds are inferred again: they say nothing new.
    debug_keep_trivial_loop : bool
        Makes no difference: loops of one iteration are there for passes to remove.

    Returns
    -------
    Stmt
        All stages, in an attribute that says which buffers inputs and results are in;
        `SchedulePostProcToPrimFunc` takes it.
    """
    return _ffi_api.ScheduleOps(sch)


def SchedulePostProcToPrimFunc(arg_list, body, bindings):
    """A statement as a function.

    Parameters
    ----------
    arg_list : list of Tensor, Buffer or Var
        The parameters, in order.
    body : Stmt
        What `ScheduleOps` gives, or another statement over the buffers among `arg_list`.
    bindings : dict of Tensor to Buffer, optional
        Buffers to use for tensors.

    Returns
    -------
    PrimFunc

    Raises
    ------
    ValueError
        The statement uses an input, or computes a result, that is not among the arguments.

    Examples
    --------
    >>> A = tenon.te.placeholder((8,), name="A")
    >>> B = tenon.te.compute((8,), lambda i: A[i] + 1.0, name="B")
    >>> s = tenon.te.create_schedule(B.op).normalize()
    >>> stmt = tenon.te.schedule.ScheduleOps(s, tenon.te.schedule.InferBound(s))
    >>> func = tenon.te.schedule.SchedulePostProcToPrimFunc([A, B], stmt, None)
    """
    return _ffi_api.SchedulePostProcToPrimFunc(list(arg_list), body, bindings or None)


def CreateReadGraph(ops):
    """What each operation reads.

    Parameters
    ----------
    ops : list of Operation
        The operations, and all that they need.

    Returns
    -------
    Map of Operation to list of Tensor
    """
    return _ffi_api.CreateReadGraph(list(ops))


def PostDFSOrder(ops, graph):
    """Operations of a graph, inputs before users.

    Parameters
    ----------
    ops : list of Operation
        Those that are wanted, with all that they need.
    graph : Map of Operation to list of Tensor
        As `CreateReadGraph` gives it.

    Returns
    -------
    list of Operation
    """
    return _ffi_api.PostDFSOrder(list(ops), graph)
