"""tenon.compile: models in every form become callables of numpy arrays."""

import pathlib

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.script import tir as T

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
MLP = DIGITS / "digits_mlp.onnx"


@pytest.fixture(scope="module")
def test_set():
    with np.load(DIGITS / "digits_test.npz") as data:
        return (data["images"].reshape(-1, 1, 1, 8, 8) / 255).astype("float32"), data["logits_mlp"]


class Message:
    def SerializeToString(self):
        return MLP.read_bytes()


@pytest.mark.parametrize(
    "model", [MLP, str(MLP), MLP.read_bytes(), bytearray(MLP.read_bytes()), Message()],
    ids=["path", "str", "bytes", "bytearray", "message"],
)  # fmt: skip
def test_onnx_models_in_every_form(model, test_set):
    compiled = tenon.compile(model)
    assert compiled.inputs == {"image": ((1, 1, 8, 8), "float32")}
    first, second = compiled(test_set[0][0]), compiled(image=test_set[0][1])
    np.testing.assert_allclose(first, test_set[1][:1], atol=1e-4)  # not touched by the second run
    np.testing.assert_allclose(second, test_set[1][1:2], atol=1e-4)


def test_extents_that_the_model_leaves_open(test_set):
    compiled = tenon.compile(DIGITS / "digits_mlp_batch.onnx", shape={"image": (7, 1, 8, 8)})
    images = test_set[0][:7].reshape(7, 1, 8, 8)
    np.testing.assert_allclose(compiled(images), test_set[1][:7], atol=1e-4)


def test_extents_that_nobody_gives(test_set):
    """The virtual machine takes any number of images."""
    compiled = tenon.compile(DIGITS / "digits_mlp_batch.onnx")
    assert (compiled.executor, compiled.reason) == ("vm", "a shape that is known at run time only")
    assert compiled.inputs == {"image": ((None, 1, 8, 8), "float32")}
    for n in (1, 7, 20):
        images = test_set[0][:n].reshape(n, 1, 8, 8)
        np.testing.assert_allclose(compiled(images), test_set[1][:n], atol=1e-4)
    with pytest.raises(ValueError, match=r"expected float32\[\?, 1, 8, 8\]"):
        compiled(test_set[0][:2])


def test_control_flow():
    x = relay.var("x", shape=(2,))
    yes, no = relay.Tuple([x + x, relay.exp(x)]), relay.Tuple([x, relay.sqrt(x)])
    body = relay.If(relay.less(relay.sum(x), relay.const(1.0)), yes, no)
    compiled = tenon.compile(relay.Function([x], body))
    assert (compiled.executor, compiled.reason) == ("vm", "a branch")
    value = np.float32([0.25, 0.5])
    np.testing.assert_allclose(compiled(value)[0], 2 * value)
    np.testing.assert_allclose(compiled(4 * value)[1], np.sqrt(4 * value), rtol=1e-6)


def program():
    x, w = relay.var("x", shape=(2, 3)), relay.var("w", shape=(4, 3))
    y = relay.nn.dense(x, w)
    return relay.Function([x, w], relay.Tuple([y, relay.sum(y)]))


@pytest.mark.parametrize("opt_level", [0, 3])
def test_programs_with_several_inputs_and_outputs(opt_level):
    x, w = np.arange(6, dtype="float32").reshape(2, 3), np.ones((4, 3), "float32")
    for model in (program(), tenon.IRModule.from_expr(program())):
        compiled = tenon.compile(model, opt_level=opt_level)
        for y, total in (compiled(x, w), compiled(x, w=w), compiled(tenon.nd.array(x), w.tolist())):
            np.testing.assert_array_equal(y, x @ w.T)
            assert total == (x @ w.T).sum()
    bound = tenon.compile(program(), params={"w": w}, target=tenon.target.Target("llvm"))
    assert list(bound.inputs) == ["x"]
    np.testing.assert_array_equal(bound(x)[0], x @ w.T)


def test_the_library_can_be_exported(tmp_path):
    path = str(tmp_path / "model.so")
    tenon.compile(MLP).library.export_library(path)
    assert tenon.runtime.load_module(path)["get_graph_json"]()


