"""driver.tvmc: models read, compiled, packed, run; and the command."""

import io
import re
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.driver import tvmc
from tenon.driver.tvmc.main import _main
from tenon.driver.tvmc.pass_config import parse_configs
from tenon.driver.tvmc.pass_list import parse_pass_list_str
from tenon.driver.tvmc.shape_parser import parse_shape_string
from tenon.driver.tvmc.target import parse_target, target_from_cli, tokenize_target
from tenon.relay.backend import Executor, Runtime
from tenon.target.codegen import llvm_version_major

onnx = pytest.importorskip("onnx")
needs_llvm = pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="without LLVM")
RNG = np.random.default_rng(5)
WEIGHT = RNG.normal(size=(6, 4)).astype("float32")
X = RNG.normal(size=(2, 4)).astype("float32")
Y = np.maximum(X @ WEIGHT.T, 0)


@pytest.fixture
def model_file(tmp_path):
    """A layer whose batch the model leaves open."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["x", "w"], ["h"], transB=1),
            helper.make_node("Relu", ["h"], ["y"]),
        ],
        "layer",
        [helper.make_tensor_value_info("x", kind, ["n", 4])],
        [helper.make_tensor_value_info("y", kind, ["n", 6])],
        [onnx.numpy_helper.from_array(WEIGHT, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    path = tmp_path / "layer.onnx"
    path.write_bytes(model.SerializeToString())
    return str(path)


@pytest.fixture
def model(model_file):
    return tvmc.load(model_file, shape_dict={"x": [2, 4]})


def names_in(path):
    with tarfile.open(path) as archive:
        return sorted(archive.getnames())


@needs_llvm
@pytest.mark.parametrize("form", ["so", "tar"])
def test_a_model_runs(model, tmp_path, form):
    path = str(tmp_path / "package.tar")
    package = tvmc.compile(model, "llvm", package_path=path, output_format=form)
    assert names_in(path) == ["mod.json", "mod.params", f"mod.{form}"]
    assert package.type == "classic" and package.lib_name == f"mod.{form}"
    result = tvmc.run(tvmc.TVMCPackage(package_path=path), device="cpu", inputs={"x": X})
    np.testing.assert_allclose(result.get_output("output_0"), Y, rtol=1e-5)
    result.save(tmp_path / "out.npz")
    np.testing.assert_array_equal(
        np.load(tmp_path / "out.npz")["output_0"], result.outputs["output_0"]
    )
    assert str(result).endswith("Output Names:\n ['output_0']")


@needs_llvm
@pytest.mark.parametrize("way", [{"use_vm": True}, {"executor": Executor("aot")}])
def test_other_executors(model, way, tmp_path):
    package = tvmc.compile(model, "llvm", **way)
    assert package.graph is None and package.type == ("vm" if "use_vm" in way else "classic")
    result = tvmc.run(package, "cpu", inputs={"x": X}, benchmark=True, number=1, repeat=3)
    np.testing.assert_allclose(result.outputs["output_0"], Y, rtol=1e-5)
    assert len(result.times.results) == 3 and "Execution time summary" in result.format_times()


@needs_llvm
def test_open_extents_need_a_value(model_file):
    package = tvmc.compile(tvmc.load(model_file), "llvm", use_vm=True)
    with pytest.raises(tvmc.TVMCException, match="'x' has extents of any size"):
        tvmc.run(package, "cpu")
    result = tvmc.run(package, "cpu", inputs={"x": X[:1]})
    np.testing.assert_allclose(result.outputs["output_0"], Y[:1], rtol=1e-5)


def test_source_for_a_microcontroller(model, tmp_path):
    path = str(tmp_path / "model.tar")
    options = {"executor": Executor("aot"), "runtime": Runtime("crt"), "output_format": "mlf"}
    package = tvmc.compile(model, "c", package_path=path, mod_name="small", **options)
    assert package.type == "mlf" and package.graph is None
    with pytest.raises(tvmc.TVMCException, match="is source for a microcontroller"):
        tvmc.run(package, "cpu")
    with pytest.raises(tvmc.TVMCException, match="takes no cross compiler"):
        tvmc.compile(model, "c", cross="cc", **options)


def test_a_model_is_saved(model, tmp_path, capsys):
    model.save(str(tmp_path / "model.tar"))
    again = tvmc.TVMCModel(model_path=str(tmp_path / "model.tar"))
    assert tenon.ir.structural_equal(again.mod, model.mod)
    assert sorted(again.params) == sorted(model.params)
    again.summary()
    assert "nn.relu" in capsys.readouterr().out
    with pytest.raises(tvmc.TVMCException, match="give a module and its parameters"):
        tvmc.TVMCModel()


def test_relay_text(tmp_path):
    x = relay.var("x", shape=(3,))
    mod = tenon.IRModule.from_expr(relay.Function([x], x + relay.const(np.ones(3, "float32"))))
    path = tmp_path / "model.relay"
    path.write_text(mod.astext())
    typed = relay.transform.InferType()
    assert tenon.ir.structural_equal(typed(tvmc.load(str(path)).mod), typed(mod))
    path.write_text(mod.astext(show_meta_data=False))
    with pytest.raises(tvmc.TVMCException, match="metadata"):
        tvmc.load(str(path))
    path.write_text("def @main() { 1 }")
    with pytest.raises(tvmc.TVMCException, match="begins with its version"):
        tvmc.load(str(path))
    for name, message in (("x.tflite", "format tflite is not there"), ("x.abc", "does not tell")):
        with pytest.raises(tvmc.TVMCException, match=message):
            tvmc.load(name)


def test_targets():
    target, libraries = target_from_cli("cublas, opencl -device=mali, llvm -mcpu=skylake")
    assert (target.kind.name, target.host.kind.name, target.host.mcpu) == (
        "opencl",
        "llvm",
        "skylake",
    )
    assert [library["name"] for library in libraries] == ["cublas"]
    target, _ = target_from_cli("llvm -mattr=+avx2,+fma", {"llvm": {"mcpu": "haswell"}})
    assert list(target.mattr) == ["+avx2", "+fma"] and target.mcpu == "haswell"
    assert target_from_cli({"kind": "c"})[0].kind.name == "c"
    assert target_from_cli('{"kind": "c"}')[0].kind.name == "c"
    words = ["a", "-b='x, y'", "--flag", ",", "c-d", '-e="z"']
    assert tokenize_target("a -b='x, y' --flag,c-d -e=\"z\"") == words
    assert parse_target("a -b='x, y' --flag")[0]["opts"] == {"b": "x, y", "flag": ""}
    for given, more, message in (
        ("llvm, , c", {}, "a part is empty"),
        ("llvm, llvm", {}, "named twice"),
        ("cuda, opencl, llvm", {}, "a target and its host"),
        ("nothing", {}, "unknown target 'nothing'"),
        ("llvm", {"c": {"mcpu": "x"}}, "Passed --target-c-mcpu but did not specify c target"),
    ):
        with pytest.raises(tvmc.TVMCException, match=message):
            target_from_cli(given, more)


def test_configurations():
    passes = parse_configs(["tir.add_lower_pass=1,tir.transform.UnrollLoop"])["tir.add_lower_pass"]
    assert passes[0][0] == 1 and passes[0][1].info.name == "tir.UnrollLoop"
    assert parse_pass_list_str("FuseOps,FoldScaleAxis") == ["FuseOps", "FoldScaleAxis"]
    with pytest.raises(Exception, match="no such passes: Nothing"):
        parse_pass_list_str("FuseOps,Nothing")
    config = parse_configs(["tir.disable_vectorize=true", "ir.verify=2"])
    assert config == {"tir.disable_vectorize": True, "ir.verify": 2}
    for given, message in (
        ("tir.disable_vectorize", "expected name=value"),
        ("no.such=1", "unknown pass configuration"),
        ("tir.disable_vectorize=often", "expected a number"),
    ):
        with pytest.raises(tvmc.TVMCException, match=message):
            parse_configs([given])


def test_extents_from_text():
    shapes = parse_shape_string("a/b:0:[1, 3,-1] c.d:[2] e:[?,4]")
    assert list(shapes) == ["a/b:0", "c.d", "e"] and shapes["a/b:0"][:2] == [1, 3]
    assert isinstance(shapes["a/b:0"][2], tenon.tir.Any) and isinstance(
        shapes["e"][0], tenon.tir.Any
    )
    for wrong in ("", "a", "a:[]", "a:[x]", "[1]", "a:[1] b"):
        with pytest.raises(Exception, match="expected"):
            parse_shape_string(wrong)


@needs_llvm
def test_layouts_and_dumps(tmp_path):
    x, w = relay.var("x", shape=(1, 3, 8, 8)), relay.var("w", shape=(4, 3, 3, 3))
    mod = tenon.IRModule.from_expr(relay.Function([x, w], relay.nn.conv2d(x, w)))
    model = tvmc.TVMCModel(mod, {"w": tenon.nd.array(np.ones((4, 3, 3, 3), "float32"))})
    path = str(tmp_path / "p.tar")
    package = tvmc.compile(
        model, "llvm", package_path=path, desired_layout="NHWC", dump_code=["relay", "ll"]
    )
    assert 'data_layout="NHWC"' in (tmp_path / "p.tar.relay").read_text()
    assert "define" in (tmp_path / "p.tar.ll").read_text()
    out = tvmc.run(package, "cpu", fill_mode="ones").outputs["output_0"]
    np.testing.assert_allclose(out, np.full((1, 4, 6, 6), 27.0))


def test_packages_that_are_none(tmp_path):
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo("../mod.so")
        archive.addfile(info, io.BytesIO(b""))
        link = tarfile.TarInfo("mod.so")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(tvmc.TVMCException, match="mod.so is not a file of a package"):
        tvmc.TVMCPackage(str(path))
    with tarfile.open(path, "w"):
        pass
    with pytest.raises(tvmc.TVMCException, match="has no library"):
        tvmc.TVMCPackage(str(path))
    with pytest.raises(tvmc.TVMCException, match="expected a compiled model, got str"):
        tvmc.run("x", "cpu")


@needs_llvm
def test_the_command(model_file, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", x=X)
    compile_ = ["compile", "--target", "llvm", "--input-shapes", "x:[2,4]", "--output", "m.tar"]
    assert _main([*compile_, "--pass-config", "tir.disable_vectorize=1", model_file]) == 0
    assert _main(["run", "--inputs", "in.npz", "--output", "out.npz", "m.tar"]) == 0
    np.testing.assert_allclose(np.load("out.npz")["output_0"], Y, rtol=1e-5)
    capsys.readouterr()
    run = ["run", "-i", "in.npz", "--print-time", "--repeat", "3", "--print-top", "2", "m.tar"]
    assert _main(run) == 0
    out = capsys.readouterr().out
    assert "mean (ms)" in out
    numbers = [float(x) for x in re.findall(r"[\d.e+-]+", out[out.index("[[") :])]
    order = Y[0].argsort()[::-1][:2]
    np.testing.assert_allclose(numbers, [*order, *Y[0][order]], rtol=1e-5)
    assert _main(["run", "--profile", "m.tar"]) == 0
    assert "fused" in capsys.readouterr().out


@needs_llvm
def test_options_of_choices(model_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "c.json").write_text('{"compile": {"target": "c", "output-format": "mlf"}}')
    command = ["--config", "c.json", "compile", "--runtime", "crt", "--executor", "aot"]
    command += ["--executor-aot-interface-api", "c", "--executor-aot-unpacked-api", "true"]
    command += ["--module-name", "small", "--input-shapes", "x:[2,4]", model_file]
    assert _main(command) == 0
    assert "./codegen/host/include/tvmgen_small.h" in names_in("module.tar")
    command = ["compile", "--target", "llvm", "--target-llvm-mcpu", "haswell", "--dump-code", "ll"]
    command += ["--target-llvm-mattr=+avx2,+fma", "--target-llvm-fast-math=1"]
    assert _main([*command, "--input-shapes", "x:[2,4]", "-o", "h.tar", model_file]) == 0
    assert "haswell" in (tmp_path / "h.tar.ll").read_text()


@pytest.mark.parametrize(
    "command, status, message",
    [
        (["compile", "--target", "llvm", "no.onnx"], 4, "no.onnx does not exist"),
        (["run", "no.tar"], 4, "no.tar cannot be read"),
        (["run", "--inputs", "no.npz", "no.tar"], 4, "cannot be read"),
        (["tune", "--target", "llvm", "x"], 4, "kernels are not tuned yet"),
        (["--config", "no.json", "run", "x"], 4, "configuration 'no.json' cannot be read"),
        ([], 1, "usage: tvmc"),
    ],
)
def test_mistakes(command, status, message, capsys):
    assert _main(command) == status
    assert message in capsys.readouterr().err


def test_as_a_module():
    text = "import sys; sys.argv[1:] = ['--version']; import runpy, tenon.as_tvm; "
    text += "runpy.run_module('tvm.driver.tvmc', run_name='__main__')"
    ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)
    assert ran.returncode == 0 and ran.stdout.strip() == tenon.__version__, ran.stderr
