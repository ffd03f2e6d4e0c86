"""What C takes when a compiler makes it: of files that stand alone and of archives."""

import json
import shutil
import tarfile

import numpy as np
import pytest
import tenon
from tenon import micro, relay
from tenon.relay.backend import Executor, Runtime
from test_cli import call

FIGURES = ("flash_bytes", "memory_bytes", "stack_bytes")
CC = "gcc -std=c99 -O2"
BOARD = "arm-none-eabi-gcc -std=c99 -Os -mthumb -mcpu=cortex-m4"

pytestmark = pytest.mark.skipif(not shutil.which("gcc"), reason="no gcc")
x = relay.var("x", shape=(1, 64))
body = relay.nn.softmax(relay.nn.dense(x, relay.const(np.ones((16, 64), "float32"))))
program = tenon.IRModule.from_expr(relay.Function([x], body))


def aot(target="c", name="net"):
    executor = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    with tenon.transform.PassContext(opt_level=3, config={"tir.usmp.enable": True}):
        return relay.build(
            program, target, executor=executor, runtime=Runtime("crt"), mod_name=name
        )


def metadata(path):
    with tarfile.open(path) as archive:
        return json.load(archive.extractfile("./metadata.json"))["modules"]


def test_one_file(tmp_path):
    model = micro.export_c(program, str(tmp_path), "net")
    made = model.measure(CC)
    assert made["flash_bytes"] > model.constant_bytes == 4096
    assert model.workspace_bytes <= made["memory_bytes"] <= model.workspace_bytes + 64
    assert 0 < made["stack_bytes"] < 1024
    assert made["calls"] == ["expf"]
    source = tmp_path / "net.c"
    text = source.read_text()
    deeper = "static int deep(int n) { volatile char a[4096]; a[n] = 1; return a[n]; }\n"
    changed = text.replace("int net_run(", deeper + "int net_run(", 1)
    source.write_text(
        changed.replace("  return (int)", "  if (!deep(1)) return -1;\n  return (int)")
    )
    assert model.measure(CC)["stack_bytes"] > 4096
    twice = "static int again(int n) { return n ? again(n / 3) + again(n / 2) : 0; }\n"
    changed = text.replace("int net_run(", twice + "int net_run(", 1)
    changed = changed.replace(
        "  return (int)", "  if (again((int)(long)inputs)) return -1;\n  return (int)"
    )
    source.write_text(changed)
    with pytest.raises(ValueError, match="a function calls itself"):
        model.measure("gcc -O0")
    size = "int net_run(", "static void any(int n) { volatile char a[n]; a[0] = 1; }\nint net_run("
    changed = text.replace(*size, 1)
    source.write_text(
        changed.replace("  return (int)", "  any((int)(long)inputs);\n  return (int)")
    )
    with pytest.raises(ValueError, match="the frame of .* has no constant size"):
        model.measure("gcc -O0")


def test_errors(tmp_path):
    model = micro.export_c(program, str(tmp_path), "net")
    with pytest.raises(OSError, match="cannot start the C compiler no-such-cc"):
        model.measure("no-such-cc -Os")
    with pytest.raises(ValueError, match="the command of the C compiler is empty"):
        model.measure(" ")
    with pytest.raises(ValueError, match="does not compile"):
        model.measure("gcc -fno-such-option")
    for silent in ("true", "gcc -flto"):
        with pytest.raises(ValueError, match="tells no call graph"):
            model.measure(silent)
    model.name = "other"
    (tmp_path / "other.c").write_text("int some(void) { return 0; }\n")
    with pytest.raises(ValueError, match="unknown function other_run"):
        model.measure(CC)


def test_archive(tmp_path):
    path = str(tmp_path / "net.tar")
    models = [aot(), aot(name="second")]
    micro.export_model_library_format(models, path, compiler=CC)
    for name, model in metadata(path).items():
        own = model["tenon"]
        made = own["measured"]
        assert made["compiler"] == CC and made["calls"] == "expf", name
        assert made["flash_bytes"] > own["constant_bytes"]
        assert made["stack_bytes"] >= own["stack_bytes"] >= 0
    status, out, _ = call("inspect", path, "--model", "net")
    assert status == 0 and f"by {CC}" in out
    assert f"flash    {made['flash_bytes']} bytes of code and constants" in out
    status, again, _ = call("inspect", path, "--model", "net", "--compiler", CC)
    assert status == 0 and again.startswith(out) and "without expf" in again
    assert again.count(f"stack    {made['stack_bytes']} bytes of frames") == 2


def test_archive_for_a_board(tmp_path):
    if not shutil.which("arm-none-eabi-gcc"):
        pytest.skip("no arm-none-eabi-gcc")
    paths = [str(tmp_path / name) for name in ("a.tar", "b.tar")]
    model = aot("c -mcpu=cortex-m4")
    micro.export_model_library_format(model, paths[0], compiler=BOARD)
    micro.export_model_library_format(model, paths[1])
    made = metadata(paths[0])["net"]["tenon"]["measured"]
    assert 4096 < made["flash_bytes"] < 6000 and 0 < made["stack_bytes"] < 200
    assert "measured" not in metadata(paths[1])["net"]["tenon"]
    status, out, _ = call("inspect", paths[1], "--compiler", BOARD)
    assert status == 0 and f"flash    {made['flash_bytes']} bytes" in out


def test_archives_that_cannot_be_measured(tmp_path):
    path = str(tmp_path / "graph.tar")
    graph = relay.build(program, "c", mod_name="graph")
    with pytest.raises(ValueError, match="only archives of version 7"):
        micro.export_model_library_format(graph, path, compiler=CC)
    micro.export_model_library_format(graph, path)
    status, _, error = call("inspect", path, "--compiler", CC)
    assert status == 1 and "is for the graph executor" in error
    with pytest.raises(ValueError, match="does not compile"):
        micro.export_model_library_format(aot(), path, compiler="gcc -fno-such-option")
