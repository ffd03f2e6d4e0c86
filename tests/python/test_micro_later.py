"""Archives in Model Library Format, version 7: several models, ahead-of-time programs."""

import json
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
import tenon
import tenon.micro.model_library_format as mlf
from tenon import micro, relay, te
from tenon.relay.backend import Executor, Runtime
from test_aot import CRT, build, call_c, expected, inputs, needs_cc, needs_llvm, network

C_INTERFACE = {"interface-api": "c", "unpacked-api": True}
STRICT = "-std=c99 -Os -Wall -Wextra -Wpedantic -Werror -Wshadow".split()


def sums():
    """The program of the first version's document: eighteen bytes of inputs and outputs."""
    a = relay.var("a", shape=(1, 2), dtype="uint8")
    b = relay.var("b", shape=(1, 2))
    c = relay.const(np.array([[2.0, 4.0]], dtype="float32"))
    body = relay.add(relay.cast(a, "float32"), relay.multiply(b, c))
    return tenon.IRModule.from_expr(relay.Function([a, b], body))


def export(models, path, version=None):
    assert micro.export_model_library_format(models, path, version=version) == str(path)
    with tarfile.open(path) as archive:
        archive.extractall(path.parent / "out", filter="data")
        files = {m.name: archive.extractfile(m).read() for m in archive if m.isfile()}
    text = files["./metadata.json"].decode()
    metadata = json.loads(text)
    assert text == json.dumps(metadata, indent=2, sort_keys=True)
    return metadata, files


def graph_model(program, name="default"):
    with tenon.transform.PassContext(opt_level=3):
        return relay.build(program, "c", runtime=CRT, executor=Executor("graph"), mod_name=name)


@pytest.mark.parametrize("kind", ["graph", "aot", "c"])
def test_metadata_and_files(kind, tmp_path):
    options = C_INTERFACE if kind == "c" else {}
    program = sums()
    if kind == "graph":
        factory = graph_model(program, "add")
    else:
        factory = build(program, options, CRT, mod_name="add")
    metadata, files = export(factory, tmp_path / "add.tar")
    assert metadata["version"] == mlf._GENERATED_VERSION == 7
    assert list(metadata["modules"]) == ["add"]
    module = metadata["modules"]["add"]
    assert module["executors"] == ["graph" if kind == "graph" else "aot"]
    assert (module["style"], module["model_name"]) == ("full-model", "add")
    assert module["target"] == ["c -keys=cpu"]
    functions = module["memory"]["functions"]
    assert functions["main"] == [
        {
            "constants_size_bytes": 8,
            "device": 1,
            "inputs": {
                "a": {"dtype": "uint8", "size": 2},
                "b": {"dtype": "float32", "size": 8},
            },
            "io_size_bytes": 18,
            "outputs": {"output": {"dtype": "float32", "size": 8}},
            "workspace_size_bytes": 0,
        }
    ]
    (operator,) = functions["operator_functions"]
    assert operator["workspace"] == [{"device": 1, "workspace_size_bytes": 0}]
    assert operator["function_name"].startswith("tvmgen_add_fused_")
    assert ("sids" in module["memory"]) == (kind == "graph")
    assert files["./src/add.relay"].decode() == str(program)
    assert ("./executor-config/graph/add.graph" in files) == (kind == "graph")
    assert ("./codegen/host/include/tvmgen_add.h" in files) == (kind == "c")
    assert ("./runtime/src/micro/backend.c" in files) == (kind != "graph")
    assert ("./templates/crt_config.h.template" in files) == (kind != "graph")
    assert "./codegen/host/src/add_lib0.c" in files
    assert len(relay.load_param_dict(files["./parameters/add.params"])) == (kind == "graph")
    told = mlf._build_function_memory_map(factory.function_metadata)
    assert told["operator_functions"] == functions["operator_functions"]
    assert told["main"][0]["io_size_bytes"] == 18


