"""ONNX models with dynamic extents beside onnxruntime and beside a static build.

    python bench/dynamic.py [--threads N] [--rounds N] [--only TEXT,TEXT]

A line is a model and the shapes of its inputs: the time of a call of onnxruntime, of the dynamic
build and of a build for these shapes, arrays in and out, each the median of all rounds, in which
the three take turns, and the ratios of the dynamic build to the others. With one thread it is
processor time that counts, so that other work of the machine matters less. Results are compared.
"""

import argparse
import os
import sys
import time

import numpy as np
import onnx
import onnxruntime
import tenon
from onnx import helper, numpy_helper

rng = np.random.default_rng(0)


def rand(*shape):
    return rng.normal(0, 0.1, shape).astype("float32")


def model(nodes, inputs, output, weights):
    """Inputs are shapes by name, with names for dynamic extents."""
    node = helper.make_node
    values = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name, shape in inputs.items()
    ]
    graph = helper.make_graph(
        [node(op, i.split(), [o], **attrs) for op, i, o, attrs in nodes],
        "g",
        values,
        [helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, None)],
        [numpy_helper.from_array(v, k) for k, v in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def single(op, inputs, weights, **attrs):
    names = " ".join([*inputs, *weights])
    return model([(op, names, "y", attrs)], inputs, "y", weights)


def attention():
    nodes = [
        ("MatMul", "q k", "s", {}),
        ("Softmax", "s", "p", {"axis": -1}),
        ("MatMul", "p v", "y", {}),
    ]
    shapes = {"q": ["b", 12, "n", 64], "k": ["b", 12, 64, "m"], "v": ["b", 12, "m", 64]}
    return model(nodes, shapes, "y", {})


def encoder(heads=12, depth=64, hidden=3072):
    """A layer of BERT base."""
    width = heads * depth
    weights = {
        "split": np.array([0, 0, heads, depth]),
        "join": np.array([0, 0, width]),
        "eight": np.float32(8),
        "half": np.float32(0.5),
        "one": np.float32(1),
        "root": np.float32(2**0.5),
        "g": rand(width) + 1,
        "e": rand(width),
    }
    nodes = []

    def linear(x, y, n, m):
        weights.update({y + "w": rand(n, m), y + "b": rand(m)})
        nodes.append(("MatMul", f"{x} {y}w", y + "m", {}))
        nodes.append(("Add", f"{y}b {y}m", y, {}))

    for c, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        linear("x", c, width, width)
        nodes.append(("Reshape", f"{c} split", c + "r", {}))
        nodes.append(("Transpose", c + "r", c + "t", {"perm": order}))
    nodes += [
        ("MatMul", "qt kt", "s", {}),
        ("Div", "s eight", "d", {}),
        ("Add", "d mask", "a", {}),
        ("Softmax", "a", "p", {"axis": -1}),
        ("MatMul", "p vt", "c", {}),
        ("Transpose", "c", "ct", {"perm": [0, 2, 1, 3]}),
        ("Reshape", "ct join", "cj", {}),
    ]
    linear("cj", "o", width, width)
    nodes.append(("Add", "o x", "r1", {}))
    nodes.append(("LayerNormalization", "r1 g e", "n1", {}))
    linear("n1", "f", width, hidden)
    nodes += [
        ("Div", "f root", "f1", {}),
        ("Erf", "f1", "f2", {}),
        ("Add", "f2 one", "f3", {}),
        ("Mul", "f f3", "f4", {}),
        ("Mul", "f4 half", "f5", {}),
    ]
    linear("f5", "h", hidden, width)
    nodes.append(("Add", "h n1", "r2", {}))
    nodes.append(("LayerNormalization", "r2 g e", "y", {}))
    return model(nodes, {"x": ["b", "n", width], "mask": ["b", 1, 1, "n"]}, "y", weights)


def recurrent(op, gates, directions=1, n=64, m=128):
    weights = {
        "w": rand(directions, gates * m, n),
        "r": rand(directions, gates * m, m),
        "b": rand(directions, 2 * gates * m),
    }
    direction = "bidirectional" if directions == 2 else "forward"
    return single(op, {"x": ["t", 1, n]}, weights, hidden_size=m, direction=direction)


def cases():
    """Name, model, shapes of the inputs."""
    heads = [
        {"q": (b, 12, n, 64), "k": (b, 12, 64, n), "v": (b, 12, n, 64)}
        for b, n in ((1, 8), (1, 32), (1, 128), (4, 37))
    ]
    rows = [{"x": (b, n, 768)} for b, n in ((1, 1), (1, 8), (1, 37), (1, 128), (4, 32))]
    tokens = [{**r, "mask": (r["x"][0], 1, 1, r["x"][1])} for r in rows]
    norm = {"s": rand(768), "e": rand(768)}
    image = {"x": ["b", 64, "h", "w"]}
    sizes = [{"x": (1, 64, n, n)} for n in (28, 57)]
    steps = [{"x": (t, 1, 64)} for t in (10, 100)]
    x = {"x": ["b", "n", 768]}
    yield "attention", attention(), heads
    yield "layer norm", single("LayerNormalization", x, norm), rows
    yield "dense 768x768", single("MatMul", x, {"m": rand(768, 768)}), rows
    yield "dense 768x3072", single("MatMul", x, {"m": rand(768, 3072)}), rows
    yield "encoder layer", encoder(), tokens
    yield "LSTM", recurrent("LSTM", 4), steps
    yield "GRU, both ways", recurrent("GRU", 3, 2), steps
    weight = {"k": rand(64, 64, 3, 3)}
    yield "conv 3x3", single("Conv", image, weight, pads=[1, 1, 1, 1]), sizes


def seconds(call, clock):
    start = clock()
    call()
    return clock() - start


def static_build(m, shapes):
    mod, params = tenon.relay.frontend.from_onnx(m, shape=shapes)
    return tenon.compile(mod, params=params)


def measure(name, m, compiled, session, shapes, args):
    feeds = {k: rand(*s) for k, s in shapes.items()}
    clock = time.thread_time if args.threads == 1 else time.perf_counter
    static = static_build(m, shapes)
    calls = [
        lambda: session.run(None, feeds)[0],
        lambda: compiled(**feeds),
        lambda: static(**feeds),
    ]
    want, *got = (call() for call in calls)
    for g in got:
        np.testing.assert_allclose(g[0] if isinstance(g, list) else g, want, rtol=1e-3, atol=1e-4)
    times = [[] for _ in calls]
    for _ in range(args.rounds):
        for call, all_times in zip(calls, times, strict=True):
            all_times.append(min(seconds(call, clock) for _ in range(5)))
    peer, own, fixed = (np.median(t) for t in times)
    text = ", ".join(str(list(s)) for s in shapes.values())
    print(
        f"{name:16}{text:54}{peer * 1e6:9.0f}{own * 1e6:9.0f}{fixed * 1e6:9.0f}"
        f"{own / peer:7.2f}{own / fixed:7.2f}",
        flush=True,
    )
    return own / peer, own / fixed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--only", default="", help="parts of names, separated by commas")
    args = parser.parse_args()
    os.environ["TENON_NUM_THREADS"] = str(args.threads)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = args.threads
    ratios = []
    print(f"{'':70}{'onnxrt':>9}{'dynamic':>9}{'static':>9}{'/ ort':>7}{'/ stat':>7}")
    for name, m, all_shapes in cases():
        if args.only and not any(part in name for part in args.only.split(",")):
            continue
        session = onnxruntime.InferenceSession(m.SerializeToString(), options)
        compiled = tenon.compile(m)
        for shapes in all_shapes:
            ratios.append(measure(name, m, compiled, session, shapes, args))
    if not ratios:
        return "no such model"
    means = np.exp(np.log(np.array(ratios)).mean(0))
    print(f"geometric means: {means[0]:.2f} of onnxruntime, {means[1]:.2f} of the static build")
    return 0


if __name__ == "__main__":
    sys.exit(main())
