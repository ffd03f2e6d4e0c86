"""Branches and loops from ONNX, elements chosen by value, Fourier transforms, against numpy."""

import numpy as np
import pytest
import tenon
from onnx_cases import check, helper, model, numpy_helper, run
from tenon import relay
from tenon.topi import testing

rng = np.random.default_rng(9)
FLOAT, INT64, BOOL = 1, 7, 9
info = helper.make_tensor_value_info
node = helper.make_node


def graph_model(nodes, inputs, outputs, weights=(), opset=17):
    weights = [numpy_helper.from_array(v, k) for k, v in dict(weights).items()]
    graph = helper.make_graph(nodes, "g", inputs, outputs, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def if_model(cond):
    """y = x + w, or x - w, with w of the graph around."""
    yes = helper.make_graph([node("Add", ["x", "w"], ["a"])], "yes", [], [info("a", FLOAT, [3])])
    no = helper.make_graph([node("Sub", ["x", "w"], ["b"])], "no", [], [info("b", FLOAT, [3])])
    weights = {"w": np.array([1, 2, 3], "float32")}
    inputs = [info("x", FLOAT, [3])]
    if cond is None:
        inputs.append(info("cond", BOOL, []))
    else:
        weights["cond"] = np.array(cond)
    branch = node("If", ["cond"], ["y"], then_branch=yes, else_branch=no)
    return graph_model([branch], inputs, [info("y", FLOAT, [3])], weights)


@pytest.mark.parametrize("cond", [True, False])
def test_a_known_condition_chooses(cond):
    x = np.array([5, 6, 7], "float32")
    got = run(if_model(cond), {"x": x})[0]
    w = np.array([1, 2, 3], "float32")
    np.testing.assert_array_equal(got, x + w if cond else x - w)


def test_other_conditions_are_branches_of_the_program():
    mod, _ = relay.frontend.from_onnx(if_model(None))
    assert "if (" in mod.astext(show_meta_data=False)
    exe = relay.vm.compile(mod, target="llvm")
    machine = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    x, w = np.array([5, 6, 7], "float32"), np.array([1, 2, 3], "float32")
    for cond in (True, False):
        got = machine.invoke("main", x=tenon.nd.array(x), cond=tenon.nd.array(np.array(cond)))
        np.testing.assert_array_equal(got.numpy(), x + w if cond else x - w)


def test_branches_of_other_ranks():
    """A scalar and a list of one number: results keep their ranks, operators get lists."""
    yes = helper.make_graph([node("Identity", ["one"], ["a"])], "yes", [], [info("a", FLOAT, [])])
    no = helper.make_graph([node("Add", ["x", "one"], ["b"])], "no", [], [info("b", FLOAT, [1])])
    branch = node("If", ["cond"], ["y"], then_branch=yes, else_branch=no)
    inputs = [info("x", FLOAT, [1]), info("cond", BOOL, [])]
    m = graph_model([branch], inputs, [info("y", FLOAT, None)], {"one": np.float32(1)})
    compiled = tenon.compile(m)
    for cond in (True, False):
        got = compiled(x=np.float32([4]), cond=np.bool_(cond))
        assert got == (1 if cond else 5) and got.shape == (() if cond else (1,))
    nodes, outs = [branch, node("Neg", ["y"], ["z"])], [info("z", FLOAT, None)]
    compiled = tenon.compile(graph_model(nodes, inputs, outs, {"one": np.float32(1)}))
    assert compiled.outputs == [((1,), "float32")]
    for cond in (True, False):
        got = compiled(x=np.float32([4]), cond=np.bool_(cond))
        np.testing.assert_array_equal(got, np.float32([-1 if cond else -5]))


def test_scan_over_axes_and_backwards():
    body = helper.make_graph(
        [node("Add", ["s", "v"], ["t"]), node("Mul", ["t", "t"], ["q"])],
        "body",
        [info("s", FLOAT, [2]), info("v", FLOAT, [2])],
        [info("t", FLOAT, [2]), info("q", FLOAT, [2])],
    )
    x = rng.normal(0, 1, (2, 4)).astype("float32")
    how = {"scan_input_axes": [1], "scan_input_directions": [1], "scan_output_axes": [-1]}
    scan = node("Scan", ["s0", "x"], ["last", "all"], num_scan_inputs=1, body=body, **how)
    m = graph_model(
        [scan],
        [info("s0", FLOAT, [2]), info("x", FLOAT, [2, 4])],
        [info("last", FLOAT, [2]), info("all", FLOAT, [2, 4])],
    )
    start = np.ones(2, "float32")
    last, every = run(m, {"s0": start, "x": x})
    sums = start[:, None] + np.cumsum(x[:, ::-1], 1)
    np.testing.assert_allclose(last, sums[:, -1], rtol=1e-5)
    np.testing.assert_allclose(every, sums**2, rtol=1e-4, atol=1e-6)


def loop_model(iterations, condition):
    """Adds the number of the iteration until the sum of these is above 5."""
    nodes = [
        node("Cast", ["i"], ["f"], to=FLOAT),
        node("Add", ["s", "f"], ["t"]),
        node("Identity", ["t"], ["u"]),
        node("Add", ["k", "i"], ["k1"]),
        node("Less", ["k1", "five"], ["go"] if condition else ["unused"]),
    ]
    if not condition:
        nodes.append(node("Identity", ["c"], ["go"]))
    body = helper.make_graph(
        nodes,
        "body",
        [info("i", INT64, []), info("c", BOOL, []), info("s", FLOAT, [2]), info("k", INT64, [])],
        [info("go", BOOL, []), info("t", FLOAT, [2]), info("k1", INT64, []), info("u", FLOAT, [2])],
    )
    weights = {"five": np.array(5), "k0": np.array(0)}
    if iterations is not None:
        weights["n"] = np.array(iterations)
    given = ["n" if iterations is not None else "", "", "x", "k0"]
    loop = node("Loop", given, ["y", "k2", "all"], body=body)
    outputs = [info("y", FLOAT, [2]), info("all", FLOAT, None)]
    return graph_model([loop], [info("x", FLOAT, [2])], outputs, weights)


def test_loops_of_a_known_number_of_turns():
    x = np.array([1, 2], "float32")
    y, every = run(loop_model(3, False), {"x": x})
    np.testing.assert_array_equal(y, x + 3)
    np.testing.assert_array_equal(every, [x, x + 1, x + 3])
    y, every = run(loop_model(None, True), {"x": x})
    np.testing.assert_array_equal(y, x + 6)
    assert every.shape == (4, 2)


def test_loops_without_an_end_are_refused():
    with pytest.raises(ValueError, match="more than 4096 iterations"):
        relay.frontend.from_onnx(loop_model(None, False))


def test_a_long_chain_takes_time_in_proportion():
    names = [f"v{i}" for i in range(20001)]
    nodes = [node("Neg", [a], [b]) for a, b in zip(names, names[1:], strict=False)]
    m = graph_model(nodes, [info("v0", FLOAT, [4])], [info("v20000", FLOAT, [4])])
    mod, _ = relay.frontend.from_onnx(m)
    assert list(mod["main"].ret_type.shape) == [4]


def test_chosen_elements():
    x = np.array([[1, 0, 2], [0, 3, 0]], "float32")
    found = np.array(np.nonzero(x))
    check("NonZero", [x], [found], shapes=[found.shape])
    on = np.array([False, True, True])
    check("Compress", [x, on], [x[:, 1:]], axis=1, shapes=[(2, 2)])
    check("Compress", [x, on], [x.ravel()[1:3]], shapes=[(2,)])
    mod, _ = relay.frontend.from_onnx(model("NonZero", [x]))  # nothing stated: dynamic extents
    assert isinstance(mod["main"].ret_type.shape[1], relay.Any)


def suppressed(boxes, scores, most, overlap, least):
    def area(b):
        return (b[2] - b[0]) * (b[3] - b[1])

    rows = []
    for b in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            taken = []
            for i in np.argsort(-scores[b, c], kind="stable"):
                if scores[b, c, i] <= least or len(taken) >= most:
                    break
                p = boxes[b, i]
                for j in taken:
                    q = boxes[b, j]
                    side = np.maximum(np.minimum(p[2:], q[2:]) - np.maximum(p[:2], q[:2]), 0)
                    shared = side.prod()
                    if shared / (area(p) + area(q) - shared) > overlap:
                        break
                else:
                    taken.append(i)
            rows += [[b, c, i] for i in taken]
    return np.array(rows, "int64")


@pytest.mark.parametrize("centre", [0, 1])
def test_non_max_suppression(centre):
    low = rng.uniform(0, 1, (2, 12, 2))
    boxes = np.concatenate([low, low + rng.uniform(0.2, 0.8, low.shape)], 2).astype("float32")
    scores = rng.uniform(0, 1, (2, 3, 12)).astype("float32")
    wanted = suppressed(boxes, scores, 4, 0.3, 0.25)
    given = boxes
    if centre:
        mid, size = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
        given = np.concatenate([mid, size], 2)
    limits = [np.array([4]), np.array([0.3], "float32"), np.array([0.25], "float32")]
    how = {"center_point_box": centre, "shapes": [wanted.shape]}
    check("NonMaxSuppression", [given, scores, *limits], [wanted], **how)


def spectrum(x):
    return np.stack([x.real, x.imag], -1).astype("float32")


@pytest.mark.parametrize("length", [None, 6, 11])
def test_fourier(length):
    x = rng.normal(0, 1, (2, 8, 3, 1)).astype("float32")
    z = rng.normal(0, 1, (2, 8, 3, 2)).astype("float32")
    n = None if length is None else np.array(length)
    real, z1 = x[..., 0], z[..., 0] + 1j * z[..., 1]
    axis, how = np.array(1), {"opset": 20, "rtol": 1e-3, "atol": 1e-4}
    wanted = spectrum(np.fft.fft(real, length, 1))
    check("DFT", [x, n, axis], [wanted], {1, 2}, **how)
    check("DFT", [z, n, axis], [spectrum(np.fft.fft(z1, length, 1))], {1, 2}, **how)
    check("DFT", [z, n, axis], [spectrum(np.fft.ifft(z1, length, 1))], {1, 2}, inverse=1, **how)
    half = spectrum(np.fft.rfft(real, length, 1))
    check("DFT", [x, n, axis], [half], {1, 2}, onesided=1, **how)
    check("DFT", [x, n, axis], [wanted], {1}, shapes=[wanted.shape], **how)
    back = np.fft.irfft(z1, length, 1)[..., None].astype("float32")
    z1[:, 0] = z1[:, 0].real
    check("DFT", [z, n, axis], [back], {1, 2}, onesided=1, inverse=1, **how)


def test_windows():
    i = np.arange(6)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * i / 6)
    check("HannWindow", [np.array(6)], [hann.astype("float32")], {0})
    black = 0.42 - 0.5 * np.cos(2 * np.pi * i / 5) + 0.08 * np.cos(4 * np.pi * i / 5)
    check("BlackmanWindow", [np.array(6)], [black.astype("float32")], {0}, periodic=0)


