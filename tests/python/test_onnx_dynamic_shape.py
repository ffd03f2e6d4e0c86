"""ONNX models with dynamic extents: the virtual machine against ONNX Runtime."""

import numpy as np
import pytest
import tenon
from onnx_cases import helper, numpy_helper
from tenon import relay
from tenon.runtime.vm import VirtualMachine

onnxruntime = pytest.importorskip("onnxruntime")
node = helper.make_node
rng = np.random.default_rng(5)


def rand(*shape):
    return rng.standard_normal(shape).astype("float32")


def ints(*values):
    return np.array(values, "int64")


def open_model(nodes, feeds, weights=(), opset=18):
    """A model of nodes whose inputs have dynamic extents, with the output y0, y1, ..."""
    inputs = []
    for name, value in feeds.items():
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        # the lengths of vectors of numbers are known, as they are ranks
        dims = [f"{name}_{i}" for i in range(value.ndim)]
        if value.dtype == np.int64 and value.ndim == 1:
            dims = list(value.shape)
        inputs.append(helper.make_tensor_value_info(name, kind, dims))
    names = [o for n in nodes for o in n.output if o.startswith("y")]
    outputs = [helper.make_empty_tensor_value_info(o) for o in names]
    values = [numpy_helper.from_array(v, k) for k, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def flat(value):
    return [value.numpy()] if isinstance(value, tenon.nd.NDArray) else [v.numpy() for v in value]


def check(nodes, *feeds, weights=(), opset=18):
    """One program for all feeds."""
    nodes = nodes if isinstance(nodes, list) else [nodes]
    m = open_model(nodes, feeds[0], weights, opset)
    mod, params = relay.frontend.from_onnx(m)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tenon.cpu())
    session = onnxruntime.InferenceSession(
        m.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    for feed in feeds:
        got, wanted = flat(vm.run(*feed.values())), session.run(None, feed)
        assert len(got) == len(wanted)
        for g, w in zip(got, wanted, strict=True):
            assert g.shape == np.shape(w) and g.dtype == np.asarray(w).dtype
            np.testing.assert_allclose(g, w, rtol=1e-4, atol=1e-5)
    return mod


X = [{"x": rand(2, 6)}, {"x": rand(3, 4)}, {"x": rand(1, 8)}]


def test_shapes_of_shapes():
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "zero"], ["rows"], axis=0),
        node("Unsqueeze", ["rows", "axis"], ["row"]),
        node("Concat", ["row", "two", "rest"], ["shape"], axis=0),
        node("Reshape", ["x", "shape"], ["y0"]),
    ]
    weights = {"zero": np.array(0), "axis": ints(0), "two": ints(2), "rest": ints(-1)}
    mod = check(nodes, *X, weights=weights)
    text = mod.astext(show_meta_data=False)
    assert "dyn.reshape" not in text and "newshape=[0, 2, -1]" in text
    shape = mod["main"].ret_type.shape
    assert isinstance(shape[0], relay.Any) and int(shape[1]) == 2


def test_numbers_that_are_known_become_constants():
    info = helper.make_tensor_value_info
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Slice", ["s", "one", "three"], ["last"]),
        node("Mul", ["last", "two"], ["shape"]),
        node("ConstantOfShape", ["shape"], ["y"]),
    ]
    values = {"one": ints(1), "three": ints(3), "two": ints(2)}
    graph = helper.make_graph(
        nodes,
        "g",
        [info("x", 1, ["n", 3, 5])],
        [info("y", 0, None)],
        [numpy_helper.from_array(v, k) for k, v in values.items()],
    )
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    mod, _ = relay.frontend.from_onnx(m)
    assert [int(d) for d in mod["main"].ret_type.shape] == [6, 10]


@pytest.mark.parametrize("shape", [(3, 4), (-1, 2), (0, -1), (2, 3, 2)])
def test_reshape(shape):
    check(node("Reshape", ["x", "s"], ["y0"]), {"x": rand(2, 6), "s": ints(*shape)})


