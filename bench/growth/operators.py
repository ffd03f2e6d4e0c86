"""Windows, ranks, and the like."""

import numpy as np

from growth.common import (
    TARGET,
    family,
    graph,
    inputs,
    module,
    onnx_graph,
    onnx_model,
    onnx_vm,
)

# ---- windows and the like ----


@family(5)
def pool_indices(n):
    from onnx import helper

    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[n, n])
    ins = {"x": ("FLOAT", [1, 2, 24, 24])}
    return onnx_graph(onnx_model([node], ins, {"y": ("FLOAT", None), "i": ("INT64", None)}))


@family(9)
def pool(n):
    from tenon import relay

    (x,) = inputs(1, (1, 4, 64, 64))
    return graph(module([x], relay.nn.max_pool2d(x, (n, n), padding=(n // 2, n // 2))))


@family(9)
def average_pool(n):
    from tenon import relay

    (x,) = inputs(1, (1, 4, 64, 64))
    return graph(module([x], relay.nn.avg_pool2d(x, (n, n), padding=(n // 2, n // 2))))


@family(7)
def convolution_window(n):
    from tenon import relay

    (x,) = inputs(1, (1, 4, 64, 64))
    w = relay.const(np.ones((4, 4, n, n), "float32"))
    return graph(module([x], relay.nn.conv2d(x, w, kernel_size=(n, n))))


@family(7)
def depthwise_window(n):
    from tenon import relay

    (x,) = inputs(1, (1, 8, 64, 64))
    w = relay.const(np.ones((8, 1, n, n), "float32"))
    y = relay.nn.conv2d(x, w, kernel_size=(n, n), groups=8, channels=8)
    return graph(module([x], y))


@family(7)
def transposed_window(n):
    from tenon import relay

    (x,) = inputs(1, (1, 4, 16, 16))
    w = relay.const(np.ones((4, 4, n, n), "float32"))
    return graph(module([x], relay.nn.conv2d_transpose(x, w, kernel_size=(n, n), channels=4)))


@family(6)
def einsum(n):
    """A chain of products: ab,bc,cd->ad."""
    from onnx import helper

    letters = "abcdefghijklmnopqrstuvwxyz"
    terms = [letters[i : i + 2] for i in range(n)]
    ins = {f"x{i}": ("FLOAT", [4, 4]) for i in range(n)}
    equation = ",".join(terms) + "->" + letters[0] + letters[n]
    node = helper.make_node("Einsum", list(ins), ["y"], equation=equation)
    return onnx_graph(onnx_model([node], ins, {"y": ("FLOAT", None)}))


@family(4)
def gather_nd(n):
    from tenon import relay

    x = relay.var("x", shape=(2,) * n)
    i = relay.var("i", shape=(n, 16), dtype="int64")
    return graph(module([x, i], relay.gather_nd(x, i)))


@family(20)
def gather_nd_many(n):
    from tenon import relay

    (x,) = inputs(1, (8, 64, 4))
    i = relay.var("i", shape=(2, 100), dtype="int64")
    y = [relay.gather_nd(relay.add(x, relay.const(float(k))), i) for k in range(n)]
    return graph(module([x, i], relay.Tuple(y)))


@family(5000)
def sort(n):
    from tenon import relay

    (x,) = inputs(1, (4, n))
    return graph(module([x], relay.topk(x, 3, ret_type="both").astuple()))


@family(5000)
def cumsum(n):
    from tenon import relay

    (x,) = inputs(1, (4, n))
    return graph(module([x], relay.cumsum(x, 1)))


@family(5)
def rank(n):
    """Broadcast over many axes."""
    from tenon import relay

    a = relay.var("a", shape=tuple(2 if i % 2 else 1 for i in range(n)))
    b = relay.var("b", shape=tuple(1 if i % 2 else 2 for i in range(n)))
    return graph(module([a, b], relay.sum(relay.multiply(a, b), axis=tuple(range(0, n, 3)))))


@family(200)
def folded(n):
    """Constants all the way."""
    from tenon import relay

    (x,) = inputs(1)
    c = relay.const(np.ones(8, "float32"))
    for _ in range(n):
        c = relay.tanh(relay.add(c, relay.const(1.0)))
    return graph(module([x], relay.add(x, c)))


@family(100)
def shape_arithmetic(n):
    """As exporters write it: Shape, Gather, Unsqueeze, Concat, Reshape."""
    from onnx import helper

    nodes, y = [], "x"
    inits = {"zero": np.int64(0), "axes": np.array([0], "int64"), "rest": np.array([-1], "int64")}
    for i in range(n):
        nodes += [
            helper.make_node("Shape", [y], [f"s{i}"]),
            helper.make_node("Gather", [f"s{i}", "zero"], [f"g{i}"]),
            helper.make_node("Unsqueeze", [f"g{i}", "axes"], [f"u{i}"]),
            helper.make_node("Concat", [f"u{i}", "rest"], [f"c{i}"], axis=0),
            helper.make_node("Reshape", [y, f"c{i}"], [f"r{i}"]),
            helper.make_node("Tanh", [f"r{i}"], [f"t{i}"]),
        ]
        y = f"t{i}"
    return onnx_vm(onnx_model(nodes, {"x": ("FLOAT", ["b", 4, 4])}, {y: ("FLOAT", None)}, inits))


@family(20)
def gradient(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for _ in range(n):
        y = relay.multiply(relay.tanh(y), y)
    mod = relay.transform.InferType()(module([x], relay.sum(y)))

    def run():
        from tenon import IRModule

        f = relay.transform.gradient(mod["main"], mode="first_order")
        return relay.build(IRModule.from_expr(f), TARGET)

    return run
