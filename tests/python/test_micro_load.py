"""Running archives in Model Library Format on the host: all versions, and hostile bytes."""

import io
import json
import re
import tarfile

import numpy as np
import pytest
import tenon
from tenon import micro, relay
from tenon.contrib.graph_executor import GraphModule
from test_aot import CRT, build, expected, inputs, needs_cc, needs_llvm, network, pools_of, run
from test_cli import call

C_INTERFACE = {"interface-api": "c", "unpacked-api": True}
USMP = {"tir.usmp.enable": True}
pytestmark = [needs_cc, needs_llvm]


def models():
    """Built models by the way they are built."""
    program = network()
    pools = pools_of(("dtcm", 20000), ("psram", -1))
    return program, {
        "first version": lambda: relay.build(program, "c"),
        "graph": lambda: relay.build(program, "c", runtime=CRT),
        "objects": lambda: relay.build(program, "llvm"),
        "c": lambda: build(program, C_INTERFACE, CRT),
        "c, planned": lambda: build(program, C_INTERFACE, CRT, config=USMP),
        "c, banks": lambda: build(
            program, C_INTERFACE, CRT, config=USMP, workspace_memory_pools=pools
        ),
        "packed": lambda: build(program, {}, CRT),
        "packed, planned": lambda: build(program, {}, CRT, config=USMP),
        "unpacked operators": lambda: build(program, {"unpacked-api": True}, CRT),
        "c, objects": lambda: build(program, C_INTERFACE, CRT, target="llvm"),
    }


def check(module, program):
    values = inputs()
    got = run(GraphModule(module["default"](tenon.cpu(0))), values)
    for one, right in zip(got, expected(program, values), strict=True):
        np.testing.assert_allclose(one, right, rtol=1e-4)


@pytest.mark.parametrize("kind", models()[1])
def test_archives_run_on_the_host(kind, tmp_path):
    program, made = models()
    path = micro.export_model_library_format(made[kind](), tmp_path / "model.tar")
    check(micro.load_model_library_format(path), program)


def changed(source, path, change, rename=lambda name: name):
    """An archive like another one, with changed metadata and names."""
    with tarfile.open(source) as old, tarfile.open(path, "w") as new:
        for member in old:
            if not member.isfile():
                continue
            data = old.extractfile(member).read()
            if member.name == "./metadata.json":
                data = json.dumps(change(json.loads(data))).encode()
            info = tarfile.TarInfo(rename(member.name))
            info.size = len(data)
            info.mtime = 1600000000.25  # as Python's own archives: with a pax header
            new.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("version", range(2, 7))
def test_versions_in_between(version, tmp_path):
    program, made = models()
    source = micro.export_model_library_format(made["graph"](), tmp_path / "seven.tar")

    def change(metadata):
        (model,) = metadata["modules"].values()
        if version < 3:
            model["runtimes"] = model.pop("executors")
        return {**model, "version": version}

    def rename(name):
        folder = "executor-config" if version > 3 else "runtime-config"
        name = name.replace("executor-config/graph/default.graph", f"{folder}/graph/graph.json")
        name = name.replace("src/default.relay", "relay.txt" if version < 5 else "src/relay.txt")
        return re.sub(r"src/default_lib", "src/lib", name)

    path = changed(source, tmp_path / "old.tar", change, rename)
    check(micro.load_model_library_format(path), program)


@pytest.mark.parametrize("options", [C_INTERFACE, {}])
def test_archives_of_others(options, tmp_path):
    """Without what only this compiler writes: the program's text tells shapes and order."""
    x, a = relay.var("x", shape=(2, 3)), relay.var("a", shape=(2, 1), dtype="int8")
    c = relay.var("c", shape=(2, 3))
    body = relay.Tuple([relay.add(relay.multiply(x, c), relay.cast(a, "float32")), a])
    program = tenon.IRModule.from_expr(relay.Function([x, a, c], body))
    c = np.array([[1, 2, 3], [4, 5, 6]], "float32")
    source = tmp_path / "own.tar"
    micro.export_model_library_format(build(program, options, CRT, params={"c": c}), source)

    def change(metadata):
        del metadata["modules"]["default"]["tenon"]
        return metadata

    path = changed(source, tmp_path / "other.tar", change)
    module = micro.load_model_library_format(path)
    values = {"x": np.full((2, 3), 2, "float32"), "a": np.array([[7], [-9]], "int8")}
    got = run(GraphModule(module["default"](tenon.cpu(0))), values)
    np.testing.assert_allclose(got[0], values["x"] * c + values["a"])
    np.testing.assert_array_equal(got[1], values["a"])


def test_models_are_chosen_by_name(tmp_path):
    program = network()
    both = [build(program, {}, CRT, mod_name=name) for name in ("one", "two")]
    path = micro.export_model_library_format(both, tmp_path / "both.tar")
    check(micro.load_model_library_format(path, "two"), program)
    with pytest.raises(ValueError, match="archive: which model is meant: one, two?"):
        micro.load_model_library_format(path)
    with pytest.raises(ValueError, match="unknown model six; known: one, two"):
        micro.load_model_library_format(path, "six")
    np.savez(tmp_path / "in.npz", **inputs())
    words = ["--model", "one", "-i", str(tmp_path / "in.npz"), "-o", str(tmp_path / "out.npz")]
    status, _, err = call("run", path, *words)
    assert (status, err) == (0, "") and len(np.load(tmp_path / "out.npz")) == 5


