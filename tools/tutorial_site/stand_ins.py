"""Stand-ins for what tutorials fetch: models with random weights, drawn images, labels.

`content(url)` gives the bytes that a request of the URL is answered with. A rule names the end of
the URL's path; what no rule covers raises FileNotFoundError, as a dead link would.
"""

import io
import pickle
import re
import urllib.parse
import zipfile

IMAGE_SIZE = (256, 256)
NO_RULE = "no stand-in for"


def _image(kind):
    """A picture with shapes and a gradient, always the same."""
    import numpy as np
    from PIL import Image, ImageDraw

    width, height = IMAGE_SIZE
    across = np.linspace(0, 255, width)[None, :] * np.ones((height, 1))
    pixels = np.stack([across, across.T, 255 - across], axis=-1).astype("uint8")
    image = Image.fromarray(pixels)
    pen = ImageDraw.Draw(image)
    pen.ellipse((60, 70, 190, 200), fill=(90, 80, 70))
    pen.polygon([(70, 90), (80, 30), (120, 75)], fill=(120, 60, 40))
    out = io.BytesIO()
    image.save(out, kind)
    return out.getvalue()


def _random(seed):
    import numpy as np

    return np.random.default_rng(seed)


def _model(nodes, inputs, outputs, weights, opset=11):
    """An ONNX model of nodes; weights by name."""
    from onnx import TensorProto, helper, numpy_helper

    def value(name, shape):
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)

    graph = helper.make_graph(
        nodes,
        "stand_in",
        [value(*i) for i in inputs],
        [value(*o) for o in outputs],
        [numpy_helper.from_array(array, name) for name, array in weights.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    model.ir_version = 7
    return model.SerializeToString()


def _super_resolution():
    """Enlarges a 224 x 224 channel threefold: four convolutions and a rearrangement."""
    import numpy as np
    from onnx import helper

    rng, nodes, weights, last = _random(1), [], {}, "1"
    for at, (channels, kernel) in enumerate([(16, 5), (16, 3), (9, 3)]):
        before = 1 if at == 0 else 16
        shape = (channels, before, kernel, kernel)
        scale = 1.0 / (before * kernel * kernel)
        weights[f"w{at}"] = rng.normal(scale, scale / 4, shape).astype("float32")
        pads = [kernel // 2] * 4
        nodes.append(helper.make_node("Conv", [last, f"w{at}"], [f"c{at}"], pads=pads))
        last = f"c{at}"
        if at < 2:
            nodes.append(helper.make_node("Relu", [last], [f"r{at}"]))
            last = f"r{at}"
    weights["s1"] = np.array([1, 1, 3, 3, 224, 224], dtype="int64")
    weights["s2"] = np.array([1, 1, 672, 672], dtype="int64")
    nodes += [
        helper.make_node("Reshape", [last, "s1"], ["six"]),
        helper.make_node("Transpose", ["six"], ["turned"], perm=[0, 1, 4, 2, 5, 3]),
        helper.make_node("Reshape", ["turned", "s2"], ["27"]),
    ]
    return _model(nodes, [("1", [1, 1, 224, 224])], [("27", [1, 1, 672, 672])], weights)


def _classifier(name, output, side=224, classes=1000):
    """Scores of an image: strided convolutions with a shortcut, a mean, a matrix."""
    from onnx import helper

    rng, nodes, weights, last, before = _random(2), [], {}, name, 3
    for at, channels in enumerate((16, 32, 64)):
        shape = (channels, before, 3, 3)
        weights[f"w{at}"] = rng.normal(0, (2 / (before * 9)) ** 0.5, shape).astype("float32")
        nodes.append(
            helper.make_node(
                "Conv",
                [last, f"w{at}"],
                [f"c{at}"],
                pads=[1] * 4,
                strides=[4 if at == 0 else 2] * 2,
            )
        )
        nodes.append(helper.make_node("Relu", [f"c{at}"], [f"r{at}"]))
        last, before = f"r{at}", channels
    weights["w_block"] = rng.normal(0, 0.05, (64, 64, 3, 3)).astype("float32")
    weights["w_out"] = rng.normal(0, 0.1, (classes, 64)).astype("float32")
    weights["b_out"] = rng.normal(0, 0.1, (classes,)).astype("float32")
    nodes += [
        helper.make_node("Conv", [last, "w_block"], ["block"], pads=[1] * 4),
        helper.make_node("Add", ["block", last], ["sum"]),
        helper.make_node("Relu", ["sum"], ["active"]),
        helper.make_node("GlobalAveragePool", ["active"], ["mean"]),
        helper.make_node("Flatten", ["mean"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w_out", "b_out"], [output], transB=1),
    ]
    return _model(nodes, [(name, [1, 3, side, side])], [(output, [1, classes])], weights)


def _labels():
    return "\n".join(f"n{i:08d} kind {i}" for i in range(1000)).encode()


def _label_table():
    """The same as a dictionary in Python's notation."""
    return repr({i: f"kind {i}" for i in range(1000)}).encode()


def _photos():
    """An archive of a few pictures in folders."""
    out = io.BytesIO()
    picture = _image("JPEG")
    with zipfile.ZipFile(out, "w") as archive:
        for folder in ("val2017", "cars_train/cars_train"):
            for i in range(8):
                archive.writestr(f"{folder}/{i:05d}.jpg", picture)
    return out.getvalue()


def _gcn_weights():
    """Weights of a graph network of two layers for the Cora papers."""
    rng = _random(3)
    shapes = {"layers.0.weight": (1433, 16), "layers.0.bias": (16,)}
    shapes.update({"layers.1.weight": (16, 7), "layers.1.bias": (7,)})
    return pickle.dumps({k: rng.normal(0, 0.1, s).astype("float32") for k, s in shapes.items()})


def _array(*shape):
    import numpy as np

    out = io.BytesIO()
    np.save(out, _random(4).integers(-128, 128, shape).astype("int8"))
    return out.getvalue()


RULES = [
    (r"\.png$", lambda: _image("PNG")),
    (r"\.jpe?g$", lambda: _image("JPEG")),
    (r"super_resolution.*\.onnx$", _super_resolution),
    (r"resnet50-v2-7\.onnx$", lambda: _classifier("data", "resnetv24_dense0_fwd")),
    (r"(synset|imagenet_classes|imagenet_synsets)\.txt$", _labels),
    (r"imagenet1000_clsid_to_human\.txt$", _label_table),
    (r"gcn_cora\.(pickle|torch)$", _gcn_weights),
    (r"keyword_spotting_int8.*\.npy$", lambda: _array(1, 49, 10, 1)),
    (r"(val2017|stanfordcars|cars)\.zip$", _photos),
]


def content(url):
    """Bytes that stand for what a URL would give.

    Parameters
    ----------
    url : str
        The address that a tutorial asks for.

    Returns
    -------
    bytes
        The stand-in, the same at each call.

    Raises
    ------
    FileNotFoundError
        No rule covers the URL.
    """
    path = urllib.parse.unquote(urllib.parse.urlsplit(url).path)
    for pattern, make in RULES:
        if re.search(pattern, path, re.IGNORECASE):
            return make()
    raise FileNotFoundError(f"{NO_RULE} {url}")
