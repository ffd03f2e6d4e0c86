"""What `relay.build` gives: a program that was built, from which executors are made."""

import warnings

from ..._ffi import get_global_func
from ...runtime import ndarray


class ExecutorFactoryModule:
    """Base of built programs."""

    module = None

    def get_executor_config(self):
        """The program in the form its executor reads."""
        raise NotImplementedError

    def get_params(self):
        """Constants of the program by name."""
        raise NotImplementedError

    def get_lib(self):
        """The module with the code."""
        raise NotImplementedError

    def __getitem__(self, item):
        return self.module[item]

    def __iter__(self):
        warnings.warn(
            "unpacking a built program as (graph, lib, params) is the old way: use it with "
            "contrib.graph_executor.GraphModule(lib['default'](device))",
            DeprecationWarning,
            stacklevel=2,
        )
        return iter((self.get_executor_config(), self.get_lib(), self.get_params()))

    def export_library(self, file_name, fcompile=None, addons=None, **kwargs):
        """Write the program as a library that needs no compiler to run.

        Parameters
        ----------
        file_name : str
            ``.so``, ``.tar`` and so on, see `tenon.runtime.Module.export_library`.
        fcompile : callable, optional
            What links it.
        addons : list of str, optional
            Further files to link.
        """
        return self.module.export_library(file_name, fcompile=fcompile, addons=addons, **kwargs)


class GraphRuntimeFactoryModule(ExecutorFactoryModule):
    """A program built for the graph executor, under the name of earlier releases.

    Parameters
    ----------
    ir_mod : IRModule
        The program it was built from.
    target : Target, or list or dict of Target
        What it was built for.
    graph_json_str : str
        The graph.
    libmod : Module
        Code of the kernels.
    libmod_name : str
        Name of the model.
    params : dict of str to NDArray
        Constants of the graph.
    """

    executor = None
    runtime = None
    function_metadata = None

    def __init__(self, ir_mod, target, graph_json_str, libmod, libmod_name, params):
        create = get_global_func("tvm.graph_executor_factory.create")
        self.ir_mod = ir_mod
        self.target = target
        self.graph_json_str = str(graph_json_str)
        self.lib = libmod
        self.libmod_name = libmod_name
        self.params = {
            str(name): value if isinstance(value, ndarray.NDArray) else ndarray.array(value)
            for name, value in params.items()
        }
        pairs = [item for pair in self.params.items() for item in pair]
        self.module = create(self.graph_json_str, libmod, libmod_name, *pairs)

    @property
    def graph_json(self):
        """The graph as JSON (str)."""
        return self.graph_json_str

    def get_devices(self):
        """Devices that the program needs; empty for the graph executor."""
        return []

    def get_params(self):
        """Constants of the graph by name (dict of str to NDArray)."""
        return self.params

    def get_graph_json(self):
        """The graph as JSON (str)."""
        return self.graph_json_str

    def get_executor_config(self):
        """The graph as JSON (str)."""
        return self.graph_json_str

    def get_lib(self):
        """The module with the code of the kernels."""
        return self.lib


class GraphExecutorFactoryModule(GraphRuntimeFactoryModule):
    """A program built for the graph executor.

    Parameters
    ----------
    ir_mod, target, graph_json_str, libmod, libmod_name, params
        As in `GraphRuntimeFactoryModule`.
    executor : Executor
        Executor with its options.
    function_metadata : Map
        What each function needs (FunctionInfo) by name, ``__tvm_main__`` among them.
    runtime : Runtime, optional
        The runtime that was asked for; None where neither it nor an executor was named.
    """

    def __init__(
        self,
        ir_mod,
        target,
        executor,
        graph_json_str,
        libmod,
        libmod_name,
        params,
        function_metadata,
        runtime=None,
    ):
        super().__init__(ir_mod, target, graph_json_str, libmod, libmod_name, params)
        self.executor = executor
        self.runtime = runtime
        self.function_metadata = function_metadata


class AOTExecutorFactoryModule(ExecutorFactoryModule):
    """A program built for the ahead-of-time executor.

    Parameters
    ----------
    ir_mod : IRModule
        The program it was built from.
    lowered_ir_mods : dict of Target to IRModule
        Its functions after lowering.
    target : Target, or list or dict of Target
        What it was built for.
    executor : Executor
        Executor with its options.
    runtime : Runtime
        What it runs on.
    libmod : Module
        Code of the operators and of the function that calls them.
    libmod_name : str
        Name of the model.
    params : dict of str to NDArray
        Constants that are not part of the code.
    function_metadata : Map
        What each function needs (FunctionInfo) by name, ``__tvm_main__`` among them.
    executor_codegen_metadata : ExecutorCodegenMetadata
        Inputs, outputs, memory.
    devices : list of str
        Devices that the program is given.
    graph_json_str : str, optional
        How hosts run it, where they can: a graph of one node.
    """

    def __init__(
        self,
        ir_mod,
        lowered_ir_mods,
        target,
        executor,
        runtime,
        libmod,
        libmod_name,
        params,
        function_metadata,
        executor_codegen_metadata,
        devices,
        graph_json_str=None,
    ):
        self.ir_mod = ir_mod
        self.lowered_ir_mods = lowered_ir_mods
        self.target = target
        self.executor = executor
        self.runtime = runtime
        self.lib = libmod
        self.libmod_name = libmod_name
        self.params = dict(params)
        self.function_metadata = function_metadata
        self.executor_codegen_metadata = executor_codegen_metadata
        self.devices = list(devices)
        self.module = libmod
        if graph_json_str is not None:
            create = get_global_func("tvm.graph_executor_factory.create")
            pairs = [item for pair in self.params.items() for item in pair]
            self.module = create(graph_json_str, libmod, libmod_name, *pairs)

    def get_devices(self):
        """Devices that the program is given."""
        return self.devices

    def get_params(self):
        """Constants that are not part of the code (dict of str to NDArray)."""
        return self.params

    def get_executor_config(self):
        """None: there is nothing to read."""
        return None

    def get_lib(self):
        """The module with the code."""
        return self.lib
