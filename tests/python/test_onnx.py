"""ONNX models: the digits networks give what they were trained to; errors name what is wrong."""

import pathlib

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

ROOT = pathlib.Path(__file__).resolve().parents[2]
DIGITS = ROOT / "examples" / "digits"
CORPUS = ROOT / "tests" / "fuzz" / "corpus" / "onnx_model"


def compiled(name, **how):
    mod, params = relay.frontend.from_onnx(DIGITS / f"{name}.onnx", **how)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="llvm", params=params)
    return mod, graph_executor.GraphModule(lib["default"](tenon.cpu(0)))


@pytest.mark.parametrize(
    "name, right, tolerance",
    [
        ("digits_mlp", 522, 1e-4),
        ("digits_cnn", 532, 1e-4),
        ("digits_mlp_batch", 522, 1e-4),
        ("digits_cnn_batch", 532, 1e-4),
        ("digits_mlp_uint8", 522, 1e-4),
        ("digits_cnn_uint8", 532, 1e-4),
        ("digits_cnn_qdq", 532, 0.64),
        ("digits_cnn_qlinear", 532, 0.64),
    ],
)
def test_digits_are_read_as_trained(name, right, tolerance):
    data = np.load(DIGITS / "digits_test.npz")
    main = relay.frontend.from_onnx(DIGITS / f"{name}.onnx")[0]["main"].params[0]
    many = 540 if "batch" in name else 1
    mod, module = compiled(name, shape={main.name_hint: (many, 1, 8, 8)})
    images = data["images"][:, None]
    if main.type_annotation.dtype != "uint8":
        images = images.astype("float32") / 255
    logits = []
    for i in range(0, 540, many):
        module.set_input(main.name_hint, images[i : i + many])
        module.run()
        logits.append(module.get_output(0).numpy().reshape(many, -1))
    logits = np.concatenate(logits)
    wanted = data["logits_cnn" if "cnn" in name else "logits_mlp"]
    np.testing.assert_allclose(logits, wanted, atol=max(tolerance, 1e-4 * np.abs(wanted).max()))
    assert int((logits.argmax(1) == data["labels"]).sum()) == right


def test_open_extents_and_weights_as_parameters():
    mod, params = relay.frontend.from_onnx(str(DIGITS / "digits_mlp_batch.onnx"))
    assert not params and isinstance(mod["main"].params[0].type_annotation.shape[0], relay.Any)
    key = mod["main"].params[0].name_hint
    path = DIGITS / "digits_mlp_batch.onnx"
    mod, params = relay.frontend.from_onnx(
        path.read_bytes(), {key: (3, 1, 8, 8)}, freeze_params=False
    )
    assert len(params) == len(mod["main"].params) - 1
    assert mod["main"].params[0].name_hint == key  # inputs come first
    lib = relay.build(mod, target="llvm", params=params)
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    data = np.load(DIGITS / "digits_test.npz")
    module.run(**{key: data["images"][:3, None].astype("float32") / 255})
    np.testing.assert_allclose(module.get_output(0).numpy(), data["logits_mlp"][:3], atol=1e-4)


def test_unknown_operators_are_named_together():
    with pytest.raises(tenon.error.OpNotImplemented) as caught:
        relay.frontend.from_onnx(CORPUS / "unknown_operators.onnx")
    text = str(caught.value)
    assert "The following operators are not supported for frontend ONNX: Mystery, Riddle" in text
    notes = caught.value.__notes__
    assert any("Mystery: 2 times, first in node a" in note for note in notes)
    assert any("Riddle: 1 times, first in node c" in note for note in notes)


def test_damaged_models_are_refused():
    data = (DIGITS / "digits_cnn.onnx").read_bytes()
    for cut in (1, 100, len(data) // 2, len(data) - 1):
        with pytest.raises(ValueError, match="cannot parse|has no graph|shape's size"):
            relay.frontend.from_onnx(data[:cut])
    with pytest.raises(OSError, match="cannot open the ONNX model"):
        relay.frontend.from_onnx("/nowhere/model.onnx")
    with pytest.raises(ValueError, match="out of range"):
        relay.frontend.from_onnx(CORPUS / "sparse_index_out_of_range.onnx")
    with pytest.raises(
        ValueError, match="was given as bytes: pass its path|cannot open the external"
    ):
        relay.frontend.from_onnx((CORPUS / "ok_external_inside.onnx").read_bytes())


def test_values_in_typed_fields():
    mod, _ = relay.frontend.from_onnx(CORPUS / "ok_float_data.onnx")
    assert mod["main"].checked_type is not None
