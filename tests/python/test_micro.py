"""Archives in Model Library Format: their bytes, the memory map, what is refused."""

import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import tenon
import tenon.micro.model_library_format as mlf
from tenon import micro, relay
from tenon.contrib import graph_executor
from tenon.relay.backend import executor_factory, graph_runtime_factory
from tenon.target.codegen import llvm_version_major
from test_cli import call

DIGITS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "digits"
C = tenon.target.Target("c")
needs_llvm = pytest.mark.skipif(
    llvm_version_major(allow_none=True) is None, reason="object files are made with LLVM"
)
STRICT = "-std=c99 -Os -Wall -Wextra -Wpedantic -Werror".split()


def dense_program():
    x = relay.var("x", shape=(2, 3))
    weight = relay.const(np.arange(12, dtype="float32").reshape(4, 3))
    hidden = relay.nn.relu(relay.nn.dense(x, weight))
    return tenon.IRModule.from_expr(relay.Function([x], relay.sum(hidden, axis=1)))


def build(target=C, name="net", program=None):
    return relay.build(program or dense_program(), target, mod_name=name)


def export(factory, path):
    assert micro.export_model_library_format(factory, path) == str(path)
    with tarfile.open(path) as archive:
        members = archive.getmembers()
        return members, {m.name: archive.extractfile(m).read() for m in members if m.isfile()}


def test_members_are_as_tar_itself_would_write_them(tmp_path):
    factory = build()
    members, files = export(factory, tmp_path / "net.tar")
    assert [m.name for m in members] == [
        ".",
        "./codegen",
        "./codegen/host",
        "./codegen/host/src",
        "./codegen/host/src/lib0.c",
        "./codegen/host/src/lib1.c",
        "./metadata.json",
        "./parameters",
        "./parameters/net.params",
        "./relay.txt",
        "./runtime-config",
        "./runtime-config/graph",
        "./runtime-config/graph/graph.json",
    ]
    assert {(m.mode, m.uid, m.gname) for m in members} == {(0o755, 0, "root"), (0o644, 0, "root")}
    assert all((m.mode == 0o755) == m.isdir() for m in members)
    with tarfile.open(tmp_path / "net.tar") as archive:
        archive.extractall(tmp_path / "out", filter="data")
    repacked = io.BytesIO()
    with tarfile.open(fileobj=repacked, mode="w") as archive:

        def plain(member):
            member.uid = member.gid = 0
            member.uname = member.gname = "root"
            member.mode = 0o755 if member.isdir() else 0o644
            member.mtime = members[0].mtime
            return member

        archive.add(tmp_path / "out", arcname=".", filter=plain)
    # headers differ in unused fields only: read both
    same = tarfile.open(fileobj=io.BytesIO(repacked.getvalue())).getmembers()
    assert [(m.name, m.size, m.mtime) for m in same] == [(m.name, m.size, m.mtime) for m in members]
    assert (tmp_path / "net.tar").stat().st_size == len(repacked.getvalue())
    params = relay.load_param_dict(files["./parameters/net.params"])
    np.testing.assert_array_equal(params["p0"].numpy(), factory.params["p0"].numpy())


def test_a_given_date_gives_equal_bytes(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1600000000")
    first, second = tmp_path / "a.tar", tmp_path / "b.tar"
    members, files = export(build(), first)
    export(build(), second)
    assert first.read_bytes() == second.read_bytes()
    assert {m.mtime for m in members} == {1600000000}
    metadata = json.loads(files["./metadata.json"])
    assert metadata["export_datetime"] == "2020-09-13 12:26:40Z"
    assert files["./metadata.json"].decode() == json.dumps(metadata, indent=2, sort_keys=True)
    assert metadata["target"] == {"1": "c -keys=cpu"}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "soon")
    with pytest.raises(ValueError, match="SOURCE_DATE_EPOCH: expected seconds since 1970, got"):
        micro.export_model_library_format(build(), tmp_path / "c.tar")
    assert not (tmp_path / "c.tar").exists()


