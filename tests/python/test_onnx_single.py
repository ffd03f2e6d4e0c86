"""Group normalisation, masks of dropout, remainders from ONNX, against numpy."""

import numpy as np
import pytest
import tenon
from onnx_cases import check, helper, model, numpy_helper, onnx, run
from tenon import relay

rng = np.random.default_rng(5)


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(opset):
    """Scale and bias are those of the groups, or of the channels."""
    x = rng.normal(size=(2, 4, 3, 3)).astype("float32")
    scale, bias = rng.normal(size=(2, 4 if opset >= 21 else 2)).astype("float32")
    groups = x.reshape(2, 2, -1)
    deviation = groups - groups.mean(2, keepdims=True)
    normed = (deviation / np.sqrt(groups.var(2, keepdims=True) + 0.01)).reshape(x.shape)
    each = [np.repeat(v, 4 // len(v)).reshape(4, 1, 1) for v in (scale, bias)]
    wanted = normed * each[0] + each[1]
    check("GroupNormalization", [x, scale, bias], [wanted], opset=opset, num_groups=2, epsilon=0.01)


def test_the_mask_of_a_dropout():
    x = rng.normal(size=(2, 3)).astype("float32")
    check("Dropout", [x], [x, np.ones((2, 3), "bool")], outputs=2)


def test_remainders_of_floats_have_the_sign_of_the_divisor():
    a = np.float32([5, -5, 5, -5, 0, 0, 5, -5, -5, 5])
    b = np.float32([3, 3, -3, -3, -3, 3, np.inf, np.inf, -np.inf, -np.inf])
    m = model("Mod", [a, b], fmod=0, opset=13)
    got = run(m, {"x0": a, "x1": b})[0]
    np.testing.assert_array_equal(got, np.mod(a, b))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.mod(a, b)))


