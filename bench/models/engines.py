"""Engines that run ONNX models, each in its own process: what the benchmark times.

    python bench/models/engines.py ENGINE MODEL.onnx THREADS [exact|relaxed [DATA.npz]]

The process reads commands from standard input and answers each with one line of JSON:

    prepare           from the file to something that can be called; {"seconds", "peak_mb", ...}
    call SECONDS      {"times": [seconds of each call], "waited": share}: at least one call
    outputs FILE.npz  {}: writes the outputs for the inputs of DATA.npz, else MODEL.npz

``waited`` is the share of the time in which threads of the process could have run and did not: on
a machine with other work the figures of such a round are worth little. With ``relaxed`` products of
float32 may be those of bfloat16, where an engine offers that.
"""

import json
import os
import pathlib
import sys
import tempfile
import time

import numpy as np


class OnnxRuntime:
    """Microsoft's runtime on the processor."""

    package = "onnxruntime"

    def __init__(self, path, threads, precision, shapes):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self.session = onnxruntime.InferenceSession(
            path, options, providers=["CPUExecutionProvider"]
        )

    def __call__(self, inputs):
        return self.session.run(None, inputs)


class OpenVino:
    """Intel's runtime, held to float32 unless results may be less exact."""

    package = "openvino"

    def __init__(self, path, threads, precision, shapes):
        import openvino

        options = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": threads}
        if precision == "exact":
            options["INFERENCE_PRECISION_HINT"] = "f32"
        self.model = openvino.Core().compile_model(path, "CPU", options)
        self.request = self.model.create_infer_request()

    def __call__(self, inputs):
        found = self.request.infer(inputs)
        return [np.array(found[output]) for output in self.model.outputs]


class Torch:
    """Eager PyTorch, for models that torchvision has; weights are its own."""

    package = "torchvision"
    same_weights = False

    def __init__(self, path, threads, precision, shapes):
        import torch
        import torchvision

        torch.set_num_threads(threads)
        name = pathlib.Path(path).stem
        known = getattr(torchvision.models, name, None)
        if known is None:
            raise LookupError(f"torchvision has no {name}")
        self.torch, self.model = torch, known(weights=None).eval()

    def __call__(self, inputs):
        with self.torch.inference_mode():
            return [self.model(*map(self.torch.from_numpy, inputs.values())).numpy()]


class Tenon:
    """This project: import, build for this machine, graph executor."""

    package = "tenon"

    def __init__(self, path, threads, precision, shapes):
        start = time.perf_counter()
        import tenon
        from tenon import relay
        from tenon.contrib import graph_executor

        self.times = {"package": time.perf_counter() - start}
        start = time.perf_counter()
        mod, params = relay.frontend.from_onnx(path, shape=shapes)
        self.times["import"] = time.perf_counter() - start
        start = time.perf_counter()
        config = {"relay.backend.precision": precision}
        with tenon.transform.PassContext(opt_level=3, config=config):
            self.library = relay.build(mod, target="llvm", params=params)
        self.times["build"] = time.perf_counter() - start
        self.tenon, self.graph_executor = tenon, graph_executor
        self.module = graph_executor.GraphModule(self.library["default"](tenon.cpu()))

    def __call__(self, inputs):
        for name, value in inputs.items():
            self.module.set_input(name, value)
        self.module.run()
        return [self.module.get_output(i).numpy() for i in range(self.module.get_num_outputs())]

    def details(self):
        """Times of the stages, size of the library and how long loading it takes."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.so")
            self.library.export_library(path)
            start = time.perf_counter()
            loaded = self.tenon.runtime.load_module(path)
            self.graph_executor.GraphModule(loaded["default"](self.tenon.cpu()))
            self.times["load"] = time.perf_counter() - start
            return {"stages": self.times, "library_bytes": os.path.getsize(path)}


ENGINES = {"tenon": Tenon, "onnxruntime": OnnxRuntime, "openvino": OpenVino, "torch": Torch}


def waited_ns():
    """Nanoseconds that threads of this process waited for a processor."""
    total = 0
    for task in pathlib.Path("/proc/self/task").iterdir():
        try:
            total += int((task / "schedstat").read_text().split()[1])
        except (OSError, IndexError, ValueError):
            continue
    return total


def peak_mb():
    """Largest memory of this process so far, in MB. (That of getrusage may be the parent's.)"""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0


def measure(engine, inputs, seconds):
    """Times of calls for that long."""
    times, before, begin = [], waited_ns(), time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        engine(inputs)
        times.append(time.perf_counter() - start)
    waited = (waited_ns() - before) / 1e9 / (time.perf_counter() - begin)
    return {"times": times, "waited": waited}


def answer(state, words):
    """What a command gives."""
    if words[0] == "prepare":
        before, start = peak_mb(), time.perf_counter()
        make = ENGINES[state["name"]]
        state["engine"] = make(
            str(state["path"]),
            state["threads"],
            state["precision"],
            {name: value.shape for name, value in state["inputs"].items()},
        )
        found = {"seconds": time.perf_counter() - start, "peak_mb": peak_mb(), "start_mb": before}
        details = getattr(state["engine"], "details", None)
        return {**found, **(details() if details else {})}
    if words[0] == "call":
        return measure(state["engine"], state["inputs"], float(words[1]))
    if words[0] == "outputs":
        found = state["engine"](state["inputs"])
        np.savez(words[1], **{f"out:{i}": value for i, value in enumerate(found)})
        return {}
    raise ValueError(f"unknown command {words[0]}")


def main():
    name, path, threads = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
    cores = sorted(os.sched_getaffinity(0))[:threads]
    os.sched_setaffinity(0, cores)
    os.environ["OMP_NUM_THREADS"] = os.environ["TVM_NUM_THREADS"] = str(threads)
    arrays = np.load(sys.argv[5] if len(sys.argv) > 5 else path.with_suffix(".npz"))
    inputs = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in:")}
    state = {"name": name, "path": path, "threads": threads, "inputs": inputs}
    state["precision"] = sys.argv[4] if len(sys.argv) > 4 else "exact"
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is not an answer
    for line in sys.stdin:
        try:
            found = answer(state, line.split())
        except Exception as err:  # told to the other side, which goes on without this engine
            found = {"error": f"{type(err).__name__}: {err}".splitlines()[0]}
        print(json.dumps(found), file=replies, flush=True)


if __name__ == "__main__":
    main()
