"""The C that operators and models become, on this machine, beside the code that LLVM makes of them.

    python bench/micro/speed.py [--rounds N] [--target TARGET] [--cc COMPILER] [MODEL.onnx ...]

C is made for the target "c -mcpu=native" and compiled with "gcc -O3 -march=native", unless others
are given. Both run on one thread in this process, in turn in each
round; a figure is the median over rounds of the fastest call of a round. Results are compared
(1e-4) before anything is timed. Without models these are classes of operators and the two float
models of examples/digits.
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
OPTIONS = {"interface-api": "c", "unpacked-api": True}


def shapes_of(model):
    weights = {w.name for w in model.graph.initializer}
    return {
        i.name: [d.dim_value or 1 for d in i.type.tensor_type.shape.dim]
        for i in model.graph.input
        if i.name not in weights
    }


def as_c(program, params, target, cc, folder):
    """A function that calls the model as C, and its inputs and outputs."""
    config = {"tir.usmp.enable": True}
    with tenon.transform.PassContext(opt_level=3, config=config):
        executor, runtime = Executor("aot", OPTIONS), Runtime("crt")
        built = relay.build(program, target, executor=executor, runtime=runtime, params=params)
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


def measure(name, program, params, args):
    with tempfile.TemporaryDirectory() as folder:
        in_c, given, made = as_c(program, params, args.target, args.cc, pathlib.Path(folder))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(program, "llvm -mcpu=native", params=params)
    in_llvm = GraphModule(lib["default"](tenon.cpu()))
    rng = np.random.default_rng(0)
    for each, array in given.items():
        array[...] = rng.random(array.shape) if array.dtype.kind == "f" else 1
        in_llvm.set_input(each, array)
    in_llvm.run()
    assert in_c() == 0
    for i, array in enumerate(made):
        np.testing.assert_allclose(array, in_llvm.get_output(i).numpy(), rtol=1e-4, atol=1e-4)
    times = [(best(in_c), best(in_llvm.run)) for _ in range(args.rounds)]
    c, llvm = (statistics.median(column) * 1e6 for column in zip(*times, strict=True))
    print(f"{name:24} C {c:10.1f} us   LLVM {llvm:10.1f} us   {c / llvm:5.2f}", flush=True)


def operators():
    """Programs of one operator, with what follows it in networks."""
    rng = np.random.default_rng(1)

    def var(*shape):
        return relay.var("x", shape=shape)

    def weight(*shape):
        return relay.const(rng.normal(0, 0.1, shape).astype("float32"))

    def conv(channels, size, out, kernel, **attrs):
        x = var(1, channels, size, size)
        w = weight(out, channels // attrs.get("groups", 1), kernel, kernel)
        y = relay.nn.conv2d(x, w, padding=(kernel // 2, kernel // 2), **attrs)
        return relay.nn.relu(relay.nn.bias_add(y, weight(out)))

    image = var(1, 64, 56, 56)
    yield "conv 3x3", conv(64, 28, 64, 3)
    yield "conv 3x3, stride 2", conv(32, 56, 64, 3, strides=(2, 2))
    yield "conv 1x1", conv(64, 28, 128, 1)
    yield "conv 7x7, 3 channels", conv(3, 112, 64, 7, strides=(2, 2))
    yield "depthwise 3x3", conv(96, 56, 96, 3, groups=96)
    yield "dense", relay.nn.relu(relay.nn.dense(var(1, 512), weight(256, 512)))
    yield "dense, 64 rows", relay.nn.relu(relay.nn.dense(var(64, 256), weight(256, 256)))
    yield "max pool", relay.nn.max_pool2d(image, (3, 3), (2, 2), padding=(1, 1))
    yield "average pool", relay.nn.avg_pool2d(image, (2, 2), (2, 2))
    yield "global average pool", relay.nn.global_avg_pool2d(image)
    yield "softmax", relay.nn.softmax(var(64, 256))
    yield "add, tanh", relay.tanh(var(64, 256) + relay.const(1.0))


def load(path):
    model = onnx.load(path)
    return pathlib.Path(path).stem, *relay.frontend.from_onnx(model, shapes_of(model))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cc", default="gcc -O3 -march=native")
    parser.add_argument("--target", default="c -mcpu=native")
    args = parser.parse_args()
    print(f"{args.cc}, target {args.target}")
    for name, body in operators() if not args.models else ():
        function = relay.Function(relay.analysis.free_vars(body), body)
        measure(name, tenon.IRModule.from_expr(function), {}, args)
    for path in args.models or [DIGITS / f"{name}.onnx" for name in ("digits_cnn", "digits_mlp")]:
        measure(*load(path), args)


if __name__ == "__main__":
    main()