@pytest.mark.parametrize("shape", [(5, 1, 4), (4,), (2, 3, 1)])
def test_expand(shape):
    check(
        node("Expand", ["x", "s"], ["y0"]),
        {"x": rand(3, 1 + 3 * (shape[-1] in (1, 4))), "s": ints(*shape)},
    )


def test_fill_tile_and_range():
    value = numpy_helper.from_array(np.array([7], "int32"))
    check(node("ConstantOfShape", ["s"], ["y0"], value=value), {"s": ints(2, 3)}, {"s": ints(0, 4)})
    check(node("Tile", ["x", "r"], ["y0"]), {"x": rand(2, 3), "r": ints(2, 1)})
    one = np.array(2)
    feeds = [{"a": np.array(1), "b": np.array(k)} for k in (0, 4, 9)]
    check(node("Range", ["a", "b", "step"], ["y0"]), *feeds, weights={"step": one})


def test_slices():
    check(
        node("Slice", ["x", "b", "e", "axes", "steps"], ["y0"]),
        {"x": rand(3, 4, 9), "b": ints(1, -1), "e": ints(4, -100)},
        {"x": rand(2, 5, 4), "b": ints(-2, 3), "e": ints(100, 0)},
        weights={"axes": ints(1, -1), "steps": ints(1, -2)},
    )
    check(node("Slice", ["x", "b", "e"], ["y0"]), {"x": rand(4, 3), "b": ints(1), "e": ints(3)})


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect"])
def test_pads(mode):
    feeds = [{"x": rand(4, 5), "p": ints(1, 0, 2, 3)}, {"x": rand(3, 4), "p": ints(0, 1, 1, 0)}]
    check(node("Pad", ["x", "p"], ["y0"], mode=mode), *feeds)


def test_pads_of_some_axes():
    feeds = [{"x": rand(4, 5), "p": ints(1, 2)}]
    weights = {"v": np.array(3, "float32"), "axes": ints(-1)}
    check(node("Pad", ["x", "p", "v", "axes"], ["y0"]), *feeds, weights=weights)


def test_chosen_elements():
    check(node("TopK", ["x", "k"], ["y0", "y1"]), {"x": rand(3, 7), "k": ints(2)})
    check(
        node("TopK", ["x", "k"], ["y0", "y1"], largest=0, axis=0), {"x": rand(5, 2), "k": ints(4)}
    )
    check(node("NonZero", ["x"], ["y0"]), {"x": np.maximum(rand(3, 4), 0)}, {"x": rand(2, 2)})
    flags = np.array([True, False, True])
    check(node("Compress", ["x", "c"], ["y0"], axis=0), {"x": rand(3, 2), "c": flags})
    check(node("Compress", ["x", "c"], ["y0"]), {"x": rand(2, 2), "c": flags})
    for ordered in (0, 1):
        names = ["y0", "y1", "y2", "y3"]
        feeds = [{"x": np.array(v, "float32")} for v in ([2, 1, 1, 3, 4, 3], [1], [5, 5])]
        check(node("Unique", ["x"], names, sorted=ordered), *feeds)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("ordered", [0, 1])
@pytest.mark.parametrize("kind", ["float32", "int64", "bool"])
def test_unique_parts(axis, ordered, kind):
    names = ["y0", "y1", "y2", "y3"]
    shapes = [(7, 3, 2), (1, 9, 1), (4, 1, 5)]
    feeds = [{"x": rng.integers(0, 2, s).astype(kind)} for s in shapes]
    m = open_model([node("Unique", ["x"], names, sorted=ordered, axis=axis)], feeds[0])
    compiled = tenon.compile(m.SerializeToString())
    for feed in feeds:
        x = feed["x"]
        y, first, inverse, counts = np.unique(x, True, True, True, axis=axis)
        order = np.arange(len(first)) if ordered else np.argsort(first)
        wanted = [np.take(y, order, axis), first[order], np.argsort(order)[inverse], counts[order]]
        for got, want in zip(compiled(**feed), wanted, strict=True):
            np.testing.assert_array_equal(got, want)
            assert got.dtype == want.dtype