def test_versions():
    plain = relay.build(sums(), "c", mod_name="add")
    asked = relay.build(sums(), "c", runtime=Runtime("crt", {"system-lib": True}))
    assert not mlf._is_later(plain) and mlf._is_later(asked)
    ahead = build(sums(), {}, CRT)
    with pytest.raises(ValueError, match="archives of version 1 hold one model for the graph"):
        micro.export_model_library_format(ahead, "no.tar", version=1)
    with pytest.raises(ValueError, match="archives are of version 1 or 7, not 3"):
        micro.export_model_library_format(plain, "no.tar", version=3)
    with pytest.raises(ValueError, match="Multiple modules should have unique names"):
        micro.export_model_library_format([ahead, ahead], "no.tar")
    with pytest.raises(NotImplementedError, match="Don't know how to export module of type"):
        micro.export_model_library_format([ahead, ahead.lib], "no.tar")


def test_versions_can_be_asked_for(tmp_path):
    plain = relay.build(sums(), "c", mod_name="add")
    metadata, _ = export(plain, tmp_path / "one.tar")
    assert metadata["version"] == 1
    metadata, _ = export(plain, tmp_path / "seven.tar", version=7)
    assert metadata["version"] == 7
    later = relay.build(sums(), "c", mod_name="add", runtime=CRT)
    metadata, _ = export(later, tmp_path / "old.tar", version=1)
    assert metadata["version"] == 1


def compiled(folder, tmp_path, name="all.so"):
    """A library of all C of an archive, with nothing but what is in it."""
    sources = [*(folder / "codegen" / "host" / "src").glob("*.c")]
    sources += (folder / "runtime" / "src" / "micro").glob("*.c")
    include = [f"-I{folder}/runtime/include", f"-I{folder}/runtime/src"]
    include.append(f"-I{folder}/codegen/host/include")
    library = tmp_path / name
    link = ["-fPIC", "-shared", "-Wl,--no-undefined", "-lm", "-o", str(library)]
    command = ["cc", *STRICT, *include, *map(str, sources), *link]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return library


@needs_cc
@needs_llvm
def test_two_models_in_one_program(tmp_path):
    import ctypes

    first, second = network(), sums()
    config = {"tir.usmp.enable": True}
    models = [
        build(first, C_INTERFACE, CRT, config=config, mod_name="one"),
        build(second, C_INTERFACE, CRT, config=config, mod_name="two"),
        graph_model(second, "three"),
    ]
    metadata, files = export(models, tmp_path / "all.tar")
    assert list(metadata["modules"]) == ["one", "three", "two"]
    library = ctypes.CDLL(str(compiled(tmp_path / "out", tmp_path)))
    values = inputs()
    got = call_c(library, models[0].executor_codegen_metadata, values, "one")
    for one, right in zip(got, expected(first, values), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-4)
    values = {"a": np.array([[1, 7]], "uint8"), "b": np.array([[0.5, -1]], "float32")}
    (got,) = call_c(library, models[1].executor_codegen_metadata, values, "two")
    np.testing.assert_allclose(got, [[2, 3]])
    assert library.tvmgen_three_library


@needs_cc
def test_header_serves_c_and_cxx(tmp_path):
    factory = build(network(), C_INTERFACE, CRT, mod_name="my-net")
    _, files = export(factory, tmp_path / "net.tar")
    text = files["./codegen/host/include/tvmgen_my_net.h"].decode()
    for line in (
        "struct tvmgen_my_net_inputs {\n  void* x;\n  void* int_;\n};",
        "#define TVMGEN_MY_NET_X_SIZE 3072",
        "#define TVMGEN_MY_NET_OUTPUT2_SIZE 7200",
        "int32_t tvmgen_my_net_run(struct tvmgen_my_net_inputs* inputs, "
        "struct tvmgen_my_net_outputs* outputs);",
    ):
        assert line in text
    for compiler, ending in (("cc", "c"), ("c++", "cc")):
        if not shutil.which(compiler):
            continue
        source = tmp_path / f"user.{ending}"
        source.write_text('#include "tvmgen_my_net.h"\nstruct tvmgen_my_net_inputs inputs;\n')
        include = f"-I{tmp_path}/out/codegen/host/include"
        flags = ["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"]
        subprocess.run([compiler, *flags, include, str(source)], check=True)


