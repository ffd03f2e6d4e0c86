"""Bytes that archives, headers and `tenon inspect` tell are those in the compiled objects."""

import json
import re
import shutil
import subprocess
import tarfile

import numpy as np
import pytest
import tenon
from tenon import micro, relay
from tenon.relay.backend import Executor, Runtime
from test_cli import call

pytestmark = pytest.mark.skipif(
    not (shutil.which("cc") and shutil.which("nm")), reason="no C compiler"
)
C_INTERFACE = {"interface-api": "c", "unpacked-api": True}


def program():
    """Constants and values of odd sizes."""
    rng = np.random.default_rng(0)
    body = relay.var("x", shape=(1, 3, 9, 9), dtype="int8")
    x = body
    for shape in ((5, 3, 3, 3), (7, 5, 1, 1), (3, 7, 3, 3)):
        weight = relay.const(rng.integers(-5, 5, shape).astype("int8"))
        pad = (1, 1) if shape[2] == 3 else (0, 0)
        body = relay.nn.conv2d(body, weight, out_dtype="int32", padding=pad)
        body = relay.cast(relay.clip(relay.right_shift(body, relay.const(4)), -128, 127), "int8")
        body = relay.add(body, relay.const(rng.integers(-5, 5, (shape[0], 1, 1)).astype("int8")))
    return tenon.IRModule.from_expr(relay.Function([x], body))


def built(mod, config=None, options=None, **more):
    executor = Executor("aot", {**C_INTERFACE, **(options or {})})
    with tenon.transform.PassContext(opt_level=3, config=config or {}):
        return relay.build(mod, "c", executor=executor, runtime=Runtime("crt"), **more)


def compiled(folder, sources, cc="cc"):
    """Bytes of constants and of static memory, and the objects."""
    sizes, objects = {"r": 0, "b": 0, "d": 0}, []
    for source in sources:
        path = folder / f"{source.stem}.o"
        include = [f"-I{p}" for p in micro.get_include_dirs()]
        subprocess.run([cc, "-Os", "-c", str(source), *include, "-o", str(path)], check=True)
        listed = subprocess.run(["nm", "-S", str(path)], capture_output=True, text=True, check=True)
        for size, kind in re.findall(r"^\w+ (\w+) ([rRbBdDvV]) ", listed.stdout, re.MULTILINE):
            sizes[kind.lower()] += int(size, 16)
        objects.append(path)
    return sizes["r"], sizes["b"] + sizes["d"], objects


def unpacked(factory, folder):
    path = micro.export_model_library_format(factory, folder / "m.tar")
    with tarfile.open(path) as archive:
        archive.extractall(folder, filter="data")
    told = json.loads((folder / "metadata.json").read_text())["modules"]["default"]
    return told, sorted((folder / "codegen/host/src").glob("*.c"))


@pytest.mark.parametrize("options", [{}, {"workspace-byte-alignment": 4}])
def test_archives(options, tmp_path):
    factory = built(program(), {"tir.usmp.enable": True}, options)
    told, sources = unpacked(factory, tmp_path)
    constants, memory, _ = compiled(tmp_path, sources)
    main, own = told["memory"]["functions"]["main"][0], told["tenon"]
    assert main["constants_size_bytes"] == constants == 374
    assert main["workspace_size_bytes"] == memory == own["pools"][0]["size_bytes"]
    assert 0 < own["live_bytes"] <= memory
    text = call("inspect", str(tmp_path / "m.tar"))[1]
    assert f"  constants  {constants} bytes\n" in text and f"  workspace  {memory} bytes" in text


def test_without_memory_there_is_none(tmp_path):
    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    told, sources = unpacked(built(mod, {"tir.usmp.enable": True}), tmp_path)
    assert compiled(tmp_path, sources)[:2] == (0, 0)
    assert told["memory"]["functions"]["main"][0]["workspace_size_bytes"] == 0
    model = micro.export_c(mod, tmp_path / "c", "m")
    assert compiled(tmp_path, [tmp_path / "c" / "m.c"])[:2] == (0, 0)
    assert model.workspace_bytes == model.constant_bytes == 0
    np.testing.assert_allclose(model.host()(x=np.zeros(4, "float32")), np.ones(4), rtol=1e-6)


def test_single_files(tmp_path):
    model = micro.export_c(program(), tmp_path, "m")
    found = compiled(tmp_path, [tmp_path / "m.c"])[:2]
    assert found == (model.constant_bytes, model.workspace_bytes)
    header = (tmp_path / "m.h").read_text()
    assert f"#define M_WORKSPACE_BYTES {found[1]} " in header
    assert f"#define M_CONSTANT_BYTES {found[0]} " in header


@pytest.mark.skipif(
    not (shutil.which("readelf") and shutil.which("arm-none-eabi-gcc")),
    reason="hosts align large constants further",
)
@pytest.mark.parametrize("options", [{}, {"constant-byte-alignment": 8}])
def test_constants_of_pools(options, tmp_path):
    pools = tenon.ConstantMemoryPools(
        [
            tenon.ConstantPoolInfo("flash", [], None, tenon.PoolInfoProperties(204)),
            tenon.ConstantPoolInfo("qspi", []),
        ]
    )
    told, sources = unpacked(built(program(), {}, options, constant_memory_pools=pools), tmp_path)
    objects = compiled(tmp_path, sources, "arm-none-eabi-gcc")[2]
    sections = {}
    for path in objects:
        command = ["readelf", "-SW", str(path)]
        listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for name, size, align in re.findall(
            r"\.rodata\.tvm\.(\w+) +PROGBITS +\w+ \w+ (\w+) \w+ +A +\d+ +\d+ +(\d+)", listed
        ):
            sections[name] = int(size, 16), int(align)
    least = options.get("constant-byte-alignment", 1)
    for pool in told["tenon"]["constant_pools"]:
        size, align = sections[pool["name"]]
        assert align >= least
        assert abs(size - pool["size_bytes"]) < least  # what comes last has nothing behind it
    assert told["tenon"]["constant_pools"][0]["size_bytes"] <= 204
