"""Recurrent layers, loops, conditions, and what is nested."""

import numpy as np

from growth.common import (
    family,
    inputs,
    module,
    onnx_graph,
    onnx_model,
    onnx_vm,
    vm,
)

# ---- recurrent layers ----


def recurrent(op, n, gates):
    from onnx import helper

    inits = {
        "w": np.ones((1, gates * 16, 16), "float32"),
        "r": np.ones((1, gates * 16, 16), "float32"),
    }
    node = helper.make_node(op, ["x", "w", "r"], ["y", "h"], hidden_size=16)
    ins = {"x": ("FLOAT", [n, 1, 16])}
    outs = {"y": ("FLOAT", [n, 1, 1, 16]), "h": ("FLOAT", [1, 1, 16])}
    return onnx_model([node], ins, outs, inits)


@family(50)
def lstm(n):
    return onnx_vm(recurrent("LSTM", n, 4))


@family(50)
def lstm_graph(n):
    return onnx_graph(recurrent("LSTM", n, 4))


@family(50)
def gru(n):
    return onnx_vm(recurrent("GRU", n, 3))


@family(50)
def rnn(n):
    return onnx_vm(recurrent("RNN", n, 1))


@family(50)
def loop_onnx(n):
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [
            helper.make_node("Add", ["v", "v"], ["v1"]),
            helper.make_node("Identity", ["c"], ["c1"]),
        ],
        "body",
        [
            helper.make_tensor_value_info("i", TensorProto.INT64, []),
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v", TensorProto.FLOAT, [8]),
        ],
        [
            helper.make_tensor_value_info("c1", TensorProto.BOOL, []),
            helper.make_tensor_value_info("v1", TensorProto.FLOAT, [8]),
        ],
    )
    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body)
    model = onnx_model([node], {"x": ("FLOAT", [8])}, {"y": ("FLOAT", [8])}, {"n": np.int64(n)})
    return onnx_vm(model)


@family(50)
def scan_onnx(n):
    from onnx import TensorProto, helper

    def v(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [8])

    nodes = [helper.make_node("Add", ["s", "e"], ["s1"]), helper.make_node("Tanh", ["s1"], ["o"])]
    body = helper.make_graph(nodes, "body", [v("s"), v("e")], [v("s1"), v("o")])
    node = helper.make_node("Scan", ["s0", "x"], ["s2", "y"], body=body, num_scan_inputs=1)
    ins = {"s0": ("FLOAT", [8]), "x": ("FLOAT", [n, 8])}
    return onnx_vm(onnx_model([node], ins, {"s2": ("FLOAT", [8]), "y": ("FLOAT", [n, 8])}))


@family(5)
def nested_if(n):
    from onnx import TensorProto, helper

    def out(name):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, None)

    def level(k):
        if k == 0:
            return [helper.make_node("Add", ["x", "x"], ["y0"])]
        then = helper.make_graph(level(k - 1), f"t{k}", [], [out(f"y{k - 1}")])
        other = helper.make_graph(
            [helper.make_node("Tanh", ["x"], [f"z{k}"])], f"e{k}", [], [out(f"z{k}")]
        )
        return [helper.make_node("If", [f"c{k}"], [f"y{k}"], then_branch=then, else_branch=other)]

    ins = {"x": ("FLOAT", [8]), **{f"c{k + 1}": ("BOOL", []) for k in range(n)}}
    return onnx_vm(onnx_model(level(n), ins, {f"y{n}": ("FLOAT", [8])}))


@family(12)
def if_after_if(n):
    from tenon import relay

    cs, (x,) = [relay.var(f"c{i}", shape=(), dtype="bool") for i in range(n)], inputs(1)
    y = x
    for c in cs:
        y = relay.If(c, relay.tanh(y), relay.exp(y))
    return vm(module([x, *cs], y))


@family(4)
def nested_loop(n):
    from onnx import TensorProto, helper

    def v(name, kind, shape):
        return helper.make_tensor_value_info(name, getattr(TensorProto, kind), shape)

    def body(k):
        if k == 0:
            nodes = [helper.make_node("Add", ["v0", "v0"], ["w0"])]
        else:
            loop = helper.make_node("Loop", ["n", "", f"v{k}"], [f"w{k}"], body=body(k - 1))
            nodes = [loop]
        nodes.append(helper.make_node("Identity", [f"c{k}"], [f"d{k}"]))
        ins = [v(f"i{k}", "INT64", []), v(f"c{k}", "BOOL", []), v(f"v{k}", "FLOAT", [8])]
        return helper.make_graph(
            nodes, f"b{k}", ins, [v(f"d{k}", "BOOL", []), v(f"w{k}", "FLOAT", [8])]
        )

    node = helper.make_node("Loop", ["n", "", "x"], ["y"], body=body(n))
    ins = {"n": ("INT64", []), "x": ("FLOAT", [8])}
    return onnx_vm(onnx_model([node], ins, {"y": ("FLOAT", [8])}))


# ---- nesting ----


@family(100)
def nested_tuples(n):
    from tenon import relay

    xs = inputs(n + 1)
    t = relay.Tuple([relay.tanh(x) for x in xs[:1]])
    for x in xs[1:]:
        t = relay.Tuple([t, relay.tanh(x)])
    return vm(module(xs, t))


@family(300)
def lets(n):
    from tenon import relay

    (x,) = inputs(1)
    names = [relay.var(f"v{i}", shape=(8,)) for i in range(n)]
    body = names[-1]
    for i in reversed(range(n)):
        body = relay.Let(names[i], relay.tanh(names[i - 1] if i else x), body)
    return vm(module([x], body))


@family(60)
def functions(n):
    """f0 is called by f1, that by f2 ..."""
    import tenon
    from tenon import relay

    mod = tenon.IRModule()
    before = None
    for i in range(n):
        (x,) = inputs(1)
        body = relay.tanh(x) if before is None else relay.exp(before(x))
        name = relay.GlobalVar("main" if i == n - 1 else f"f{i}")
        mod[name] = relay.Function([x], body)
        before = name
    return vm(relay.transform.InferType()(mod))


@family(12)
def functions_twice(n):
    """Each calls the one before twice."""
    import tenon
    from tenon import relay

    mod = tenon.IRModule()
    before = None
    for i in range(n):
        (x,) = inputs(1)
        body = relay.tanh(x) if before is None else relay.add(before(x), before(relay.exp(x)))
        name = relay.GlobalVar("main" if i == n - 1 else f"f{i}")
        mod[name] = relay.Function([x], body)
        before = name
    return vm(relay.transform.InferType()(mod))


@family(60)
def closures(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for i in range(n):
        v = relay.var(f"v{i}", shape=(8,))
        y = relay.Call(relay.Function([v], relay.tanh(v)), [y])
    return vm(module([x], y))


@family(60)
def matches(n):
    from tenon import relay

    (x,) = inputs(1)
    y = x
    for _ in range(n):
        a, b = relay.var("a", shape=(8,)), relay.var("b", shape=(8,))
        t = relay.var("t")
        y = relay.Let(
            t,
            relay.Tuple([y, relay.tanh(y)]),
            relay.add(relay.TupleGetItem(t, 0), relay.TupleGetItem(t, 1)),
        )
        del a, b
    return vm(module([x], y))
