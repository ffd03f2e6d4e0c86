"""Running a model that was cut into stages: each has a thread, so that they work at the same time
on runs that follow each other.

    module = PipelineModule(pipeline_executor_build.build(config))
    for image in images:
        module.set_input("image", image)
        module.run()
    results = [module.get_output() for _ in images]
"""

import json
import os
import queue
import threading
from pathlib import Path

from .._ffi.files import write_file

_WAITING = 64  # runs that may wait before a stage; `run` waits for room


def pipeline_executor_enabled():
    """Whether stages can be run: always."""
    return True


class PipelineExecutorFactoryModule:
    """Compiled stages and what connects them; see `pipeline_executor_build.build`.

    Parameters
    ----------
    stages : list of dict
        For each stage in order ``lib``, ``dev``, ``name`` and its outputs.
    config : dict
        ``input_connection`` and ``param_connection``.
    """

    def __init__(self, stages, config):
        self.stages, self.config = stages, config

    def export_library(self, directory_path):
        """Write all stages.

        Parameters
        ----------
        directory_path : str
            A folder that is there.

        Returns
        -------
        str
            The file that `PipelineModule.load_library` reads.

        Raises
        ------
        RuntimeError
            The folder does not exist.
        """
        folder = Path(directory_path)
        if not folder.is_dir():
            raise RuntimeError(
                f"export_library: the folder {folder} does not exist: create it first"
            )
        rows = []
        for stage in self.stages:
            file = f"lib{stage['mod_idx']}.so"
            options = {"cc": stage["export_cc"]} if stage["export_cc"] else {}
            stage["lib"].export_library(str(folder / file), fcompile=stage["fcompile"], **options)
            keep = {k: stage[k] for k in ("mod_idx", "cpu_affinity", "output", "name")}
            dev = stage["dev"]
            keep.update(lib_name=file, device=[dev.device_type, dev.device_id])
            rows.append(keep)
        path = folder / "config"
        write_file(path, json.dumps({**self.config, "stages": rows}, indent=1))
        return str(path)


class _Worker:
    """A stage: takes its inputs from a queue each, gives its outputs to those of other stages."""

    def __init__(self, stage, executor):
        self.executor, self.stage = executor, stage
        self.inbox = {"": queue.Queue(_WAITING)}  # "": inputs from outside, a dict for each run
        self.outboxes = []  # (output, queue)
        self.lock = threading.Lock()  # parameters change between runs

    def loop(self):
        """Run after run, until None comes from outside."""
        cpus = [int(n) for n in self.stage["cpu_affinity"].split(",") if n.strip()]
        if cpus and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, cpus)  # of this thread
        while True:
            given = {name: box.get() for name, box in self.inbox.items()}
            outside = given.pop("")
            if outside is None:
                return
            results = self._results({**outside, **given})
            for index, box in self.outboxes:
                box.put(results if isinstance(results, Exception) else results[index])

    def _results(self, inputs):
        failed = [value for value in inputs.values() if isinstance(value, Exception)]
        if failed:
            return failed[0]  # the last stage hands it to the caller
        try:
            with self.lock:
                for name, value in inputs.items():
                    self.executor.set_input(name, value)
                self.executor.run()
                used = {index for index, _ in self.outboxes}
                return {i: _copy(self.executor.get_output(i)) for i in used}
        except Exception as error:
            return error


def _copy(array):
    """The next run writes over what an executor gives."""
    return array.copyto(array.device)


