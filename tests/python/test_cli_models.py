"""The tenon command with models: compile, inspect, bench; what they say about wrong input."""

import json
import pathlib

import numpy as np
import pytest
import tenon
from tenon.contrib import graph_executor
from tenon.target.codegen import llvm_version_major
from test_cli import call

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
needs_llvm = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="libraries are made with LLVM"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "cnn.so"
    status, out, err = call("compile", str(DIGITS / "digits_cnn.onnx"), "-o", str(path), "--json")
    assert (status, err) == (0, "")
    told = json.loads(out)
    assert told["library"] == str(path) and told["bytes"] == path.stat().st_size
    assert told["kernels"] == 7 and 0 < told["seconds"] < 60
    return path


@needs_llvm
def test_a_compiled_library_reads_digits(library):
    module = graph_executor.GraphModule(tenon.runtime.load_module(str(library))["default"](
        tenon.cpu(0)))  # fmt: skip
    test = np.load(DIGITS / "digits_test.npz")
    for image, want in zip(test["images"][:40], test["logits_cnn"][:40], strict=True):
        module.run(image=(image.reshape(1, 1, 8, 8) / 255).astype("float32"))
        np.testing.assert_allclose(module.get_output(0).numpy()[0], want, rtol=1e-4, atol=1e-4)


@needs_llvm
def test_compile_takes_extents_and_level(tmp_path):
    path = tmp_path / "batch.so"
    model = str(DIGITS / "digits_mlp_batch.onnx")
    args = ("compile", model, "-o", str(path), "-i", "image:5x1x8x8", "-O", "0")
    status, out, err = call(*args)
    assert (status, err) == (0, "") and out.startswith(f"{path}: {path.stat().st_size} bytes, ")
    told = json.loads(call("inspect", str(path), "--json")[1])
    assert told["inputs"] == [{"name": "image", "type": "float32[5, 1, 8, 8]"}]
    assert len(told["kernels"]) == 6  # nothing fused at level 0
    assert told["outputs"][0]["type"] == "float32[5, 10]"


@needs_llvm
def test_inspect(library):
    status, out, err = call("inspect", str(library))
    assert (status, err) == (0, "")
    assert out.startswith("inputs\n  image: float32[1, 1, 8, 8]\noutputs\n")
    told = json.loads(call("inspect", str(library), "--json")[1])
    assert told["inputs"] == [{"name": "image", "type": "float32[1, 1, 8, 8]"}]
    assert told["outputs"] == [
        {"name": "tvmgen_default_fused_nn_contrib_dense_pack_add", "type": "float32[1, 10]"}
    ]
    assert all(f"  {name}\n" in out for name in told["kernels"]) and len(told["kernels"]) == 7
    params = tenon.runtime.load_module(str(library))["get_graph_params"]()
    assert told["weights_bytes"] == sum(p.numpy().nbytes for p in params.values())
    assert 2048 <= told["workspace_bytes"] < 8192


@needs_llvm
def test_bench(library):
    told = json.loads(call("bench", str(library), "--repeat", "50", "--json")[1])
    assert told["runs"] == 50
    order = [told[k] for k in ("min", "median", "p90", "p99", "max")]
    assert 0 < order[0] and order == sorted(order) and order[0] <= told["mean"] <= order[-1]
    assert told["runs_per_second"] == pytest.approx(1 / told["mean"], rel=1e-2)
    status, out, err = call("bench", str(library), "-n", "5", "-w", "0")
    assert (status, err) == (0, "") and [line.split()[0] for line in out.splitlines()] == [
        "runs", "min", "median", "p90", "p99", "max", "mean", "throughput"
    ]  # fmt: skip


MLP = str(DIGITS / "digits_mlp.onnx")


@pytest.mark.parametrize(
    "args, message",
    [
        (("compile", "/nowhere/model.onnx"), "/nowhere/model.onnx"),
        (("compile", str(DIGITS / "README.md")), "README.md"),
        (("compile", MLP, "-o", "/nowhere/x.so"), "/nowhere/x.so"),
        (("compile", MLP, "-i", "imgae:1x1x8x8"), "no input imgae; did you mean image?"),
        (("compile", MLP, "-i", "image"), "expected NAME:SHAPE"),
        (("compile", MLP, "-i", "image:1xbx8"), "expected extents with x between, got b"),
        (("compile", MLP, "-i", "image:1x"), "expected extents with x between"),
        (("compile", MLP, "-O", "9"), "expected a number from 0 to 4, got 9"),
        (("compile", MLP, "-t", "lvm"), "lvm"),
        (("inspect", "/nowhere/x.so"), "/nowhere/x.so"),
        (("bench", str(DIGITS / "README.md")), "Loader for `.md` files"),
    ],
)
def test_errors_name_what_is_wrong(args, message, tmp_path):
    if args[0] == "compile" and "-o" not in args:
        args = (*args, "-o", str(tmp_path / "x.so"))
    status, out, err = call(*args)
    assert status == 1 and not out and message in err
    assert err.startswith("tenon: error: ") and not list(tmp_path.iterdir())


@needs_llvm
def test_a_library_without_a_model(tmp_path):
    a = tenon.te.placeholder((4,), name="a")
    b = tenon.te.compute((4,), lambda i: a[i] + 1, name="b")
    path = tmp_path / "plain.so"
    tenon.build(tenon.te.create_schedule(b.op), [a, b], "llvm").export_library(str(path))
    for command in ("inspect", "bench"):
        status, out, err = call(command, str(path))
        assert status == 1 and not out and f"{path}: a library without a model" in err
