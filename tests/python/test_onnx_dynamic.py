"""Operators of ONNX whose inputs have dynamic dimensions, against the reference evaluator."""

import numpy as np
import pytest
import tenon
from onnx_cases import helper, numpy_helper
from tenon import relay
from tenon.runtime.vm import VirtualMachine

from onnx.reference import ReferenceEvaluator  # isort: skip

rng = np.random.default_rng(7)


def rand(*shape):
    return rng.standard_normal(shape).astype("float32")


def model_of(op, inputs, dynamic, opset, outputs=1, weights=(), outs=None, then=(), **attrs):
    """A model of one node (and of those in `then`).

    dynamic: for each input that is not a weight the axes that are dynamic
    weights: places of inputs that are initializers
    """
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    infos, values = [], []
    for i, x in enumerate(inputs):
        if x is None:
            continue
        if i in weights:
            values.append(numpy_helper.from_array(x, names[i]))
            continue
        axes = dynamic.get(i, ())
        dims = [f"d{i}_{k}" if k in axes else n for k, n in enumerate(x.shape)]
        kind = helper.np_dtype_to_tensor_dtype(x.dtype)
        infos.append(helper.make_tensor_value_info(names[i], kind, dims))
    nodes = [helper.make_node(op, names, results, **attrs), *then]
    outs = outs or [helper.make_empty_tensor_value_info(r) for r in results]
    graph = helper.make_graph(nodes, "g", infos, outs, values)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def build(model):
    mod, params = relay.frontend.from_onnx(model)
    return VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tenon.cpu())


def run(program, feed):
    """The results of a model, or of what `build` made of it."""
    vm = program if isinstance(program, VirtualMachine) else build(program)
    got = vm.run(**feed)
    return [got.numpy()] if isinstance(got, tenon.nd.NDArray) else [g.numpy() for g in got]


def check(op, *cases, dynamic, opset=18, weights=(), **how):
    """One program for all cases, each a list of inputs."""
    model = model_of(op, cases[0], dynamic, opset, weights=weights, **how)
    vm, evaluator = build(model), ReferenceEvaluator(model)
    for case in cases:
        feed = {f"x{i}": x for i, x in enumerate(case) if x is not None and i not in weights}
        for g, w in zip(run(vm, feed), evaluator.run(None, feed), strict=True):
            assert g.shape == w.shape and g.dtype == w.dtype
            np.testing.assert_allclose(g, w, rtol=1e-5, atol=1e-6)


AXES = [(0,), (1, 2), (0, 1, 2, 3)]


@pytest.mark.parametrize("axis", [0, 1, 2, 3, 4, -1, -2, -3, -4])
@pytest.mark.parametrize("axes", AXES)
def test_flatten(axis, axes):
    cases = [
        [rand(2, 3, 4, 5)],
        [rand(*[6 if i in axes else n for i, n in enumerate((2, 3, 4, 5))])],
    ]
    check("Flatten", *cases, dynamic={0: axes}, axis=axis)


@pytest.mark.parametrize("axis", [0, 2, 3, -1])
def test_flatten_of_nothing(axis):
    model = build(model_of("Flatten", [rand(2, 0, 4)], {0: (0, 1)}, 18, axis=axis))
    for shape in [(2, 0, 4), (2, 3, 4), (0, 3, 4)]:
        want = tuple(
            int(np.prod(part)) for part in (shape[: axis % 3 or axis], shape[axis % 3 or axis :])
        )
        assert run(model, {"x0": rand(*shape)})[0].shape == want


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1, 2)])
def test_softmax_over_several_axes(op, axis, axes):
    x = [rand(*[n if i in axes else 3 for i in range(3)]) for n in (3, 1, 5)]
    model = build(model_of(op, [x[0]], {0: axes}, 11, axis=axis))
    for value in x:  # the reference evaluator knows these operators as they are since version 13
        at = axis % 3
        flat = value.reshape(int(np.prod(value.shape[:at])), -1)
        e = np.exp(flat - flat.max(1, keepdims=True))
        want = {
            "Softmax": e / e.sum(1, keepdims=True),
            "LogSoftmax": np.log(e / e.sum(1, keepdims=True)),
            "Hardmax": (flat.argmax(1)[:, None] == np.arange(flat.shape[1])).astype("float32"),
        }[op].reshape(value.shape)
        np.testing.assert_allclose(run(model, {"x0": value})[0], want, rtol=1e-5, atol=1e-6)


SIZES = [(5, 5), (6, 4), (7, 9), (3, 8)]


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 2], [3, 2], [1, 3]])
@pytest.mark.parametrize("axes", [(2,), (2, 3), (0, 2, 3)])
def test_convolution_with_automatic_border(auto_pad, strides, axes):
    w = rand(3, 2, 3, 2)
    sizes = SIZES if 3 in axes else [(h, 5) for h, _ in SIZES]
    cases = [[rand(1, 2, h, v), w] for h, v in sizes]
    check("Conv", *cases, dynamic={0: axes}, weights=(1,), auto_pad=auto_pad, strides=strides)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("strides", [[2, 2], [1, 3]])
