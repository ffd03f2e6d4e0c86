"""The debug executor: a graph executor whose nodes can be run, timed and looked at one by one."""

import os
import shutil
import struct
import tempfile

from ... import _core
from ..._ffi.base import string_types
from ...runtime.module import BenchmarkResult
from ...runtime.profiling import Report
from .. import graph_executor
from . import debug_result

_DUMP_ROOT_PREFIX = "tvmdbg_"
_DUMP_PATH_PREFIX = "_tvmdbg_"


def create(graph_json_str, libmod, device, dump_root=None):
    """A debug executor for a graph.

    Parameters
    ----------
    graph_json_str : str
        The graph as JSON.
    libmod : Module
        The compiled functions; parameters of a built model are set.
    device : Device or list of Device
        Where to run.
    dump_root : str, optional
        Folder for the files that are written; default: a new one for temporary files.

    Returns
    -------
    GraphModuleDebug
    """
    assert isinstance(graph_json_str, string_types), "graph_json_str must be text"
    devices, num_rpc_dev, device_type_id = graph_executor.get_device(libmod, device)
    fcreate = graph_executor._creator("tvm.graph_executor_debug.create", devices, num_rpc_dev)
    gmod = GraphModuleDebug(
        fcreate(graph_json_str, libmod, *device_type_id), devices, graph_json_str, dump_root
    )
    if num_rpc_dev == 0 and libmod.implements_function("get_graph_params"):
        gmod.set_input(**{str(k): v for k, v in libmod["get_graph_params"]().items()})
    return gmod


class GraphModuleDebug(graph_executor.GraphModule):
    """A debug executor: the functions of its module as methods.

    Parameters
    ----------
    module : Module
        What ``lib["debug_create"]("default", dev)`` returns for a model ``lib``.
    device : Device or list of Device
        Where it runs.
    graph_json_str : str
        The graph.
    dump_root : str, optional
        Folder for the files that are written; default: a new one for temporary files.

    Attributes
    ----------
    debug_datum : DebugResult
        Nodes, times and outputs.
    """

    def __init__(self, module, device, graph_json_str, dump_root):
        super().__init__(module)
        self._dump_root = dump_root
        self._dump_path = None
        self._run_individual = module["run_individual"]
        self._run_individual_node = module["run_individual_node"]
        self._debug_get_output = module["debug_get_output"]
        self._execute_node = module["execute_node"]
        self._get_node_output = module["get_node_output"]
        self._profile = module["profile"]
        self._profile_rpc = module["profile_rpc"]
        if isinstance(device, _core.Device):
            device = [device]
        self._create_debug_env(graph_json_str, device)

    # ---- files

    def _create_debug_env(self, graph_json, device):
        """Make the folder, with the graph in it."""
        if not self._dump_root:
            self._dump_root = tempfile.mkdtemp(prefix=_DUMP_ROOT_PREFIX)
        name = str(device[0]).upper().replace("(", "_").replace(")", "")  # CPU_0
        self._dump_path = os.path.join(self._dump_root, f"{_DUMP_PATH_PREFIX}device_{name}/")
        os.makedirs(self._dump_path, exist_ok=True)
        self.debug_datum = debug_result.DebugResult(graph_json, self._dump_path)

    def exit(self):
        """Remove the folder and all files in it."""
        if self._dump_root:
            shutil.rmtree(self._dump_root, ignore_errors=True)

    # ---- running

    def run(
        self,
        number=10,
        repeat=1,
        min_repeat_ms=1,
        limit_zero_time_iterations=100,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
        sort_by_time=True,
        **input_dict,
    ):
        """Run the graph, time each node, write files with outputs and times, print a table.

        Parameters
        ----------
        number : int
            Calls of a node of which a repetition is the mean.
        repeat : int
            Repetitions.
        min_repeat_ms : int
            Shortest time of a repetition in milliseconds; `number` grows until it is reached.
        limit_zero_time_iterations : int
            Give up growing after so many repetitions that took no time at all.
        cooldown_interval_ms : int
            Pause in milliseconds after each group of repetitions.
        repeats_to_cooldown : int
            Repetitions of such a group.
        sort_by_time : bool
            In the table nodes that took longest come first.
        input_dict : dict of str to NDArray or array-like
            Inputs to set before, as with `set_input`.
        """
        if input_dict:
            self.set_input(**input_dict)
        self._run_debug(
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
        )
        self.debug_datum.dump_output_tensor()
        self.debug_datum.dump_chrome_trace()
        self.debug_datum.display_debug_result(sort_by_time)

    def _run_debug(self, *timing):
        """Time the nodes, then run them once more and keep what each of them makes."""
        self.debug_datum._time_list = self.run_individual(*timing)
        outputs = []
        for i, node in enumerate(self.debug_datum.get_graph_nodes()):
            self._execute_node(i)
            for j in range(self.debug_datum.get_graph_node_output_num(node)):
                outputs.append(self._get_node_output(i, j))
        self.debug_datum._output_tensor_list = outputs

    def debug_get_output(self, node, out=None):
        """Run the graph up to a node.

        Parameters
        ----------
        node : int or str
            Number or name of the node.
        out : NDArray, optional
            Where to copy what it made.

        Returns
        -------
        NDArray
            The first output of the node (or `out`).
        """
        if out is None:
            return self._debug_get_output(node)
        self._debug_get_output(node, out)
        return out

    # ---- times

    def run_individual(
        self,
        number,
        repeat=1,
        min_repeat_ms=0,
        limit_zero_time_iterations=100,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
    ):
        """Time each node.

        The parameters are those of `run`.

        Returns
        -------
        list of list of float
            For each node the seconds of a call in each repetition; zeros for parameters.
        """
        blob = self._run_individual(
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
        )
        (nodes,) = struct.unpack_from("@q", blob)
        times = struct.unpack_from(f"@{nodes * repeat}d", blob, struct.calcsize("@q"))
        return [list(times[i * repeat : (i + 1) * repeat]) for i in range(nodes)]

    def run_individual_node(
        self,
        index,
        number=10,
        repeat=1,
        min_repeat_ms=0,
        limit_zero_time_iterations=100,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
    ):
        """Time one node, on whatever its inputs hold.

        Parameters
        ----------
        index : int
            Number of the node; the others are those of `run`.

        Returns
        -------
        BenchmarkResult
            Zeros for a node without function.

        Raises
        ------
        TVMError
            There is no such node.
        """
        blob = self._run_individual_node(
            index,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
        )
        return BenchmarkResult(struct.unpack(f"@{repeat}d", blob))

    def profile(self, collectors=None, **input_dict):
        """Run the graph and measure each function.

        Parameters
        ----------
        collectors : list of MetricCollector, optional
            What to measure besides the time.
        input_dict : dict of str to NDArray or array-like
            Inputs to set before, as with `set_input`.

        Returns
        -------
        Report
        """
        if input_dict:
            self.set_input(**input_dict)
        if self.module.type_key == "rpc":
            if collectors:
                raise ValueError("profiling with collectors is not supported over RPC")
            return Report.from_json(self._profile_rpc())
        return self._profile(list(collectors or ()))
