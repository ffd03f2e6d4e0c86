"""Rules of random_onnx.py (onnx_calls.py): layers, quantisation, sequences, nodes with graphs."""

import numpy as np
from onnx import TensorProto, helper
from onnx_calls import Call, axis_of, either, i64, maybe, rule

FLOATS = ["float32", "float32", "float64"]
node, info = helper.make_node, helper.make_tensor_value_info


def windows(g, n, least=1):
    """(kernel, attributes, extents) of windows that fit."""
    kernel = [g.number(1, 4) for _ in range(n)]
    attrs = maybe(g, 0.5, strides=[g.number(1, 4) for _ in range(n)],
                  dilations=[g.number(1, 3) for _ in range(n)])  # fmt: skip
    how = g.one_of(["pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
    if how == "pads":
        attrs["pads"] = [g.number(0, k) for k in kernel + kernel]
    elif how != "none":
        attrs["auto_pad"] = how
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, attrs.get("dilations", [1] * n), strict=True)]
    return kernel, attrs, [r + g.number(0, 6) for r in reach]


@rule("Conv")
def conv(g, name):
    n, groups = g.number(1, 4), g.one_of([1, 1, 2, 3])
    kernel, attrs, extents = windows(g, n)
    each, made = g.number(1, 4), g.number(1, 4)
    if groups > 1 or g.chance(0.3):
        attrs["group"] = groups
    if g.chance(0.5):
        attrs["kernel_shape"] = kernel
    inputs = [g.array([g.one_of([1, 2, 0]) if g.chance(0.1) else 1, groups * each, *extents],
                      "float32"), g.array([groups * made, each, *kernel], "float32")]  # fmt: skip
    if g.chance(0.5):
        inputs.append(g.array([groups * made], "float32"))
    return Call(name, inputs, attrs, either(g, 1, 2))


@rule("ConvTranspose")
def conv_transpose(g, name):
    n, groups = g.number(1, 4), g.one_of([1, 1, 2])
    kernel, attrs, extents = windows(g, n)
    strides = attrs.get("strides", [1] * n)
    if "auto_pad" not in attrs and g.chance(0.4):
        attrs["output_padding"] = [g.number(0, s) for s in strides]
    if groups > 1:
        attrs["group"] = groups
    each, made = g.number(1, 4), g.number(1, 4)
    inputs = [g.array([1, groups * each, *extents], "float32"),
              g.array([groups * each, made, *kernel], "float32")]  # fmt: skip
    if g.chance(0.5):
        inputs.append(g.array([groups * made], "float32"))
    return Call(name, inputs, attrs, either(g, 1, 2))