def test_as_many_classes_as_a_number_says():
    feeds = [{"i": ints(*i), "n": np.array(n)} for i, n in (((0, -1, 1), 3), ((4,), 5))]
    feeds = [{"i": f["i"].reshape(-1, 1), "n": f["n"]} for f in feeds]
    for axis in (0, -1):
        one_hot = node("OneHot", ["i", "n", "v"], ["y0"], axis=axis)
        check(one_hot, *feeds, weights={"v": np.float32([0, 2])})


def test_splits():
    feeds = [{"x": rand(6, 2), "s": ints(1, 2, 3)}, {"x": rand(6, 2), "s": ints(0, 6, 0)}]
    check(node("Split", ["x", "s"], ["y0", "y1", "y2"]), *feeds)
    check(node("Split", ["x"], ["y0", "y1"], axis=1, num_outputs=2), *X)


@pytest.mark.parametrize(
    "shapes",
    [
        [((1, 3, 4), (6, 4, 5)), ((6, 3, 4), (1, 4, 5)), ((6, 3, 4), (6, 4, 5))],
        [((1, 2, 3, 4), (6, 1, 4, 5)), ((6, 1, 3, 4), (6, 3, 4, 5))],
        [((2, 3, 4), (6, 2, 4, 5)), ((1, 3, 4), (6, 3, 4, 5))],
        [((2, 1, 4, 5), (7, 5, 6)), ((2, 3, 4, 5), (1, 5, 6))],
        [((4,), (6, 2, 4, 5))],
    ],
)
def test_batches_that_meet_at_run_time(shapes):
    check(node("MatMul", ["a", "b"], ["y0"]), *({"a": rand(*s), "b": rand(*t)} for s, t in shapes))


def test_batches_that_do_not_meet():
    mod, _ = relay.frontend.from_onnx(
        open_model([node("MatMul", ["a", "b"], ["y0"])], {"a": rand(2, 3, 4), "b": rand(6, 4, 5)})
    )
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    with pytest.raises(ValueError, match="do not fit together"):
        vm.run(rand(2, 3, 4), rand(6, 4, 5))


def product_of_negatives(a, b, *feeds):
    """Values within a model, with the extents a and b, which names leave open."""
    m = open_model(
        [node("Neg", ["a"], ["m"]), node("Neg", ["b"], ["n"]), node("MatMul", ["m", "n"], ["y0"])],
        {"a": rand(*[1] * len(a)), "b": rand(*[1] * len(b))},
    )
    for value, dims in zip(m.graph.input, (a, b), strict=True):
        value.CopyFrom(helper.make_tensor_value_info(value.name, 1, dims))
    mod, _ = relay.frontend.from_onnx(m)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    for s, t in feeds:
        x, y = rand(*s), rand(*t)
        np.testing.assert_allclose(vm.run(x, y).numpy(), np.matmul(x, y), rtol=1e-4, atol=1e-5)


def test_several_open_batches_of_values_are_not_taken_to_be_the_same():
    feeds = [
        ((2, 3, 3, 4), (2, 3, 4, 5)),
        ((1, 2, 3, 4), (2, 1, 4, 5)),
        ((0, 2, 3, 4), (0, 2, 4, 5)),
    ]
    product_of_negatives(["n", "m", 3, 4], ["k", "l", 4, 5], *feeds)


def test_known_batches_of_open_matrices():
    product_of_negatives([2, 1, "n", 4], [2, 4, "k"], ((2, 1, 3, 4), (2, 4, 5)))
    product_of_negatives([2, 3, "n", 4], [3, "k", 1], ((2, 3, 1, 4), (3, 4, 1)))


