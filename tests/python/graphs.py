"""Small graphs and modules of compiled functions for the tests of executors."""

import json

import tenon
from tenon import te


def node(name, func, *inputs, **attrs):
    """An operator; inputs are numbers of nodes, or (node, output)."""
    inputs = [[i, 0, 0] if isinstance(i, int) else [*i, 0] for i in inputs]
    given = {"func_name": func, "flatten_data": "0", "num_outputs": "1", **attrs}
    return {
        "op": "tvm_op",
        "name": name,
        "inputs": inputs,
        "attrs": {**given, "num_inputs": str(len(inputs))},
    }


def value(name):
    """An input."""
    return {"op": "null", "name": name, "inputs": []}


def graph(nodes, heads, shapes, dtypes="float32", storage_ids=None, **attrs):
    """JSON of a graph whose nodes have one output each."""
    n = len(nodes)
    dtypes = [dtypes] * n if isinstance(dtypes, str) else dtypes
    return json.dumps(
        {
            "nodes": nodes,
            "arg_nodes": [i for i in range(n) if nodes[i]["op"] == "null"],
            "heads": [[h, 0, 0] for h in heads],
            "node_row_ptr": list(range(n + 1)),
            "attrs": {
                "shape": ["list_shape", shapes],
                "dltype": ["list_str", dtypes],
                "storage_id": ["list_int", storage_ids or list(range(n))],
                **attrs,
            },
        }
    )


def add_graph():
    """x, w -> s = x + w, y = s + 1 as (2, 3)."""
    nodes = [
        value("x"),
        value("w"),
        node("s", "add", 0, 1, hash="0123"),
        node("y", "add_one", 2),
        node("r", "__nop", 3),
    ]
    return graph(nodes, [4, 2], [[6], [6], [6], [6], [2, 3]], storage_ids=[0, 1, 2, 3, 3])


def add_module(target="llvm"):
    """Functions add(a, b, out) and add_one(a, out) of six floats."""
    a = te.placeholder((6,), name="a")
    b = te.placeholder((6,), name="b")
    add = te.compute((6,), lambda i: a[i] + b[i], name="add")
    one = te.compute((6,), lambda i: a[i] + te.const(1, "float32"), name="add_one")
    functions = {"add": te.create_prim_func([a, b, add]), "add_one": te.create_prim_func([a, one])}
    functions = {k: f.with_attr("global_symbol", k) for k, f in functions.items()}
    return tenon.build(tenon.IRModule(functions), target=target)


def add_factory(params):
    """A built model of the two, as a compiler makes it."""
    make = tenon.get_global_func("tvm.graph_executor_factory.create")
    flat = [x for pair in params.items() for x in pair]
    return make(add_graph(), add_module(), "default", *flat)
