"""The C that a model becomes, on this machine, beside the code that LLVM makes of it.

    python bench/micro/speed.py [--rounds N] [--cc "gcc -O3 -march=native"] MODEL.onnx ...

Both run on one thread in this process, in turn in each round; a figure is the median over rounds
of the fastest call of a round. Without models the two of examples/digits are taken. Results are
compared (1e-4) before anything is timed.
"""

import argparse
import ctypes
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

os.environ["TENON_NUM_THREADS"] = "1"

import numpy as np  # noqa: E402
import onnx  # noqa: E402
import tenon  # noqa: E402
from tenon import micro, relay  # noqa: E402
from tenon.contrib.graph_executor import GraphModule  # noqa: E402
from tenon.relay.backend import Executor, Runtime  # noqa: E402

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
TARGET = "c"
OPTIONS = {"interface-api": "c", "unpacked-api": True}


def shapes_of(model):
    weights = {w.name for w in model.graph.initializer}
    return {
        i.name: [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
        for i in model.graph.input
        if i.name not in weights
    }


def as_c(program, params, cc, folder):
    """A function that calls the model as C, and its inputs and outputs."""
    config = {"tir.usmp.enable": True, "tir.disable_vectorize": True}
    with tenon.transform.PassContext(opt_level=3, config=config):
        executor, runtime = Executor("aot", OPTIONS), Runtime("crt")
        built = relay.build(program, TARGET, executor=executor, runtime=runtime, params=params)
    sources = []
    for i, module in enumerate([built.lib, *built.lib.imported_modules]):
        sources.append(folder / f"lib{i}.c")
        sources[-1].write_text(module.get_source())
    library = folder / "model.so"
    include = [f"-I{path}" for path in micro.get_include_dirs()]
    files = map(str, sources)
    command = [*cc.split(), "-w", "-fPIC", "-shared", *include, *files, "-lm", "-o", str(library)]
    subprocess.run(command, check=True)
    run = ctypes.CDLL(str(library)).tvmgen_default_run
    metadata = built.executor_codegen_metadata

    def arrays(types):
        return [np.zeros([int(n) for n in t.shape], str(t.dtype)) for t in types]

    given, made = arrays(metadata.input_tensor_types), arrays(metadata.output_tensor_types)
    pointers = [(ctypes.c_void_p * len(a))(*(x.ctypes.data for x in a)) for a in (given, made)]
    names = [str(name) for name in metadata.inputs]
    return lambda: run(*pointers), dict(zip(names, given, strict=True)), made


def best(call, seconds=0.1):
    found, end = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        found.append(time.perf_counter() - begin)
    return min(found)


def measure(path, rounds, cc, folder):
    model = onnx.load(path)
    program, params = relay.frontend.from_onnx(model, shapes_of(model))
    in_c, given, made = as_c(program, params, cc, folder)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(program, "llvm -mcpu=native", params=params)
    in_llvm = GraphModule(lib["default"](tenon.cpu()))
    rng = np.random.default_rng(0)
    for name, array in given.items():
        array[...] = rng.random(array.shape) if array.dtype.kind == "f" else 1
        in_llvm.set_input(name, array)
    in_llvm.run()
    assert in_c() == 0
    for i, array in enumerate(made):
        np.testing.assert_allclose(array, in_llvm.get_output(i).numpy(), rtol=1e-4, atol=1e-4)
    times = [(best(in_c), best(in_llvm.run)) for _ in range(rounds)]
    c, llvm = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
    print(f"{pathlib.Path(path).stem:24} C {c:10.1f} us   LLVM {llvm:10.1f} us   {c / llvm:5.2f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=[DIGITS / "digits_cnn.onnx"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cc", default="gcc -O3 -march=native -ffast-math")
    args = parser.parse_args()
    print(args.cc)
    for path in args.models:
        with tempfile.TemporaryDirectory() as folder:
            measure(path, args.rounds, args.cc, pathlib.Path(folder))


if __name__ == "__main__":
    main()
