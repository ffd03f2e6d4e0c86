"""Ctrl-C while a model is imported or built: the work ends soon, and the library stays usable."""

import os
import signal
import subprocess
import sys
import time

import pytest
import tenon
from tenon import relay
from tenon.target.codegen import llvm_version_major
from test_cli import COMMAND

pytestmark = pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="no LLVM")

SECONDS = 3  # from the signal to the end; a sanitizer or a busy machine is slower than a user's

# Kernels that all differ: a build of this takes far longer than the tests wait.
MODEL = """
def model(n=150):
    x = relay.var("x", shape=(1, 3, 40, 40))
    y, channels = x, 3
    for i in range(n):
        w = relay.var(f"w{i}", shape=(i + 4, channels, 3, 3))
        y = relay.nn.relu(relay.nn.conv2d(y, w, padding=(1, 1), channels=i + 4, kernel_size=(3, 3)))
        y, channels = relay.nn.softmax(y, axis=1), i + 4
    return tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(y), y))
"""

BUILD = """
import os, signal, sys, threading, time
import numpy as np
import tenon
from tenon import relay
signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background ignores it
{model}
mod, small = model(), relay.Function([v := relay.var("v", shape=(4,))], relay.exp(v))
build = {build}
os.environ["TENON_NUM_THREADS"] = "4"
sent = []
def send():
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
timer = threading.Timer({after}, send)
timer.start()
try:
    build(mod)
    print("built")
except KeyboardInterrupt:
    print("interrupted", time.monotonic() - sent[0])
timer.join()
value = np.ones(4, "float32")
mod = tenon.IRModule.from_expr(small)
run = relay.create_executor("graph", mod, tenon.cpu(), "llvm").evaluate()
np.testing.assert_allclose(run(value).numpy(), np.exp(value), rtol=1e-5)
print("usable")
"""

BUILDS = {
    "graph": "lambda m: relay.build(m, target='llvm')",
    "vm": "lambda m: relay.vm.compile(m, target='llvm')",
    "aot": "lambda m: relay.build(m, target='llvm', executor=relay.backend.Executor('aot'))",
    "stackvm": "lambda m: relay.build(m, target='stackvm')",
}


@pytest.mark.parametrize("kind", BUILDS)
@pytest.mark.parametrize("after", [0.3, 1.5])
def test_a_build_ends_with_keyboard_interrupt(kind, after, tmp_path):
    code = BUILD.format(model=MODEL, build=BUILDS[kind], after=after)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "TENON_CACHE": "off"},
    )
    lines = done.stdout.split("\n")
    assert done.returncode == 0, done.stderr
    assert lines[0].startswith("interrupted"), done.stdout
    assert float(lines[0].split()[1]) < SECONDS
    assert lines[1] == "usable"


def saved_model(path):
    names = {"relay": relay, "tenon": tenon}
    exec(MODEL, names)
    path.write_text(names["model"]().astext())
    return path


@pytest.mark.parametrize("after", [0.5, 1.5])
def test_the_command_ends_with_status_130_and_no_file(after, tmp_path):
    source = saved_model(tmp_path / "model.relay")
    process = subprocess.Popen(
        [str(COMMAND), "compile", str(source), "-o", str(tmp_path / "out.so")],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TENON_CACHE": "off"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    time.sleep(after)
    assert process.poll() is None, process.stderr.read()
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert time.monotonic() - start < SECONDS
    assert process.returncode == 130 and err.endswith("tenon: interrupted\n"), err
    assert [p.name for p in tmp_path.iterdir()] == ["model.relay"]


DROPPED = """
import time
import tenon
from tenon import relay

inside = raised = 0

def swallowing(inner):
    def run(mod, ctx):
        global inside
        inside = 1
        try:
            while not raised:  # the host is asked a few dozen times a second
                inner(mod)
        except KeyboardInterrupt:
            pass
        inside = 0
        return mod
    return tenon.transform.module_pass(run, opt_level=0, name="Swallows")

def check():
    global raised
    if inside:
        raised += 1
        raise KeyboardInterrupt

x = relay.var("x", shape=(4,))
mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
pass_ = {pass_}
tenon.register_func("runtime.CheckSignals", check, override=True)
try:
    pass_(mod)
    print("lost")
except KeyboardInterrupt:
    assert raised == 1
    print("interrupted")
"""

PASSES = {
    "a pass": "swallowing(relay.transform.InferType())",
    "many passes": "tenon.transform.Sequential([swallowing(relay.transform.InferType())] * 9)",
}


@pytest.mark.parametrize("pass_", PASSES.values(), ids=PASSES)
def test_a_pass_that_drops_the_interrupt_ends_the_work(pass_):
    code = DROPPED.format(pass_=pass_)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "interrupted\n"), done.stderr


EVERY_PLACE = """
import os
import numpy as np
import tenon
from tenon import relay
{model}
mod = model(6)
build = {build}
left = raised = 0
def check():
    global left, raised
    left -= 1
    if left == 0:
        raised += 1
        raise KeyboardInterrupt
tenon.register_func("runtime.CheckSignals", check, override=True)
for n in range(1, 1000):  # the nth time that the build asks
    left, raised, ended = n, 0, "built"
    try:
        with tenon.transform.PassContext(opt_level=4):
            build(mod)
    except KeyboardInterrupt:
        ended = "interrupted"
    assert (ended == "interrupted") == (raised == 1), (n, ended, raised)
    if ended == "built" or n == {most}:
        break
print("every place")
"""


@pytest.mark.parametrize("kind", BUILDS)
def test_an_interrupt_ends_the_build_wherever_it_is_seen(kind):
    code = EVERY_PLACE.format(model=MODEL, build=BUILDS[kind], most=12)
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "TENON_CACHE": "off", "TENON_NUM_THREADS": "2"},
    )
    assert (done.returncode, done.stdout) == (0, "every place\n"), done.stderr
