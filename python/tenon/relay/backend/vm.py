"""Compiling for the virtual machine."""

from ... import autotvm
from ..._ffi import get_global_func
from ...autotvm.task.dispatcher import asked_by_build
from ...runtime import ndarray
from ...runtime import vm as vm_rt
from .interpreter import Executor


def compile(mod, target=None, target_host=None, params=None, strict=False):
    """Compile a module for the virtual machine.

    Parameters
    ----------
    mod : IRModule
        The program: ``main`` and what it calls.
    target : str, Target, dict or list, optional
        What code is made for: one target, or a dict by device or kind; by default that of the
        enclosing ``with`` statement.
    target_host : str or Target, optional
        What code of the host is made for.
    params : dict of str to NDArray or array-like, optional
        Values of parameters of ``main``, which become constants.
    strict : bool
        Two warnings become errors: a name in `params` that is not a parameter of ``main``, and an
        unknown pass in the context.

    Returns
    -------
    Executable

    Raises
    ------
    ValueError
        There is no target, or the program cannot be compiled.
    """
    compiler = VMCompiler()
    compiler._strict = strict
    if params:
        compiler.set_params(params)
    compiler.lower(mod, target, target_host)
    compiler.codegen()
    return compiler.get_exec()


class VMCompiler:
    """A compilation step by step; what `compile` does at once."""

    def __init__(self):
        self._params = {}
        self._strict = False
        self._lowered = None
        self._exec = None

    def set_params(self, params):
        """Give parameters of ``main`` values.

        Parameters
        ----------
        params : dict of str to NDArray or array-like
            Values by name; names that ``main`` does not have are a warning.
        """
        self._params = {
            name: value if isinstance(value, ndarray.NDArray) else ndarray.array(value)
            for name, value in params.items()
        }

    def get_params(self):
        """The values that parameters were given (dict of str to NDArray). What is compiled has
        them as constants."""
        return dict(self._params)

    def _prepared(self, mod, target, target_host):
        from ..build_module import _bound, _check_module, _targets

        mod = _check_module(mod, "relay.vm.compile")
        return _bound(mod, self._params, self._strict), _targets(target, target_host)

    def lower(self, mod, target=None, target_host=None):
        """Take a module and its targets; see `compile` for the parameters.

        Kernels look up what was measured in the current dispatch context or, where none was
        entered, in the records that ship with this package.
        """
        mod, targets = self._prepared(mod, target, target_host)
        self._lowered, self._context = (mod, targets), self._tophub_context(targets)

    def codegen(self):
        """Compile what `lower` has taken."""
        if self._lowered is None:
            raise RuntimeError("VMCompiler.codegen: call lower first")
        build = get_global_func("driver.vm_build")
        build.release_gil = True  # kernels are compiled in threads
        with self._context, asked_by_build():
            self._exec = build(*self._lowered)

    def optimize(self, mod, target=None, target_host=None, params=None):
        """Run the passes over a module, up to bytecode.

        Returns
        -------
        (IRModule, dict of str to NDArray)
            The program, and the values that its parameters were given, which are part of it.
        """
        if params:
            self.set_params(params)
        mod, target = self._prepared(mod, target, target_host)
        with self._tophub_context(target), asked_by_build():
            return get_global_func("driver.vm_optimize")(mod, target), self.get_params()

    def get_exec(self):
        """The executable.

        Returns
        -------
        Executable
        """
        if self._exec is None:
            raise RuntimeError("VMCompiler.get_exec: call lower and codegen first")
        return vm_rt.Executable(self._exec)

    def _tophub_context(self, raw_targets):
        """The records that ship with the package, unless a dispatch context was entered."""
        return autotvm.tophub.for_build(raw_targets)


class VMExecutor(Executor):
    """Runs expressions of a module on the virtual machine.

    Parameters
    ----------
    mod : IRModule
        The module.
    device : Device
        Where to run.
    target : str or Target
        What code is made for.

    Raises
    ------
    RuntimeError
        There is no module.
    """

    def __init__(self, mod, device, target):
        if mod is None:
            raise RuntimeError("Must provide module to get VM executor.")
        self.mod = mod
        self.device = device
        self.target = target
        self.executable = None
        self.vm = None

    def _make_executor(self, expr=None):
        mod = self.mod
        if expr is not None:
            mod = self.mod.clone()
            mod["main"] = expr
        self.executable = compile(mod, self.target)
        self.vm = vm_rt.VirtualMachine(self.executable, self.device)
        main = mod["main"]

        def run(*args, **kwargs):
            return self.vm.run(*self._convert_args(main, args, kwargs))

        return run