def test_inspect_tells_what_firmware_needs(tmp_path):
    factory = build(network(), C_INTERFACE, CRT, config=USMP)
    path = micro.export_model_library_format(factory, tmp_path / "model.tar")
    metadata = factory.executor_codegen_metadata
    status, out, err = call("inspect", path)
    assert (status, err) == (0, "")
    least = f", at least {metadata.live_bytes} in any plan\n"
    for line in (
        "Model Library Format, version 7\nmodel default\n  executor   aot, C interface\n",
        "  input x: float32, 3072 bytes\n",
        f"  workspace  {metadata.workspace_bytes} bytes{least}",
        f"  pool workspace  {metadata.workspace_bytes} bytes\n",
        "  constants  864 bytes\n",
        f"  stack      {metadata.stack_bytes} bytes in arrays",
    ):
        assert line in out
    status, out, _ = call("inspect", "--json", path)
    assert status == 0 and json.loads(out)["version"] == 7


def test_code_that_does_not_compile(tmp_path, monkeypatch):
    program, made = models()
    source = micro.export_model_library_format(made["c"](), tmp_path / "own.tar")

    def rename(name):
        return name.replace("default_lib1.c", "default_lib1.txt")

    path = changed(source, tmp_path / "less.tar", lambda metadata: metadata, rename)
    with pytest.raises(tenon.TVMError, match="undefined symbol: tvmgen_default_run"):
        micro.load_model_library_format(path)

    def rename_relay(name):
        return {"./src/default.relay": "./codegen/host/src/default_lib7.c"}.get(name, name)

    path = changed(source, tmp_path / "text.tar", lambda metadata: metadata, rename_relay)
    with pytest.raises(ValueError, match="the code of default does not compile:\n.*error"):
        micro.load_model_library_format(path)
    monkeypatch.setenv("CC", "no-such-compiler; true")
    with pytest.raises(OSError, match="cannot start the C compiler no-such-compiler;: "):
        micro.load_model_library_format(source)


def archive(*members, metadata=b"{}"):
    """Bytes of an archive of members (name, type, data)."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, kind, data in [("metadata.json", tarfile.REGTYPE, metadata), *members]:
            info = tarfile.TarInfo(name)
            info.type = kind
            info.size = len(data)
            info.linkname = "/etc/passwd" if kind in (tarfile.SYMTYPE, tarfile.LNKTYPE) else ""
            tar.addfile(info, io.BytesIO(data))
    return out.getvalue()


FILE = tarfile.REGTYPE
HOSTILE = {
    "nothing": (b"", "0 bytes are none"),
    "no archive": (b"x" * 2048, "checksum is wrong"),
    "zeros": (b"\0" * 10240, "metadata.json is missing"),
    "above": (archive(("../x", FILE, b"")), "member ../x is not a path within the archive"),
    "inside above": (archive(("a/../../x", FILE, b"")), "not a path within"),
    "absolute": (archive(("/etc/x", FILE, b"")), "not a path within"),
    "empty part": (archive(("a//x", FILE, b"")), "not a path within"),
    "link": (archive(("x", tarfile.SYMTYPE, b"")), "x is neither file nor folder"),
    "hard link": (archive(("x", tarfile.LNKTYPE, b"")), "x is neither file nor folder"),
    "device": (archive(("x", tarfile.CHRTYPE, b"")), "x is neither file nor folder"),
    "twice": (archive(("x", FILE, b""), ("./x", FILE, b"")), "two members are called x"),
    "cut off": (archive(("x", FILE, b"1" * 4000))[:3000], "member 1 is cut off"),
    "no JSON": (archive(metadata=b"{"), "JSON"),
    "no object": (archive(metadata=b"[]"), "does not say its version"),
    "version 0": (archive(metadata=b'{"version": 0}'), "version 0, known are 1 to 7"),
    "version 8": (archive(metadata=b'{"version": 8}'), "version 8, known are 1 to 7"),
    "no name": (archive(metadata=b'{"version": 1}'), "expected a text"),
    "path as name": (
        archive(metadata=b'{"version": 1, "model_name": "../a", "runtimes": ["graph"]}'),
        "which is not a name of a file",
    ),
    "no graph": (
        archive(metadata=b'{"version": 1, "model_name": "a", "runtimes": ["graph"]}'),
        "a has no graph",
    ),
    "other executor": (
        archive(metadata=b'{"version": 3, "model_name": "a", "executors": ["vm"]}'),
        "for the executor vm, known are graph and aot",
    ),
    "no tensors": (
        archive(metadata=b'{"version": 6, "model_name": "a", "executors": ["aot"]}'),
        "says what goes into a",
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_archives(what, tmp_path):
    data, message = HOSTILE[what]
    path = tmp_path / "bad.tar"
    path.write_bytes(data)
    with pytest.raises(ValueError, match=re.escape(message)):
        micro.load_model_library_format(path)


def test_names_do_not_reach_the_compiler(tmp_path):
    """A model whose name is a command: what is compiled has names of our own."""
    program = network()
    name = "a; touch pwned; $(touch pwned)"
    factory = build(program, {}, CRT, mod_name=name)
    path = micro.export_model_library_format(factory, tmp_path / "model.tar")
    check(micro.load_model_library_format(path), program)
    assert not list(tmp_path.glob("**/pwned"))
