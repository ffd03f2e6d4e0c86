"""Builds and runs in little address space: a MemoryError, never the end of the process."""

import collections
import os
import resource
import subprocess
import sys

import pytest
import tenon
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_cli import COMMAND

pytestmark = [
    pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="built without LLVM"),
    pytest.mark.skipif("LD_PRELOAD" in os.environ, reason="a sanitizer needs address space"),
]

# Forks a process for each level, as a new one would take long to import everything. The work is
# done in a thread whose stack is there from the start: that of the main thread grows, and where it
# cannot the system ends the process. Prints a line for each level.
PARENT = """
import os, resource, signal, sys, threading
import numpy as np
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.runtime.vm import VirtualMachine

def model(n):
    x = relay.var("x", shape=(1, 8, 12, 12))
    y = x
    for i in range(n):
        w = relay.const(np.random.rand(8, 8, 3, 3).astype("float32"))
        y = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), channels=8, kernel_size=(3, 3)))
        y = relay.nn.softmax(y, axis=1) if i % 2 else relay.exp(relay.nn.max_pool2d(y, (3, 3)))
        y = relay.nn.pad(y, ((0, 0), (0, 0), (1, 1), (1, 1))) if i % 2 == 0 else y
    return tenon.IRModule.from_expr(relay.Function([x], y))

DATA = np.ones((1, 8, 12, 12), "float32")

def graph(mod, target):
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target=target)
    m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.run(x=DATA)
    return m.get_output(0).numpy()

def machine(mod, target):
    with tenon.transform.PassContext(opt_level=3):
        exe = relay.vm.compile(mod, target=target)
    return VirtualMachine(exe, tenon.cpu()).run(DATA).numpy()

def save(mod, target):
    with tenon.transform.PassContext(opt_level=1):
        relay.build(mod, target=target).export_library(
            os.path.join(sys.argv[5], "x.so"), fcompile=tenon.contrib.cc.link_objects)

def load(mod, target):
    path = os.path.join(sys.argv[5], "x.so")
    if not os.path.exists(path):  # the first time, without a limit
        save(model(2), target)
    m = graph_executor.GraphModule(tenon.runtime.load_module(path)["default"](tenon.cpu()))
    m.run(x=DATA)
    return m.get_output(0).numpy()

READY = {}

def run(mod, target):
    # runs alone: what they need was built without a limit
    if not READY:
        READY["graph"] = graph_executor.GraphModule(
            relay.build(model(4), target=target)["default"](tenon.cpu()))
        READY["machine"] = VirtualMachine(relay.vm.compile(rows(), target=target), tenon.cpu())
        return
    READY["graph"].run(x=DATA)
    for n in (1, 3000, 5):
        READY["machine"].run(np.ones((n, 64), "float32")).numpy()

def rows():
    # results and memory of any size
    x = relay.var("x", shape=(relay.Any(), 64))
    y = relay.nn.dense(x, relay.const(np.ones((64, 64), "float32")))
    return tenon.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.cumsum(y, 0))))

def onnx_model(n):
    rng = np.random.default_rng(0)
    init = [onnx.numpy_helper.from_array(rng.random((8, 8), "float32"), f"w{i}") for i in range(n)]
    nodes = [onnx.helper.make_node("MatMul", [f"y{i}", f"w{i}"], [f"y{i + 1}"]) for i in range(n)]
    ends = [onnx.helper.make_tensor_value_info(k, 1, (8, 8)) for k in ("y0", f"y{n}")]
    graph = onnx.helper.make_graph(nodes, "g", ends[:1], ends[1:], init)
    return onnx.helper.make_model(graph).SerializeToString()

def read(mod, target):
    relay.frontend.from_onnx(ONNX.pop(0))  # a small one without a limit, then a large one

def used():
    return int(open("/proc/self/statm").read().split()[0]) * os.sysconf("SC_PAGE_SIZE")

def child(work, target, room, out):
    said = "nothing"
    def body():
        nonlocal said
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (used() + room, hard))
        try:
            work(mod, target)
            said = "done"
        except MemoryError:
            said = "MemoryError"
        except BaseException as err:
            said = f"{type(err).__name__}: {err}"
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    signal.alarm(100)
    threading.stack_size(4 << 20)
    t = threading.Thread(target=body)
    t.start()
    t.join()
    os.write(out, said.encode()[:2000])
    os._exit(0)

if sys.argv[1] == "read":
    import onnx
    ONNX = [onnx_model(1), onnx_model(1000)]
work, target, step, levels = globals()[sys.argv[1]], *sys.argv[2:3], *map(int, sys.argv[3:5])
mod = model(3)
work(model(1), target)
for level in range(levels):
    inp, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        child(work, target, level * step, out)
    os.close(out)
    said = os.read(inp, 2000).decode()
    os.close(inp)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    print(f"{status} {said!r}", flush=True)
    if said == "done":
        break
"""


def outcomes(folder, work, target, step, levels=60):
    command = [sys.executable, "-c", PARENT, work, target, str(step), str(levels), str(folder)]
    env = {**os.environ, "TENON_CACHE": "off", "MALLOC_ARENA_MAX": "1", "TENON_NUM_THREADS": "2"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=500)
    assert done.returncode == 0, done.stderr[-2000:]
    assert os.listdir(folder) in ([], ["x.so"])
    return collections.Counter(done.stdout.splitlines())


@pytest.mark.parametrize(
    "work, target, step",
    [
        ("graph", "llvm", 250_000),
        ("machine", "llvm", 250_000),
        ("save", "llvm", 250_000),
        ("graph", "stackvm", 50_000),
        ("load", "llvm", 8_000),
        ("read", "llvm", 16_000),
        ("run", "llvm", 200_000),
    ],
)
def test_falling_limits(work, target, step, tmp_path):
    if work == "read":
        pytest.importorskip("onnx")
    found = outcomes(tmp_path, work, target, step)
    # what the system's loader says of a library that it cannot map, without the reason
    refused = [k for k in found if work == "load" and k.startswith("0 'TVMError: Failed to load")]
    assert set(found) <= {"0 'done'", "0 'MemoryError'", *refused}, found
    assert found["0 'done'"] == 1


@pytest.mark.slow
@pytest.mark.parametrize("work", ["graph", "machine", "save"])
def test_falling_limits_in_small_steps(work, tmp_path):
    found = outcomes(tmp_path, work, "llvm", 20_000, levels=1000)
    assert set(found) <= {"0 'done'", "0 'MemoryError'"}, found


def test_the_command_under_falling_limits(tmp_path):
    model, library = tmp_path / "model.relay", tmp_path / "model.so"
    x = relay.var("x", shape=(4, 4))
    model.write_text(tenon.IRModule.from_expr(relay.Function([x], relay.exp(x))).astext())
    library.write_text("old")
    found = collections.Counter()
    for room in range(20, 420, 40):
        done = subprocess.run(
            [str(COMMAND), "compile", str(model), "-o", str(library)],
            env={**os.environ, "TENON_CACHE": "off", "MALLOC_ARENA_MAX": "1"},
            capture_output=True,
            text=True,
            preexec_fn=lambda room=room: resource.setrlimit(
                resource.RLIMIT_AS, (room << 20, room << 20)
            ),
        )
        found[done.returncode] += 1
        if done.returncode == 0:
            break
        if done.returncode == 1:
            assert "out of memory" in done.stderr and library.read_text() == "old"
        else:  # the loader of programs
            assert done.returncode == 127 and "error while loading" in done.stderr
    assert found[0] == 1 and found[1] > 0
    assert sorted(os.listdir(tmp_path)) == ["model.relay", "model.so"]
