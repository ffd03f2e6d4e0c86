"""Convolutions of networks, one problem a line: correctness, GFLOP/s and peers.

    python bench/kernels.py [--threads N] [--rounds N] [--only TEXT] [--peers ort,openvino] [--json]

For each problem: the time of the kernel on data that is in its layout already (float32, bias and
ReLU in it), what share of the core's measured peak that is (bench/peak), and the time of a model of
this one layer, from NCHW to NCHW, beside that of the peers that are installed. Rounds go through
all contenders in turn and the best time of each counts, so that all meet the same machine. With
several threads the peak is that of one times their number. OpenVINO computes in f32.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tensor_programs import peak_program

# name, batch, channels, height = width, channels of the result, kernel, stride, padding, groups
PROBLEMS = """
resnet.stem        1    3 224   64 7 2 3 1
resnet.1x1.56.a    1   64  56   64 1 1 0 1
resnet.1x1.56.b    1   64  56  256 1 1 0 1
resnet.1x1.56.c    1  256  56   64 1 1 0 1
resnet.3x3.56      1   64  56   64 3 1 1 1
resnet.3x3.56.s2   1  128  56  128 3 2 1 1
resnet.1x1.28      1  128  28  512 1 1 0 1
resnet.1x1.56.s2   1  256  56  512 1 2 0 1
resnet.3x3.28      1  128  28  128 3 1 1 1
resnet.1x1.14.a    1  256  14 1024 1 1 0 1
resnet.1x1.14.b    1 1024  14  256 1 1 0 1
resnet.3x3.14      1  256  14  256 3 1 1 1
resnet.1x1.7       1 2048   7  512 1 1 0 1
resnet.3x3.7       1  512   7  512 3 1 1 1
mobilenet.dw.112   1   32 112   32 3 1 1 32
mobilenet.dw.112s2 1   96 112   96 3 2 1 96
mobilenet.dw.56    1  144  56  144 3 1 1 144
mobilenet.dw.14    1  384  14  384 3 1 1 384
mobilenet.dw.7     1  960   7  960 3 1 1 960
mobilenet.1x1.112  1   16 112   96 1 1 0 1
mobilenet.1x1.56   1   24  56  144 1 1 0 1
mobilenet.1x1.14   1  384  14   64 1 1 0 1
mobilenet.1x1.7    1  320   7 1280 1 1 0 1
squeezenet.3x3.55  1   16  55   64 3 1 1 1
squeezenet.1x1.13  1  512  13 1000 1 1 0 1
densenet.1x1.56    1  128  56  128 1 1 0 1
densenet.3x3.56    1  128  56   32 3 1 1 1
densenet.3x3.14    1  128  14   32 3 1 1 1
unet.3x3.128       1   32 128   16 3 1 1 1
unet.3x3.32        1   64  32   64 3 1 1 1
inception.3x3.147  1   32 147   64 3 1 1 1
inception.3x3.35   1   64  35   96 3 1 1 1
inception.3x3.17s2 1  192  17  320 3 2 0 1
batch.3x3.28       8  128  28  128 3 1 1 1
"""


class Problem:
    def __init__(self, line):
        self.name, *numbers = line.split()
        self.n, self.ic, self.size, self.oc, self.k, self.s, self.p, self.g = map(int, numbers)
        self.out = (self.size + 2 * self.p - self.k) // self.s + 1
        self.flops = 2 * self.n * self.oc * self.out**2 * self.ic // self.g * self.k**2
        rng = np.random.default_rng(0)
        each = self.ic // self.g * self.k**2
        self.x = np.maximum(rng.standard_normal((self.n, self.ic, self.size, self.size)), 0)
        self.w = rng.standard_normal((self.oc, self.ic // self.g, self.k, self.k))
        self.x, self.w = self.x.astype("float32"), (self.w * (2 / each) ** 0.5).astype("float32")
        self.b = rng.standard_normal(self.oc).astype("float32")

    def reference(self):
        x = np.pad(self.x.astype("float64"), [(0, 0), (0, 0)] + [(self.p, self.p)] * 2)
        out = np.zeros((self.n, self.g, self.oc // self.g, self.out, self.out))
        w = self.w.reshape(self.g, self.oc // self.g, self.ic // self.g, self.k, self.k)
        last = (self.out - 1) * self.s + 1
        for y in range(self.k):
            for z in range(self.k):
                part = x[:, :, y : y + last : self.s, z : z + last : self.s]
                part = part.reshape(self.n, self.g, self.ic // self.g, self.out, self.out)
                out += np.einsum("ngchw,goc->ngohw", part, w[..., y, z], optimize=True)
        out = out.reshape(self.n, self.oc, self.out, self.out)
        return np.maximum(out + self.b.reshape(1, -1, 1, 1), 0)

    def onnx(self):
        from onnx import TensorProto, helper, numpy_helper

        shapes = {"x": self.x.shape, "y": (self.n, self.oc, self.out, self.out)}
        info = {
            k: helper.make_tensor_value_info(k, TensorProto.FLOAT, s) for k, s in shapes.items()
        }
        conv = helper.make_node(
            "Conv",
            ["x", "w", "b"],
            ["c"],
            kernel_shape=[self.k] * 2,
            strides=[self.s] * 2,
            pads=[self.p] * 4,
            group=self.g,
        )
        relu = helper.make_node("Relu", ["c"], ["y"])
        weights = [numpy_helper.from_array(v, n) for n, v in (("w", self.w), ("b", self.b))]
        graph = helper.make_graph([conv, relu], "layer", [info["x"]], [info["y"]], weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        return model.SerializeToString()


def kernel_time(executor, convolution):
    """Time of the kernel alone, of all that are not layout changes, in seconds."""
    report = json.loads(executor.profile().json())
    return 1e-6 * sum(
        call["Duration (us)"]["microseconds"]
        for call in report["calls"]
        if convolution in str(call["Name"])
    )


def tenon_layer(problem):
    """(time of the layer as a model, time of its kernel), each a function."""
    from tenon.contrib.debugger import debug_executor

    x = relay.var("x", shape=problem.x.shape)
    y = relay.nn.conv2d(
        x,
        relay.const(problem.w),
        strides=(problem.s, problem.s),
        padding=(problem.p, problem.p),
        channels=problem.oc,
        kernel_size=(problem.k, problem.k),
        groups=problem.g,
    )
    y = relay.nn.relu(relay.nn.bias_add(y, relay.const(problem.b)))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], y)), target="llvm")
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(x=problem.x)
    want = problem.reference()
    error = np.abs(model.get_output(0).numpy() - want).max() / np.abs(want).max()
    if error > 1e-4:
        raise SystemExit(f"{problem.name}: the result is wrong: error {error:.1e}")
    debug = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tenon.cpu())
    for key, value in {**lib.get_params(), "x": problem.x}.items():
        debug.set_input(key, value)
    return model.run, lambda: kernel_time(debug, "conv2d")


def ort_layer(problem, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(problem.onnx(), options)
    return lambda: session.run(None, {"x": problem.x})


def openvino_layer(problem, threads):
    import openvino

    core = openvino.Core()
    how = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    request = core.compile_model(core.read_model(problem.onnx()), "CPU", how).create_infer_request()
    return lambda: request.infer({0: problem.x})


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def measure(problem, peers, threads, rounds):
    run, kernel = tenon_layer(problem)
    contenders = {"tenon": run}
    for name, make in {"ort": ort_layer, "openvino": openvino_layer}.items():
        try:
            if name in peers:
                contenders[name] = make(problem, threads)
        except ImportError:
            pass
    best = dict.fromkeys(contenders, float("inf"))
    alone = float("inf")
    for _ in range(rounds):
        alone = min(alone, kernel())
        for name, layer in contenders.items():
            best[name] = min(best[name], seconds(layer), seconds(layer))
    return {"kernel us": alone * 1e6, "GFLOP/s": problem.flops / alone / 1e9} | {
        f"{name} us": t * 1e6 for name, t in best.items()
    }


def measured_peak():
    program = peak_program()
    if not program:
        return None
    out = subprocess.run([str(program), "0.2"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)["peak"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="problems whose names contain this")
    parser.add_argument("--peers", default="ort,openvino")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if int(os.environ.get("TVM_NUM_THREADS", 0)) != options.threads:
        os.environ["TVM_NUM_THREADS"] = str(options.threads)  # read when the pool starts
        os.execv(sys.executable, [sys.executable, *sys.argv])
    table, peak = {}, 0.0
    for line in PROBLEMS.strip().splitlines():
        if options.only not in line.split()[0]:
            continue
        problem = Problem(line)
        peak = max(peak, measured_peak() or 0.0)
        row = measure(problem, options.peers.split(","), options.threads, options.rounds)
        table[problem.name] = row
        if not options.json:
            share = 100 * row["GFLOP/s"] / (peak * options.threads) if peak else float("nan")
            others = "".join(f"{k[:-3]:>10}{v:9.0f}" for k, v in row.items() if k[-3:] == " us")
            print(
                f"{problem.name:20}{row['GFLOP/s']:7.0f} GF {share:4.0f}% us: {others}", flush=True
            )
    if options.json:
        json.dump({"peak GFLOP/s": peak, "problems": table}, sys.stdout, indent=2)
        print()


if __name__ == "__main__":
    main()
