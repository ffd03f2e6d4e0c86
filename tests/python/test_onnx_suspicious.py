"""What is wrong in a model, or in what is given with it, but can be read: a warning, an error where
the import or build is strict, one line of the command."""

import numpy as np
import pytest
import tenon
from onnx_cases import TensorProto, helper, numpy_helper
from tenon import relay
from tenon.contrib import graph_executor
from test_cli import call
from test_log import branches_of_two_ranks

node, weight = helper.make_node, numpy_helper.from_array
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64


def info(name, shape, kind=FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def model(nodes, inputs, outputs, weights=(), opset=17):
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(weights))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


X, Y, OPEN = info("x", [2, 3]), info("y", [2, 3]), info("y", None)
RELU = node("Relu", ["x"], ["y"])
INDEX = weight(np.array([[0, 7]]), "i")


def split(sizes):
    both = [info("a", None), info("b", None)]
    return model(
        [node("Split", ["x", "s"], ["a", "b"], axis=1)], [X], both, [weight(np.array(sizes), "s")]
    )


def conv(op="Conv", **attrs):
    w = weight(np.ones((3, 3, 2, 2), "float32"), "w")
    return model([node(op, ["x", "w"], ["y"], **attrs)], [info("x", [1, 3, 8, 8])], [OPEN], [w])


def at_index(op, index, **attrs):
    inputs = ["x", "i"] + (["u"] if op.startswith("Scatter") else [])
    update = weight(np.ones((1, 3) if op == "ScatterND" else (2, 2), "float32"), "u")
    weights = [weight(np.array(index), "i"), update]
    return model([node(op, inputs, ["y"], **attrs)], [X], [OPEN], weights[: len(inputs) - 1])


def one(name):
    return weight(np.ones(1, "float32"), name)


# (model, arguments of from_onnx, what the warning says)
CASES = {
    "shape for no input": (model([RELU], [X], [Y]), {"shape": {"z": (2, 3)}}, "no input z"),
    "shape for a weight": (
        model([node("Add", ["x", "w"], ["y"])], [X], [Y], [one("w")]),
        {"shape": {"w": (1,)}},
        "no input w: it is a weight",
    ),
    "shape of another rank": (
        model([RELU], [X], [Y]),
        {"shape": {"x": (1, 2, 3)}},
        "the input x has 2 dimensions in the model, 3 are given",
    ),
    "sizes that do not add up": (
        split([1, 1]),
        {},
        "Split (node a): split: the sizes add up to 2, axis 1 has 3",
    ),
    "sizes that add up to more": (split([2, 2]), {}, "add up to 4, axis 1 has 3"),
    "kernel_shape": (
        conv(kernel_shape=[5, 5]),
        {},
        "Conv (node y): kernel_shape is [5, 5], the weight has [2, 2] (input 1, w)",
    ),
    "kernel_shape of another rank": (conv(kernel_shape=[2]), {}, "kernel_shape is [2]"),
    "kernel_shape, transposed": (
        conv("ConvTranspose", kernel_shape=[3, 2]),
        {},
        "kernel_shape is [3, 2], the weight has [2, 2]",
    ),
    "output of another shape": (
        model([RELU], [X], [info("y", [5, 3])]),
        {},
        "output y: the model declares float32[5, 3], but it is Tensor[(2, 3), float32]",
    ),
    "output of another rank": (model([RELU], [X], [info("y", [2])]), {}, "declares float32[2]"),
    "output of another type": (
        model([RELU], [X], [info("y", [2, 3], INT64)]),
        {},
        "declares int64[2, 3]",
    ),
    "operator set": (
        model([RELU], [X], [Y], opset=9999),
        {},
        "operator set 9999, the newest known",
    ),
    "two nodes of one result": (
        model([RELU, node("Neg", ["x"], ["y"], name="n")], [X], [Y]),
        {},
        "Neg (node 1, n) writes y, which Relu (node 0, y) writes too",
    ),
    "node that writes an input": (
        model([node("Relu", ["x"], ["x"]), node("Neg", ["x"], ["y"])], [X], [Y]),
        {},
        "Relu (node 0, x) writes x, which is also an input",
    ),
    "node that writes a weight": (
        model([node("Neg", ["x"], ["w"]), node("Add", ["x", "w"], ["y"])], [X], [Y], [one("w")]),
        {},
        "writes w, which is also a weight",
    ),
    "two weights of one name": (
        model([node("Add", ["x", "w"], ["y"])], [X], [Y], [one("w"), one("w")]),
        {},
        "two weights (initializers) are called w",
    ),
    "weight unlike the input": (
        model([node("Add", ["x", "w"], ["y"])], [X, info("w", [3])], [Y], [one("w")]),
        {},
        "weight w: the model declares float32[3], but it is Tensor[(1,), float32]",
    ),
    "branches of two ranks": (
        branches_of_two_ranks(),
        {},
        "If (node choice): the ranks of result 0 differ between the branches",
    ),
    "index of Gather": (
        at_index("Gather", [0, -4], axis=1),
        {},
        "Gather (node y): input 1 (i): index -4 (element 1) is out of range of axis 1, which has 3",
    ),
    "index of GatherElements": (
        at_index("GatherElements", [[0, 1, 2], [2, 3, 1]], axis=-1),
        {},
        "index 3 (element 4) is out of range of axis 1",
    ),
    "index of GatherND": (
        at_index("GatherND", [[1, 3]]),
        {},
        "index 3 (element 1) is out of range of axis 1, which has 3",
    ),
    "index of ScatterND": (at_index("ScatterND", [[2]]), {}, "index 2 (element 0) is out of range"),
    "index of ScatterElements": (
        at_index("ScatterElements", [[0, 0], [5, 0]]),
        {},
        "index 5 (element 2) is out of range of axis 0, which has 2",
    ),
}