def graph_text(**changes):
    graph = {
        "nodes": [
            {"op": "null", "name": 'in "1"', "inputs": []},
            {"op": "tvm_op", "name": "split", "inputs": [[0, 0, 0]]},
            {"op": "null", "name": "p0", "inputs": []},
            {"op": "tvm_op", "name": "join", "inputs": []},
        ],
        "arg_nodes": [0, 2],
        "heads": [[3, 0, 0]],
        "attrs": {
            "dltype": ["list_str", ["uint8", "float32", "int4", "bool", "float16x2"]],
            "storage_id": ["list_int", [0, 1, 2, 3, 1]],
            "shape": ["list_shape", [[1, 2], [3], [5], [], [7]]],
        },
        "node_row_ptr": [0, 1, 3, 4, 5],
    }
    for key, value in changes.items():
        (graph["attrs"] if key in graph["attrs"] else graph)[key] = value
    return json.dumps(graph)


def test_memory_map_has_each_storage_once():
    assert mlf._build_memory_map(graph_text()) == [
        {"storage_id": 0, "size_bytes": 2, "input_binding": 'in "1"'},
        {"storage_id": 1, "size_bytes": 12},
        {"storage_id": 2, "size_bytes": 3},
        {"storage_id": 3, "size_bytes": 1, "input_binding": "p0"},
    ]
    empty = {k: ["list", []] for k in ("dltype", "storage_id", "shape")}
    assert mlf._build_memory_map(graph_text(arg_nodes=[], **empty)) == []


@pytest.mark.parametrize(
    "text, message",
    [
        ('"graph_json"', "graph: expected an object with attrs"),
        ("{}", "graph: expected an object with attrs"),
        ("{", "JSON"),
        (graph_text(shape=["list_shape", [[1]]]), "have 5, 5 and 1 values"),
        (graph_text(storage_id=["list_int"]), "attrs.storage_id as a pair"),
        (graph_text(storage_id=["list_int", [0, 1, 2, 3, 9]]), r"storage_id\[4\] is not a number"),
        (graph_text(storage_id=["list_int", [0, 1, 2, 3, -1]]), r"storage_id\[4\] is not a number"),
        (graph_text(dltype=["list_str", ["what"] * 5]), "unknown dltype what"),
        (graph_text(shape=["list_shape", [[2**62, 4]] * 5]), "the shape of value 0 is none"),
        (graph_text(shape=["list_shape", [[-1]] * 5]), "the shape of value 0 is none"),
        (graph_text(arg_nodes=[4]), r"arg_nodes\[0\] is not a node"),
        (graph_text(node_row_ptr=[0, 1, 99]), "the argument 2 has no storage"),
        (graph_text(nodes=[1, 2, 3, 4]), "node 0 has no name"),
    ],
)
def test_memory_map_of_what_is_no_graph(text, message):
    with pytest.raises(ValueError, match=message):
        mlf._build_memory_map(text)


