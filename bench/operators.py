"""Single operators as ONNX models, one problem a line, beside onnxruntime.

    python bench/operators.py [--threads N] [--rounds N] [--only TEXT,TEXT] [--target T] [--above R]

A line is a name, an operator, its operands and its attributes: `f32:64x128` is an input of random
numbers (`pos:` of positive ones), `i64=[1]` a constant. Printed are the times of a run, without
copies in and out, and of onnxruntime's call, each the least of some rounds in turn, in us,
and their ratio. Results are compared. `--above 1` prints those with a larger ratio only.
"""

import argparse
import ast
import os
import sys
import time

import numpy as np
import onnx
import onnxruntime
import tenon
from onnx import helper, numpy_helper
from tenon import relay
from tenon.contrib import graph_executor

PROBLEMS = """
exp             Exp f32:128x3072
tanh            Tanh f32:128x3072
sigmoid         Sigmoid f32:128x3072
erf             Erf f32:128x3072
gelu            Gelu f32:128x3072
softplus        Softplus f32:128x3072
sqrt            Sqrt pos:128x3072
sin             Sin f32:128x3072
atan            Atan f32:128x3072
pow.3           Pow f32:128x3072 f32=3.0
exp.7           Exp f32:1x512x7x7
relu.13         Relu f32:1x256x13x13
tanh.odd        Tanh f32:127x301
add             Add f32:128x3072 f32:128x3072
add.channel     Add f32:1x64x56x56 f32:64x1x1
add.row         Add f32:127x301 f32:301
add.int8        Add i8:128x3072 i8:128x3072
div.int32       Div i32:128x3072 i32=7
where           Where bool:128x3072 f32:128x3072 f32:128x3072
cast.half       Cast f32:128x3072 to=10
quantize        QuantizeLinear f32:128x3072 f32=0.02 u8=128
sum.inner       ReduceSum f32:1024x512 i64=[1]
sum.outer       ReduceSum f32:1024x512 i64=[0]
sum.image       ReduceSum f32:8x64x28x28 i64=[2,3]
sum.channel     ReduceSum f32:8x64x28x28 i64=[0,2,3]
sum.last        ReduceSum f32:8x28x28x64 i64=[1,2]
sum.few         ReduceSum f32:100000x3 i64=[1]
max.all         ReduceMax f32:1024x512
mean.all        ReduceMean f32:1024x512
logsumexp       ReduceLogSumExp f32:1024x512 i64=[1]
argmax.inner    ArgMax f32:1024x512 axis=1
argmax.outer    ArgMax f32:1024x512 axis=0
argmax.middle   ArgMax f32:8x21x4096 axis=1
argmax.words    ArgMax f32:1x50000 axis=1
cumsum.inner    CumSum f32:1024x512 i64=1
cumsum.outer    CumSum f32:1024x512 i64=0
topk            TopK f32:64x1000 i64=[5]
topk.words      TopK f32:1x50000 i64=[50]
sort            TopK f32:64x1000 i64=[1000]
softmax         Softmax f32:1536x128 axis=1
softmax.words   Softmax f32:1x50000 axis=1
softmax.outer   Softmax f32:512x512 axis=0
softmax.odd     Softmax f32:1024x77 axis=1
logsoftmax      LogSoftmax f32:1536x128 axis=1
hardmax         Hardmax f32:1024x512 axis=1
layernorm       LayerNormalization f32:128x768 f32:768 f32:768 axis=-1
layernorm.odd   LayerNormalization f32:129x301 f32:301 f32:301 axis=-1
instancenorm    InstanceNormalization f32:1x64x56x56 f32:64 f32:64
groupnorm       GroupNormalization f32:1x64x32x32 f32:64 f32:64 num_groups=8
lrn             LRN f32:1x64x56x56 size=5
transpose       Transpose f32:1024x1024 perm=[1,0]
transpose.odd   Transpose f32:511x513 perm=[1,0]
transpose.heads Transpose f32:1x128x12x64 perm=[0,2,1,3]
transpose.nhwc  Transpose f32:1x64x56x56 perm=[0,2,3,1]
transpose.int8  Transpose i8:1024x1024 perm=[1,0]
concat          Concat f32:1024x77 f32:1024x51 f32:1024x13 axis=1
tile            Tile f32:128x64 i64=[4,8]
maxpool         MaxPool f32:1x64x112x112 kernel_shape=[3,3] strides=[2,2] pads=[1,1,1,1]
avgpool         AveragePool f32:1x192x28x28 kernel_shape=[3,3] pads=[1,1,1,1]
avgpool.global  GlobalAveragePool f32:1x1024x7x7
avgpool.volume  GlobalAveragePool f32:1x64x8x14x14
"""

