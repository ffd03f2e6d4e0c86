"""Errors about models and what is made of them name the place, what was expected, what was given
and what to do."""

import shutil
import sys

import numpy as np
import pytest
import tenon
from onnx_cases import helper
from tenon import relay
from test_cli import call
from test_onnx_suspicious import OPEN, RELU, X, Y, info, model, node, weight


def window(op, size, pads=0, extent=4, **attrs):
    weights = [weight(np.ones((2, 2, size), "float32"), "w")] if op.startswith("Conv") else []
    if not weights:
        attrs["kernel_shape"] = [size]
    names = ["x"] + [w.name for w in weights]
    nodes = [node(op, names, ["y"], name="n", pads=[pads, pads], **attrs)]
    return model(nodes, [info("x", [1, 2, extent])], [OPEN], weights)


@pytest.mark.parametrize("op", ["Conv", "MaxPool", "AveragePool", "LpPool"])
def test_windows_that_do_not_fit(op):
    with pytest.raises(ValueError) as e:
        relay.frontend.from_onnx(window(op, 7, 1))
    assert str(e.value).startswith(
        f"{op} (node n): a window of 7 elements (kernel 7, dilation 1) does not fit into axis 2, "
        "which has 4 elements and 2 of padding"
    )
    relay.frontend.from_onnx(window(op, 6, 1))


def channels(data, shape, bias=None, op="Conv", **attrs):
    weights = [weight(np.ones(shape, "float32"), "w")]
    if bias:
        weights.append(weight(np.ones(bias, "float32"), "b"))
    nodes = [node(op, ["x"] + [w.name for w in weights], ["y"], name="n", **attrs)]
    return model(nodes, [info("x", [1, data, 8, 8])], [OPEN], weights)


@pytest.mark.parametrize(
    "m, text",
    [
        (channels(5, (4, 3, 3, 3)), "the data has 5 channels, the weight (input 1, w) is for 3"),
        (channels(9, (4, 3, 3, 3), group=3), "makes 4 channels, which group=3 does not divide"),
        (channels(3, (4, 3, 3, 3), group=0), "group: expected 1 or more, got 0"),
        (channels(3, (4, 3, 3, 3), (7,)), "(7,), float32], expected a vector of 4 elements"),
        (channels(5, (4, 3, 3, 3), op="ConvTranspose"), "has 5 channels, the weight (input 1, w)"),
    ],
)
def test_channels(m, text):
    with pytest.raises(ValueError) as e:
        relay.frontend.from_onnx(m)
    assert "(node n): " in str(e.value) and text in str(e.value)


def test_errors_of_types_name_the_node():
    m = model([node("MatMul", ["x", "x"], ["y"], name="product")], [X], [OPEN])
    with pytest.raises(Exception, match=r"^MatMul \(node product\): "):
        relay.frontend.from_onnx(m)


def test_unknown_domains():
    nodes = [node("Relu", ["x"], ["z"]), node("Relu", ["z"], ["y"], domain="com.example", name="n")]
    m = model(nodes, [X], [Y])
    m.opset_import.append(helper.make_opsetid("com.example", 1))
    with pytest.raises(tenon.error.OpNotImplemented) as e:
        relay.frontend.from_onnx(m)
    assert str(e.value).endswith("Relu of the domain com.example")
    assert any("first in node n" in note for note in e.value.__notes__)


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "m.onnx"
    data = model([RELU], [X], [Y]).SerializeToString()
    for content in (b"no model at all", data[:-3]):
        path.write_bytes(content)
        text = f"{path} is not an ONNX model, or is damaged"
        with pytest.raises(ValueError) as e:
            relay.frontend.from_onnx(path)
        assert str(e.value).startswith(text) and "at byte" in str(e.value)
        status, _, err = call("compile", path, "-o", tmp_path / "m.so")
        assert status == 1 and text in err
    with pytest.raises(ValueError, match="<memory> is not an ONNX model"):
        relay.frontend.from_onnx(data[:-3])


def test_models_and_programs_given_as_libraries(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model([RELU], [X], [Y]).SerializeToString())
    with pytest.raises(ValueError, match=r"m\.onnx is a model, not a library: compile it"):
        tenon.runtime.load_module(str(path))
    plain = tmp_path / "program"
    shutil.copy(sys.executable, plain)
    with pytest.raises(ValueError, match=r"program from its name: expected a library \(\.so\)"):
        tenon.runtime.load_module(str(plain))
    shutil.copy(plain, tmp_path / "program.so")
    with pytest.raises(tenon.TVMError, match="it is a program, not a library"):
        tenon.runtime.load_module(str(tmp_path / "program.so"))


@pytest.mark.parametrize("level", [0, 3])
def test_sequences_are_not_for_the_graph_executor(level):
    nodes = [node("SplitToSequence", ["x"], ["s"]), node("SequenceAt", ["s", "i"], ["y"])]
    m = model(nodes, [X, info("i", [], helper.TensorProto.INT64)], [OPEN])
    mod = relay.frontend.from_onnx(m)[0]
    with tenon.transform.PassContext(opt_level=level):
        with pytest.raises(ValueError, match=r"cannot run .*; use relay\.vm\.compile"):
            relay.build(mod, "llvm")


@pytest.mark.parametrize("build", [relay.build, relay.vm.compile], ids=["graph", "vm"])
def test_source_is_not_run_in_place(build):
    mod = relay.frontend.from_onnx(model([RELU], [X], [Y]))[0]
    lib = build(mod, "c")
    with pytest.raises(
        tenon.TVMError, match="C source .* export_library and load what that writes"
    ):
        if build is relay.build:
            lib["default"](tenon.cpu())
        else:
            machine = tenon.runtime.vm.VirtualMachine(lib, tenon.cpu())
            machine.run(np.ones((2, 3), "float32"))
