"""Networks as ONNX files, made here: the published layers with random weights.

Compile time depends on the graph and the extents alone, so that weights that were never learned
serve as well as those of a download. ``make(name, path)`` writes one; ``NAMES`` lists them.
"""

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


class Graph:
    """Nodes and weights of a model under construction; values are names."""

    def __init__(self):
        self.nodes, self.weights, self.rng = [], [], np.random.default_rng(0)

    def weight(self, *shape, scale=None):
        """Random numbers whose sums keep the size of what they multiply."""
        fan_in = int(np.prod(shape[1:])) if len(shape) > 1 else 1
        scale = (2 / fan_in) ** 0.5 if scale is None else scale
        return self.constant(self.rng.standard_normal(shape, dtype=np.float32) * np.float32(scale))

    def constant(self, value):
        name = f"w{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value), name))
        return name

    def op(self, kind, *operands, outputs=1, **attributes):
        names = [f"v{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, list(operands), names, **attributes))
        return names[0] if outputs == 1 else names

    def save(self, path, inputs, outputs):
        """`inputs` maps names to (type, shape), `outputs` values to (type, rank)."""
        ins = [helper.make_tensor_value_info(n, t, s) for n, (t, s) in inputs.items()]
        outs = [
            helper.make_tensor_value_info(n, t, [f"{n}_{i}" for i in range(rank)])
            for n, (t, rank) in outputs.items()
        ]
        graph = helper.make_graph(self.nodes, "zoo", ins, outs, self.weights)
        opset = [helper.make_opsetid("", 17)]
        onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), str(path))


# ---- convolutional networks ----


def norm(g, x, channels):
    ones, zeros = np.ones(channels, "float32"), np.zeros(channels, "float32")
    scale = g.constant(ones + g.rng.uniform(-0.1, 0.1, channels).astype("float32"))
    statistics = [g.constant(zeros + 0.1), g.constant(zeros), g.constant(ones)]
    return g.op("BatchNormalization", x, scale, *statistics)


