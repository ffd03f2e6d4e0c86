"""Handwritten digits: trained models become libraries, which then read every test image.

Run by `make demo`. Every number is measured in this run; a report with the images, the times of the
operators, the plan of the memory and the graph is left as an HTML file.
"""

import argparse
import dataclasses
import json
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np
import report
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.contrib.debugger import debug_executor
from tenon.target import codegen

HERE = pathlib.Path(__file__).resolve().parent
REPORT = HERE.parents[1] / "build" / "demo" / "digits.html"
MODELS = ("mlp", "cnn")


@dataclasses.dataclass
class Result:
    """What was found out about one model; times in seconds, sizes in bytes."""

    name: str
    expected: float  # accuracy of the model as it was trained
    compile_time: float
    library_size: int
    graph: dict  # as the graph executor reads it
    node_times: list  # mean time of each node
    predictions: np.ndarray
    correct: int
    latencies: list  # of each image: in, run, out

    @property
    def accuracy(self):
        return self.correct / len(self.predictions)

    @property
    def median(self):
        return statistics.median(self.latencies)

    @property
    def p99(self):
        return float(np.percentile(self.latencies, 99))


def compile_model(path, library):
    """Write the library of an ONNX model; returns the seconds it took, and the graph."""
    begin = time.perf_counter()
    mod, params = relay.frontend.from_onnx(path)
    target = "llvm" if codegen.llvm_version_major(allow_none=True) else "c"
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    lib.export_library(str(library))
    return time.perf_counter() - begin, json.loads(lib.get_graph_json())


def classify(module, images):
    """The digit seen in each image, and the seconds that each took."""
    predictions, latencies = [], []
    for image in images:
        begin = time.perf_counter()
        module.set_input("image", image)
        module.run()
        scores = module.get_output(0).numpy()
        latencies.append(time.perf_counter() - begin)
        predictions.append(int(scores.argmax()))
    return np.array(predictions), latencies


def node_times(library, graph, image):
    """Mean seconds of each node of the graph."""
    device = tenon.cpu(0)
    made = library["debug_create"]("default", device)
    module = debug_executor.GraphModuleDebug(made, [device], json.dumps(graph), None)
    try:
        module.set_input("image", image)
        return [statistics.mean(t) for t in module.run_individual(number=100, repeat=5)]
    finally:
        module.exit()


def measure(name, images, labels, expected, folder):
    path = pathlib.Path(folder) / f"digits_{name}.so"
    seconds, graph = compile_model(HERE / f"digits_{name}.onnx", path)
    library = tenon.runtime.load_module(str(path))
    module = graph_executor.GraphModule(library["default"](tenon.cpu(0)))
    classify(module, images[:20])  # warm-up
    predictions, latencies = classify(module, images)
    return Result(
        name=name,
        expected=expected,
        compile_time=seconds,
        library_size=path.stat().st_size,
        graph=graph,
        node_times=node_times(library, graph, images[0]),
        predictions=predictions,
        correct=int((predictions == labels).sum()),
        latencies=latencies,
    )


def show(results):
    """A table on standard output."""
    print(f"{'model':<6}{'correct':>12}{'accuracy':>10}{'median':>11}{'p99':>11}", end="")
    print(f"{'library':>11}{'compiled in':>13}")
    for r in results:
        print(
            f"{r.name:<6}{r.correct:>6} of {len(r.predictions)}{r.accuracy:>10.2%}"
            f"{r.median * 1e6:>8.1f} us{r.p99 * 1e6:>8.1f} us"
            f"{r.library_size / 1024:>8.1f} KB{r.compile_time:>11.2f} s"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=REPORT, help="the report's file")
    output = parser.parse_args().output
    expected = json.loads((HERE / "digits.json").read_text())["accuracy"]
    with np.load(HERE / "digits_test.npz") as test:
        pixels, labels = test["images"], test["labels"]
    images = (pixels.reshape(-1, 1, 1, 8, 8) / 255).astype("float32")
    with tempfile.TemporaryDirectory() as folder:
        results = [measure(name, images, labels, expected[name], folder) for name in MODELS]
    show(results)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(report.page(results, pixels, labels), encoding="utf-8")
    print(f"report: {output}")
    wrong = [r.name for r in results if round(r.expected * len(labels)) != r.correct]
    if wrong:
        sys.exit(f"not the accuracy of the trained model: {', '.join(wrong)}")


if __name__ == "__main__":
    main()
