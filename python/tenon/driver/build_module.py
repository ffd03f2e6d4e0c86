"""`lower` and `build`: what most programs call to get from a tensor program to a module."""

from ..ir import IRModule
from ..runtime import Module
from ..target import Target
from ..tir import Buffer, PrimFunc, Var, decl_buffer
from . import _ffi_api


def get_binds(args, compact=False, binds=None):
    """The buffers of a function's parameters.

    Parameters
    ----------
    args : list of Tensor, Buffer or Var
        The parameters, in order.
    compact : bool
        No buffer is broadcast. Otherwise those of tensors with a variable as an extent are: where
        that is 1 at run time, all indices along the axis read the same element.
    binds : dict of Tensor to Buffer, optional
        Buffers to use for tensors.

    Returns
    -------
    binds : dict of Tensor to Buffer
        The given ones, and a new buffer for each other tensor.
    parameters : list of Buffer or Var
        The parameters with buffers in place of tensors.

    Raises
    ------
    TypeError
        A parameter is something else.
    """
    from ..te.tensor import Tensor

    binds = dict(binds or {})
    parameters = []
    for arg in args:
        if isinstance(arg, Tensor):
            if arg not in binds:
                binds[arg] = _buffer_of(arg, compact)
            arg = binds[arg]
        elif not isinstance(arg, Buffer | Var):
            raise TypeError(
                f"get_binds: expected a Tensor, Buffer or Var, got {type(arg).__name__}"
            )
        parameters.append(arg)
    return binds, parameters


def _buffer_of(tensor, compact):
    open_extents = any(isinstance(extent, Var) for extent in tensor.shape)
    kind = "auto_broadcast" if open_extents and not compact else ""
    return decl_buffer(tensor.shape, tensor.dtype, tensor.op.name, buffer_type=kind)


def schedule_to_module(sch, args=None, name="main", binds=None):
    """The tensor program of a schedule of tensor expressions, before any pass.

    Parameters
    ----------
    sch : te.schedule.Schedule
        The schedule.
    args : list of Tensor, Buffer or Var
        The parameters, in order.
    name : str
        What the function is called.
    binds : dict of Tensor to Buffer, optional
        Buffers to use for tensors.

    Returns
    -------
    IRModule
        Its function has the attribute ``from_legacy_te_schedule``: passes that lower blocks leave
        it to StorageFlatten.
    """
    mod = _module_of_schedule(sch, args, name, binds)
    return IRModule({name: mod[name].with_attr("from_legacy_te_schedule", True)})


def _module_of_schedule(sch, args, name, binds):
    from ..te.schedule import _ffi_api as te_schedule

    if args is None:
        raise ValueError("args must be given for build from schedule")
    func = te_schedule.ToFunc(sch, list(args), binds or None)
    return IRModule({name: func.with_attr("global_symbol", name)})


def _programs_of(inp, args, name, binds):
    """The IRModule or PrimFunc of whatever may be built."""
    if isinstance(inp, IRModule | PrimFunc):
        return inp
    if isinstance(inp, list | tuple) and args is None:
        if inp and all(isinstance(x, IRModule | PrimFunc) for x in inp):
            return _one_module(inp)
        from .. import te

        return te.create_prim_func(list(inp))
    if getattr(inp, "stage_map", None) is not None:
        return _module_of_schedule(inp, args, name, binds)
    mod = getattr(inp, "mod", None)
    if isinstance(mod, IRModule):
        return mod
    raise ValueError(
        "expected an IRModule, a PrimFunc, a list of tensors or a schedule of one, "
        f"got {type(inp).__name__}"
    )


def _one_module(programs):
    """One module of several modules and functions."""
    functions = {}
    for program in programs:
        if isinstance(program, PrimFunc):
            program = IRModule({str(program.attrs["global_symbol"]): program})
        for var, func in program.functions.items():
            if var.name_hint in functions:
                raise ValueError(f"Duplicate function name {var.name_hint}")
            functions[var.name_hint] = func
    return IRModule(functions)