@pytest.mark.parametrize("what", CASES)
def test_a_warning_or_an_error(what, caplog):
    m, how, text = CASES[what]
    relay.frontend.from_onnx(m, **how)
    assert [r.name for r in caplog.records] == ["tenon.import"] and text in caplog.text
    with pytest.raises(ValueError) as e:
        relay.frontend.from_onnx(m, strict=True, **how)
    assert text in str(e.value)


def test_results_of_suspicious_models():
    x = np.arange(6, dtype="float32").reshape(2, 3) - 2
    later = tenon.compile(CASES["two nodes of one result"][0])
    np.testing.assert_array_equal(later(x), -x)
    parts = tenon.compile(split([1, 1]))(x)
    np.testing.assert_array_equal(parts[1], x[:, 1:])


def test_a_right_model_has_none(caplog):
    m = model([RELU], [info("x", ["n", 3])], [info("y", ["n", 3])])
    relay.frontend.from_onnx(m, shape={"x": (4, 3)}, strict=True)
    relay.frontend.from_onnx(at_index("Gather", [-3, 2], axis=1), strict=True)
    relay.frontend.from_onnx(conv(kernel_shape=[2, 2]), strict=True)
    assert not caplog.records


def test_split_with_another_number_of_sizes_is_an_error():
    with pytest.raises(ValueError, match=r"Split \(node a\): split: 3 sizes for 2 results"):
        relay.frontend.from_onnx(split([1, 1, 1]))
    with pytest.raises(ValueError, match="size -1 of result 0 is not valid"):
        relay.frontend.from_onnx(split([-1, 4]))


def program():
    return relay.frontend.from_onnx(model([RELU], [X], [Y]))[0]


BUILDS = [relay.build, relay.vm.compile, tenon.compile]


@pytest.mark.parametrize("build", BUILDS, ids=["graph", "vm", "compile"])
def test_params_that_the_program_has_not(build, caplog):
    build(program(), "llvm", params={"xx": np.ones((2, 3), "float32")})
    assert [r.name for r in caplog.records] == ["tenon.relay"]
    assert "params: the function has no parameter xx" in caplog.text
    with pytest.raises(ValueError, match="no parameter xx"):
        build(program(), "llvm", params={"xx": np.ones((2, 3), "float32")}, strict=True)


@pytest.mark.parametrize("build", BUILDS, ids=["graph", "vm", "compile"])
@pytest.mark.parametrize(
    "value", [np.ones(3, "float32"), np.ones((4, 3), "float32"), np.ones((2, 3), "int64")]
)
def test_params_of_another_type_than_the_parameter(build, value):
    with pytest.raises(ValueError, match=r"params: x is declared as Tensor\[\(2, 3\), float32\]"):
        build(program(), "llvm", params={"x": value})


@pytest.mark.parametrize("build", BUILDS[:2], ids=["graph", "vm"])
@pytest.mark.parametrize("kind", ["disabled_pass", "required_pass"])
def test_passes_that_there_are_not(build, kind, caplog):
    with tenon.transform.PassContext(opt_level=3, **{kind: ["FoldConstants"]}):
        assert "unknown pass FoldConstants; did you mean FoldConstant" in caplog.text
        with pytest.raises(ValueError, match="unknown pass FoldConstants"):
            build(program(), "llvm", strict=True)


def test_passes_of_the_caller_are_known(caplog):
    @tenon.transform.module_pass(opt_level=1, name="MyOwn")
    def own(mod, ctx):
        return mod

    with tenon.transform.PassContext(disabled_pass=["MyOwn", "AlterOpLayout", "MemoryPlan"]):
        relay.build(program(), "llvm", strict=True)
    assert own and not caplog.records


def test_keywords_that_are_no_inputs(caplog):
    m = graph_executor.GraphModule(relay.build(program(), "llvm")["default"](tenon.cpu()))
    m.set_input(x=np.ones((2, 3), "float32"), y=1, z=2)
    (record,) = caplog.records
    assert record.name == "tenon.runtime"
    assert "Could not find" in record.getMessage() and "1 more" in record.getMessage()


def test_the_command(tmp_path):
    path, out = tmp_path / "m.onnx", tmp_path / "m.so"
    path.write_bytes(split([1, 1]).SerializeToString())
    said = "Split (node Split_0): split: the sizes add up to 2, axis 1 has 3 elements"
    status, _, err = call("compile", path, "-o", out)
    assert status == 0 and err.count(said) == 1 and err.startswith("tenon: warning: "), err
    for command in (["compile", path, "-o", out], ["opt", path], ["inspect", path]):
        status, _, err = call(*command, "--strict")
        assert status == 1 and said in err and "warning" not in err


@pytest.mark.parametrize("command", ["compile", "inspect", "opt"])
def test_input_of_the_command_must_fit(command, tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(model([RELU], [X], [Y]).SerializeToString())
    status, _, err = call(command, path, "--input", "x:1x2x3")
    assert status == 1
    assert "--input: the input x has 2 dimensions in the model, 3 are given" in err
    status, _, err = call(command, path, "--input", "xx:2x3")
    assert status == 1 and "--input: the model has no input xx" in err
