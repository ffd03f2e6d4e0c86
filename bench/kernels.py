"""Convolutions and attention of networks, one problem a line: correctness, GFLOP/s and peers.

    python bench/kernels.py [--threads N] [--rounds N] [--only TEXT] [--peers ort,openvino,torch]
                            [--json]

For each problem: the time of the kernel on data that is in its layout already (float32, bias and
ReLU in it), what share of the core's measured peak that is (bench/peak), and the time of a model of
this one layer, from NCHW to NCHW, beside that of the peers that are installed. Rounds go through
all contenders in turn and the best time of each counts, so that all meet the same machine. With
several threads the peak is that of one times their number. OpenVINO computes in f32. Attention is
that of heads that lie beside one another, as dense layers make them; torch is its
scaled_dot_product_attention, and computes attention only.
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

# name, batch, heads, rows, columns of query and value, mask (of windows: for each a mask, and for
# each head numbers that are added)
ATTENTION = """
attention.bert      1 12  128 64 none
attention.gpt       1 12  128 64 causal
attention.gpt.long  1 12 1024 64 causal
attention.vit       1 12  197 64 none
attention.swin.1   64  3   49 32 windows
attention.swin.3    4 12   49 32 windows
"""


class Problem:
    kernel = "conv2d"

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
        self.inputs = {"x": self.x}

    def relay(self):
        x = relay.var("x", shape=self.x.shape)
        y = relay.nn.conv2d(
            x,
            relay.const(self.w),
            strides=(self.s, self.s),
            padding=(self.p, self.p),
            channels=self.oc,
            kernel_size=(self.k, self.k),
            groups=self.g,
        )
        return relay.Function([x], relay.nn.relu(relay.nn.bias_add(y, relay.const(self.b))))

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


class Attention:
    kernel = "softmax"

    def __init__(self, line):
        self.name, *numbers, self.mask = line.split()
        b, h, m, d = self.n, self.h, self.m, self.d = list(map(int, numbers))
        self.flops = 4 * b * h * m * m * d
        rng = np.random.default_rng(0)
        self.inputs = {c: rng.standard_normal((b, m, h, d)).astype("float32") for c in "qkv"}
        self.added = None
        if self.mask == "causal":
            self.added = np.where(np.tri(m, dtype="bool"), 0, -1e9)[None, None].astype("float32")
        if self.mask == "windows":
            of_windows = np.where(rng.random((b, 1, m, m)) > 0.3, 0, -100)
            self.added = (of_windows + rng.standard_normal((1, h, m, m))).astype("float32")

    def relay(self):
        q, k, v = (relay.var(n, shape=a.shape) for n, a in self.inputs.items())
        s = relay.einsum([q, k], "bmhk,bnhk->bhmn") * relay.const(self.d**-0.5)
        p = relay.nn.softmax(s if self.added is None else s + relay.const(self.added))
        return relay.Function([q, k, v], relay.einsum([p, v], "bhmk,bkhn->bmhn"))

    def reference(self):
        q, k, v = (a.astype("float64") for a in self.inputs.values())
        s = np.einsum("bmhk,bnhk->bhmn", q, k) * self.d**-0.5
        s = np.exp(s - s.max(-1, keepdims=True) if self.added is None else s + self.added)
        return np.einsum("bhmn,bnhd->bmhd", s / s.sum(-1, keepdims=True), v)

    def torch(self, threads):
        import torch

        torch.set_num_threads(threads)
        q, k, v = (torch.from_numpy(a).transpose(1, 2) for a in self.inputs.values())
        mask = None if self.added is None else torch.from_numpy(self.added)
        attend = torch.nn.functional.scaled_dot_product_attention
        causal = {"is_causal": True} if self.mask == "causal" else {"attn_mask": mask}

        def run():
            with torch.no_grad():
                return attend(q, k, v, **causal).transpose(1, 2).contiguous()

        return run

    def onnx(self):
        from onnx import TensorProto, helper, numpy_helper

        info = {
            n: helper.make_tensor_value_info(n, TensorProto.FLOAT, a.shape)
            for n, a in [*self.inputs.items(), ("y", self.inputs["q"])]
        }
        scale = numpy_helper.from_array(np.float32(self.d**-0.5), "scale")
        constants, x = [scale], "scaled"
        nodes = [
            helper.make_node("Transpose", ["q"], ["qt"], perm=[0, 2, 1, 3]),
            helper.make_node("Transpose", ["k"], ["kt"], perm=[0, 2, 3, 1]),
            helper.make_node("Transpose", ["v"], ["vt"], perm=[0, 2, 1, 3]),
            helper.make_node("MatMul", ["qt", "kt"], ["s"]),
            helper.make_node("Mul", ["s", "scale"], ["scaled"]),
        ]
        if self.added is not None:
            constants.append(numpy_helper.from_array(self.added, "mask"))
            nodes.append(helper.make_node("Add", ["scaled", "mask"], ["masked"]))
            x = "masked"
        nodes += [
            helper.make_node("Softmax", [x], ["p"], axis=-1),
            helper.make_node("MatMul", ["p", "vt"], ["o"]),
            helper.make_node("Transpose", ["o"], ["y"], perm=[0, 2, 1, 3]),
        ]
        ins = [info[n] for n in "qkv"]
        graph = helper.make_graph(nodes, "attention", ins, [info["y"]], constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
        model.ir_version = 8
        return model.SerializeToString()


def kernel_time(executor, kernel):
    """Time of the kernel alone, of all that are not layout changes, in seconds."""
    report = json.loads(executor.profile().json())
    return 1e-6 * sum(
        call["Duration (us)"]["microseconds"]
        for call in report["calls"]
        if kernel in str(call["Name"])
    )


def tenon_layer(problem):
    """(time of the layer as a model, time of its kernel), each a function."""
    from tenon.contrib.debugger import debug_executor

    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(tenon.IRModule.from_expr(problem.relay()), target="llvm")
    model = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    model.run(**problem.inputs)
    want = problem.reference()
    error = np.abs(model.get_output(0).numpy() - want).max() / np.abs(want).max()
    if error > 1e-4:
        raise SystemExit(f"{problem.name}: the result is wrong: error {error:.1e}")
    debug = debug_executor.create(lib.get_graph_json(), lib.get_lib(), tenon.cpu())
    for key, value in {**lib.get_params(), **problem.inputs}.items():
        debug.set_input(key, value)
    return model.run, lambda: kernel_time(debug, problem.kernel)


def ort_layer(problem, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(problem.onnx(), options)
    return lambda: session.run(None, problem.inputs)


def openvino_layer(problem, threads):
    import openvino

    core = openvino.Core()
    how = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    request = core.compile_model(core.read_model(problem.onnx()), "CPU", how).create_infer_request()
    return lambda: request.infer(problem.inputs)


def torch_layer(problem, threads):
    if not hasattr(problem, "torch"):
        raise ImportError("torch computes attention only")
    return problem.torch(threads)


def seconds(run):
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


PEERS = {"ort": ort_layer, "openvino": openvino_layer, "torch": torch_layer}


def measure(problem, peers, threads, rounds):
    run, kernel = tenon_layer(problem)
    contenders = {"tenon": run}
    for name, make in PEERS.items():
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
    parser.add_argument("--peers", default="ort,openvino,torch")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    if int(os.environ.get("TVM_NUM_THREADS", 0)) != options.threads:
        os.environ["TVM_NUM_THREADS"] = str(options.threads)  # read when the pool starts
        os.execv(sys.executable, [sys.executable, *sys.argv])
    table, peak = {}, 0.0
    lines = [(Problem, line) for line in PROBLEMS.strip().splitlines()]
    lines += [(Attention, line) for line in ATTENTION.strip().splitlines()]
    for kind, line in lines:
        if options.only not in line.split()[0]:
            continue
        problem = kind(line)
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