def lower(inp, args=None, name="main", binds=None, simple_mode=False):
    """Lower tensor programs to flat loops over flat memory.

    Parameters
    ----------
    inp : IRModule, PrimFunc, list of them, list of te.Tensor, or tir.Schedule
        The programs.
    args : list, optional
        Not used: parameters of the programs are their own.
    name : str
        What the function is called, where one function and no module is given.
    binds : dict, optional
        Not used.
    simple_mode : bool
        Leave out the passes that make the result hard to read.

    Returns
    -------
    IRModule
    """
    inp = _programs_of(inp, args, name, binds)
    if isinstance(inp, PrimFunc):
        return _ffi_api.lower_primfunc(inp, name, simple_mode)
    return _ffi_api.lower(inp, simple_mode)


class OperatorModule(Module):
    """A module of operators, with the programs that it was made of.

    Attributes
    ----------
    ir_module_by_target : dict of Target to IRModule
        The programs after lowering.
    name : str
        What it is called.
    """

    def __init__(self, handle, ir_module_by_target=None, name=None):
        super().__init__(handle)
        self.ir_module_by_target = ir_module_by_target
        self.name = name

    @classmethod
    def from_module(cls, mod, ir_module_by_target=None, name=None):
        """The same module with what it was made of.

        Parameters
        ----------
        mod : Module
            The code.
        ir_module_by_target : dict of Target to IRModule, optional
            The programs.
        name : str, optional
            What it is called.

        Returns
        -------
        OperatorModule
        """
        return cls(mod, ir_module_by_target, name)


def build(
    inputs,
    args=None,
    target=None,
    target_host=None,
    runtime=None,
    name="default_function",
    binds=None,
):
    """Compile tensor programs.

    Parameters
    ----------
    inputs : IRModule, PrimFunc, te or tir schedule, list of te.Tensor
        The programs, a list of modules and functions, or a dict of Target to such for
        several targets. All code for one host is one module, with the kernels of each device as its
        imports.
    args : list, optional
        Parameters of a schedule of tensor expressions; other programs have their own. A target that
        stands here alone is taken for the target.
    target : str, dict or Target, optional
        What for; default: that of the innermost ``with Target(...)``, else ``llvm``.
    target_host : str, dict or Target, optional
        What the code that launches kernels is compiled for.
    runtime : Runtime, optional
        What it runs on; its option ``system-lib`` makes code that is linked into a program and
        found by `tenon.runtime.system_lib`.
    name : str
        What the function is called, where one function and no module is given.
    binds : dict, optional
        Not used.

    Returns
    -------
    OperatorModule

    Raises
    ------
    ValueError
        Something else was given, or a target without a code generator.
    """
    if target is None and isinstance(args, str | Target):
        args, target = None, args
    host = Target.canon_target(target_host)
    if isinstance(inputs, dict):
        if not inputs:
            raise ValueError("there is nothing to build: the dictionary is empty")
        programs = {Target.canon_target(t): lower(mod, args, name) for t, mod in inputs.items()}
    else:
        target = Target.canon_target(target) or Target.current() or Target("llvm")
        programs = {target: lower(inputs, args, name, binds)}
    return OperatorModule.from_module(_ffi_api.build(programs, host, runtime), programs, name)


def kernel_cache_info():
    """What the cache of compiled kernels holds, and what it did for this process.

    Returns
    -------
    dict
        ``folder`` (``""`` without one), ``reason`` (why there is no cache, else ``""``),
        ``entries``, ``bytes`` and ``limit`` of the folder, and counts of this process: ``hits``,
        ``misses``, ``stored``.
    """
    return {
        str(key): value if isinstance(value, int) else str(value)
        for key, value in _ffi_api.kernel_cache_info().items()
    }


def kernel_cache_clear():
    """Remove all compiled kernels from the user's cache.

    Returns
    -------
    int
        Number of entries that were removed.

    Raises
    ------
    OSError
        There is no cache, or entries cannot be removed.
    """
    return _ffi_api.kernel_cache_clear()
