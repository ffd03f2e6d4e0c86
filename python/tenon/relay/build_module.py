"""Building Relay programs."""

import contextlib
import os
import tempfile
import warnings

from .. import nd
from .._ffi import get_global_func
from ..autotvm import tophub
from ..autotvm.task.dispatcher import asked_by_build
from ..ir.module import IRModule
from ..ir.transform import PassContext
from ..ir.type import TupleType
from ..runtime.module import load_module
from ..target import Target
from .backend import interpreter
from .backend.executor import Executor
from .backend.executor_factory import AOTExecutorFactoryModule, GraphExecutorFactoryModule
from .backend.runtime import Runtime
from .function import Function
from .transform import InferType


def _as_arrays(params):
    return {
        name: value if isinstance(value, nd.NDArray) else nd.array(value)
        for name, value in (params or {}).items()
    }


def bind_params_by_name(func, params, strict=False):
    """Make parameters of a function constants.

    Parameters
    ----------
    func : Function
        The function.
    params : dict of str to NDArray or array-like
        Values; names that the function does not have are a warning, and so are elements of
        another type than the parameter's, with which the program computes if it can.
    strict : bool
        Both are errors.

    Returns
    -------
    Function

    Raises
    ------
    ValueError
        Two parameters have that name, or a value is of another shape than its parameter.
    """
    return _bind(func, _as_arrays(params), strict, strict)


def _bind(func, params, strict, exact):
    return get_global_func("relay.build_module.BindParamsByName")(func, params, strict, exact)


def _check_module(mod, what):
    if isinstance(mod, Function):
        warnings.warn(
            f"{what}: pass an IRModule instead of a Function: tenon.IRModule.from_expr(func)",
            DeprecationWarning,
            stacklevel=3,
        )
        return IRModule({"main": mod})
    if not isinstance(mod, IRModule):
        raise ValueError("Type of input parameter mod must be tvm.IRModule")
    return mod


def _bound(mod, params, strict=False):
    if strict:
        PassContext.current().check_names(strict)
    if not params:
        return mod
    bound = mod.clone()
    bound.update_func(
        bound.get_global_var("main"), _bind(mod["main"], _as_arrays(params), strict, True)
    )
    return bound


def _targets(target, target_host):
    """All targets of a program, the one of its code first."""
    if target is None:
        target = Target.current()
    if target is None:
        raise ValueError("Target is not set in env or passed as argument.")
    if target_host is not None:
        warnings.warn(
            "target_host is the old way: use Target(target, host=...)",
            DeprecationWarning,
            stacklevel=3,
        )
    return Target.canon_multi_target_and_host(target, target_host)


class BuildModule:
    """A build step by step; what `build` does at once."""

    def __init__(self):
        self._built = None
        self._params = {}

    def build(
        self,
        mod,
        target=None,
        target_host=None,
        executor=None,
        runtime=None,
        workspace_memory_pools=None,
        constant_memory_pools=None,
        params=None,
        mod_name=None,
        strict=False,
    ):
        """Build a module; see `relay.build` for the parameters.

        Returns
        -------
        (str, Module, dict of str to NDArray)
            Graph (None for the ahead-of-time executor), code, constants.
        """
        executor = executor or Executor("graph")
        mod = _bound(_check_module(mod, "relay.build"), params, strict)
        targets = _targets(target, target_host)
        name = mod_name or "default"
        self._aot = None
        if executor.name == "aot":
            compile_all = get_global_func("driver.aot_build")
            compile_all.release_gil = True
            pools = workspace_memory_pools, constant_memory_pools
            with tophub.for_build(targets), asked_by_build():
                aot = compile_all(mod, targets, name, executor, runtime, *pools)
            lib, constants, cut, self._lowered, functions, self._aot, graph = aot
            self._built = graph, lib, constants, cut, functions
            self._target = targets[0]
            return None, self.get_module(), self.get_params()
        compile_all = get_global_func("driver.relay_build")
        compile_all.release_gil = True  # kernels are compiled in threads
        with tophub.for_build(targets), asked_by_build():
            self._built = compile_all(mod, targets, name, executor, runtime)
        return self.get_graph_json(), self.get_module(), self.get_params()

    def optimize(self, mod, target=None, target_host=None, params=None):
        """Run the passes that do not depend on the executor.

        Returns
        -------
        (IRModule, dict)
            The program, and parameters that are not part of it (none).
        """
        mod = _bound(_check_module(mod, "relay.optimize"), params)
        targets = _targets(target, target_host)
        with tophub.for_build(targets), asked_by_build():
            return get_global_func("driver.relay_optimize")(mod, targets), {}

    def get_graph_json(self):
        """The graph of the last build (str); None where nothing reads one."""
        return None if self._built[0] is None else str(self._built[0])

    def get_module(self):
        """The code of the last build."""
        return self._built[1]

    def get_params(self):
        """Constants of the last build (dict of str to NDArray)."""
        return {str(name): value for name, value in self._built[2].items()}

    def get_irmodule(self):
        """The program of the last build, cut into kernels."""
        return self._built[3]

    def get_function_metadata(self):
        """What the functions need (FunctionInfo) by name: the kernels, and ``__tvm_main__``."""
        return self._built[4]

    def get_executor_codegen_metadata(self):
        """What is known of an ahead-of-time program; None for the graph executor."""
        return self._aot

    def get_lowered_ir_mods(self):
        """The lowered functions of an ahead-of-time program by target."""
        return {self._target: self._lowered}

    def get_devices(self):
        """Devices that the program needs; empty for the graph executor."""
        return []