@pytest.mark.parametrize("taps, onesided", [(8, 1), (6, 0)])
def test_short_fourier_transforms(taps, onesided):
    x, window = rng.normal(0, 1, (2, 21, 1)).astype("float32"), np.hanning(taps).astype("float32")
    wide = np.zeros(8)
    wide[(8 - taps) // 2 : (8 + taps) // 2] = window
    view = np.lib.stride_tricks.sliding_window_view(x[..., 0], 8, -1)[:, ::3] * wide
    wanted = spectrum((np.fft.rfft if onesided else np.fft.fft)(view))
    inputs = [x, np.array(3), window, np.array(8)]
    how = {"opset": 17, "rtol": 1e-3, "atol": 1e-4, "onesided": onesided}
    check("STFT", inputs, [wanted], {1, 3}, **how)
    if taps == 8:
        check("STFT", inputs[:3], [wanted], {1}, **how)


def test_bits_and_moved_points():
    x = rng.normal(0, 1, (1, 2, 5, 5)).astype("float32")
    check("BitCast", [x], [x.view("int32")], opset=26, to=6)
    w = rng.normal(0, 1, (4, 2, 3, 3)).astype("float32")
    offset = rng.normal(0, 1, (1, 18, 5, 5)).astype("float32")
    b = rng.normal(0, 1, 4).astype("float32")
    wanted = testing.deformable_conv2d_nchw_python(x, offset, w, 1, 1, 1, 1, 1)
    wanted = (wanted + b[:, None, None]).astype("float32")
    how = {"opset": 19, "pads": [1, 1, 1, 1], "rtol": 1e-3, "atol": 1e-4}
    check("DeformConv", [x, w, offset, b], [wanted], **how)