def test_header_of_names(tmp_path):
    args = {"pools": [], "io_pool_allocations": {}, "devices": [], "workspace_size": 12}
    path = mlf.generate_c_interface_header(
        "ultimate-cat",
        ["input", "serving_default_x:0"],
        ["output"],
        include_path=tmp_path,
        input_sizes={"input": 4, "serving_default_x:0": 8},
        output_sizes={"output": 3},
        **args,
    )
    text = open(path).read()
    assert "  void* serving_default_x_0;\n" in text
    assert "#define TVMGEN_ULTIMATE_CAT_SERVING_DEFAULT_X_0_SIZE 8\n" in text
    assert "#define TVMGEN_ULTIMATE_CAT_WORKSPACE_SIZE 12\n" in text
    with pytest.raises(tenon.TVMError, match="Sanitized input tensor name clash"):
        mlf.generate_c_interface_header(
            "m", ["a:0", "a.0"], ["b"], include_path=tmp_path, input_sizes=[1, 1],
            output_sizes=[1], **args,
        )  # fmt: skip


# ---- operators ----


def add_operator(n=2):
    a = te.placeholder((n,), "int8", name="A")
    b = te.placeholder((1,), "int8", name="B")
    c = te.compute((n,), lambda i: a[i] + b[0], name="C")
    return te.create_schedule(c.op), [a, b, c]


@pytest.mark.parametrize("target", ["c", pytest.param("llvm", marks=needs_llvm)])
def test_operators(target, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    mod = tenon.build(*add_operator(), tenon.target.Target(target), name="add")
    metadata, files = export(mod, tmp_path / "add.tar")
    text = str(tenon.target.Target(target))
    tensors = [("A", 2), ("B", 1), ("C", 2)]
    assert metadata == {
        "version": 7,
        "model_name": "add",
        "export_datetime": "1970-01-02 00:00:00Z",
        "memory": {
            "add": [
                {"dtype": "int8", "input_binding": name, "shape": [n], "size_bytes": n}
                for name, n in tensors
            ]
        },
        "target": [text],
        "executors": [],
        "style": "operator",
    }
    code = "host/src/lib0.c" if target == "c" else "host/lib/lib0.o"
    assert set(files) == {"./metadata.json", f"./codegen/{code}", "./src/tir-1.txt"}
    (program,) = mod.ir_module_by_target.values()
    assert files["./src/tir-1.txt"].decode() == str(program)
    assert export([mod], tmp_path / "again.tar")[1] == files
    with pytest.raises(ValueError, match="it holds operators and no model"):
        mlf.load_model_library_format(tmp_path / "add.tar")


def test_operators_for_two_kinds_of_processors(tmp_path):
    """Programs for devices of one type are in one file."""
    schedule, args = add_operator()
    parts = {
        text: tenon.lower(schedule, args, name)
        for text, name in [("c", "one"), ("c -mcpu=cortex-m4", "two")]
    }
    _, files = export(tenon.build(parts), tmp_path / "two.tar")
    with tarfile.open(tmp_path / "two.tar") as archive:
        assert archive.getnames().count("./src/tir-1.txt") == 1
    text = files["./src/tir-1.txt"].decode()
    assert "def one(" in text and "def two(" in text


def test_operators_that_cannot_be_exported(tmp_path):
    path = tmp_path / "x.tar"
    mod = tenon.build(*add_operator(te.var("n")), "c", name="add")
    with pytest.raises(
        mlf.NonStaticShapeError, match=r"var_A has shape with non-IntImm elements \[n"
    ):
        micro.export_model_library_format(mod, path)
    mod = tenon.build(*add_operator(), "c", name="add")
    with pytest.raises(RuntimeError, match="Multiple operator is not supported."):
        micro.export_model_library_format([mod, mod], path)
    with pytest.raises(ValueError, match="archives of operators are of version 7"):
        micro.export_model_library_format(mod, path, version=1)
    (program,) = mod.ir_module_by_target.values()
    far = mod.from_module(mod, {tenon.target.Target("opencl"): program}, "add")
    with pytest.raises(mlf.UnsupportedInModelLibraryFormatError, match="Operator has non-DSO-exp"):
        micro.export_model_library_format(far, path)
    with pytest.raises(NotImplementedError, match="Don't know how to export module of type"):
        micro.export_model_library_format([mod, None], path)
    assert not path.exists()