@rule("DeformConv")
def deform_conv(g, name):
    k, groups, extent = g.number(1, 3), g.one_of([1, 2]), g.number(3, 6)
    out = extent - k + 1
    inputs = [g.array([1, 2, extent, extent], "float32"),
              g.array([2, 2 // groups, k, k], "float32"),
              g.array([1, 2 * k * k, out, out], "float32")]  # fmt: skip
    return Call(name, inputs, {"group": groups, "kernel_shape": [k, k], "pads": [0, 0, 0, 0]})


@rule("MaxPool", "AveragePool", "LpPool")
def pool(g, name):
    n = g.number(1, 4)
    kernel, attrs, extents = windows(g, n)
    attrs = {"kernel_shape": kernel, **attrs, **maybe(g, 0.4, ceil_mode=g.number(0, 2))}
    if attrs.get("auto_pad", "VALID") != "VALID":
        attrs.pop("dilations", None)
    outputs = 1
    if name == "AveragePool":
        attrs.update(maybe(g, 0.4, count_include_pad=g.number(0, 2)))
    if name == "LpPool":
        attrs.update(maybe(g, 0.5, p=g.number(1, 4)))
    if name == "MaxPool":
        outputs = g.one_of([1, 1, 2])
        attrs.update(maybe(g, 0.2, storage_order=g.number(0, 2)))
    dtype = g.dtype(["float32", "float64", "int8", "uint8"]) if name == "MaxPool" else "float32"
    x = g.array([1, g.number(1, 3), *extents], dtype, special=name == "MaxPool" and outputs == 1)
    return Call(name, [x], attrs, outputs=outputs)


@rule("MaxUnpool")
def max_unpool(g, name):
    x = g.array([1, 1, 2, 2], "float32")
    index = np.sort(g.rng.permutation(16)[:4]).reshape(1, 1, 2, 2).astype("int64")
    return Call(name, [x, index], {"kernel_shape": [2, 2], "strides": [2, 2]})


@rule("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def global_pool(g, name):
    attrs = maybe(g, p=g.number(1, 4)) if "Lp" in name else {}
    x = g.array([1, g.extent(), *[g.number(1, 5) for _ in range(g.number(1, 4))]], "float32")
    return Call(name, [x], attrs)


@rule("BatchNormalization")
def batch_norm(g, name):
    shape = [g.extent(), g.number(1, 5), *g.shape(0, 2)]
    four = [g.array([shape[1]], "float32") for _ in range(4)]
    four[3] = np.abs(four[3])
    inputs = [g.array(shape, "float32"), *four]
    return Call(name, inputs, maybe(g, epsilon=0.01), either(g, 1, 2, 3, 4), opset=15)


@rule("InstanceNormalization", "GroupNormalization")
def instance_norm(g, name):
    groups = g.number(1, 4)
    c = groups * g.number(1, 3)
    shape = [g.number(1, 3), c, *[g.number(1, 5) for _ in range(g.number(1, 3))]]
    two = [g.array([c], "float32") for _ in range(2)]
    attrs = {**maybe(g, epsilon=0.01), **({"num_groups": groups} if name[0] == "G" else {})}
    return Call(name, [g.array(shape, "float32"), *two], attrs, either(g, 1, 2), opset=21)


@rule("LayerNormalization", "RMSNormalization")
def layer_norm(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = axis_of(g, len(shape))
    more = [g.array(shape[axis:], "float32") for _ in range(g.number(1, 3))]
    more = more[:1] if name[0] == "R" else more
    attrs = {"axis": axis, **maybe(g, epsilon=0.01)}
    x = g.array(shape, "float32")
    return Call(name, [x, *more], attrs, opset=23 if name[0] == "R" else 17)


@rule("LpNormalization")
def lp_norm(g, name):
    shape = g.shape(1)
    attrs = maybe(g, 0.6, axis=axis_of(g, len(shape)), p=g.number(1, 3))
    return Call(name, [g.array(shape, g.dtype(FLOATS))], attrs)


@rule("LRN")
def lrn(g, name):
    shape = [1, g.number(1, 6), *[g.number(1, 4) for _ in range(2)]]
    attrs = {"size": g.one_of([1, 3, 5]), **maybe(g, alpha=0.5, beta=0.5, bias=2.0)}
    return Call(name, [g.array(shape, "float32")], attrs)


@rule("Dropout")
def dropout(g, name):
    return Call(name, [g.array(g.shape(), g.dtype(FLOATS))], outputs=g.number(1, 3))


@rule("DepthToSpace", "SpaceToDepth")
def subpixel(g, name):
    b, c, h, w = (g.number(1, 4) for _ in range(4))
    attrs = {"blocksize": b}
    if name[0] == "D":
        attrs.update(maybe(g, 0.6, mode=g.one_of(["DCR", "CRD"])))
        return Call(name, [g.array([1, c * b * b, h, w], g.dtype(FLOATS))], attrs)
    return Call(name, [g.array([1, c, h * b, w * b], g.dtype(FLOATS))], attrs)


@rule("Gemm")
def gemm(g, name):
    m, k, n = (g.extent() for _ in range(3))
    a, b = g.number(0, 2), g.number(0, 2)
    inputs = [g.array([k, m] if a else [m, k], "float32"), g.array([n, k] if b else [k, n],
                                                                   "float32")]  # fmt: skip
    if g.chance(0.6):
        inputs.append(g.array(g.one_of([[m, n], [n], [1, n], [m, 1], [1], []]), "float32"))
    attrs = maybe(g, 0.5, alpha=0.5, beta=2.0)
    attrs.update({**({"transA": 1} if a else {}), **({"transB": 1} if b else {})})
    return Call(name, inputs, attrs, either(g, 1, 2))


@rule("MatMul")
def matmul(g, name):
    m, k, n = (g.extent() for _ in range(3))
    batch = g.shape(0, 2)
    some = [1 if g.chance(0.3) else d for d in batch][g.number(0, len(batch) + 1) :]
    a, b = [*batch, m, k], [*some, k, n]
    if g.chance(0.2):
        a = [k]
    if g.chance(0.2):
        b = [k]
    if g.chance(0.5) and len(a) > 1 and len(b) > 1:
        a, b = [*some, m, k], [*batch, k, n]
    dtype = g.dtype(["float32", "float64", "int32", "int64"])
    return Call(name, [g.array(a, dtype), g.array(b, dtype)], {}, either(g, 1))


# ---- losses, places ----


@rule("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def loss(g, name):
    c, n, rest = g.number(1, 5), g.number(1, 4), g.shape(0, 2)
    rest = [max(d, 1) for d in rest]
    target = g.rng.integers(0, c, [n, *rest])
    inputs = [g.array([n, c, *rest], "float32"), target]
    if g.chance(0.5):
        inputs.append(np.abs(g.array([c], "float32")) + np.float32(0.5))
    attrs = maybe(g, 0.5, reduction=g.one_of(["none", "sum", "mean"]))
    if g.chance(0.3):
        attrs["ignore_index"] = g.number(0, c)
        if (target == attrs["ignore_index"]).all():
            del attrs["ignore_index"]
    return Call(name, inputs, attrs, opset=13)


@rule("NonMaxSuppression")
def suppression(g, name):
    n, classes = g.number(1, 6), g.number(1, 3)
    corner = g.rng.random([1, n, 2])
    boxes = np.concatenate([corner, corner + g.rng.random([1, n, 2]) + 0.1], -1).astype("float32")
    scores = g.rng.random([1, classes, n]).astype("float32")
    numbers = [i64([g.number(0, 4)]), np.float32([0.3]), np.float32([0.2])]
    return Call(name, [boxes, scores, *numbers[: g.number(1, 4)]], {}, either(g, 2, 3, 4))


@rule("MaxRoiPool")
def max_roi_pool(g, name):
    corners = np.sort(g.rng.random([3, 2, 2]) * 9 - 1, 1).reshape(3, 4)
    rois = np.concatenate([g.rng.integers(0, 2, (3, 1)), corners], 1).astype("float32")
    attrs = {"pooled_shape": [g.number(1, 4), g.number(1, 4)], **maybe(g, spatial_scale=0.5)}
    return Call(name, [g.array([2, 2, 6, 7], "float32"), rois], attrs)


@rule("RoiAlign")
def roi_align(g, name):
    rois = np.sort(g.rng.random([2, 2, 2]) * 6, 1).reshape(2, 4).astype("float32")
    attrs = {
        "output_height": 2,
        "output_width": 2,
        "sampling_ratio": g.number(1, 3),
        **maybe(
            g,
            0.5,
            mode=g.one_of(["avg"]),
            coordinate_transformation_mode=g.one_of(["half_pixel", "output_half_pixel"]),
        ),
    }
    return Call(name, [g.array([1, 2, 6, 6], "float32"), rois, i64([0, 0])], attrs, opset=16)


@rule("GridSample")
def grid_sample(g, name):
    grid = (g.rng.random([1, 3, 3, 2]) * 2.4 - 1.2).astype("float32")
    attrs = maybe(g, 0.5, mode=g.one_of(["nearest", "linear", "cubic"]),
                  padding_mode=g.one_of(["zeros", "border", "reflection"]),
                  align_corners=g.number(0, 2))  # fmt: skip
    return Call(name, [g.array([1, 2, 4, 4], "float32"), grid], attrs, opset=20)


@rule("AffineGrid")
def affine_grid(g, name):
    size = i64([g.number(1, 3), 2, *[g.number(2, 5) for _ in range(g.number(2, 4))]])
    n = len(size) - 2
    attrs = maybe(g, 0.5, align_corners=g.number(0, 2))
    return Call(name, [g.array([size[0], n, n + 1], "float32"), size], attrs, {1}, opset=20)


@rule("CenterCropPad")
def center_crop_pad(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    to = [g.number(1, 7) for _ in shape]
    return Call(name, [g.array(shape, g.dtype(FLOATS)), i64(to)], {}, either(g, 1), opset=18)


@rule("Resize")
def resize(g, name):
    shape = [1, 1, g.number(1, 6), g.number(1, 6)]
    attrs = maybe(g, 0.7, mode=g.one_of(["nearest", "linear", "cubic"]))
    attrs.update(maybe(g, 0.5, coordinate_transformation_mode=g.one_of(
        ["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"])))  # fmt: skip
    if attrs.get("mode", "nearest") == "nearest":
        attrs.update(maybe(g, 0.5, nearest_mode=g.one_of(
            ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"])))  # fmt: skip
    x = g.array(shape, "float32")
    if g.chance(0.5):
        scales = np.float32([1, 1, g.one_of([0.5, 1, 2, 1.5]), g.one_of([0.6, 1, 3])])
        if any(int(n * s) < 1 for n, s in zip(shape, scales, strict=True)):
            scales[:] = 2, 1, 1, 1
        return Call(name, [x, None, scales], attrs, either(g, 2), opset=13)
    sizes = i64([1, 1, g.number(1, 8), g.number(1, 8)])
    return Call(name, [x, None, None, sizes], attrs, either(g, 3), opset=13)


@rule("Upsample")
def upsample(g, name):
    scales = np.float32([1, 1, g.number(1, 4), g.number(1, 4)])
    attrs = maybe(g, 0.5, mode=g.one_of(["nearest", "linear"]))
    return Call(name, [g.array([1, 2, 3, 2], "float32"), scales], attrs, {1}, opset=9)


# ---- recurrent, transformers, signals ----


# how many coefficients an activation takes
ACTIVATIONS = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "Softsign": 0, "Softplus": 0, "LeakyRelu": 1,
               "ThresholdedRelu": 1, "Elu": 1, "Affine": 2, "ScaledTanh": 2,
               "HardSigmoid": 2}  # fmt: skip


def activations(g, count):
    """Names, and lists of the coefficients of those that take some."""
    names = [g.one_of(sorted(ACTIVATIONS)) for _ in range(count)]
    attrs = {"activations": names}
    for i, key in enumerate(("activation_alpha", "activation_beta")):
        takes = sum(ACTIVATIONS[n] > i for n in names)
        if takes:
            attrs[key] = [g.one_of([0.25, 0.5, 0.75, 1.0]) for _ in range(takes)]
    return attrs


@rule("RNN", "GRU", "LSTM")
def recurrent(g, name):
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[name]
    steps, n, i, h = g.number(1, 4), g.number(1, 3), g.number(1, 4), g.number(1, 4)
    direction = g.one_of(["forward", "reverse", "bidirectional"])
    d = 2 if direction == "bidirectional" else 1
    attrs = {"hidden_size": h, "direction": direction}
    if name == "GRU":
        attrs.update(maybe(g, 0.5, linear_before_reset=g.number(0, 2)))
    inputs = [g.array([steps, n, i], "float32"), g.array([d, gates * h, i], "float32"),
              g.array([d, gates * h, h], "float32")]  # fmt: skip
    if g.chance(0.5):
        inputs.append(g.array([d, 2 * gates * h], "float32"))
        if g.chance(0.4):
            inputs += [None, g.array([d, n, h], "float32")]
    outputs = g.number(1, 4 if name == "LSTM" else 3)
    weights = either(g, 1, 2, 3) - ({3} if len(inputs) < 4 else set())
    if g.chance(0.5):  # what the reference evaluator leaves out
        each = {"RNN": 1, "GRU": 2, "LSTM": 3}[name]
        attrs |= activations(g, d * each) if g.chance(0.7) else {}
        attrs |= maybe(g, 0.3, clip=1.5)
        attrs |= maybe(g, 0.3, input_forget=1) if name == "LSTM" else {}
        if len(inputs) < 4:
            inputs.append(None)
        lengths = g.rng.integers(0, steps + 1, n).astype("int32") if g.chance(0.6) else None
        inputs[4:5] = [lengths]
        if name == "LSTM" and g.chance(0.4):
            inputs += [None] * (6 - len(inputs))
            inputs += [g.array([d, n, h], "float32"), g.array([d, 3 * h], "float32")]
            weights = weights | {7}
        return Call(name, inputs, attrs, weights, outputs, opset=14, judge="onnxruntime")
    return Call(name, inputs, attrs, weights, outputs, opset=14)


@rule("Attention")
def attention(g, name):
    b, heads, q, k, size = (g.number(1, 4) for _ in range(5))
    inputs = [g.array([b, heads, n, size], "float32") for n in (q, k, k)]
    if g.chance(0.4):
        inputs.append(g.array([q, k], "float32"))
    attrs = maybe(g, 0.3, is_causal=g.number(0, 2), scale=0.5, softcap=2.0)
    return Call(name, inputs, attrs, opset=23)


@rule("RotaryEmbedding")
def rotary(g, name):
    b, heads, n, size = g.number(1, 3), g.number(1, 3), g.number(1, 4), 2 * g.number(1, 4)
    caches = [g.array([5, size // 2], "float32") for _ in range(2)]
    position = g.rng.integers(0, 5, [b, n])
    attrs = maybe(g, interleaved=g.number(0, 2))
    return Call(name, [g.array([b, heads, n, size], "float32"), *caches, position], attrs,
                opset=23)  # fmt: skip


@rule("DFT")
def dft(g, name):
    n = g.number(1, 7)
    attrs = maybe(g, 0.4, inverse=g.number(0, 2), onesided=g.number(0, 2))
    if attrs.get("inverse") and attrs.get("onesided"):
        del attrs["onesided"]
    last = 2 if attrs.get("onesided", 0) == 0 and g.chance(0.5) else 1
    return Call(name, [g.array([1, n, last], "float32"), None, np.array(1, "int64")], attrs, {2},
                opset=20)  # fmt: skip


@rule("STFT")
def stft(g, name):
    x = g.array([1, 16, 1], "float32")
    inputs = [x, np.array(g.number(1, 5), "int64"), None, np.array(g.one_of([4, 8]), "int64")]
    return Call(name, inputs, {}, {1, 3}, opset=17)


@rule("HannWindow", "HammingWindow", "BlackmanWindow")
def window(g, name):
    attrs = maybe(g, 0.5, periodic=g.number(0, 2))
    return Call(name, [np.array(g.number(1, 9), "int64")], attrs, either(g, 0), opset=17)


# ---- quantised ----


def scale(g, *shape):
    return (g.rng.random(shape) + 0.1).astype("float32")


def point(g, dtype, *shape):
    low = 0 if dtype == "uint8" else -5
    return g.rng.integers(low, 6, shape).astype(dtype)


def bytes_(g, dtype, shape):
    info_ = np.iinfo(dtype)
    return g.rng.integers(info_.min, info_.max + 1, shape).astype(dtype)


@rule("QuantizeLinear", "DequantizeLinear")
@rule("QuantizeLinear", "DequantizeLinear", domain="com.microsoft")
def quantize(g, name):
    shape, dtype = g.shape(1), g.dtype(["uint8", "int8"])
    axis = axis_of(g, len(shape))
    by = [shape[axis]] if g.chance(0.5) else []
    x = g.array(shape, "float32") * np.float32(9) if name[0] == "Q" else bytes_(g, dtype, shape)
    inputs = [x, scale(g, *by), point(g, dtype, *by)]
    return Call(name, inputs, {"axis": axis} if by else {}, either(g, 1, 2), opset=13)


@rule("DynamicQuantizeLinear")
def dynamic_quantize(g, name):
    return Call(name, [g.array([g.number(1, 5), 3], "float32")], outputs=3)


@rule("MatMulInteger", "ConvInteger")
def integers(g, name):
    a, b = g.dtype(["uint8", "int8"]), g.dtype(["uint8", "int8"])
    if name[0] == "M":
        m, k, n = (g.number(1, 5) for _ in range(3))
        inputs = [bytes_(g, a, [m, k]), bytes_(g, b, [k, n])]
    else:
        a = b = "uint8"
        inputs = [bytes_(g, a, [1, 2, 4, 4]), bytes_(g, b, [3, 2, 2, 2])]
    points = [point(g, a), point(g, b)]
    return Call(name, inputs + points[: g.number(0, 3)], loose=False)


def quantized(g, shape, kind="uint8"):
    return [bytes_(g, kind, shape), scale(g), point(g, kind)]


@rule("QLinearMatMul", "QLinearConv")
def qlinear(g, name):
    if name == "QLinearMatMul":
        m, k, n = (g.number(1, 5) for _ in range(3))
        inputs = quantized(g, [m, k]) + quantized(g, [k, n])
    else:
        inputs = quantized(g, [1, 2, 4, 4]) + quantized(g, [3, 2, 2, 2])
    inputs += [np.float32(scale(g) * 50), point(g, "uint8")]
    return Call(name, inputs, {}, {1, 2, 3, 4, 5, 6, 7})


@rule("QLinearAdd", "QLinearMul", domain="com.microsoft")
def qlinear_binary(g, name):
    shape = g.shape()
    inputs = quantized(g, shape) + quantized(g, shape) + [scale(g), point(g, "uint8")]
    return Call(name, inputs, {}, {1, 2, 4, 5, 6, 7})


@rule("QLinearSigmoid", "QLinearLeakyRelu", domain="com.microsoft")
def qlinear_unary(g, name):
    inputs = [*quantized(g, g.shape(1)), scale(g), point(g, "uint8")]
    return Call(name, inputs, maybe(g, alpha=0.1) if "Leaky" in name else {}, {1, 2, 3, 4})


@rule("QLinearGlobalAveragePool", domain="com.microsoft")
def qlinear_pool(g, name):
    inputs = [*quantized(g, [1, 3, 2, 4]), scale(g), point(g, "uint8")]
    return Call(name, inputs, {"channels_last": 0}, {1, 2, 3, 4})


@rule("QGemm", domain="com.microsoft")
def qgemm(g, name):
    m, k, n = (g.number(1, 5) for _ in range(3))
    inputs = [*quantized(g, [m, k]), *quantized(g, [k, n]), None, scale(g) * 50, point(g, "uint8")]
    inputs[7] = np.float32(inputs[7])
    return Call(name, inputs, maybe(g, alpha=0.5), {1, 2, 3, 4, 5, 7, 8})


# ---- sequences and graphs in nodes ----


@rule("SequenceConstruct", "SequenceEmpty", "SequenceAt", "SequenceInsert", "SequenceErase",
      "SequenceLength", "ConcatFromSequence", "SplitToSequence", "SequenceMap", "Optional",
      "OptionalGetElement", "OptionalHasElement")  # fmt: skip
def sequence(g, name):
    """x as parts, one operator of sequences upon them, and a tensor of what comes out."""
    shape = [g.number(1, 5), g.number(1, 4)]
    keep, at, axis = g.number(0, 2), g.number(-1, 1), g.number(0, 2)
    make = node("SplitToSequence", ["x0"], ["s"], axis=0, keepdims=keep)
    if name in ("SequenceConstruct", "SequenceEmpty"):
        make = node("SequenceConstruct", ["x0", "x0"], ["s"])
    join = node("ConcatFromSequence", ["t"], ["y0"], axis=axis, new_axis=1)
    rows = {
        "SequenceLength": [node(name, ["s"], ["y0"])],
        "SequenceAt": [node(name, ["s", "x1"], ["y0"])],
        "SequenceErase": [node("SequenceInsert", ["s", "e"], ["u"]),
                          node(name, ["u", "x1"], ["t"]), join],
        "SequenceInsert": [node(name, ["s", "e", "x1"], ["t"]), join],
        "Optional": [node("Optional", ["x0"], ["o"]), node("OptionalGetElement", ["o"], ["y0"])],
        "OptionalHasElement": [node("Optional", ["x0"], ["o"]), node(name, ["o"], ["y0"])],
    }  # fmt: skip
    rows["OptionalGetElement"] = rows["Optional"]
    zero = [node("SequenceAt", ["s", "x1"], ["e"])]
    body = helper.make_graph([node("Neg", ["i"], ["n"])], "b", [info("i", 1, None)],
                             [info("n", 1, None)])  # fmt: skip
    rows["SequenceMap"] = [node(name, ["s"], ["t"], body=body), join]
    rows["SequenceEmpty"] = [node(name, [], ["q"], dtype=TensorProto.FLOAT),
                             node("SequenceLength", ["q"], ["y0"])]  # fmt: skip
    more = rows.get(name, [node("Identity", ["s"], ["t"]), join])

    def nodes(names, results):
        return [make, *zero, *more]

    return Call(name, [g.array(shape, "float32"), i64(at)], {}, either(g, 1), nodes=nodes, opset=18)


@rule("If")
def branch(g, name):
    shape = g.shape()
    two = [helper.make_graph([node(op, ["x1"], ["r"])], op, [], [info("r", 1, None)])
           for op in ("Neg", "Abs")]  # fmt: skip
    attrs = {"then_branch": two[0], "else_branch": two[1]}

    def nodes(names, results):
        return [node("If", ["x0"], ["y0"], **attrs)]

    return Call(name, [np.array(g.chance(0.5)), g.array(shape, "float32")], {}, either(g, 0),
                nodes=nodes)  # fmt: skip


@rule("Loop")
def loop(g, name):
    shape = g.shape()
    ins = [info("i", 7, []), info("c", 9, []), info("s", 1, None)]
    outs = [info("c1", 9, []), info("s1", 1, None), info("o", 1, None)]
    steps = [node("Identity", ["c"], ["c1"]), node("Add", ["s", "x1"], ["s1"]),
             node("Neg", ["s"], ["o"])]  # fmt: skip
    body = helper.make_graph(steps, "body", ins, outs)

    def nodes(names, results):
        return [node("Loop", ["x0", "", "x1"], results, body=body)]

    return Call(name, [np.array(g.number(0, 4), "int64"), g.array(shape, "float32")], {},
                either(g, 0), 2, nodes=nodes)  # fmt: skip


@rule("Scan")
def scan(g, name):
    n, width = g.number(1, 5), g.number(1, 4)
    ins = [info("s", 1, [width]), info("x", 1, [width])]
    outs = [info("s1", 1, [width]), info("o", 1, [width])]
    steps = [node("Add", ["s", "x"], ["s1"]), node("Mul", ["s", "x"], ["o"])]
    body = helper.make_graph(steps, "body", ins, outs)
    attrs = {"body": body, "num_scan_inputs": 1}
    if g.chance(0.4):
        attrs["scan_input_directions"] = [g.number(0, 2)]

    def nodes(names, results):
        return [node("Scan", ["x0", "x1"], results, **attrs)]

    return Call(name, [g.array([width], "float32"), g.array([n, width], "float32")], {}, (), 2,
                nodes=nodes)  # fmt: skip