def conv(g, x, ins, outs, kernel=1, stride=1, groups=1, bias=False):
    operands = [x, g.weight(outs, ins // groups, kernel, kernel)]
    operands += [g.weight(outs, scale=0.1)] if bias else []
    pads = [kernel // 2] * 4
    return g.op("Conv", *operands, strides=[stride] * 2, pads=pads, group=groups)


def conv_norm(g, x, *args, act=None, **kw):
    x = norm(g, conv(g, x, *args, **kw), args[1])
    return activated(g, x, act)


def activated(g, x, act):
    if act == "relu6":
        return g.op("Clip", x, g.constant(np.float32(0)), g.constant(np.float32(6)))
    return g.op(act, x) if act else x


def classifier(g, x, channels):
    x = g.op("Flatten", g.op("GlobalAveragePool", x))
    return g.op("Gemm", x, g.weight(1000, channels), g.weight(1000, scale=0.1), transB=1)


def image_model(g, path, x, rank):
    shape = [1, 3, 224, 224]
    g.save(path, {"image": (TensorProto.FLOAT, shape)}, {x: (TensorProto.FLOAT, rank)})


def resnet50(path):
    g = Graph()
    x = conv_norm(g, "image", 3, 64, 7, 2, act="Relu")
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    ins = 64
    for width, count, first in [(64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)]:
        for i in range(count):
            stride, outs = first if i == 0 else 1, 4 * width
            y = conv_norm(g, x, ins, width, act="Relu")
            y = conv_norm(g, y, width, width, 3, stride, act="Relu")
            y = conv_norm(g, y, width, outs)
            side = conv_norm(g, x, ins, outs, 1, stride) if i == 0 else x
            x, ins = g.op("Relu", g.op("Add", y, side)), outs
    image_model(g, path, classifier(g, x, ins), 2)


def inverted(g, x, ins, outs, stride, expand):
    wide, y = ins * expand, x
    if expand > 1:
        y = conv_norm(g, y, ins, wide, act="relu6")
    y = conv_norm(g, y, wide, wide, 3, stride, wide, act="relu6")
    y = conv_norm(g, y, wide, outs)
    return g.op("Add", x, y) if stride == 1 and ins == outs else y


BLOCKS = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


def mobile_features(g):
    """The layers of MobileNetV2, and what lies at a sixteenth of the extents on the way."""
    x, ins = conv_norm(g, "image", 3, 32, 3, 2, act="relu6"), 32
    middle = None
    for expand, outs, count, first in BLOCKS:
        for i in range(count):
            if outs == 160 and i == 0:
                middle = x
            x = inverted(g, x, ins, outs, first if i == 0 else 1, expand)
            ins = outs
    return middle, conv_norm(g, x, ins, 1280, act="relu6")


def mobilenetv2(path):
    g = Graph()
    _, x = mobile_features(g)
    image_model(g, path, classifier(g, x, 1280), 2)


def densenet121(path):
    g, growth = Graph(), 32
    x = conv_norm(g, "image", 3, 64, 7, 2, act="Relu")
    x = g.op("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for block, count in enumerate([6, 12, 24, 16]):
        parts = [x]
        for i in range(count):
            ins = channels + i * growth
            whole = g.op("Concat", *parts, axis=1) if i else x
            y = conv(g, g.op("Relu", norm(g, whole, ins)), ins, 4 * growth)
            y = g.op("Relu", norm(g, y, 4 * growth))
            parts.append(conv(g, y, 4 * growth, growth, 3))
        x, channels = g.op("Concat", *parts, axis=1), channels + count * growth
        x = g.op("Relu", norm(g, x, channels))
        if block < 3:
            x = conv(g, x, channels, channels // 2)
            x = g.op("AveragePool", x, kernel_shape=[2, 2], strides=[2, 2])
            channels //= 2
    image_model(g, path, classifier(g, x, channels), 2)


# ---- a detector, with what chooses its boxes ----

CLASSES, BOXES = 91, 6


def head(g, x, channels, outs):
    """Numbers of every box: (boxes, outs)."""
    y = conv_norm(g, x, channels, channels, 3, 1, channels, act="relu6")
    y = conv(g, y, channels, BOXES * outs, bias=True)
    y = g.op("Transpose", y, perm=[0, 2, 3, 1])
    return g.op("Reshape", y, g.constant(np.array([-1, outs], "int64")))


def corners(g, found, count):
    """Boxes from differences to `count` anchors."""
    anchors = g.constant(g.rng.uniform(20, 200, (count, 4)).astype("float32"))
    axis = g.constant(np.array([2, 2], "int64"))
    place, size = g.op("Split", found, axis, axis=1, outputs=2)
    anchor_place, anchor_size = g.op("Split", anchors, axis, axis=1, outputs=2)
    place = g.op("Add", g.op("Mul", place, anchor_size), anchor_place)
    size = g.op("Mul", g.op("Exp", size), anchor_size)
    half = g.op("Mul", size, g.constant(np.float32(0.5)))
    boxes = g.op("Concat", g.op("Sub", place, half), g.op("Add", place, half), axis=1)
    return activated(g, boxes, "relu6")


def chosen(g, boxes, scores):
    """The best boxes of every class without those that they overlap, as torchvision exports it."""
    floor, most = g.constant(np.float32(0.01)), g.constant(np.array([300], "int64"))
    kept_boxes, kept_scores, kept_labels = [], [], []
    for label in range(1, CLASSES):
        score = g.op("Gather", scores, g.constant(np.int64(label)), axis=1)
        places = g.op("NonZero", g.op("Greater", score, floor))
        places = g.op("Transpose", places, perm=[1, 0])
        score, box = g.op("GatherND", score, places), g.op("GatherND", boxes, places)
        least = g.op("Min", g.op("Shape", score), most)
        score, order = g.op("TopK", score, least, axis=0, outputs=2)
        kept_boxes.append(g.op("Gather", box, order, axis=0))
        kept_scores.append(score)
        kept_labels.append(
            g.op(
                "ConstantOfShape",
                g.op("Shape", score),
                value=numpy_helper.from_array(np.array([label], "int64")),
            )
        )
    boxes, scores = g.op("Concat", *kept_boxes, axis=0), g.op("Concat", *kept_scores, axis=0)
    labels = g.op("Concat", *kept_labels, axis=0)
    apart = g.op("Mul", g.op("Cast", labels, to=TensorProto.FLOAT), g.constant(np.float32(400)))
    first = g.constant(np.array([1], "int64"))
    moved = g.op("Add", boxes, g.op("Unsqueeze", apart, first))
    zero = g.constant(np.array([0], "int64"))
    rows = [
        g.op("Unsqueeze", moved, zero),
        g.op("Unsqueeze", g.op("Unsqueeze", scores, zero), zero),
    ]
    limits = [np.array([300], "int64"), np.array([0.55], "float32"), np.array([0.01], "float32")]
    places = g.op("NonMaxSuppression", *rows, *[g.constant(v) for v in limits])
    places = g.op("Gather", places, g.constant(np.int64(2)), axis=1)
    return [g.op("Gather", value, places, axis=0) for value in (boxes, scores, labels)]


def ssdlite(path):
    g = Graph()
    middle, x = mobile_features(g)
    levels, ins = [(middle, 96, 20), (x, 1280, 10)], 1280
    for outs, extent in [(512, 5), (256, 3), (256, 2), (128, 1)]:
        x = conv_norm(g, x, ins, outs // 2, act="relu6")
        x = conv_norm(g, x, outs // 2, outs // 2, 3, 2, outs // 2, act="relu6")
        x, ins = conv_norm(g, x, outs // 2, outs, act="relu6"), outs
        levels.append((x, outs, extent))
    count = sum(BOXES * extent * extent for _, _, extent in levels)
    found = g.op("Concat", *[head(g, x, c, 4) for x, c, _ in levels], axis=0)
    scores = g.op("Concat", *[head(g, x, c, CLASSES) for x, c, _ in levels], axis=0)
    boxes = corners(g, found, count)
    outputs = chosen(g, boxes, g.op("Softmax", scores, axis=1))
    shape = [1, 3, 320, 320]
    kinds = [(TensorProto.FLOAT, 2), (TensorProto.FLOAT, 1), (TensorProto.INT64, 1)]
    g.save(path, {"image": (TensorProto.FLOAT, shape)}, dict(zip(outputs, kinds, strict=True)))


# ---- a transformer ----


def layer_norm(g, x, width):
    mean = g.op("ReduceMean", x, axes=[-1])
    apart = g.op("Sub", x, mean)
    square = g.op("Pow", apart, g.constant(np.float32(2)))
    spread = g.op("Add", g.op("ReduceMean", square, axes=[-1]), g.constant(np.float32(1e-12)))
    x = g.op("Div", apart, g.op("Sqrt", spread))
    x = g.op("Mul", x, g.weight(width, scale=1))
    return g.op("Add", x, g.weight(width, scale=0.1))


def dense(g, x, ins, outs):
    product = g.op("MatMul", x, g.weight(ins, outs, scale=0.02))
    return g.op("Add", g.weight(outs, scale=0.1), product)


def heads(g, x, perm, heads, width):
    shape = g.constant(np.array([1, -1, heads, width // heads], "int64"))
    return g.op("Transpose", g.op("Reshape", x, shape), perm=perm)


def gelu(g, x):
    root = g.op("Erf", g.op("Div", x, g.constant(np.float32(2**0.5))))
    x = g.op("Mul", x, g.op("Add", root, g.constant(np.float32(1))))
    return g.op("Mul", x, g.constant(np.float32(0.5)))


def attention(g, x, mask, count, width):
    q, k, v = (
        heads(g, dense(g, x, width, width), perm, count, width)
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    scores = g.op("Div", g.op("MatMul", q, k), g.constant(np.float32(8)))
    shares = g.op("Softmax", g.op("Add", scores, mask), axis=-1)
    found = g.op("Transpose", g.op("MatMul", shares, v), perm=[0, 2, 1, 3])
    found = g.op("Reshape", found, g.constant(np.array([1, -1, width], "int64")))
    return dense(g, found, width, width)


def bert_base(path, layers=12, width=768, tokens=128, words=30522):
    g = Graph()
    x = g.op("Gather", g.weight(words, width, scale=0.02), "ids", axis=0)
    x = g.op("Add", x, g.weight(1, tokens, width, scale=0.02))
    x = layer_norm(g, x, width)
    axes = g.constant(np.array([1, 2], "int64"))
    mask = g.op("Cast", g.op("Unsqueeze", "mask", axes), to=TensorProto.FLOAT)
    mask = g.op("Sub", g.constant(np.float32(1)), mask)
    mask = g.op("Mul", mask, g.constant(np.float32(-10000)))
    for _ in range(layers):
        x = layer_norm(g, g.op("Add", attention(g, x, mask, 12, width), x), width)
        y = gelu(g, dense(g, x, width, 4 * width))
        x = layer_norm(g, g.op("Add", dense(g, y, 4 * width, width), x), width)
    shape = (TensorProto.INT64, [1, tokens])
    g.save(path, {"ids": shape, "mask": shape}, {x: (TensorProto.FLOAT, 3)})


MODELS = {f.__name__: f for f in (resnet50, mobilenetv2, densenet121, bert_base, ssdlite)}
NAMES = list(MODELS)


def make(name, path):
    """Writes the model of that name."""
    MODELS[name](path)
