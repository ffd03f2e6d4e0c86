"""Models that no archive and no C can be made of are refused by name and place, before a file is
written."""

import json

import pytest
import tenon
from tenon import micro, relay
from tenon.target.codegen import llvm_version_major
from test_cli import call

onnx = pytest.importorskip("onnx")
BRANCH = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32], %c: bool) {
  %0 = add(%x, 1f);
  if (%c) { exp(%0) } else { %0 }
}"""
FILTER = """#[version = "0.0.5"]
def @main(%x: Tensor[(4), float32]) {
  %0 = exp(%x);
  argwhere(%0)
}"""


def told(err):
    return "\n".join([str(err.value), *getattr(err.value, "__notes__", [])])


def as_c(mod, folder):
    micro.export_c(mod, folder, "m")


def as_graph(mod, folder):
    factory = relay.build(mod, tenon.target.target.micro("host"))
    micro.export_model_library_format(factory, folder / "m.tar")


def as_main(mod, folder):
    executor = relay.backend.Executor("aot")
    factory = relay.build(mod, "c", executor=executor, runtime=relay.backend.Runtime("crt"))
    micro.export_model_library_format(factory, folder / "m.tar")


@pytest.mark.parametrize("export", [as_c, as_graph, as_main])
@pytest.mark.parametrize(
    "text, node, place",
    [
        (BRANCH, "cannot run relay.If", "m.relay:4:3"),
        (FILTER, "output type Tensor[(?, 1), int32] of argwhere", "m.relay:4:3"),
    ],
)
def test_programs(text, node, place, export, tmp_path):
    mod = tenon.parser.fromtext(text, "m.relay")
    with pytest.raises(ValueError) as err:
        export(mod, tmp_path)
    assert node in told(err) and f" --> {place}" in told(err)
    assert not list(tmp_path.iterdir())


def graph(nodes, outputs, name="g"):
    helper, kind = onnx.helper, onnx.TensorProto
    x = helper.make_tensor_value_info("x", kind.FLOAT, [4])
    c = helper.make_tensor_value_info("c", kind.BOOL, [])
    made = [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs]
    return helper.make_graph(nodes, name, [x, c] if name == "g" else [], made)


def write(path, nodes, outputs):
    model = onnx.helper.make_model(
        graph(nodes, outputs), opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8
    )
    path.write_bytes(model.SerializeToString())
    return str(path)


@pytest.mark.parametrize("form", ["c", "mlf"])
def test_nodes_of_onnx_models(form, tmp_path):
    node, kind = onnx.helper.make_node, onnx.TensorProto
    yes = graph([node("Exp", ["x"], ["t"])], [("t", kind.FLOAT, [4])], "yes")
    no = graph([node("Identity", ["x"], ["e"])], [("e", kind.FLOAT, [4])], "no")
    models = {
        "cannot run relay.If": (
            [node("If", ["c"], ["y"], name="choose", then_branch=yes, else_branch=no)],
            [("y", kind.FLOAT, [4])],
            "--> choose",
        ),
        "of argwhere": (
            [node("NonZero", ["x"], ["y"], name="find")],
            [("y", kind.INT64, None)],
            "--> find",
        ),
        "not supported for frontend ONNX: Foo": (
            [node("Foo", ["x"], ["y"], name="what")],
            [("y", kind.FLOAT, [4])],
            "first in node what",
        ),
    }
    for text, (nodes, outputs, place) in models.items():
        path = write(tmp_path / "m.onnx", nodes, outputs)
        status, out, err = call("compile", path, "--format", form, "-o", str(tmp_path / "made"))
        assert (status, out) == (1, "") and text in err and place in err
    assert [p.name for p in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.skipif(llvm_version_major(allow_none=True) is None, reason="made with LLVM")
def test_views_are_no_kernels(tmp_path):
    x = relay.var("x", shape=(4, 2))
    body = relay.nn.softmax(relay.reshape(relay.nn.softmax(x), (2, 4)))
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    library = relay.build(mod, "llvm")
    assert '"__nop"' in library.get_graph_json()
    library.export_library(tmp_path / "m.so")
    kernels = json.loads(call("inspect", str(tmp_path / "m.so"), "--json")[1])["kernels"]
    assert len(kernels) == 2 and "__nop" not in kernels


def test_the_level_of_verification_is_a_number(monkeypatch):
    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    monkeypatch.setenv("TENON_VERIFY_PASSES", "yes")
    with pytest.raises(ValueError, match='TENON_VERIFY_PASSES: expected a level .* got "yes"'):
        relay.transform.InferType()(mod)
    monkeypatch.setenv("TENON_VERIFY_PASSES", "")
    assert relay.transform.InferType()(mod)["main"].checked_type is not None
