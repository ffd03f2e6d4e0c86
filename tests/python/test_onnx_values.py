"""Sequences of any length and optional values of ONNX, on the virtual machine."""

import numpy as np
import pytest
import tenon
from onnx_cases import helper, numpy_helper
from tenon import relay
from tenon.runtime.vm import VirtualMachine

onnxruntime = pytest.importorskip("onnxruntime")
node, info = helper.make_node, helper.make_tensor_value_info
sequence_info = helper.make_tensor_sequence_value_info
X = np.arange(12, dtype="float32").reshape(4, 3)
ROWS = [X[:1], X[1:3], X[3:]]


def optional_info(name, kind):
    return helper.make_value_info(name, helper.make_optional_type_proto(kind))


def model_of(nodes, inputs, outputs, weights=(), opset=17):
    outs = [helper.make_empty_tensor_value_info(o) if isinstance(o, str) else o for o in outputs]
    values = [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outs, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def same(got, want):
    if want is None or isinstance(want, list):
        assert (got is None) == (want is None)
        for g, w in zip(got or [], want or [], strict=True):
            same(g, w)
        return
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    assert got.dtype == np.asarray(want).dtype


def check(model, *feeds):
    """A compiled model against ONNX Runtime for each of the feeds."""
    compiled = tenon.compile(model.SerializeToString())
    session = onnxruntime.InferenceSession(model.SerializeToString())
    for feed in feeds:
        want = session.run(None, feed)
        got = compiled(**feed)
        same(got if len(want) > 1 else [got], want)
    return compiled


def loop_body(nodes, states, name="body"):
    """A body with the counter i and the condition c; states: (name, result, kind)."""
    inputs = [info("i", 7, []), info("c", 9, [])] + [kind(s) for s, _, kind in states]
    outputs = [info("c_out", 9, [])] + [kind(o) for _, o, kind in states]
    return helper.make_graph([node("Identity", ["c"], ["c_out"]), *nodes], name, inputs, outputs)


def floats(name, shape=(None, 3)):
    return info(name, 1, shape)


def float_rows(name):
    return sequence_info(name, 1, None)


def test_inputs_and_results_are_lists():
    nodes = [
        node("SequenceInsert", ["s", "x"], ["t"]),
        node("SequenceInsert", ["t", "x", "k"], ["u"]),
        node("SequenceErase", ["u", "k"], ["v"]),
        node("SequenceErase", ["v"], ["w"]),
        node("SequenceAt", ["u", "k"], ["e"]),
        node("SequenceLength", ["u"], ["n"]),
        node("ConcatFromSequence", ["u"], ["all"], axis=0),
    ]
    inputs = [sequence_info("s", 1, (None, 3)), floats("x"), info("k", 7, [])]
    model = model_of(nodes, inputs, ["u", "v", "w", "e", "n", "all"])
    feeds = [
        {"s": ROWS[:n], "x": X, "k": np.array(k)} for n, k in [(3, 1), (0, 0), (3, -1), (2, 2)]
    ]
    compiled = check(model, *feeds)
    assert compiled.executor == "vm" and "sequence" in compiled.reason
    with pytest.raises(IndexError, match="position 5 is out of range of 3 elements"):
        compiled(s=ROWS[:2], x=X, k=np.array(5))
    with pytest.raises(ValueError, match=r"input s\[0\]: expected float32\[\?, 3\]"):
        compiled(s=[np.zeros(3, "float32")], x=X, k=np.array(0))
    with pytest.raises(ValueError, match="input s: expected a list"):
        compiled(s=X, x=X, k=np.array(0))


def test_grows_in_a_loop():
    grow = [
        node("Cast", ["i"], ["f"], to=1),
        node("Add", ["x", "f"], ["y"]),
        node("SequenceInsert", ["s", "y"], ["s_out"]),
    ]
    nodes = [
        node("SequenceEmpty", [], ["empty"], dtype=1),
        node("Loop", ["n", "", "empty"], ["s"], body=loop_body(grow, [("s", "s_out", float_rows)])),
        node("ConcatFromSequence", ["s"], ["stacked"], axis=1, new_axis=1),
        node("SequenceAt", ["s", "last"], ["y"]),
        node("Relu", ["y"], ["z"]),
    ]
    inputs = [floats("x"), info("n", 7, [])]
    model = model_of(nodes, inputs, ["stacked", "z", "s"], {"last": np.array(-1)})
    check(model, *({"x": X[:2], "n": np.array(n)} for n in (1, 5, 40)))


def test_used_and_taken_from_in_a_loop():
    """Elements are read while others are added: the body states their rank."""
    iteration = [
        node("SequenceLength", ["s"], ["m"]),
        node("Sub", ["m", "one"], ["k"]),
        node("SequenceAt", ["s", "k"], ["x"]),
        node("Add", ["x", "x"], ["y"]),
        node("SequenceInsert", ["s", "y", "zero"], ["t"]),
        node("SequenceErase", ["t", "one"], ["s_out"]),
    ]

    def rows(name):
        return sequence_info(name, 1, (None, 3))

    body = loop_body(iteration, [("s", "s_out", rows)])
    nodes = [
        node("SequenceConstruct", ["a", "b"], ["s"]),
        node("Loop", ["n", "", "s"], ["t"], body=body),
    ]
    inputs = [floats("a"), floats("b"), info("n", 7, [])]
    model = model_of(nodes, inputs, ["t"], {"one": np.array(1), "zero": np.array(0)})
    check(model, *({"a": X[:1], "b": X, "n": np.array(n)} for n in (0, 1, 3)))


@pytest.mark.parametrize("split", ["none", "scalar", "vector"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_split_of_open_extents(split, axis):
    names = ["x"] + ([] if split == "none" else ["n"])
    kept = {"keepdims": 0} if split == "none" else {}
    nodes = [
        node("SplitToSequence", names, ["s"], axis=axis, **kept),
        node("SequenceLength", ["s"], ["count"]),
    ]
    inputs = [floats("x", (None, None, 2))]
    feed = {"x": np.arange(24, dtype="float32").reshape(3, 4, 2)}
    if split != "none":
        inputs.append(info("n", 7, [] if split == "scalar" else [None]))
        extent = feed["x"].shape[axis]
        feed["n"] = np.array(2) if split == "scalar" else np.array([1, extent - 1])
    compiled = check(model_of(nodes, inputs, ["s", "count"]), feed)
    if split == "vector":
        with pytest.raises(ValueError, match="do not come to the extent"):
            compiled(**{**feed, "n": np.array([1, 1, 9])})


def test_map_over_sequences():
    body = helper.make_graph(
        [node("Add", ["e", "k"], ["t"]), node("Shape", ["e"], ["n"])],
        "body",
        [floats("e"), floats("k", (3,))],
        [floats("t"), info("n", 7, [2])],
    )
    nodes = [node("SequenceMap", ["s", "k"], ["m", "shapes"], body=body)]
    model = model_of(nodes, [sequence_info("s", 1, (None, 3)), floats("k", (3,))], ["m", "shapes"])
    compiled = tenon.compile(model.SerializeToString())
    for n in (3, 1, 0):
        got, shapes = compiled(s=ROWS[:n], k=np.ones(3, "float32"))
        same(got, [row + 1 for row in ROWS[:n]])
        same(shapes, [np.array(row.shape) for row in ROWS[:n]])


def test_map_over_sequences_of_other_lengths():
    body = helper.make_graph(
        [node("Add", ["e", "k"], ["t"])], "body", [floats("e"), floats("k")], [floats("t")]
    )
    nodes = [node("SequenceMap", ["s", "k"], ["m"], body=body)]
    lists = [sequence_info(name, 1, (None, 3)) for name in "sk"]
    compiled = tenon.compile(model_of(nodes, lists, ["m"]).SerializeToString())
    same(compiled(s=ROWS[:2], k=ROWS[:2]), [row + row for row in ROWS[:2]])
    for s, k in [(1, 2), (2, 1)]:
        with pytest.raises(IndexError):
            compiled(s=ROWS[:s], k=ROWS[:k])


def branches(yes, no, kind):
    return {
        "then_branch": helper.make_graph(yes, "yes", [], [kind(yes[-1].output[0])]),
        "else_branch": helper.make_graph(no, "no", [], [kind(no[-1].output[0])]),
    }


def test_branches_with_sequences_of_other_lengths():
    yes = [node("SequenceConstruct", ["x"], ["a"])]
    no = [node("SequenceConstruct", ["x", "y", "x"], ["b"])]
    nodes = [node("If", ["c"], ["s"], **branches(yes, no, float_rows))]
    model = model_of(nodes, [info("c", 9, []), floats("x"), floats("y")], ["s"])
    check(model, *({"c": np.array(c), "x": X, "y": X[:1]} for c in (True, False)))


def test_branches_of_other_extents_and_ranks():
    yes = [node("Squeeze", ["x", "axes"], ["a"])]
    no = [node("Identity", ["x"], ["b"])]
    nodes = [node("If", ["c"], ["y"], **branches(yes, no, lambda name: info(name, 1, None)))]
    model = model_of(nodes, [info("c", 9, []), floats("x", (1, 3))], ["y"], {"axes": np.array([0])})
    check(model, *({"c": np.array(c), "x": X[:1]} for c in (True, False)))
    yes = [node("Concat", ["x", "x"], ["a"], axis=0)]
    nodes[0] = node("If", ["c"], ["y"], **branches(yes, no, lambda name: info(name, 1, None)))
    nodes.append(node("ReduceSum", ["y"], ["z"], keepdims=0))
    model = model_of(nodes, [info("c", 9, []), floats("x", (4, 3))], ["y", "z"])
    check(model, *({"c": np.array(c), "x": X} for c in (True, False)))


def test_a_rank_that_the_model_does_not_state():
    yes = [node("Squeeze", ["x", "axes"], ["a"])]
    no = [node("Identity", ["x"], ["b"])]
    nodes = [
        node("If", ["c"], ["y"], **branches(yes, no, lambda name: info(name, 1, None))),
        node("Relu", ["y"], ["z"]),
    ]
    model = model_of(nodes, [info("c", 9, []), floats("x", (1, 3))], ["z"], {"axes": np.array([0])})
    compiled = tenon.compile(model.SerializeToString())
    same(compiled(c=np.array(True), x=X[:1]), X[:1])  # with a leading one
    model.graph.value_info.append(info("y", 1, [None, None]))  # now it does
    compiled = tenon.compile(model.SerializeToString())
    same(compiled(c=np.array(False), x=X[:1]), X[:1])
    with pytest.raises(ValueError, match="a tensor of 1 dimensions, where the model states 2"):
        compiled(c=np.array(True), x=X[:1])


def test_optional_input_and_result():
    kind = helper.make_tensor_type_proto(1, [None, 3])
    yes = [node("OptionalGetElement", ["o"], ["a"])]
    no = [node("Identity", ["x"], ["b"])]
    nodes = [
        node("OptionalHasElement", ["o"], ["there"]),
        node("If", ["there"], ["y"], **branches(yes, no, floats)),
        node("Relu", ["y"], ["z"]),
        node("Identity", ["o"], ["p"]),
    ]
    inputs = [optional_info("o", kind), floats("x")]
    model = model_of(nodes, inputs, ["there", "z", optional_info("p", kind)], opset=18)
    compiled = tenon.compile(model.SerializeToString())
    for o, want in [(X, X), (None, X[:1])]:
        there, z, p = compiled(o=o, x=X[:1])
        assert there == (o is not None)
        same([z, p], [want, o])
    same(compiled(x=X[:1]), [np.array(False), X[:1], None])
    with pytest.raises(ValueError, match="input x: expected float32.*got None"):
        compiled(o=None, x=None)


def test_getting_what_is_not_there():
    kind = helper.make_tensor_type_proto(1, [None, 3])
    model = model_of([node("OptionalGetElement", ["o"], ["y"])], [optional_info("o", kind)], ["y"])
    compiled = tenon.compile(model.SerializeToString())
    same(compiled(X), X)
    with pytest.raises(ValueError, match="the optional value has no element"):
        compiled(None)
    vm = compiled.module
    vm.set_input("main", None)
    with pytest.raises(ValueError, match="the optional value has no element"):
        vm.invoke("main")
    vm.set_input("main", X)
    same(vm.invoke("main").numpy(), X)


def growing_model():
    iteration = [node("SequenceInsert", ["s", "x"], ["s_out"])]
    nodes = [
        node(
            "Loop", ["n", "", "s"], ["t"], body=loop_body(iteration, [("s", "s_out", float_rows)])
        ),
        node("SequenceLength", ["t"], ["m"]),
    ]
    inputs = [sequence_info("s", 1, (None, 3)), floats("x"), info("n", 7, [])]
    return model_of(nodes, inputs, ["t", "m"])


def test_text_files_and_interpreter(tmp_path):
    """The program survives text and JSON, the code a file; the interpreter agrees."""
    mod, params = relay.frontend.from_onnx(growing_model())
    text = mod.astext()
    assert "extern type Sequence[A]" in text and "Sequence[Tensor[(?, 3), float32]]" in text
    again = relay.parse(text)
    tenon.ir.assert_structural_equal(again, tenon.ir.load_json(tenon.ir.save_json(mod)))
    args = [ROWS[:1], X, np.array(3)]
    want = [*ROWS[:1], X, X, X]
    exe = relay.vm.compile(again, "llvm", params=params)
    path = tmp_path / "model.so"
    exe.mod.export_library(str(path))
    for vm in (
        VirtualMachine(exe, tenon.cpu()),
        VirtualMachine(tenon.runtime.load_module(str(path)), tenon.cpu()),
    ):
        t, m = vm.run(*args)
        assert int(m.numpy()) == 4
        same([e.numpy() for e in t], want)
    t, m = tenon.driver.compiled_model.CompiledModel.load(path)(*args)
    same([list(t), m], [want, np.array(4)])
    t, m = relay.create_executor("debug", mod=mod, target="llvm").evaluate()(*args)
    assert int(m.numpy()) == 4
    same([e.numpy() for e in t], want)


def test_memory_limit_holds_for_what_is_put_together():
    nodes = [node("ConcatFromSequence", ["s"], ["y"], axis=0)]
    model = model_of(nodes, [sequence_info("s", 1, (None,))], ["y"])
    vm = tenon.compile(model.SerializeToString()).module
    vm.module["set_memory_limit"](1 << 16)
    big = [np.zeros(1 << 14, "float32")] * 4
    with pytest.raises(MemoryError):
        vm.run(big)
    assert vm.run(big[:1]).shape == (1 << 14,)


@pytest.mark.parametrize("iterations, going", [(0, True), (3, False), (3000, True)])
def test_loops_of_none_and_of_many_iterations(iterations, going):
    """Many iterations are not written out, which took minutes; none collect nothing."""
    iteration = [
        node("Mul", ["s", "half"], ["t"]),
        node("Add", ["t", "x"], ["s_out"]),
        node("ReduceSum", ["s_out"], ["r"], keepdims=0),
    ]
    body = loop_body(iteration, [("s", "s_out", lambda name: floats(name, (3,)))])
    body.output.append(info("r", 1, []))
    nodes = [node("Loop", ["n", "c0", "x"], ["y", "rs"], body=body)]
    weights = {"n": np.array(iterations), "c0": np.array(going), "half": np.float32(0.5)}
    check(model_of(nodes, [floats("x", (3,))], ["y", "rs"], weights), {"x": X[0]})


def test_long_scans():
    body = helper.make_graph(
        [
            node("Add", ["s", "a"], ["t"]),
            node("Tanh", ["t"], ["u"]),
            node("Identity", ["u"], ["o"]),
        ],
        "body",
        [floats("s", (3,)), floats("a", (3,))],
        [floats("u", (3,)), floats("o", (3,))],
    )
    nodes = [node("Scan", ["s0", "x"], ["y", "all"], body=body, num_scan_inputs=1)]
    inputs = [floats("s0", (3,)), floats("x", (1500, 3))]
    x = np.random.default_rng(0).normal(size=(1500, 3)).astype("float32")
    compiled = check(model_of(nodes, inputs, ["y", "all"]), {"s0": X[0], "x": x})
    assert compiled.executor == "vm"


def test_an_argument_that_nothing_reads_may_have_any_shape():
    x, y = relay.var("x", shape=(3,)), relay.var("y", shape=(3, 4))
    vm = VirtualMachine(relay.vm.compile(relay.Function([x, y], x + x), "llvm"), tenon.cpu())
    same(vm.run(X[0], X[1]).numpy(), X[0] * 2)
    with pytest.raises(tenon.TVMError, match="parameter y: expected float32"):
        vm.run(X[0], X[1].astype("int32"))
