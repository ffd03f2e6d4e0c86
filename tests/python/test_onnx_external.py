"""Weights in files beside the model: whatever a model names, nothing outside its folder is read."""

import os
import random

import numpy as np
import pytest
from tenon import relay

onnx = pytest.importorskip("onnx")

N = 4  # elements of the weight
INSIDE = np.arange(64, dtype="float32")
OUTSIDE = np.full(64, 77, "float32")

NAMES = ["w", "./w", "sub/w", "sub/../w", "../model/w", "link", "", ".", "..", "sub", "fifo", "no"]
ESCAPES = ["../secret", "sub/../../secret", "out", "sub/out", "outer/secret", "../model2/w", "//w"]
NUMBERS = ["0", "4", "16", "240", "241", "256", "-1", "+0", " 4", "4 ", "0x10", "1e2", "", "a", "٤"]
NUMBERS += [str(2**k + d) for k in (31, 32, 63, 64) for d in (-16, -1, 0, 1)] + ["9" * 40]


@pytest.fixture
def folder(tmp_path):
    model = tmp_path / "model"
    (model / "sub").mkdir(parents=True)
    (tmp_path / "model2").mkdir()
    for path in (model / "w", model / "sub" / "w"):
        path.write_bytes(INSIDE.tobytes())
    for path in (tmp_path / "secret", tmp_path / "model2" / "w"):
        path.write_bytes(OUTSIDE.tobytes())
    (model / "link").symlink_to("sub/w")
    (model / "out").symlink_to("../secret")
    (model / "sub" / "out").symlink_to(tmp_path / "secret")
    (model / "outer").symlink_to("..")
    os.mkfifo(model / "fifo")
    return model


def read(folder, entries):
    """The weight of a model whose tensor has these entries of external data."""
    tensor = onnx.TensorProto(name="w", data_type=onnx.TensorProto.FLOAT, dims=[N])
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, value in entries:
        tensor.external_data.add(key=key, value=value)
    ends = [onnx.helper.make_tensor_value_info(k, 1, (N,)) for k in ("x", "y")]
    node = onnx.helper.make_node("Add", ["x", "w"], ["y"])
    graph = onnx.helper.make_graph([node], "g", ends[:1], ends[1:], [tensor])
    path = folder / "m.onnx"
    path.write_bytes(onnx.helper.make_model(graph).SerializeToString())
    mod, params = relay.frontend.from_onnx(str(path))
    if params:
        return next(iter(params.values())).numpy()
    constants = []

    def visit(e):
        if isinstance(e, relay.Constant):
            constants.append(e.data.numpy())

    relay.analysis.post_order_visit(mod["main"], visit)
    return constants[0]


@pytest.mark.parametrize("name", [*ESCAPES, "/secret", "/etc/hostname"])
def test_nothing_outside_is_read(name, folder):
    with pytest.raises(ValueError, match="tensor w: "):
        read(folder, [("location", name)])


@pytest.mark.parametrize("seed", range(4))
def test_random_entries(seed, folder):
    r, good = random.Random(seed), 0
    absolute = [str(folder / "w"), str(folder.parent / "secret")]
    for _ in range(200):
        location = r.choice(NAMES[:6] if r.random() < 0.5 else NAMES + ESCAPES + absolute)
        entries = [("location", location)]
        for key in ("offset", "length", "checksum", "basepath"):
            if r.random() < 0.4:
                usual = {"offset": ["0", "4", "240"], "length": ["16"]}.get(key, NUMBERS)
                entries.append((key, r.choice(usual if r.random() < 0.6 else NUMBERS)))
        if r.random() < 0.1:
            entries.append(r.choice(entries))
        r.shuffle(entries)
        try:
            found = read(folder, entries)
        except ValueError as err:
            assert "tensor w: " in str(err), err
            continue
        said = dict(entries)
        at = int(said.get("offset", "0"))
        np.testing.assert_array_equal(
            found, np.frombuffer(INSIDE.tobytes()[at : at + 4 * N], "float32"), err_msg=str(entries)
        )
        good += 1
    assert good > 10
