"""Operators of many tensors, programs of many inputs and results."""

import numpy as np

from growth.common import (
    family,
    graph,
    inputs,
    module,
    onnx_graph,
    onnx_model,
    vm,
)

# ---- wide operators ----


@family(250)
def concat(n):
    from tenon import relay

    xs = inputs(n, (4, 8))
    return graph(module(xs, relay.concatenate(xs, 0)))


@family(250)
def concat_vm(n):
    from tenon import relay

    xs = inputs(n, (4, 8))
    return vm(module(xs, relay.concatenate(xs, 1)))


@family(250)
def concat_of_computed(n):
    from tenon import relay

    xs = inputs(n, (4, 8))
    return graph(module(xs, relay.concatenate([relay.exp(x) for x in xs], 0)))


@family(250)
def concat_one(n):
    """Of one tensor, n times."""
    from tenon import relay

    (x,) = inputs(1, (4, 8))
    return graph(module([x], relay.concatenate([x] * n, 0)))


@family(60)
def concat_growing(n):
    """As dense blocks have them: each layer reads all before it."""
    from tenon import relay

    (x,) = inputs(1, (1, 4, 8, 8))
    parts = [x]
    for i in range(n):
        whole = relay.concatenate(parts, 1) if len(parts) > 1 else x
        w = relay.const(np.full((4, 4 * len(parts), 1, 1), i + 1, "float32"))
        parts.append(relay.nn.conv2d(relay.nn.relu(whole), w, kernel_size=(1, 1)))
    return graph(module([x], relay.concatenate(parts, 1)))


@family(250)
def stack(n):
    from tenon import relay

    xs = inputs(n, (4, 8))
    return graph(module(xs, relay.stack(xs, 1)))


@family(250)
def split(n):
    from tenon import relay

    (x,) = inputs(1, (n, 8))
    return graph(module([x], relay.split(x, n, 0).astuple()))


@family(250)
def split_concat(n):
    from tenon import relay

    (x,) = inputs(1, (n, 8))
    parts = relay.split(x, n, 0)
    return graph(module([x], relay.concatenate([parts[n - 1 - i] for i in range(n)], 0)))


@family(250)
def split_sum(n):
    from tenon import relay

    (x,) = inputs(1, (n, 8))
    parts = relay.split(x, n, 0)
    y = parts[0]
    for i in range(1, n):
        y = relay.add(y, parts[i])
    return graph(module([x], y))


@family(500)
def outputs(n):
    from tenon import relay

    (x,) = inputs(1)
    return graph(module([x], relay.Tuple([relay.add(x, relay.const(float(i))) for i in range(n)])))


@family(500)
def outputs_vm(n):
    from tenon import relay

    (x,) = inputs(1)
    return vm(module([x], relay.Tuple([relay.add(x, relay.const(float(i))) for i in range(n)])))


@family(500)
def outputs_alike(n):
    """All by kernels of one kind."""
    from tenon import relay

    xs = inputs(n)
    return graph(module(xs, relay.Tuple([relay.tanh(x) for x in xs])))


@family(250)
def outputs_onnx(n):
    from onnx import helper

    nodes = [helper.make_node("Add", ["x", f"w{i}"], [f"y{i}"]) for i in range(n)]
    outs = {f"y{i}": ("FLOAT", [8]) for i in range(n)}
    inits = {f"w{i}": np.full(8, i, "float32") for i in range(n)}
    return onnx_graph(onnx_model(nodes, {"x": ("FLOAT", [8])}, outs, inits))


@family(250)
def many_inputs(n):
    from tenon import relay

    xs = inputs(n)
    y = xs[0]
    for x in xs[1:]:
        y = relay.add(y, x)
    return graph(module(xs, y))


@family(500)
def many_constants(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for i in range(n):
        y = relay.nn.relu(relay.add(y, relay.const(np.full(8, i, "float32"))))
    return graph(module([x], y))


@family(4 << 20, small=1024)
def big_constant(n):
    from tenon import relay

    (x,) = inputs(1, (1, 256))
    w = relay.const(np.ones((n // 256, 256), "float32"))
    return graph(module([x], relay.nn.dense(x, w)))


@family(250)
def take_chain(n):
    from tenon import relay

    x, i = inputs(1, (64,))[0], relay.var("i", shape=(64,), dtype="int32")
    y = x
    for _ in range(n):
        y = relay.take(y, i, axis=0, mode="clip")
    return graph(module([x, i], y))


@family(12)
def select(n):
    """Many-way: where(i == 0, x0, where(i == 1, x1, ...))."""
    from tenon import relay

    xs = inputs(8 * n)
    i = relay.var("i", shape=(), dtype="int32")
    y = xs[0]
    for k, x in enumerate(xs):
        y = relay.where(relay.equal(i, relay.const(k)), x, y)
    return graph(module([i, *xs], y))
