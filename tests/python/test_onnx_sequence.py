"""Sequences and optional values of ONNX, whose lengths are known while importing."""

import numpy as np
import pytest
import tenon
from onnx_cases import helper, numpy_helper
from tenon import relay
from tenon.runtime.vm import VirtualMachine

onnxruntime = pytest.importorskip("onnxruntime")
node, info = helper.make_node, helper.make_tensor_value_info
X = np.arange(12, dtype="float32").reshape(4, 3)
A, B, C = X[:1], X[1:3], X[3:]


def check(nodes, outputs, feeds, weights=()):
    """Against ONNX Runtime; results that are sequences are lists."""
    inputs = [info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in feeds.items()]
    values = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(weights).items()]
    outs = [helper.make_empty_tensor_value_info(o) for o in outputs]
    graph = helper.make_graph(nodes, "g", inputs, outs, values)
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    mod, params = relay.frontend.from_onnx(m)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tenon.cpu())
    got = vm.run(*feeds.values())
    got = [got] if len(outputs) == 1 else list(got)
    session = onnxruntime.InferenceSession(m.SerializeToString())
    for g, w in zip(got, session.run(None, feeds), strict=True):
        assert isinstance(w, list) == isinstance(g, tenon.runtime.container.ADT)
        pairs = zip(g, w, strict=True) if isinstance(w, list) else [(g, w)]
        for one, other in pairs:
            np.testing.assert_array_equal(one.numpy(), other)


def test_made_and_taken_apart():
    nodes = [
        node("SequenceConstruct", ["a", "b"], ["s"]),
        node("SequenceInsert", ["s", "c"], ["t"]),
        node("SequenceInsert", ["t", "c", "zero"], ["u"]),
        node("SequenceErase", ["u", "one"], ["v"]),
        node("Identity", ["v"], ["w"]),
        node("SequenceAt", ["w", "last"], ["y0"]),
        node("SequenceLength", ["w"], ["y1"]),
        node("ConcatFromSequence", ["w"], ["y2"], axis=0),
    ]
    weights = {"zero": np.array(0), "one": np.array(1), "last": np.array(-2)}
    feeds = {"a": A, "b": B, "c": C}
    check(nodes, ["y0", "y1", "y2", "w"], feeds, weights)


@pytest.mark.parametrize("split", [None, np.array(3), np.array([1, 3])])
def test_split(split):
    more = {} if split is None else {"n": split}
    kept = {"keepdims": 0} if split is None else {}
    nodes = [node("SplitToSequence", ["x", *more], ["y0"], axis=0, **kept)]
    check(nodes, ["y0"], {"x": X}, more)


def test_stacked():
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0),
        node("ConcatFromSequence", ["s"], ["y0"], axis=1, new_axis=1),
    ]
    check(nodes, ["y0"], {"x": X})


def test_empty_and_a_place_that_is_none():
    nodes = [
        node("SequenceEmpty", [], ["e"]),
        node("SequenceInsert", ["e", "x"], ["s"]),
        node("SequenceAt", ["s", "i"], ["y0"]),
    ]
    check(nodes, ["y0"], {"x": X}, {"i": np.array(0)})
    with pytest.raises(ValueError, match="position 1 is out of range of 1 elements"):
        check(nodes, ["y0"], {"x": X}, {"i": np.array(1)})


def test_map():
    body = helper.make_graph(
        [node("Add", ["e", "k"], ["t"])],
        "body",
        [info("e", 1, None), info("k", 1, None)],
        [info("t", 1, None)],
    )
    nodes = [
        node("SplitToSequence", ["x"], ["s"], axis=0),
        node("SequenceMap", ["s", "k"], ["m"], body=body),
        node("ConcatFromSequence", ["m"], ["y0"], axis=0),
    ]
    check(nodes, ["y0"], {"x": X, "k": np.ones(3, "float32")})


def test_optional_values():
    nodes = [
        node("Optional", ["x"], ["o"]),
        node("OptionalHasElement", ["o"], ["y0"]),
        node("OptionalGetElement", ["o"], ["y1"]),
    ]
    check(nodes, ["y0", "y1"], {"x": X})
