"""The tenon command with models: compile, inspect, bench; what they say about wrong input."""

import json
import pathlib
import tarfile

import numpy as np
import pytest
import tenon
from tenon import relay
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
def test_inspect_lists_no_joins(tmp_path):
    x = relay.var("x", shape=(1, 16, 8, 8))
    parts = [relay.sum(f(x), axis=[2], keepdims=True) for f in (relay.exp, relay.tanh)]
    mod = tenon.IRModule.from_expr(relay.max(relay.concatenate(parts, 1), axis=2))
    lib = relay.build(mod, "llvm")
    assert "__join" in lib.get_graph_json()
    lib.export_library(str(tmp_path / "join.so"))
    kernels = json.loads(call("inspect", str(tmp_path / "join.so"), "--json")[1])["kernels"]
    assert len(kernels) == 3 and all(name.startswith("tvmgen_") for name in kernels)


@needs_llvm
def test_inspect_tells_the_memory_plan(library):
    told = json.loads(call("inspect", str(library), "--json")[1])
    storages = told["storages"]
    graph = json.loads(tenon.runtime.load_module(str(library))["get_graph_json"]())
    ids = graph["attrs"]["storage_id"][1]
    assert [s["id"] for s in storages] == sorted(set(ids))
    for s in storages:
        nodes = [n["name"] for n, i in zip(graph["nodes"], ids, strict=True) if i == s["id"]]
        assert [v["name"] for v in s["values"]] == nodes
    work = [s for s in storages if s["kind"] == "workspace"]
    assert sum(s["bytes"] for s in work) == told["workspace_bytes"]
    assert any(len(s["values"]) > 1 for s in work)
    assert [s["values"] for s in storages if s["kind"] == "input"] == [told["inputs"]]
    text = call("inspect", str(library))[1]
    assert "storages\n  0: 256 bytes, input\n    image: float32[1, 1, 8, 8]\n" in text


@needs_llvm
def test_bench(library):
    told = json.loads(call("bench", str(library), "--repeat", "50", "--json")[1])
    assert told["runs"] == 50
    order = [told[k] for k in ("min", "median", "p90", "p99", "max")]
    assert 0 < order[0] and order == sorted(order) and order[0] <= told["mean"] <= order[-1]
    assert told["runs_per_second"] == pytest.approx(1 / told["mean"], rel=1e-2)
    status, out, err = call("bench", str(library), "-n", "5", "-w", "0")
    assert (status, err) == (0, "") and [line.split()[0] for line in out.splitlines()] == [
        "runs", "min", "median", "p90", "p99", "max", "mean", "throughput", "memory"
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


@needs_llvm
def test_archive_of_objects(tmp_path):
    path = tmp_path / "cnn.tar"
    status, out, err = call("compile", str(DIGITS / "digits_cnn.onnx"), "-o", str(path))
    assert (status, err) == (0, "")
    with tarfile.open(path) as archive:
        assert archive.getnames() == [".", "./code.o", "./model.o"]
    module = graph_executor.GraphModule(
        tenon.runtime.load_module(str(path))["default"](tenon.cpu())
    )
    module.run(image=np.zeros((1, 1, 8, 8), "float32"))
    assert np.isfinite(module.get_output(0).numpy()).all()


@needs_llvm
def test_passes_are_dumped_in_order(tmp_path):
    args = ("-o", str(tmp_path / "m.so"), "--dump-passes", str(tmp_path / "passes"))
    assert call("compile", str(DIGITS / "digits_cnn.onnx"), *args)[0] == 0
    names = sorted(p.name for p in (tmp_path / "passes").iterdir())
    assert names[0].startswith("001-") and any("-FuseOps.txt" in n for n in names)
    fused = next(p for p in (tmp_path / "passes").glob("*-FuseOps.txt"))
    assert fused.read_text().startswith('#[version = "0.0.5"]') and "Primitive=1" in (
        fused.read_text()
    )
    flat = next(p for p in sorted((tmp_path / "passes").glob("*-tir.FlattenBuffer.txt")))
    assert "def tvmgen_default_fused" in flat.read_text()
    blocked = tmp_path / "file"
    blocked.write_text("")
    bad = ("--dump-passes", str(blocked / "sub"))
    status, out, err = call("compile", str(DIGITS / "digits_cnn.onnx"), *bad)
    assert status == 1 and f"cannot make {blocked}/sub" in err


@needs_llvm
def test_run_tells_values_times_and_a_profile(library, tmp_path):
    test = np.load(DIGITS / "digits_test.npz")
    image = (test["images"][0].reshape(1, 1, 8, 8) / 255).astype("float32")
    np.savez(tmp_path / "in.npz", image=image)
    args = ("run", str(library), "--inputs", str(tmp_path / "in.npz"))
    told = json.loads(call(*args, "--top", "3", "--repeat", "5", "--profile", "--json")[1])
    want = test["logits_cnn"][0]
    assert [i for i, _ in told["top"][0]] == np.argsort(-want)[:3].tolist()
    np.testing.assert_allclose([v for _, v in told["top"][0]], np.sort(want)[::-1][:3], rtol=1e-3)
    assert told["runs"] == 5 and 0 < told["min"] <= told["median"]
    times = [k["seconds"] for k in told["profile"]]
    assert times == sorted(times, reverse=True)
    assert abs(sum(k["share"] for k in told["profile"]) - 1) < 1e-3
    status, out, err = call(*args, "--top", "1", "--profile")
    assert (status, err) == (0, "") and out.startswith(f"{want.argmax()}: ")
    assert "share  kernel" in out
    status, out, err = call(*args)
    assert status == 2 and "expected --outputs FILE, --repeat, --top or --profile" in err
    assert json.loads(call("bench", str(library), "--repeat", "3", "--json")[1])["memory_bytes"] > 0


def test_inspect_of_a_model():
    model = str(DIGITS / "digits_mlp_batch.onnx")
    told = json.loads(call("inspect", model, "--input", "image:5x1x8x8", "--json")[1])
    assert told["inputs"] == [{"name": "image", "type": "Tensor[(5, 1, 8, 8), float32]"}]
    assert told["outputs"] == [{"name": "output_0", "type": "Tensor[(5, 10), float32]"}]
    assert told["operators"]["nn.dense"] >= 2 and told["weights_bytes"] == 4 * told["weights"]
    status, out, err = call("inspect", model, "--input", "image:5x1x8x8")
    assert (status, err) == (0, "") and "  image: Tensor[(5, 1, 8, 8), float32]\n" in out
    assert "nn.dense" in out and "weights" in out