def test_wrong_calls_name_what_is_wrong():
    x, w = np.zeros((2, 3), "float32"), np.zeros((4, 3), "float32")
    compiled = tenon.compile(program())
    for args, named, kind, message in (
        ((x,), {}, TypeError, "missing inputs: w"),
        ((x, w, w), {}, TypeError, "expected at most 2 inputs, got 3"),
        ((x, w), {"x": x}, TypeError, "input x is given twice"),
        ((x, w), {"v": x}, TypeError, "unknown input v; the model has x, w"),
        ((w, w), {}, ValueError, r"input x: expected float32\[2, 3\], got float32\[4, 3\]"),
        (
            (x.astype("float64"), w),
            {},
            ValueError,
            r"expected float32\[2, 3\], got float64\[2, 3\]",
        ),
    ):
        with pytest.raises(kind, match=message):
            compiled(*args, **named)
    with pytest.raises(TypeError, match="expected a path, bytes, .* got int"):
        tenon.compile(3)
    with pytest.raises(ValueError, match="shape is for ONNX models"):
        tenon.compile(program(), shape={"x": (1, 3)})


TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32], %n: float32) -> (Tensor[(2, 3), float32], float32) {
  (nn.relu(%x), %n)
}
"""


def test_relay_text(tmp_path):
    (tmp_path / "model.relay").write_text(TEXT)
    for model in (TEXT, tmp_path / "model.relay", str(tmp_path / "model.relay")):
        compiled = tenon.compile(model)
        assert compiled(np.float32([[1, -2, 3]] * 2), 5)[0].tolist() == [[1, 0, 3]] * 2
    assert compiled.shapes == {"x": (2, 3), "n": ()}
    assert compiled.dtypes == {"x": "float32", "n": "float32"}
    assert compiled.outputs == [((2, 3), "float32"), ((), "float32")]
    assert repr(compiled) == (
        "CompiledModel((x: float32[2, 3], n: float32[]) -> (float32[2, 3], float32[]), "
        "executor graph)"
    )


@T.prim_func
def double(A: T.Buffer((4,), "float32"), n: T.int32, B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = A[i] * 2.0 + T.Cast("float32", n)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: tenon.IRModule({"f": f})])
def test_tensor_programs_write_into_their_arguments(wrap):
    compiled = tenon.compile(wrap(double))
    assert compiled.executor == "function" and list(compiled.inputs) == ["A", "n", "B"]
    a, b = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    assert compiled(a, 1, B=b) is None and b.tolist() == [1, 3, 5, 7]
    out = tenon.nd.empty((4,))
    compiled(tenon.nd.array(a), 0, out)
    assert out.numpy().tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match=r"input A: expected float32\[4\], got float32\[3\]"):
        compiled(a[:3], 0, b)
    assert repr(compiled) == (
        "CompiledModel((A: float32[4], n: int32[], B: float32[4]) -> (), executor function)"
    )


def test_tensor_programs_that_are_refused():
    with pytest.raises(ValueError, match="expected a function main, got f, g"):
        tenon.compile(tenon.IRModule({"f": double, "g": double}))
    with pytest.raises(ValueError, match="params are for Relay programs"):
        tenon.compile(double, params={"A": np.zeros(4)})


@pytest.mark.parametrize("executor", ["graph", "vm"])
def test_saved_models_are_loaded(executor, tmp_path, test_set):
    model = MLP if executor == "graph" else DIGITS / "digits_mlp_batch.onnx"
    compiled = tenon.compile(model)
    assert compiled.executor == executor
    compiled.save(tmp_path / "model.so")
    loaded = tenon.CompiledModel.load(tmp_path / "model.so")
    assert loaded.executor == executor and list(loaded.inputs) == ["image"]
    np.testing.assert_array_equal(loaded(test_set[0][0]), compiled(test_set[0][0]))
    if executor == "graph":
        assert (loaded.inputs, repr(loaded)) == (compiled.inputs, repr(compiled))
    else:
        assert (loaded.inputs, loaded.outputs) == (compiled.inputs, compiled.outputs)
        assert repr(compiled).endswith("executor vm, for a shape that is known at run time only)")