def build(
    ir_mod,
    target=None,
    target_host=None,
    executor=None,
    runtime=None,
    workspace_memory_pools=None,
    constant_memory_pools=None,
    params=None,
    mod_name="default",
    strict=False,
):
    """Compile a Relay module.

    Parameters
    ----------
    ir_mod : IRModule
        The program; its function ``main`` is what is run.
    target : str, Target, dict or list, optional
        What code is made for; by default that of the enclosing ``with`` statement.
    target_host : str or Target, optional
        Deprecated: give the target a host.
    executor : Executor, optional
        The graph executor, unless told otherwise.
    runtime : Runtime, optional
        What it runs on: this library, unless told otherwise.
    workspace_memory_pools : WorkspaceMemoryPools, optional
        Memories of a microcontroller for values, in the order in which they are to be filled; for
        the ahead-of-time executor with ``Runtime("crt")``.
    constant_memory_pools : ConstantMemoryPools, optional
        Memories for constants.
    params : dict of str to NDArray or array-like, optional
        Values of parameters of ``main``, which become part of the program.
    mod_name : str
        Name of the model, part of the names of its kernels.
    strict : bool
        Two warnings become errors: a name in `params` that is not a parameter of ``main``, and an
        unknown pass in the context.

    Returns
    -------
    GraphExecutorFactoryModule or AOTExecutorFactoryModule

    Raises
    ------
    ValueError
        `ir_mod` is not a module, the target is missing, the program is not static, or the memory
        pools are too small.
    TVMError
        Options of executor and runtime that do not go together.
    """
    ir_mod = _check_module(ir_mod, "relay.build")
    builder = BuildModule()
    graph, lib, constants = builder.build(
        ir_mod,
        target,
        target_host,
        executor,
        runtime,
        workspace_memory_pools,
        constant_memory_pools,
        params,
        mod_name,
        strict,
    )
    targets = _targets(target, None)
    if executor is not None and executor.name == "aot":
        return AOTExecutorFactoryModule(
            ir_mod,
            builder.get_lowered_ir_mods(),
            targets,
            executor,
            runtime or Runtime("cpp"),
            lib,
            mod_name,
            constants,
            builder.get_function_metadata(),
            builder.get_executor_codegen_metadata(),
            builder.get_devices(),
            builder.get_graph_json(),
        )
    return GraphExecutorFactoryModule(
        ir_mod,
        targets,
        executor or Executor("graph"),
        graph,
        lib,
        mod_name,
        constants,
        builder.get_function_metadata(),
        runtime or (executor and Runtime("cpp")),
    )


def _build_module_no_factory(mod, target=None, target_host=None, params=None, mod_name="default"):
    return build(mod, target, target_host, params=params, mod_name=mod_name).module


def optimize(mod, target=None, params=None):
    """Run the passes over a program that do not depend on what runs it.

    Parameters
    ----------
    mod : IRModule
        The program.
    target : str or Target, optional
        What it is for.
    params : dict of str to NDArray, optional
        Values of parameters of ``main``.

    Returns
    -------
    (IRModule, dict)
    """
    return BuildModule().optimize(mod, target, params=params)


def linked(factory):
    """A built model whose functions can all be called here.

    Parameters
    ----------
    factory : ExecutorFactoryModule
        What `build` returned.

    Returns
    -------
    ExecutorFactoryModule or Module
        The same; where parts are C source or object files, a library of it that was compiled by
        the machine's compiler and loaded.
    """
    parts = factory.lib._collect_dso_modules()
    if all(part.is_runnable for part in parts):
        return factory
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.so")
        factory.export_library(path)
        return load_module(path)