def two_nodes():
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Gemm", ["b", "w"], ["y"], name="last", alpha=2.0),
    ]
    values = [helper.make_tensor_value_info(name, 1, [2, 2]) for name in "xy"]
    weight = numpy_helper.from_array(np.eye(2, dtype="float32"), "w")
    graph = helper.make_graph(nodes, "g", values[:1], values[1:], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def test_spans_name_the_nodes(tmp_path):
    mod, _ = relay.frontend.from_onnx(two_nodes())
    assert "span=" not in mod.astext(show_meta_data=False)
    with tenon.transform.PassContext(config={"relay.frontend.fill_span": True}):
        mod, _ = relay.frontend.from_onnx(two_nodes(), freeze_params=False)
    places = []
    relay.analysis.post_order_visit(
        mod["main"].body, lambda e: places.append(str(e.span.source_name.name) if e.span else None)
    )
    assert {"x", "w", "Relu_0", "Relu_1", "last", "last_PART_0"} <= set(places)
    assert mod["main"].body.span.source_name.name == "last"
    path = tmp_path / "named.onnx"
    relay.frontend.from_onnx(two_nodes(), export_node_renamed_model_path=path)
    named = onnx.load(path)
    assert [node.name for node in named.graph.node] == ["Relu_0", "Relu_1", "last"]
    np.testing.assert_array_equal(run(named, {"x": np.eye(2, dtype="float32")})[0], 2 * np.eye(2))
    folder = tmp_path / "models"
    relay.frontend.from_onnx(two_nodes(), export_node_renamed_model_path=folder)
    (written,) = folder.iterdir()
    assert written.name.startswith("tvm_exported_model_")
    assert [node.name for node in onnx.load(written).graph.node] == ["Relu_0", "Relu_1", "last"]
    with pytest.raises(OSError, match="nowhere"):
        relay.frontend.from_onnx(two_nodes(), export_node_renamed_model_path="/nowhere/m.onnx")
    with pytest.raises(TypeError, match="expected a path, bytes or an onnx.ModelProto, got int"):
        relay.frontend.from_onnx(3)


@pytest.mark.parametrize("size", [2, 4, 8])
def test_even_numbers_of_neighbours(size):
    x = np.random.default_rng(2).random((1, 5, 2, 3), "float32")
    node = helper.make_node("LRN", ["x"], ["y"], size=size, alpha=2.0, beta=0.5, bias=0.25)
    values = [helper.make_tensor_value_info(name, 1, x.shape) for name in "xy"]
    graph = helper.make_graph([node], "g", values[:1], values[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    sums = [
        np.square(x[:, max(c - (size - 1) // 2, 0) : c + size // 2 + 1]).sum(1) for c in range(5)
    ]
    want = x / (0.25 + 2.0 / size * np.stack(sums, 1)) ** 0.5
    np.testing.assert_allclose(run(model, {"x": x})[0], want, rtol=1e-5)


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_places_of_the_largest_elements(order, dtype):
    x = rng.integers(-9, 9, (2, 3, 5, 6)).astype(dtype)
    how = {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 0, 1], "storage_order": order}
    largest = np.empty((2, 3, 2, 3), dtype)
    places = np.empty((2, 3, 2, 3), "int64")
    for n, c, i, j in np.ndindex(largest.shape):
        rows = [r for r in range(2 * i - 1, 2 * i + 2) if 0 <= r < 5]
        columns = [k for k in range(2 * j, 2 * j + 2) if k < 6]
        found = max(((r, k) for r in rows for k in columns), key=lambda p: x[n, c, p[0], p[1]])
        largest[n, c, i, j] = x[n, c, found[0], found[1]]
        inside = found[0] + 5 * found[1] if order else 6 * found[0] + found[1]
        places[n, c, i, j] = (n * 3 + c) * 30 + inside
    check("MaxPool", [x], [largest, places], outputs=2, **how)


@pytest.mark.parametrize("least", [np.uint8(0), np.int8(-128), np.float32(-np.inf)])
def test_places_are_not_in_the_border(least):
    """Also where no element is larger than what the border is filled with."""
    x = np.full((1, 2, 4, 4), least)
    places = np.int64([[0, 1], [4, 5]]) + np.int64([0, 16]).reshape(1, 2, 1, 1)
    how = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    check("MaxPool", [x], [x[..., ::2, ::2], places], outputs=2, **how)


def places_one_by_one(x, kernel, strides, pads, dilations, outs, columns):
    """The largest elements and their places, window by window."""
    n = len(kernel)
    y, places = np.empty(x.shape[:2] + outs, x.dtype), np.empty(x.shape[:2] + outs, "int64")
    order = list(reversed(range(n))) if columns else list(range(n))
    for at in np.ndindex(y.shape):
        best = None
        for k in np.ndindex(*kernel):
            p = [at[2 + i] * strides[i] - pads[i] + k[i] * dilations[i] for i in range(n)]
            if any(not 0 <= p[i] < x.shape[2 + i] for i in range(n)):
                continue
            value = x[at[:2] + tuple(p)]
            if best is None or value > best[0]:
                best = (value, p)
        inside = np.ravel_multi_index([best[1][i] for i in order], [x.shape[2 + i] for i in order])
        plane = (at[0] * x.shape[1] + at[1]) * np.prod(x.shape[2:])
        y[at], places[at] = best[0], plane + inside
    return y, places


@pytest.mark.parametrize("seed", range(12))
def test_places_of_random_windows(seed):
    draw = np.random.default_rng(seed)
    n = seed % 3 + 1
    kernel = [int(k) for k in draw.integers(1, 6 if n < 3 else 4, n)]
    strides, dilations = ([int(k) for k in draw.integers(1, 4, n)] for _ in range(2))
    dilations = [min(d, 2) for d in dilations]
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    # a window of one element has no border, and one with gaps must not lie around the data
    most = [k if d == 1 else 1 for k, d in zip(kernel, dilations, strict=True)]
    pads = [int(draw.integers(0, m)) for m in most + most]
    shape = [r + int(draw.integers(1, 5)) for r in reach]
    up = int(seed % 2)
    outs = []
    for i in range(n):
        free = shape[i] + pads[i] + pads[n + i] - reach[i]
        out = -(-free // strides[i]) + 1 if up else free // strides[i] + 1
        outs.append(min(out, (shape[i] + pads[i] - 1) // strides[i] + 1) if up else out)
    x = draw.integers(-3, 3, (2, 2, *shape)).astype(["float32", "int8", "uint8"][seed % 3])
    columns = int(seed % 4 == 3)
    how = {"kernel_shape": kernel, "strides": strides, "pads": pads, "dilations": dilations}
    how |= {"ceil_mode": up, "storage_order": columns}
    wanted = places_one_by_one(x, kernel, strides, pads, dilations, tuple(outs), columns)
    check("MaxPool", [x], list(wanted), outputs=2, **how)


def test_elements_go_back_to_their_places():
    x = rng.normal(size=(1, 2, 2, 2)).astype("float32")
    places = np.int64([[[[5, 7], [13, 15]], [[16, 19], [28, 31]]]])
    wanted = np.zeros(32, "float32")
    wanted[places.ravel()] = x.ravel()
    how = {"kernel_shape": [2, 2], "strides": [2, 2]}
    check("MaxUnpool", [x, places], [wanted.reshape(1, 2, 4, 4)], **how)
    larger = np.pad(wanted.reshape(1, 2, 4, 4), [(0, 0), (0, 0), (0, 1), (0, 2)])
    shape = np.int64([1, 2, 5, 6])
    check("MaxUnpool", [x, places, shape], [larger], constants=[2], **how)


def test_weights_follow_the_inputs_they_stand_before():
    """A model lists its weights before its inputs; the function's parameters are inputs first."""
    x, w = np.float32([1, 2]), np.float32([3, 4])
    m = model("Sub", [w, x], constants=[0])
    mod, params = relay.frontend.from_onnx(m, freeze_params=False)
    assert [p.name_hint for p in mod["main"].params] == ["x1", "x0"]
    function = relay.create_executor("debug", mod=mod).evaluate()
    np.testing.assert_array_equal(function(x, params["x0"]).numpy(), w - x)


def test_models_of_other_operator_sets_only():
    """Such a model need not say which version of the operators of ONNX itself it wants."""
    x = np.float32([1, 2])
    m = model("Relu", [x])
    del m.opset_import[:]
    m.opset_import.append(helper.make_opsetid("ai.onnx.ml", 2))
    mod, _ = relay.frontend.from_onnx(m)
    assert mod["main"].body.op.name == "nn.relu"