@pytest.mark.parametrize("compiler", ["cc", "arm-none-eabi-gcc"])
def test_source_compiles_without_warnings(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    _, files = export(build(name="my-net 1"), tmp_path / "net.tar")
    assert b"tvmgen_my_net_1_library" in files["./codegen/host/src/lib1.c"]
    source = tmp_path / "lib.c"
    for name in ("lib0.c", "lib1.c"):
        source.write_bytes(files[f"./codegen/host/src/{name}"])
        include = [f"-I{folder}" for folder in micro.get_include_dirs()]
        command = [compiler, *STRICT, *include, "-c", str(source), "-o", str(tmp_path / "lib.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


def test_the_table_of_functions_does_not_keep_a_model_from_running(tmp_path):
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    build().export_library(tmp_path / "net.so")
    library = tenon.runtime.load_module(str(tmp_path / "net.so"))
    module = graph_executor.GraphModule(library["net"](tenon.cpu(0)))
    x = np.arange(6, dtype="float32").reshape(2, 3)
    module.run(x=x)
    weight = np.arange(12, dtype="float32").reshape(4, 3)
    np.testing.assert_allclose(module.get_output(0).numpy(), (x @ weight.T).sum(1))


@needs_llvm
def test_object_files(tmp_path):
    _, files = export(build(tenon.target.Target("llvm")), tmp_path / "net.tar")
    assert files["./codegen/host/lib/lib0.o"][:4] == b"\x7fELF"
    assert not [name for name in files if "/src/" in name]


def test_code_that_an_archive_cannot_hold_is_refused(tmp_path):
    inner, outer = tenon.support.FrontendTestModule(), build().get_lib()
    outer.import_module(inner)
    factory = graph_runtime_factory.GraphRuntimeFactoryModule(
        None, C, build().graph_json, outer, "net", {}
    )
    message = "Don't know how to export non-c or non-llvm modules; found: ffi_testing$"
    with pytest.raises(micro.UnsupportedInModelLibraryFormatError, match=message):
        micro.export_model_library_format(factory, tmp_path / "net.tar")
    with pytest.raises(micro.UnsupportedInModelLibraryFormatError, match=message):
        mlf._populate_codegen_dir(outer, tmp_path / "code")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotImplementedError, match="Don't know how to export module of type"):
        micro.export_model_library_format(outer, tmp_path / "net.tar")


@pytest.mark.parametrize("name", ["", "a/b", "../net"])
def test_names_that_are_no_files(name, tmp_path):
    factory = build()
    factory.libmod_name = name
    with pytest.raises(ValueError, match="not a name of a file"):
        micro.export_model_library_format(factory, tmp_path / "net.tar")


def test_long_names(tmp_path):
    name = "n" * 80
    _, files = export(build(name=name), tmp_path / "net.tar")
    assert f"./parameters/{name}.params" in files
    factory = build()
    factory.libmod_name = "n" * 200
    with pytest.raises(ValueError, match="archive: the name .* is too long"):
        micro.export_model_library_format(factory, tmp_path / "no.tar")
    assert not (tmp_path / "no.tar").exists()


def test_where_nothing_can_be_written(tmp_path):
    with pytest.raises(OSError, match="cannot write"):
        micro.export_model_library_format(build(), tmp_path / "none" / "net.tar")


def test_factories_have_their_old_name():
    factory = build()
    assert isinstance(factory, graph_runtime_factory.GraphRuntimeFactoryModule)
    assert type(factory) is executor_factory.GraphExecutorFactoryModule
    assert factory.graph_json == factory.get_graph_json()


def test_command_writes_archives(tmp_path):
    path = tmp_path / "cnn.tar"
    model = str(DIGITS / "digits_cnn.onnx")
    status, out, err = call("compile", model, "--format", "mlf", "-o", str(path))
    assert (status, err) == (0, "") and out.startswith(f"{path}: {path.stat().st_size} bytes, 7 ")
    with tarfile.open(path) as archive:
        metadata = json.load(archive.extractfile("./metadata.json"))
        program = archive.extractfile("./relay.txt").read().decode()
        assert b"tvmgen_default_library" in archive.extractfile("./codegen/host/src/lib1.c").read()
    assert metadata["model_name"] == "default" and metadata["target"] == {"1": "c -keys=cpu"}
    assert metadata["memory"][0] == {"input_binding": "image", "size_bytes": 256, "storage_id": 0}
    assert program.startswith("def @main(%image: Tensor[(1, 1, 8, 8), float32]")
    status, out, err = call("compile", model, "--target", "c", "-o", str(tmp_path / "no.so"))
    assert status == 1 and "archives of C source with --format mlf" in err
    status, out, err = call("compile", model, "--format", "zip")
    assert status == 2 and "--format is one of: library so tar mlf c; given: zip" in err


PROGRAM = """
import sys
from tenon import micro, relay, IRModule
x = relay.var("x", shape=(1, 16, 56, 56))
body = relay.nn.max_pool2d(relay.nn.relu(x), (3, 3), (2, 2), padding=(1, 1))
micro.export_c(IRModule.from_expr(relay.Function([x], body)), sys.argv[1], "m")
"""


def test_code_does_not_depend_on_the_machine_that_writes_it(tmp_path):
    texts = set()
    for threads in ("1", "7"):
        environment = {**os.environ, "TENON_NUM_THREADS": threads}
        folder = tmp_path / threads
        subprocess.run([sys.executable, "-c", PROGRAM, folder], env=environment, check=True)
        texts.add((folder / "m.c").read_text())
    assert len(texts) == 1


def test_targets_of_platforms():
    from tenon.micro import testing

    assert str(testing.get_target("crt")) == str(tenon.target.target.micro("host"))
    with pytest.raises(ValueError, match="no boards of 'zephyr' are known here"):
        testing.get_target("zephyr", "nucleo_l4r5zi")
    with pytest.raises(ValueError, match="crt has no boards"):
        testing.get_target("crt", "x")