class GraphExecutor(interpreter.Executor):
    """Runs expressions of a module through the graph executor.

    Parameters
    ----------
    mod : IRModule
        Module with the functions that expressions call.
    device : Device or list of Device
        Where to run; results are copied to the first.
    target : str, Target, dict or list
        What code is made for.
    params : dict of str to NDArray, optional
        Values of parameters of ``main``.
    opt_level : int, optional
        Level of the passes; that of the current context by default.
    """

    executor = None

    def __init__(self, mod, device, target, params=None, opt_level=None):
        self.mod = mod
        self.device = device
        self.target = target
        self.params = params or {}
        self.opt_level = opt_level

    def _make_executor(self, expr=None):
        """Compiles a function; ValueError when the program is not static."""
        if expr is None:
            expr = bind_params_by_name(self.mod["main"], self.params)
        return self._executor(expr)

    def _executor(self, func):
        from ..contrib import graph_executor

        mod = self.mod.clone()
        mod["main"] = func
        level = self.opt_level
        with contextlib.nullcontext() if level is None else PassContext(opt_level=level):
            lib = build(mod, target=self.target, executor=self.executor and Executor(self.executor))
        lib = linked(lib)
        result = InferType()(mod)["main"].ret_type
        devices = self.device if isinstance(self.device, list | tuple) else [self.device]

        def run(*args, **kwargs):
            module = graph_executor.GraphModule(lib["default"](*devices))
            # by number: parameters may share a name, inputs do not
            for i, value in enumerate(_arguments(func, args, kwargs)):
                module.set_input(i, value)
            module.run()
            flat = iter(range(module.get_num_outputs()))
            return _unflatten(result, lambda: module.get_output(next(flat)).copyto(devices[0]))

        return run


class AotExecutor(GraphExecutor):
    """Runs expressions of a module through the ahead-of-time executor; see `GraphExecutor`."""

    executor = "aot"


def _arguments(func, args, kwargs):
    """Arguments in the order of the parameters, whose names need not differ.

    Names that do not belong to a parameter are ignored: programs give the values of all inputs they
    have to functions from which a pass removed some.
    """
    names = [str(param.name_hint) for param in func.params]
    shared = [name for name in kwargs if names.count(name) > 1]
    if shared:
        raise ValueError(
            f"the arguments {names} share the name {shared[0]}: give those by position, not by name"
        )
    given, rest = names[: len(args)], names[len(args) :]
    twice = [name for name in kwargs if name in given and name not in rest]
    missing = [name for name in rest if name not in kwargs]
    if len(args) > len(names) or twice or missing:
        raise ValueError(
            f"expected the arguments {names}, got {len(args)} by position and {list(kwargs)} by "
            f"name: missing {missing}, given twice {twice}"
        )
    return [*args, *[kwargs[name] for name in rest]]


def _unflatten(kind, take):
    if isinstance(kind, TupleType):
        return [_unflatten(field, take) for field in kind.fields]
    return take()


def create_executor(kind="debug", mod=None, device=None, target="llvm", params=None):
    """An executor that runs expressions.

    Parameters
    ----------
    kind : str
        ``"graph"`` and ``"aot"`` run static programs without control flow, ``"vm"`` any program,
        ``"debug"`` evaluates any program expression by expression: slow, and what the others are
        compared with.
    mod : IRModule, optional
        Module with the functions that expressions call.
    device : Device or list of Device, optional
        Where to run; the first device of each target by default.
    target : str, Target, dict or list
        What code is made for; one target for ``"debug"`` and ``"aot"``.
    params : dict of str to NDArray, optional
        Values of parameters of ``main``.

    Returns
    -------
    GraphExecutor, AotExecutor, VMExecutor or Interpreter

    Raises
    ------
    RuntimeError
        Another kind.
    """
    from ..runtime import device as device_of
    from .backend.interpreter import Interpreter
    from .backend.vm import VMExecutor

    if kind not in ("graph", "aot", "debug", "vm"):
        raise RuntimeError(
            f'unknown execution strategy: {kind}: use "graph", "aot", "vm" or "debug"'
        )
    mod = IRModule() if mod is None else mod
    if device is None:
        kinds = [str(t.kind.name) for t in Target.canon_multi_target(target)]
        device = [device_of(kind, 0) for kind in kinds]
        device = device[0] if len(device) == 1 else device
    if kind == "vm":
        return VMExecutor(_bound(mod, params), device, target)
    if kind == "debug":
        return Interpreter(_bound(mod, params), device, target)
    return (AotExecutor if kind == "aot" else GraphExecutor)(mod, device, target, params)


__all__ = [
    "BuildModule",
    "GraphExecutor",
    "Executor",
    "Runtime",
    "bind_params_by_name",
    "build",
    "create_executor",
    "optimize",
]