@pytest.mark.parametrize("opset", [18, 21])
def test_groups_of_open_channels(opset):
    groups = node("GroupNormalization", ["x", "s", "b"], ["y0"], num_groups=2)
    sizes = [(4, 2 if opset < 21 else 4), (6, 2 if opset < 21 else 6)]
    check(
        groups, *({"x": rand(2, c, 5), "s": rand(n), "b": rand(n)} for c, n in sizes), opset=opset
    )


def test_negative_indices_of_open_axes():
    feeds = [{"x": rand(n, 3), "i": ints(-1, 0)} for n in (2, 5)]
    check(node("Gather", ["x", "i"], ["y0"], axis=0), *feeds)
    check(node("Gather", ["x", "last"], ["y0"], axis=1), *X, weights={"last": np.array(-2)})


def test_triangles_and_heads():
    check(node("Trilu", ["x"], ["y0"], upper=0), *X)
    feeds = [{"a": rand(b, h, 2, n), "b": rand(b, h, n, 3)} for b, h, n in ((1, 2, 4), (3, 1, 2))]
    check(node("MatMul", ["a", "b"], ["y0"]), *feeds)


def test_boxes():
    feeds = [
        {
            "b": np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], "float32"),
            "s": np.array([[[0.9, 0.75, 0.6]]], "float32"),
        }
    ]
    weights = {"most": ints(3), "iou": np.array([0.5], "float32")}
    check(node("NonMaxSuppression", ["b", "s", "most", "iou"], ["y0"]), *feeds, weights=weights)


def test_what_stays_unknown_is_refused():
    m = open_model([node("Reshape", ["x", "s"], ["y0"])], {"x": rand(2, 2), "s": ints(4)})
    m.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "rank"
    with pytest.raises(ValueError, match="rank of the result must be known"):
        relay.frontend.from_onnx(m)


# ---- loops

FLOAT, INT64, BOOL = 1, 7, 9
info = helper.make_tensor_value_info


def grows(more=()):
    """Each turn: s = s * 2 + x, the sum of s is collected."""
    nodes = [
        node("Add", ["s", "s"], ["twice"]),
        node("Add", ["twice", "x"], ["t"]),
        node("ReduceSum", ["t"], ["sum"], keepdims=0),
        *more,
    ]
    going = [] if more else [node("Identity", ["going"], ["on"])]
    inputs = [info("i", INT64, []), info("going", BOOL, []), info("s", FLOAT, None)]
    outputs = [info("on", BOOL, []), info("t", FLOAT, None), info("sum", FLOAT, None)]
    return helper.make_graph([*going, *nodes], "body", inputs, outputs)


@pytest.mark.parametrize("iterations", [1, 2, 5, 8])
def test_loop_of_a_number_of_turns(iterations):
    loop = node("Loop", ["n", "", "x"], ["y0", "y1"], body=grows())
    check(loop, {"n": np.array(iterations), "x": rand(2, 3)}, {"n": np.array(3), "x": rand(1, 2)})


def test_loop_without_turns():
    loop = node("Loop", ["n", "", "x"], ["y0", "y1"], body=grows())
    m = open_model([loop], {"n": np.array(0), "x": rand(2, 3)})
    mod, _ = relay.frontend.from_onnx(m)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    x = rand(2, 3)
    state, collected = vm.run(np.array(0), x)
    np.testing.assert_array_equal(state.numpy(), x)
    assert collected.shape == (0,)


def test_loop_with_a_condition():
    """It ends when the sum is large enough, or after n iterations."""
    body = grows([node("Less", ["sum", "limit"], ["on"])])
    loop = node("Loop", ["n", "first", "x"], ["y0", "y1"], body=body)
    weights = {"limit": np.array(100, "float32"), "first": np.array(True)}
    feeds = [{"n": np.array(n), "x": np.ones((2, k), "float32")} for n, k in ((50, 1), (2, 3))]
    check(loop, *feeds, weights=weights)


