"""Models of very many operators: the work grows with their number, and no stack overflows."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

onnx = pytest.importorskip("onnx")


def chain(length):
    """An ONNX model of so many operators one after another, and what it computes."""
    kinds = ["Relu", "Neg", "Abs", "Sigmoid"]
    nodes = [onnx.helper.make_node(kinds[i % 4], [f"v{i}"], [f"v{i + 1}"]) for i in range(length)]
    value = lambda name: onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [4])  # noqa: E731
    graph = onnx.helper.make_graph(nodes, "chain", [value("v0")], [value(f"v{length}")])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    return model.SerializeToString()


def expected(data, length):
    steps = [lambda x: np.maximum(x, 0), np.negative, np.abs, lambda x: 1 / (1 + np.exp(-x))]
    for i in range(length):
        data = steps[i % 4](data)
    return data


@pytest.mark.parametrize(
    "length, level",
    [
        (10000, 3),
        (5000, 0),
        pytest.param(100000, 3, marks=pytest.mark.slow),
        pytest.param(100000, 0, marks=pytest.mark.slow),
    ],
)
def test_chain(length, level):
    mod, params = relay.frontend.from_onnx(chain(length))
    with tenon.transform.PassContext(opt_level=level):
        lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    data = np.array([-1, 2, -3, 0.5], "float32")
    module.run(v0=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), expected(data, length), rtol=1e-5)


def test_chain_that_branches():
    """Each value is used twice: a walk that does not remember what it has seen never ends."""
    x = relay.var("x", shape=(4,))
    e = x
    for _ in range(200):
        e = relay.tanh(e + e)
    mod = tenon.IRModule.from_expr(relay.Function([x], e))
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm")
    module = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    data = want = np.array([-1, 2, -3, 0.5], "float32")
    module.run(x=data)
    for _ in range(200):
        want = np.tanh(want + want)
    np.testing.assert_allclose(module.get_output(0).numpy(), want, rtol=1e-4)