class PipelineModule:
    """A model of stages that runs.

    Parameters
    ----------
    module : PipelineExecutorFactoryModule
        What `pipeline_executor_build.build` gave.
    """

    def __init__(self, module):
        from .graph_executor import GraphModule

        self._workers = [
            _Worker(stage, GraphModule(stage["lib"][stage["name"]](stage["dev"])))
            for stage in module.stages
        ]
        self._inputs = {
            str(r["global_interface_name"]): r for r in module.config["input_connection"]
        }
        self._groups = {str(r["global_param_name"]): r for r in module.config["param_connection"]}
        self._values, self._started, self._runs = {}, 0, 0
        self._outputs = self._connect()
        threads = [threading.Thread(target=w.loop, daemon=True) for w in self._workers]
        for thread in threads:
            thread.start()

    def _connect(self):
        results = {}
        for worker in self._workers:
            for output in worker.stage["output"]:
                for to in output["dependencies"]:
                    box = queue.Queue() if "global_output_index" in to else queue.Queue(_WAITING)
                    worker.outboxes.append((output["output_idx"], box))
                    if "global_output_index" in to:
                        results[to["global_output_index"]] = box
                    else:
                        self._workers[to["mod_idx"]].inbox[to["input_name"]] = box
        return [results[index] for index in sorted(results)]

    def __del__(self):
        for worker in getattr(self, "_workers", ()):
            for box in worker.inbox.values():
                try:
                    box.put_nowait(None)
                except queue.Full:
                    pass  # a daemon: it ends with the process

    def run(self):
        """Start a run with the inputs that are set; it goes on in the stages' threads.

        Raises
        ------
        RuntimeError
            An input was never set.
        """
        missing = [name for name in self._inputs if name not in self._values]
        if missing:
            raise RuntimeError(f"run: inputs {missing} have no value")
        for index, worker in enumerate(self._workers):
            given = {
                row["module_interface_name"]: self._values[name]
                for name, row in self._inputs.items()
                if row["mod_idx"] == index
            }
            worker.inbox[""].put(given)
        self._started += 1
        self._runs += 1

    def set_input(self, key, value):
        """Set an input of the runs that follow.

        Parameters
        ----------
        key : str
            Its name in the pipeline.
        value : NDArray or array-like
            The value, copied.
        """
        from ..runtime import ndarray

        self._row(self._inputs, key, "input")
        self._values[key] = (
            _copy(value) if isinstance(value, ndarray.NDArray) else ndarray.array(value)
        )

    def get_input(self, key):
        """The value of an input; NDArray."""
        self._row(self._inputs, key, "input")
        return self._values[key]

    def set_params(self, params_group_name, params_data):
        """Set parameters of the stage that a group is connected to.

        Parameters
        ----------
        params_group_name : str
            The group.
        params_data : dict of str to NDArray
            Values by name.

        Raises
        ------
        RuntimeError
            The group is unknown, or `params_data` is empty.
        """
        row = self._row(self._groups, params_group_name, "group of parameters")
        if not params_data:
            raise RuntimeError("set_params: no parameters are given")
        worker = self._workers[row["mod_idx"]]
        with worker.lock:
            worker.executor.set_input(**params_data)

    def _row(self, table, key, what):
        if key not in table:
            raise RuntimeError(f"the pipeline has no {what} {key!r}: it has {list(table)}")
        return table[key]

    def get_input_pipeline_map(self, name):
        """Which stage an input goes to.

        Returns
        -------
        list of str
            Number of the stage, and the name of its input.
        """
        row = self._row(self._inputs, name, "input")
        return [str(row["mod_idx"]), row["module_interface_name"]]

    def get_params_group_pipeline_map(self, name):
        """The number of the stage that a group of parameters goes to; int."""
        return self._row(self._groups, name, "group of parameters")["mod_idx"]

    def get_output(self, synchronize=True, sleep_interval=0.001):
        """The outputs of the next run.

        Parameters
        ----------
        synchronize : bool
            Wait for it; else an empty list where it is not done.
        sleep_interval : float
            Accepted, without effect.

        Returns
        -------
        list of NDArray

        Raises
        ------
        RuntimeError
            No run was started for it.
        Exception
            What a stage raised.
        """
        if self._runs == 0:
            if synchronize:
                raise RuntimeError("get_output: no run is under way")
            return []
        if not synchronize and any(box.empty() for box in self._outputs):
            return []
        self._runs -= 1
        values = [box.get() for box in self._outputs]
        for value in values:
            if isinstance(value, Exception):
                raise value
        return values

    @property
    def num_executing_pipeline(self):
        """How many runs were started."""
        return self._started

    @property
    def num_outputs(self):
        """How many outputs the pipeline has."""
        return len(self._outputs)

    @property
    def num_inputs(self):
        """How many inputs the pipeline has."""
        return len(self._inputs)

    @staticmethod
    def load_library(config_file_name):
        """Read what `PipelineExecutorFactoryModule.export_library` wrote.

        Parameters
        ----------
        config_file_name : str
            The file that it named.

        Returns
        -------
        PipelineModule
        """
        from ..runtime import Device, load_module

        folder = Path(config_file_name).parent
        config = json.loads(Path(config_file_name).read_text(encoding="utf-8"))
        stages = config.pop("stages")
        for stage in stages:
            file = folder / Path(stage["lib_name"]).name
            stage["lib"], stage["dev"] = load_module(str(file)), Device(*stage["device"])
        return PipelineModule(PipelineExecutorFactoryModule(stages, config))