def test_loop_whose_state_grows():
    """The state has one more row after each iteration."""
    nodes = [node("Identity", ["going"], ["on"]), node("Concat", ["s", "x"], ["t"], axis=0)]
    inputs = [info("i", INT64, []), info("going", BOOL, []), info("s", FLOAT, None)]
    body = helper.make_graph(nodes, "body", inputs, [info("on", BOOL, []), info("t", FLOAT, None)])
    loop = node("Loop", ["n", "", "x"], ["y0"], body=body)
    check(loop, {"n": np.array(3), "x": rand(1, 2)}, {"n": np.array(0), "x": rand(2, 4)})


def test_what_does_not_change_is_computed_once():
    body = helper.make_graph(
        [
            node("Identity", ["going"], ["on"]),
            node("MatMul", ["x", "w"], ["m"]),
            node("Add", ["s", "m"], ["t"]),
        ],
        "body",
        [info("i", INT64, []), info("going", BOOL, []), info("s", FLOAT, None)],
        [info("on", BOOL, []), info("t", FLOAT, None)],
    )
    loop = node("Loop", ["n", "", "x"], ["y0"], body=body)
    feeds = [{"n": np.array(4), "x": rand(2, 3)}]
    text = check(loop, *feeds, weights={"w": rand(3, 3)}).astext(show_meta_data=False)
    assert text.index("nn.") < text.index("let %loop")


@pytest.mark.parametrize("back", [0, 1])
def test_scan_of_any_length(back):
    body = helper.make_graph(
        [node("Add", ["s", "v"], ["t"]), node("Mul", ["t", "v"], ["q"])],
        "body",
        [info("s", FLOAT, [2]), info("v", FLOAT, [2])],
        [info("t", FLOAT, [2]), info("q", FLOAT, [2])],
    )
    scan = node(
        "Scan",
        ["s0", "x"],
        ["y0", "y1"],
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[back],
        scan_output_directions=[back],
    )
    feeds = [{"x": rand(n, 2)} for n in (1, 2, 7)]
    check(scan, *feeds, weights={"s0": rand(2)})


@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_recurrent_of_any_length(op, direction):
    gates, dirs = {"LSTM": 4, "GRU": 3, "RNN": 1}[op], 2 if direction == "bidirectional" else 1
    weights = {"w": rand(dirs, gates * 3, 2), "r": rand(dirs, gates * 3, 3)}
    weights["b"] = rand(dirs, gates * 6)
    layer = node(op, ["x", "w", "r", "b"], ["y0", "y1"], hidden_size=3, direction=direction)
    # steps come in chunks of 16 and 4
    feeds = [{"x": rand(t, b, 2)} for t, b in ((1, 1), (2, 3), (7, 1), (4, 2), (16, 1), (41, 2))]
    check(layer, *feeds, weights=weights)


def same_as_static(layer, feeds, weights):
    m = open_model([layer], feeds[0], weights)
    mod, params = relay.frontend.from_onnx(m)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tenon.cpu())
    for feed in feeds:
        shapes = {name: value.shape for name, value in feed.items()}
        fixed, params = relay.frontend.from_onnx(m, shapes)
        static = VirtualMachine(relay.vm.compile(fixed, "llvm", params=params), tenon.cpu())
        for g, w in zip(vm.run(*feed.values()), static.run(*feed.values()), strict=True):
            np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-5, atol=1e-6)


def test_sequences_of_several_lengths():
    weights = {"w": rand(1, 12, 2), "r": rand(1, 12, 3), "b": rand(1, 24)}
    layer = node("LSTM", ["x", "w", "r", "b", "n"], ["y0", "y1", "y2"], hidden_size=3)
    feeds = [{"x": rand(max(n), 2, 2), "n": np.array(n, "int32")} for n in ((2, 4), (19, 6))]
    same_as_static(layer, feeds, weights)
