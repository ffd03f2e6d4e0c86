"""The runtime with pointers of 32 bits: ARM under an emulator runs what is made here."""

import os
import pathlib
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import cc

ROOT = pathlib.Path(__file__).resolve().parents[2]
CROSS, EMULATOR, LIBRARIES = "arm-linux-gnueabihf-gcc", "qemu-arm", "/usr/arm-linux-gnueabihf"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which(CROSS) and shutil.which(EMULATOR)), reason=f"no {CROSS} and {EMULATOR}"
    ),
]
FLAGS = ["-std=gnu11", "-O1", "-D_GNU_SOURCE", '-DTN_VERSION="0"', "-Iinclude", "-Isrc", "-Werror"]

PROGRAM = """#[version = "0.0.5"]
type List[A] { Cons(A, List[A]), Nil, }
def @sum(%l: List[Tensor[(?, 3), float32]], %s: Tensor[(?, 3), float32])
    -> Tensor[(?, 3), float32] {
  match (%l) { Cons(%x, %r) => @sum(%r, add(%s, %x)), Nil => %s, }
}
def @grow(%n: int64, %x: Tensor[(?, 3), float32]) -> Tensor[(?, 3), float32] {
  if (less(0i64, %n)) { @grow(subtract(%n, 1i64), concatenate((%x, %x))) } else { %x }
}
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) {
  let %y = nn.relu(nn.dense(%x, %w));
  @grow(2i64, @sum(Cons(%y, Cons(%y, Nil)), %y))
}
"""
W = np.arange(12, dtype="float32").reshape(3, 4) - 5
X = np.random.default_rng(0).random((2, 4)).astype("float32")


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """tests/machines/run_module.c with the runtime."""
    folder = tmp_path_factory.mktemp("arm")
    sources = [ROOT / "tests/machines/run_module.c"]
    for layer in ("base", "object", "runtime"):
        sources += sorted((ROOT / "src" / layer).rglob("*.c"))
    sources = [s for s in sources if s.parent.name not in ("opencl", "cuda")]
    launcher = ["ccache"] if shutil.which("ccache") else []

    def compile_one(item):
        number, source = item
        output = str(folder / f"{number}.o")
        command = [*launcher, CROSS, *FLAGS, "-c", str(source), "-o", output]
        subprocess.run(command, check=True, cwd=ROOT)
        return output

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compile_one, enumerate(sources)))
    path = str(folder / "run_module")
    libraries = ["-lpthread", "-ldl", "-lm", "-rdynamic"]
    subprocess.run([CROSS, "-o", path, *objects, *libraries], check=True)
    return path


def run(program, kind, path, x):
    """What the module computes there."""
    rows, columns = (str(n) for n in x.shape)
    done = subprocess.run(
        [EMULATOR, "-L", LIBRARIES, program, kind, path, rows, columns],
        input=" ".join(repr(v) for v in x.ravel().tolist()),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    shape, values, bits = done.stdout.splitlines()
    assert bits == "pointers of 32 bits"
    return np.array(values.split(), "float32").reshape([int(n) for n in shape.split()])


def test_bytecode(program, tmp_path):
    """Loops, data types and shapes known at run time, from one file."""
    exe = relay.vm.compile(relay.parse(PROGRAM), target="c", params={"w": W})
    path = str(tmp_path / "vm.so")
    exe.mod.export_library(path, fcompile=cc.cross_compiler(CROSS))
    for rows in (1, 2):
        x = X[:rows]
        want = np.concatenate([np.maximum(x @ W.T, 0) * 3] * 4)
        np.testing.assert_allclose(run(program, "vm", path, x), want, rtol=1e-5)


def test_graph(program, tmp_path):
    x = relay.var("x", shape=(2, 4))
    body = relay.nn.softmax(relay.nn.dense(x, relay.const(W)))
    lib = relay.build(tenon.IRModule.from_expr(relay.Function([x], body)), target="c")
    path = str(tmp_path / "graph.so")
    lib.export_library(path, fcompile=cc.cross_compiler(CROSS))
    want = np.exp(X @ W.T)
    want /= want.sum(1, keepdims=True)
    np.testing.assert_allclose(run(program, "graph", path, X), want, rtol=1e-4)
