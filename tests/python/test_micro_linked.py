"""The C runtime of the Relay era (tvm/runtime/crt) around models that are linked in."""

import pathlib
import shutil
import subprocess
import sys
import tarfile

import numpy as np
import pytest
import tenon
from tenon import micro, relay
from tenon.relay.backend import Runtime

ROOT = pathlib.Path(__file__).resolve().parents[2]
MICRO = ROOT / "src" / "micro"
RUNTIME = [MICRO / f"{name}.c" for name in ("graph", "params", "scan")]
RUNTIME += sorted((MICRO / "crt").glob("*.c"))
INCLUDE = [f"-I{d}" for d in (*micro.get_include_dirs(), micro.get_standalone_crt_dir())]
STRICT = "-std=c99 -Wall -Wextra -Wpedantic -Wconversion -Werror".split()
SANITIZE = "-g1 -O0 -fsanitize=address,undefined -fno-sanitize-recover=all".split()

needs_cc = pytest.mark.skipif(
    not shutil.which("cc") or sys.platform != "linux", reason="needs a C compiler and ELF"
)


def model():
    """A softmax of two dense layers, with separate memory in a kernel, and its parameters."""
    rng = np.random.default_rng(0)
    params = {
        "w": rng.standard_normal((5, 4)).astype("float32"),
        "b": rng.standard_normal((5,)).astype("float32"),
        "v": rng.standard_normal((3, 5)).astype("float32"),
    }
    x = relay.var("x", shape=(1, 4))
    w, b, v = (relay.var(k, shape=p.shape) for k, p in params.items())
    y = relay.tanh(relay.nn.bias_add(relay.nn.dense(x, w), b))
    y = relay.nn.softmax(relay.nn.dense(y, v))
    return tenon.IRModule.from_expr(relay.Function([x, w, b, v], y)), params


def reference(x, params):
    y = np.tanh(x @ params["w"].T + params["b"]) @ params["v"].T
    y = np.exp(y - y.max(-1, keepdims=True))
    return y / y.sum(-1, keepdims=True)


@pytest.fixture(scope="module", params=["llvm", "c"])
def program(request, tmp_path_factory):
    """tests/micro/linked.c with the model; a function that runs it, and the parameters."""
    folder = tmp_path_factory.mktemp("linked")
    built, params = model()
    with tenon.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
        runtime = Runtime("crt", {"system-lib": True})
        lib = relay.build(built, request.param, runtime=runtime, params=params)
    lib.get_lib().export_library(folder / "model.tar")
    with tarfile.open(folder / "model.tar") as tar:
        tar.extractall(folder / "code", filter="data")
    (folder / "graph.json").write_text(lib.get_graph_json())
    (folder / "params").write_bytes(tenon.runtime.save_param_dict(lib.get_params()))
    code = sorted((folder / "code").iterdir())
    suffix = ".o" if request.param == "llvm" else ".c"
    assert [f.name for f in code] == [f"{name}{suffix}" for name in ("devc", "lib0", "lib1")]
    sources = [*RUNTIME, ROOT / "tests/micro/linked.c", *code]
    command = ["cc", *SANITIZE, *INCLUDE, *map(str, sources), "-lm", "-o", str(folder / "linked")]
    subprocess.run(command, check=True)

    def run(word, *args, **kwargs):
        words = [folder / "linked", word, folder / "graph.json", folder / "params", *args]
        return subprocess.run(list(map(str, words)), capture_output=True, timeout=60, **kwargs)

    return run, params


@needs_cc
@pytest.mark.parametrize("compiler", ["cc", "arm-none-eabi-gcc"])
def test_it_compiles_without_warnings(compiler, tmp_path):
    if not shutil.which(compiler):
        pytest.skip(f"no {compiler}")
    for source in RUNTIME:
        command = [compiler, *STRICT, *INCLUDE, "-c", str(source), "-o", str(tmp_path / "x.o")]
        done = subprocess.run(command, capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")


@needs_cc
def test_models_run(program):
    run, params = program
    x = np.random.default_rng(1).standard_normal((20, 1, 4)).astype("float32")
    done = run("run", input=x.tobytes())
    assert (done.returncode, done.stderr) == (0, b"")
    got = np.frombuffer(done.stdout, "float32").reshape(20, 1, 3)
    np.testing.assert_allclose(got, reference(x, params), rtol=1e-5, atol=1e-6)


@needs_cc
def test_what_is_refused(program):
    done = program[0]("refuse")
    assert done.returncode == 0, done.stderr.decode()
    graph = "1 the graph is damaged, or uses what this runtime has not"
    missing = "1 the program has no function of that name"
    params = "1 the parameters are damaged, or not those of the graph"
    other = "1 the tensor has another type or other extents than the graph's value"
    assert dict(line.rstrip().split(": ") for line in done.stdout.decode().splitlines()) == {
        "half": graph,
        "text": graph,
        "empty": graph,
        "gpu": "1 the C runtime runs on the CPU only",
        "none": "1 the library of the graph is missing",
        "global": missing,
        "name": missing,
        "params": params,
        "again": "0",
        "output": "1 the graph has fewer outputs",
        "size": other,
        "free": "0",
        "page": "0",
    }


@needs_cc
@pytest.mark.parametrize(
    "how, code, message",
    [
        ("name", "702", "z: the graph has no input of that name"),
        ("extent", "803", "x: the tensor has another type or other extents"),
        ("type", "803", "x: the tensor has another type or other extents"),
        ("strides", "803", "x: the tensor is not compact"),
        ("args", "800", ""),
        ("module", "801", ""),
    ],
)
def test_what_ends_the_program(program, how, code, message):
    done = program[0](how)
    assert done.returncode == 7
    told = done.stderr.decode()
    assert message in told and told.endswith(f"abort: 0x{code}\n")


@needs_cc
def test_memory_that_is_too_small(program):
    run, _ = program
    for size in (0, 100, 1000, 4000):
        done = run("run", size, input=b"")
        assert done.returncode == 1 and (b"too little memory" in done.stderr or size < 1000)
    assert run("run", 16000, input=b"").returncode == 0


def test_the_table_is_for_linked_models_only():
    built, params = model()
    plain = relay.build(built, "llvm", runtime=Runtime("crt"), params=params)
    assert not plain.get_lib().imported_modules
    linked = relay.build(built, "llvm", runtime=Runtime("crt", {"system-lib": True}), params=params)
    (table,) = linked.get_lib().imported_modules
    assert "TVMSystemLibEntryPoint" in table.get_source()
    # the model runs in this process as well
    run = tenon.contrib.graph_executor.GraphModule(linked["default"](tenon.cpu()))
    x = np.ones((1, 4), "float32")
    run.set_input("x", x)
    run.run()
    np.testing.assert_allclose(run.get_output(0).numpy(), reference(x, params), rtol=1e-5)
