"""Programs of many operators one after another."""

import numpy as np

from growth.common import (
    family,
    graph,
    inputs,
    module,
    onnx_graph,
    onnx_model,
)

# ---- long programs ----


@family(300)
def chain(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for i in range(n):
        y = (relay.tanh, relay.exp, relay.negative)[i % 3](y)
    return graph(module([x], y))


@family(300)
def doubled(n):
    """Every value is read twice."""
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for _ in range(n):
        y = relay.add(relay.tanh(y), y)
    return graph(module([x], y))


@family(100)
def moved(n):
    """Reshapes, transposes, slices in turn."""
    from tenon import relay

    (x,) = inputs(1, (4 + n, 6))
    y = x
    for i in range(n):
        y = relay.strided_slice(y, [1, 0], [4 + n - i, 6])
        y = relay.transpose(relay.reshape(y, (6, -1)), (1, 0))
    return graph(module([x], y))


@family(100)
def transposes(n):
    from tenon import relay

    (x,) = inputs(1, (4, 6, 8))
    y = x
    for _ in range(n):
        y = relay.tanh(relay.transpose(y, (1, 2, 0)))
    return graph(module([x], y))


@family(100)
def slices(n):
    from tenon import relay

    (x,) = inputs(1, (4 + n, 6))
    y = x
    for i in range(n):
        y = relay.strided_slice(y, [1, 0], [4 + n - i, 6])
    return graph(module([x], y))


@family(100)
def slices_joined(n):
    from tenon import relay

    (x,) = inputs(1, (n, 6))
    parts = [relay.strided_slice(x, [i, 0], [i + 1, 6]) for i in range(n)]
    return graph(module([x], relay.concatenate(parts, 1)))


@family(24)
def convolutions(n):
    from tenon import relay

    (x,) = inputs(1, (1, 16, 16, 16))
    y = x
    for i in range(n):
        w = relay.const(np.full((16, 16, 3, 3), i, "float32"))
        y = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), kernel_size=(3, 3)))
    return graph(module([x], y))


@family(24)
def residual(n):
    from tenon import relay

    (x,) = inputs(1, (1, 16, 16, 16))
    y = x
    for i in range(n):
        w = relay.const(np.full((16, 16, 3, 3), i, "float32"))
        y = relay.add(y, relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), kernel_size=(3, 3))))
    return graph(module([x], y))


@family(12)
def convolutions_unlike(n):
    """Each with its own extents: as many kernels."""
    from tenon import relay

    (x,) = inputs(1, (1, 8, 16, 16))
    y, c = x, 8
    for i in range(n):
        w = relay.const(np.full((8 + i, c, 3, 3), 1, "float32"))
        y, c = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), kernel_size=(3, 3))), 8 + i
    return graph(module([x], y))


@family(24)
def dense_layers(n):
    from tenon import relay

    (x,) = inputs(1, (1, 32))
    y = x
    for i in range(n):
        y = relay.nn.relu(relay.nn.dense(y, relay.const(np.full((32, 32), i, "float32"))))
    return graph(module([x], y))


@family(100)
def matrix_chain(n):
    from tenon import relay

    xs = inputs(n + 1, (16, 16))
    y = xs[0]
    for x in xs[1:]:
        y = relay.nn.matmul(y, x)
    return graph(module(xs, y))


@family(24)
def quantized(n):
    from onnx import helper

    nodes, inits, y = [], {"s": np.float32(0.1), "z": np.uint8(128)}, "x"
    inits["ws"], inits["wz"] = np.float32(0.01), np.uint8(3)
    for i in range(n):
        inits[f"w{i}"] = np.full((16, 16), i % 255, "uint8")
        names = [y, "s", "z", f"w{i}", "ws", "wz", "s", "z"]
        nodes.append(helper.make_node("QLinearMatMul", names, [f"t{i}"]))
        y = f"t{i}"
    return onnx_graph(onnx_model(nodes, {"x": ("UINT8", [4, 16])}, {y: ("UINT8", [4, 16])}, inits))
