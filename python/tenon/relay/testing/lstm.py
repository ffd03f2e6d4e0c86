"""A layer of long short-term memory, unrolled over its steps."""

from ... import relay
from ..scope_builder import ScopeBuilder
from . import layers
from .init import create_workload


def lstm_cell(num_hidden, batch_size=1, dtype="float32", name=""):
    """A step: a function of the input, the state and the parameters.

    Parameters
    ----------
    num_hidden : int
        Size of the input and of the state.
    batch_size : int
        Number of sequences.
    dtype : str
        Data type.
    name : str
        Prefix of the names of the layers.

    Returns
    -------
    Function
        From (inputs, (hidden, cell), i2h_weight, i2h_bias, h2h_weight, h2h_bias) to
        (output, (hidden, cell)).
    """
    state = relay.TensorType((batch_size, num_hidden), dtype)
    weight = relay.TensorType((4 * num_hidden, num_hidden), dtype)
    bias = relay.TensorType((4 * num_hidden,), dtype)
    inputs = relay.Var("inputs", state)
    states = relay.Var("states", relay.TupleType([state, state]))
    params = [
        relay.Var(f"{kind}_{part}", weight if part == "weight" else bias)
        for kind in ("i2h", "h2h")
        for part in ("weight", "bias")
    ]
    sb = ScopeBuilder()
    from_input, from_hidden = (
        sb.let(
            f"{kind}",
            layers.dense_add_bias(
                data=data, units=num_hidden * 4, weight=w, bias=b, name=f"{name}{kind}"
            ),
        )
        for kind, data, w, b in (
            ("i2h", inputs, params[0], params[1]),
            ("h2h", relay.TupleGetItem(states, 0), params[2], params[3]),
        )
    )
    gates = sb.let("gates", relay.add(from_input, from_hidden))
    parts = sb.let("parts", relay.split(gates, indices_or_sections=4, axis=1).astuple())
    enter = sb.let("in_gate", relay.sigmoid(relay.TupleGetItem(parts, 0)))
    forget = sb.let("forget_gate", relay.sigmoid(relay.TupleGetItem(parts, 1)))
    change = sb.let("in_transform", relay.tanh(relay.TupleGetItem(parts, 2)))
    leave = sb.let("out_gate", relay.sigmoid(relay.TupleGetItem(parts, 3)))
    kept = relay.multiply(forget, relay.TupleGetItem(states, 1))
    cell = sb.let("next_c", relay.add(kept, relay.multiply(enter, change)))
    hidden = sb.let("next_h", relay.multiply(leave, relay.tanh(cell)))
    sb.ret(relay.Tuple([hidden, relay.Tuple([hidden, cell])]))
    result = relay.TupleType([state, relay.TupleType([state, state])])
    return relay.Function([inputs, states, *params], sb.get(), result)


def get_net(iterations, num_hidden, batch_size=1, dtype="float32"):
    """The unrolled layer.

    Parameters
    ----------
    iterations : int
        Number of steps; all read the same input.
    num_hidden : int
        Size of the input and of the state.
    batch_size : int
        Number of sequences.
    dtype : str
        Data type.

    Returns
    -------
    Function
        From the input ``data`` and the parameters to the last output; the first state is zero.
    """
    state = relay.TensorType((batch_size, num_hidden), dtype)
    weight = relay.TensorType((4 * num_hidden, num_hidden), dtype)
    bias = relay.TensorType((4 * num_hidden,), dtype)
    data = relay.Var("data", state)
    params = [
        relay.Var("i2h_weight", weight),
        relay.Var("i2h_bias", bias),
        relay.Var("h2h_weight", weight),
        relay.Var("h2h_bias", bias),
    ]
    sb = ScopeBuilder()
    cell = sb.let("lstm_cell", lstm_cell(num_hidden, batch_size, dtype))
    zeros = relay.zeros((batch_size, num_hidden), dtype)
    states, output = relay.Tuple([zeros, zeros]), data
    for step in range(iterations):
        out = sb.let(f"step{step}", relay.Call(cell, [data, states, *params]))
        output, states = relay.TupleGetItem(out, 0), relay.TupleGetItem(out, 1)
    sb.ret(output)
    return relay.Function([data, *params], sb.get(), state)


def get_workload(iterations, num_hidden, batch_size=1, dtype="float32"):
    """The layer with parameters; see `get_net` and `create_workload`."""
    return create_workload(get_net(iterations, num_hidden, batch_size, dtype))
