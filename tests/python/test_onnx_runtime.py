"""ONNX operands computed at run time, where the model states the extents of the result."""

import numpy as np
import pytest
from onnx_cases import check, model
from tenon import relay

rng = np.random.default_rng(6)
X = rng.normal(0, 1, (3, 4, 2)).astype("float32")


def ints(*values):
    return np.array(values, "int64")


REDUCTIONS = {
    "ReduceSum": lambda x, a, k: x.sum(a, keepdims=k),
    "ReduceMean": lambda x, a, k: x.mean(a, keepdims=k),
    "ReduceMax": lambda x, a, k: x.max(a, keepdims=k),
    "ReduceL2": lambda x, a, k: np.sqrt((x * x).sum(a, keepdims=k)),
    "ReduceLogSumExp": lambda x, a, k: np.log(np.exp(x).sum(a, keepdims=k)),
}


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", [(1,), (-1, 0), (0, 1, 2)])
def test_reductions(op, keep, axes):
    wanted = REDUCTIONS[op](X, axes, bool(keep))
    how = {"keepdims": keep, "opset": 18, "shapes": [wanted.shape]}
    check(op, [X, ints(*axes)], [wanted], **how)


def test_equal_extents_are_told_apart_by_the_numbers():
    square = rng.normal(0, 1, (3, 2, 2)).astype("float32")
    for axis in (1, 2):
        how = {"keepdims": 0, "opset": 18, "shapes": [(3, 2)]}
        check("ReduceSum", [square, ints(axis)], [square.sum(axis)], **how)


def test_flags_are_reduced_by_any_and_all():
    x = rng.normal(0, 1, (3, 4)) > 0
    check("ReduceMax", [x, ints(1)], [x.any(1, keepdims=True)], {1}, opset=20)
    check("ReduceMin", [x, ints(1)], [x.all(1, keepdims=True)], {1}, opset=20)


def test_slice():
    wanted = X[2:0:-1, 1:4]
    check("Slice", [X, ints(-1, 1), ints(0, 99), ints(0, -2), ints(-1, 1)], [wanted],
          shapes=[wanted.shape])  # fmt: skip
    check("Slice", [X, ints(1, 0), ints(3, 2)], [X[1:3, 0:2]], shapes=[(2, 2, 2)])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
@pytest.mark.parametrize("known", [True, False])
def test_pad(mode, known):
    width = [(1, 2), (0, 3), (1, 0)]
    how = {"constant_values": 7} if mode == "constant" else {}
    wanted = np.pad(X, width, mode=mode, **how)
    pads = ints(*(a for a, _ in width), *(b for _, b in width))
    value = np.array(7, "float32")
    constants = {1, 2} if known else set()
    how = {"mode": mode, "opset": 19, "shapes": None if known else [wanted.shape]}
    check("Pad", [X, pads, value], [wanted], constants, **how)


def test_pads_that_cut_off_and_axes():
    check("Pad", [X, ints(-1, 2, -1, 0), None, ints(1, 0)],
          [np.pad(X, [(2, 0), (0, 0), (0, 0)])[:, 1:-1]], {1, 3}, opset=18)  # fmt: skip


def test_extents():
    check("Reshape", [X, ints(2, -1)], [X.reshape(2, 12)], shapes=[(2, 12)])
    check("Unsqueeze", [X, ints(-1)], [X[..., None]], shapes=[(3, 4, 2, 1)])
    check("Squeeze", [X[:1], ints(0)], [X[0]], shapes=[(4, 2)])
    check("Tile", [X, ints(1, 2, 3)], [np.tile(X, (1, 2, 3))], shapes=[(3, 8, 6)])
    wide = np.broadcast_to(X[:1], (5, 4, 2))
    check("Expand", [X[:1], ints(5, 1, 1)], [wide], shapes=[(5, 4, 2)])
    check("ConstantOfShape", [ints(2, 3)], [np.zeros((2, 3), "float32")], shapes=[(2, 3)])
    parts = [X[:, :1], X[:, 1:]]
    check("Split", [X, ints(1, 3)], parts, axis=1, outputs=2, shapes=[p.shape for p in parts])


def test_counts():
    one, half = np.array(1, "float32"), np.array(0.5, "float32")
    wanted = np.arange(1, 3, 0.5, "float32")
    check("Range", [one, one * 3, half], [wanted], shapes=[(4,)])
    order = np.argsort(-X, 1, kind="stable")[:, :2]
    wanted = [np.take_along_axis(X, order, 1), order]
    check("TopK", [X, ints(2)], wanted, axis=1, outputs=2, shapes=[(3, 2, 2)])
    hot = np.eye(4, dtype="float32")[[1, 3]] * 5
    given = [ints(1, -1), ints(4), np.array([0, 5], "float32")]
    check("OneHot", given, [hot], shapes=[(2, 4)])
    for k in (-1, 0, 2):
        check("Trilu", [X[0] if k else X, np.array(k)], [np.triu(X[0] if k else X, k)])


def test_statements_do_not_count_for_other_inputs():
    m = model("Reshape", [X, ints(2, -1)], shapes=[(2, 12)])
    mod, _ = relay.frontend.from_onnx(m, {"x0": (6, 4, 2)})
    assert all(isinstance(extent, relay.Any) for extent in mod["main"].ret_type.shape)


def test_results_of_unary_operators_tell_their_operand():
    from onnx import TensorProto, helper

    value = helper.make_tensor_value_info
    nodes = [
        helper.make_node("ReduceSum", ["x", "axes"], ["s"], keepdims=0),
        helper.make_node("Abs", ["s"], ["a"]),
        helper.make_node("Sqrt", ["a"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x", TensorProto.FLOAT, [3, 4]), value("axes", TensorProto.INT64, [1])],
        [value("y", TensorProto.FLOAT, [4])],
    )
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    mod, _ = relay.frontend.from_onnx(m)
    assert list(mod["main"].ret_type.shape) == [4]
