"""Programs with extents that only a run tells."""

import numpy as np

from growth.common import (
    family,
    inputs,
    module,
    onnx_model,
    onnx_vm,
    open_extent,
    vm,
)


def chain_of(op, n, shape, dtype="float32"):
    from tenon import relay

    xs = inputs(n + 1, shape, dtype)
    y = xs[0]
    for x in xs[1:]:
        y = getattr(relay, op)(y, x)
        if dtype != "bool" and op in ("equal", "less"):
            y = relay.cast(y, dtype)
    return module(xs, y)


for _op, _dtype in (
    [(o, "float32") for o in ("add", "subtract", "multiply", "divide", "power", "maximum")]
    + [(o, "float32") for o in ("minimum", "mod", "floor_divide", "floor_mod", "less", "equal")]
    + [(o, "int32") for o in ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift")]
    + [("logical_and", "bool"), ("logical_xor", "bool")]
):

    def _dynamic(n, op=_op, dtype=_dtype):
        return vm(chain_of(op, n, open_extent(), dtype))

    _dynamic.__name__ = f"dynamic_{_op}"
    family(12)(_dynamic)


@family(6)
def dynamic_add_4d(n):
    return vm(chain_of("add", n, open_extent(4)))


@family(8)
def dynamic_add_pairs(n):
    """A tree of additions."""
    from tenon import relay

    xs = level = inputs(2 * n, open_extent())
    while len(level) > 1:
        level = [relay.add(a, b) for a, b in zip(level[::2], level[1::2], strict=False)] + (
            level[-1:] if len(level) % 2 else []
        )
    return vm(module(xs, level[0]))


@family(12)
def dynamic_max_onnx(n):
    from onnx import helper

    ins = {f"x{i}": ("FLOAT", [f"d{i}"]) for i in range(n)}
    node = helper.make_node("Max", list(ins), ["y"])
    return onnx_vm(onnx_model([node], ins, {"y": ("FLOAT", None)}))


@family(12)
def dynamic_where(n):
    from tenon import relay

    xs = inputs(n + 1, open_extent())
    y = xs[0]
    for x in xs[1:]:
        y = relay.where(relay.greater(x, y), x, y)
    return vm(module(xs, y))


@family(8)
def dynamic_concat_chain(n):
    from tenon import relay

    xs = inputs(n + 1, open_extent())
    y = xs[0]
    for x in xs[1:]:
        y = relay.concatenate([y, x], 0)
    return vm(module(xs, y))


@family(40)
def dynamic_concat(n):
    from tenon import relay

    xs = inputs(n, open_extent())
    return vm(module(xs, relay.concatenate(xs, 0)))


@family(12)
def dynamic_unary(n):
    from tenon import relay

    (x,) = inputs(1, open_extent(2))
    y = x
    for i in range(n):
        y = (relay.tanh, relay.exp, relay.negative)[i % 3](y)
    return vm(module([x], y))


@family(8)
def dynamic_slices(n):
    from tenon import relay

    (x,) = inputs(1, open_extent())
    y = x
    for _ in range(n):
        y = relay.strided_slice(y, [1], [2**31], [1])
    return vm(module([x], y))


@family(8)
def dynamic_pads(n):
    from tenon import relay

    (x,) = inputs(1, open_extent(2))
    y = x
    for _ in range(n):
        y = relay.nn.pad(y, [(1, 1), (0, 1)])
    return vm(module([x], y))


@family(8)
def dynamic_reshapes(n):
    from tenon import relay

    (x,) = inputs(1, open_extent(3))
    y = x
    for _ in range(n):
        y = relay.reshape(relay.transpose(relay.reshape(y, (-1, 0)), (1, 0)), (0, 2, -1))
    return vm(module([x], y))


@family(6)
def dynamic_conv(n):
    from tenon import relay

    x = relay.var("x", shape=(relay.Any(), 8, relay.Any(), relay.Any()))
    y = x
    for i in range(n):
        w = relay.const(np.ones((8, 8, 3, 3), "float32") * (i + 1))
        y = relay.nn.relu(relay.nn.conv2d(y, w, strides=(1, 1), padding=(1, 1)))
    return vm(module([x], y))


@family(6)
def dynamic_pool(n):
    from tenon import relay

    x = relay.var("x", shape=(1, 8, relay.Any(), relay.Any()))
    y = x
    for _ in range(n):
        y = relay.nn.max_pool2d(y, (2, 2), strides=(2, 2), padding=(1, 1))
    return vm(module([x], y))
