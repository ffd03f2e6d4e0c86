"""ONNX graphs whose nodes are in any order."""

import numpy as np
import pytest
import tenon
from tenon import relay

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper  # noqa: E402


def info(name, kind=TensorProto.FLOAT, shape=(3,)):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs):
    graph = helper.make_graph(nodes, "g", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def chain(n, order):
    """y = ... neg(relu(neg(x))), its nodes in an order."""
    names = ["x", *(f"v{i}" for i in range(1, n)), "y"]
    nodes = [
        helper.make_node("Relu" if i % 2 else "Neg", [names[i]], [names[i + 1]]) for i in range(n)
    ]
    return model([nodes[i] for i in order], [info("x")], [info("y")])


def test_nodes_in_any_order():
    """Converters to float16 write the casts of inputs and results behind all the others."""
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        mod, _ = relay.frontend.from_onnx(chain(3, order))
        got = relay.create_executor("graph", mod=mod).evaluate()(np.float32([-2, 0, 3]))
        np.testing.assert_array_equal(got.numpy(), [-2, 0, 0])
    mod, _ = relay.frontend.from_onnx(chain(5000, range(4999, -1, -1)))
    assert relay.analysis.count_layers(mod["main"], ["negative"]) == 2500


def test_circles_of_nodes_are_refused():
    circle = chain(4, range(4))
    circle.graph.node[1].input[0] = "v3"
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        nodes = [circle.graph.node[i] for i in order]
        with pytest.raises(ValueError, match="which is not defined before it: .* a cycle"):
            relay.frontend.from_onnx(model(nodes, [info("x")], [info("y")]))
    circle.graph.node[1].input[0] = circle.graph.node[1].output[0]
    with pytest.raises(ValueError, match="a cycle"):
        relay.frontend.from_onnx(circle)


def test_what_graphs_in_nodes_read_comes_before_them():
    negative = helper.make_graph([helper.make_node("Neg", ["a"], ["t"])], "then", [], [info("t")])
    other = helper.make_graph([], "else", [], [info("b")])
    nodes = [
        helper.make_node("If", ["c"], ["y"], then_branch=negative, else_branch=other),
        helper.make_node("Exp", ["x"], ["b"]),
        helper.make_node("Relu", ["x"], ["a"]),
    ]
    inputs = [info("x"), info("c", TensorProto.BOOL, ())]
    mod, _ = relay.frontend.from_onnx(model(nodes, inputs, [info("y")]))
    run = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    x = np.float32([-1, 0, 2])
    np.testing.assert_array_equal(run(x, np.array(True)).numpy(), -np.maximum(x, 0))
    np.testing.assert_allclose(run(x, np.array(False)).numpy(), np.exp(x), rtol=1e-6)


def test_names_within_graphs_in_nodes_are_their_own():
    """`t` in the branch is not the one that a later node makes of what the branch gives."""
    branch = helper.make_graph([helper.make_node("Neg", ["x"], ["t"])], "then", [], [info("t")])
    nodes = [
        helper.make_node("If", ["c"], ["z"], then_branch=branch, else_branch=branch),
        helper.make_node("Sub", ["z", "x"], ["t"]),
        helper.make_node("Abs", ["t"], ["y"]),
    ]
    inputs = [info("x"), info("c", TensorProto.BOOL, ())]
    x = np.float32([-1, 0, 2])
    for order in (nodes, nodes[::-1]):
        mod, _ = relay.frontend.from_onnx(model(order, inputs, [info("y")]))
        run = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
        np.testing.assert_array_equal(run(x, np.array(True)).numpy(), abs(2 * x))