TYPES = {"f32": "float32", "pos": "float32", "i8": "int8", "u8": "uint8", "i32": "int32"}
TYPES |= {"i64": "int64", "bool": "bool"}


def numbers(kind, shape):
    rng = np.random.default_rng(0)
    if kind in ("f32", "pos"):
        x = rng.standard_normal(shape).astype("float32")
        return np.abs(x) + np.float32(0.1) if kind == "pos" else x
    return rng.integers(0 if kind in ("u8", "bool") else -100, 2, shape).astype(TYPES[kind])


def problem(line):
    """(name, model, inputs)"""
    name, op, *rest = line.split()
    operands, inputs, constants, attributes = [], {}, [], {}
    for token in rest:
        kind, _, text = token.partition("=" if "=" in token else ":")
        if kind not in TYPES:
            attributes[kind] = ast.literal_eval(text)
            continue
        operands.append(f"x{len(operands)}")
        if "=" in token:
            value = np.array(ast.literal_eval(text), TYPES[kind])
            constants.append(numpy_helper.from_array(value, operands[-1]))
        else:
            inputs[operands[-1]] = numbers(kind, [int(n) for n in text.split("x")])
    results = ["y", "z"] if op == "TopK" else ["y"]
    infos = [
        helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
        for k, v in inputs.items()
    ]
    outs = [onnx.ValueInfoProto(name=r) for r in results]
    node = helper.make_node(op, operands, results, **attributes)
    graph = helper.make_graph([node], "operator", infos, outs, constants)
    version = 21 if op == "GroupNormalization" else 20 if op == "Gelu" else 18
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", version)])
    model.ir_version = 9
    return name, onnx.shape_inference.infer_shapes(model, data_prop=True), inputs


def ours(model, inputs, target):
    shapes = {k: v.shape for k, v in inputs.items()}
    mod, params = relay.frontend.from_onnx(model, shapes, freeze_params=True)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target, params=params)
    executor = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    executor.run(**inputs)
    return executor


def theirs(model, threads):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options)


def seconds(run, times):
    start = time.perf_counter()
    for _ in range(times):
        run()
    return (time.perf_counter() - start) / times


def is_same(got, want):
    if want.dtype.kind == "f":
        scale = max(1.0, float(np.abs(want).max()))
        return np.abs(got.astype("float64") - want).max() <= 1e-4 * scale
    return (got != want).mean() < 1e-3  # floats next to a border may round to either side


def measure(line, options):
    name, model, inputs = problem(line)
    executor, session = ours(model, inputs, options.target), theirs(model, options.threads)
    for i, want in enumerate(session.run(None, inputs)):
        if not is_same(executor.get_output(i).numpy(), want):
            raise SystemExit(f"{name}: result {i} is wrong")
    times = max(1, min(300, int(1e-3 / seconds(executor.run, 3))))
    best = [float("inf")] * 2
    for _ in range(options.rounds):
        for i, run in enumerate((executor.run, lambda: session.run(None, inputs))):
            best[i] = min(best[i], seconds(run, times) * 1e6)
    ratio = best[0] / best[1]
    if ratio > options.above:
        print(f"{name:18}{best[0]:10.1f}{best[1]:10.1f}{ratio:8.2f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--only", default="", help="problems whose names contain one of these")
    parser.add_argument("--target", default="llvm")
    parser.add_argument("--above", type=float, default=0.0)
    options = parser.parse_args()
    if int(os.environ.get("TVM_NUM_THREADS", 0)) != options.threads:
        os.environ["TVM_NUM_THREADS"] = str(options.threads)  # read when the pool starts
        os.execv(sys.executable, [sys.executable, *sys.argv])
    for line in PROBLEMS.strip().splitlines():
        if any(text in line.split()[0] for text in options.only.split(",")):
            measure(line, options)


if __name__ == "__main__":
    main()