@pytest.mark.parametrize("how", ["max", "uint8", "mean", "with border"])
def test_pooling_with_automatic_border(auto_pad, strides, how):
    op = "MaxPool" if how in ("max", "uint8") else "AveragePool"
    attrs = {"count_include_pad": 1} if how == "with border" else {}
    cases = [[-1 - abs(rand(1, 2, *s))] for s in SIZES]
    if how == "uint8":
        cases = [[(10 * abs(x)).astype("uint8")] for [x] in cases]
    # the reference evaluator has another border for maxima with steps: ONNX says what it is
    model = build(model_of(op, cases[0], {0: (2, 3)}, 18, auto_pad=auto_pad, strides=strides,
                           kernel_shape=[3, 2], **attrs))  # fmt: skip
    for [x] in cases:
        np.testing.assert_allclose(
            run(model, {"x0": x})[0], pooled(x, [3, 2], strides, auto_pad, op, attrs), rtol=1e-5
        )


def pooled(x, kernel, strides, auto_pad, op, attrs):
    outs = [-(-n // s) for n, s in zip(x.shape[2:], strides, strict=True)]
    y = np.zeros(x.shape[:2] + tuple(outs), x.dtype)
    pads = []
    for n, k, s, o in zip(x.shape[2:], kernel, strides, outs, strict=True):
        total = max((o - 1) * s + k - n, 0)
        pads.append(total // 2 if auto_pad == "SAME_UPPER" else total - total // 2)
    for i in range(outs[0]):
        for j in range(outs[1]):
            top, left = i * strides[0] - pads[0], j * strides[1] - pads[1]
            part = x[:, :, max(top, 0) : top + kernel[0], max(left, 0) : left + kernel[1]]
            if op == "MaxPool":
                y[:, :, i, j] = part.max((2, 3))
            else:
                n = np.prod(kernel) if attrs else part.shape[2] * part.shape[3]
                y[:, :, i, j] = part.sum((2, 3)) / n
    return y


@pytest.mark.parametrize("p", [1, 2, 3])
def test_norm_with_automatic_border(p):
    model = build(model_of("LpPool", [rand(1, 2, 3, 3)], {0: (2, 3)}, 18, p=p, strides=[2, 2],
                           auto_pad="SAME_UPPER", kernel_shape=[3, 3]))  # fmt: skip
    for h, v in SIZES:
        x = rand(1, 2, h, v)
        mean = pooled(abs(x) ** p, [3, 3], [2, 2], "SAME_UPPER", "AveragePool", {"border": 1})
        np.testing.assert_allclose(run(model, {"x0": x})[0], (mean * 9) ** (1 / p), rtol=1e-4)


@pytest.mark.parametrize("auto_pad", ["NOTSET", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("extent", [3, 8, 9, 10, 14])
def test_transposed_convolution_of_a_given_size(auto_pad, extent):
    x, w = rand(1, 2, 4, 4), rand(2, 3, 3, 3)
    how = dict(auto_pad=auto_pad, strides=[2, 2], output_shape=[extent, extent])
    static = run(model_of("ConvTranspose", [x, w], {}, 18, weights=(1,), **how), {"x0": x})[0]
    open_ = run(model_of("ConvTranspose", [x, w], {0: (2,)}, 18, weights=(1,), **how), {"x0": x})[0]
    np.testing.assert_allclose(open_, static, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
def test_transposed_convolution_with_automatic_border(auto_pad):
    w = rand(2, 3, 3, 3)
    for n in (1, 4, 5):
        x = rand(1, 2, n, 4)
        how = dict(auto_pad=auto_pad, strides=[2, 2])
        static = run(model_of("ConvTranspose", [x, w], {}, 18, weights=(1,), **how), {"x0": x})[0]
        assert static.shape == (1, 3, 2 * n, 8)
        got = run(model_of("ConvTranspose", [x, w], {0: (2,)}, 18, weights=(1,), **how), {"x0": x})
        np.testing.assert_allclose(got[0], static, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("pads", [[0, 0], [1, 1], [0, 1], [1, 0]])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("dynamic", [(), (2,)])
def test_windows_that_reach_over_the_end(op, pads, stride, dynamic):
    program = None
    for n in range(2, 8) if dynamic else (stride + 2, stride + 3):
        x = 1 + abs(rand(1, 2, n))
        model = model_of(op, [x], {0: dynamic}, 22, ceil_mode=1, pads=pads, strides=[stride],
                         kernel_shape=[2])  # fmt: skip
        program = program if dynamic and program else build(model)
        out = min(-(-(n + sum(pads) - 2) // stride), (n + pads[0] - 1) // stride) + 1
        parts = [
            x[..., max(i * stride - pads[0], 0) : i * stride - pads[0] + 2] for i in range(out)
        ]
        f = {
            "MaxPool": lambda a: a.max(-1),
            "AveragePool": lambda a: a.mean(-1),
            "LpPool": lambda a: np.sqrt((a * a).sum(-1)),
        }[op]
        want = np.stack([f(p) for p in parts], -1)
        np.testing.assert_allclose(run(program, {"x0": x})[0], want, rtol=1e-5)


@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_split_into_a_number_of_parts(parts):
    model = model_of(
        "Split", [rand(6, 4)], {0: (0, 1)}, 18, outputs=parts, axis=1, num_outputs=parts
    )
    for n in (1, 4, 6, 7, 11):
        x = rand(2, n)
        each = -(-n // parts)
        for i, got in enumerate(run(model, {"x0": x})):
            np.testing.assert_array_equal(got, x[:, i * each : (i + 1) * each])


@pytest.mark.parametrize("static", [False, True])
def test_squeeze_without_axes(static):
    for shape in [(1, 3, 1, 2), (1, 3, 1, 1), (4, 3, 1, 1), (1, 3, 1, 5)]:
        x = rand(*shape)
        dynamic = {} if static else {0: (0, 3)}
        for opset in (11, 13):
            got = run(model_of("Squeeze", [x], dynamic, opset), {"x0": x})[0]
            assert got.shape == x.squeeze().shape
            np.testing.assert_array_equal(got, x.squeeze())


def test_squeeze_without_axes_before_an_operator():
    """Axes that are not known are taken to stay where an operator needs the rank."""
    then = [helper.make_node("Neg", ["y0"], ["z"])]
    outs = [helper.make_empty_tensor_value_info("z")]
    model = model_of("Squeeze", [rand(4, 3, 1, 1)], {0: (0,)}, 13, outs=outs, then=then)
    x = rand(2, 3, 1, 1)
    np.testing.assert_array_equal(run(model, {"x0": x})[0], -x[:, :, 0, 0])
    with pytest.raises(ValueError, match="a tensor of 1 dimensions, where the model states 2"):
        run(model, {"x0": x[:1]})


def test_squeeze_without_axes_of_a_stated_rank():
    then = [helper.make_node("Neg", ["y0"], ["z"])]
    outs = [helper.make_empty_tensor_value_info("z")]
    model = model_of("Squeeze", [rand(1, 3, 1, 1)], {0: (0,)}, 13, outs=outs, then=then)
    model.graph.value_info.append(helper.make_tensor_value_info("y0", 1, [3]))
    x = rand(1, 3, 1, 1)
    np.testing.assert_array_equal(run(model, {"x0": x})[0], -x[0, :, 0, 0])


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize("op", ["SpaceToDepth", "DepthToSpace"])
def test_blocks_of_images(op, mode):
    x = rand(2, 8, 4, 6)
    opset = 28 if op == "SpaceToDepth" else 13
    for axes in [(), (0,), (2, 3)]:
        check(op, [x], dynamic={0: axes}, opset=opset, blocksize=2, mode=mode)


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
@pytest.mark.parametrize("t", ["int8", "int32", "int64", "uint8", "uint32", "uint64"])
def test_shifts_by_any_number(direction, t):
    bits = np.iinfo(t).bits
    x = np.array([1, 5, np.iinfo(t).max, np.iinfo(t).min, 77], t)
    by = [0, 1, bits - 1, bits, bits + 1, 100] + ([-1, -bits, -100] if t[0] == "i" else [])
    x, y = (v.copy() for v in np.broadcast_arrays(x[:, None], np.array(by, t)))
    for weights in [(), (0, 1)]:  # computed when it runs, and while it is imported
        model = model_of("BitShift", [x, y], {}, 28 if t[0] == "i" else 11, weights=weights,
                         direction=direction)  # fmt: skip
        evaluator = ReferenceEvaluator(model)
        feed = {} if weights else {"x0": x, "x1": y}
        np.testing.assert_array_equal(run(model, feed)[0], evaluator.run(None, feed)[0])


def relu_of(dims):
    kind = helper.np_dtype_to_tensor_dtype(np.dtype("float32"))
    x, y = (helper.make_tensor_value_info(n, kind, dims) for n in ("x", "y"))
    return helper.make_model(
        helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", [x], [y])
    )


def test_minus_one_is_an_open_extent(caplog):
    """As some exporters write it, in inputs and outputs."""
    mod, params = relay.frontend.from_onnx(relu_of([-1, 3]))
    assert "?" in str(mod["main"].params[0].type_annotation)
    vm = VirtualMachine(relay.vm.compile(mod, "llvm", params=params), tenon.cpu())
    for n in (1, 4):
        x = rand(n, 3)
        np.testing.assert_array_equal(vm.invoke("main", x).numpy(), np.maximum(x, 0))
    relay.frontend.from_onnx(relu_of([-1, 3]), {"x": (2, 3)}, strict=True)
    assert not caplog.records
    with pytest.raises(ValueError, match="dimension 0: expected 0 or more, or -1 .* got -2"):
        relay.frontend.from_onnx(relu_of([-2, 3]))
