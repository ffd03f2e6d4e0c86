"""The tenon command: help, usage errors, exit statuses, opt, doctor, completions, manual page."""

import json
import os
import pathlib
import shutil
import subprocess

import numpy as np
import pytest
import tenon
from tenon import relay

PACKAGE = pathlib.Path(tenon._core.__file__).parent
COMMAND = PACKAGE / "bin" / "tenon"  # in a wheel
if not COMMAND.exists():
    COMMAND = PACKAGE.parent.parent / "bin" / "tenon"

PROGRAM = """@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(8):
        if i < 10:
            A[(i * 4 + 3) // 4] = T.float32(0.0)
"""


def call(*args, text=None):
    done = subprocess.run(
        [str(COMMAND), *args], input=text, capture_output=True, text=True, timeout=60
    )
    return done.returncode, done.stdout, done.stderr


def test_help_names_every_command():
    status, out, err = call("--help")
    assert status == 0 and not err
    for name in ("opt", "doctor", "completion", "man"):
        assert f"  {name} " in out
        assert call(name, "--help")[1].startswith(f"usage: tenon {name}")
    assert call("--version")[1] == f"tenon {tenon.__version__}\n"


@pytest.mark.parametrize(
    "args, message",
    [
        (("dcotor",), "unknown command dcotor; did you mean doctor?"),
        (("opt", "--pas", "x"), "unknown option --pas; did you mean pass?"),
        (("opt",), "tenon opt: expected FILE"),
        (("opt", "a", "b"), "one too many: b"),
        (("opt", "-p"), "--pass needs a value: NAME"),
        (("doctor", "--json=1"), "--json takes no value"),
        (("opt", "-z"), "unknown option -z"),
    ],
)
def test_wrong_usage(args, message):
    status, out, err = call(*args)
    assert status == 2 and not out and message in err


def test_opt_runs_passes_in_order():
    status, out, err = call("opt", "-", "--pass", "Simplify", text=PROGRAM)
    assert (status, err) == (0, "")
    assert "A[i] = T.float32(0.0)" in out and "if" not in out
    status, out, _ = call("opt", "-", "-p", "tir.Simplify", "-p", "tir.UnrollLoop", text=PROGRAM)
    assert status == 0 and "for i in range(8)" in out
    status, out, _ = call("opt", "-", "--lower", "--target", "llvm", text=PROGRAM)
    assert status == 0 and '"target"' in out
    assert "tir.VectorizeLoop" in call("opt", "--list", "-")[1]


SCHEDULED = """@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(64):
        with T.block("B"):
            vi = T.axis.spatial(64, i)
            A[vi] = A[vi] * T.float32(2)
"""
STEPS = [
    ["GetBlock", [], ["B", "main"], ["b0"]],
    ["GetLoops", ["b0"], [], ["l1"]],
    ["Split", ["l1", "None", 8], [1, 0], ["l2", "l3"]],
    ["Vectorize", ["l3"], [], []],
]


def test_opt_takes_the_steps_of_a_trace(tmp_path):
    trace = tmp_path / "steps.json"
    trace.write_text(json.dumps([STEPS, []]))
    status, out, err = call("opt", "-", "--trace", str(trace), text=SCHEDULED)
    assert (status, err) == (0, "")
    assert "for i_0 in range(8)" in out and "in T.vectorized(8)" in out
    trace.write_text(json.dumps([[["GetBlock", [], ["C", "main"], ["b0"]]], []]))
    status, out, err = call("opt", "-", "--trace", str(trace), text=SCHEDULED)
    assert (status, out) == (1, "")
    assert "Cannot find a block with the name: C" in err
    assert f"in step 0 of the trace\n  in {trace}" in err
    status, _, err = call("opt", "-", "--trace", str(trace), text="def @main(%x: int32) { %x }")
    assert status == 1 and "--trace is for scripts of tensor programs: - is a Relay program" in err


RELAY = """// what a file may begin with
#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) {
  %0 = nn.dense(%x, meta[relay.Constant][0]);
  %1 = nn.dropout(%0);
  nn.softmax(nn.relu(%1.0))
}
"""


@pytest.fixture
def relay_file(tmp_path):
    text = "def @main(%x: Tensor[(1, 4), float32]) {" + RELAY.split("{", 1)[1]
    weights = relay.const(np.ones((3, 4), "float32"))
    text = '#[version = "0.0.5"]\n' + text
    mod = relay.parse(text, init_meta_table={"relay.Constant": [weights]})
    path = tmp_path / "model.relay"
    path.write_text("/* a\ncomment */ " + mod.astext())
    return path


def test_opt_runs_relay_passes(relay_file, tmp_path):
    names = ("SimplifyInference", "relay.FuseOps")
    passes = [arg for name in names for arg in ("-p", name)]
    folder = tmp_path / "passes"
    status, out, err = call("opt", str(relay_file), *passes, "--dump-passes", str(folder))
    assert (status, err) == (0, "")
    mod = relay.transform.InferType()(relay.parse(relay_file.read_text()))
    for one in (relay.transform.SimplifyInference(), relay.transform.FuseOps()):
        mod = one(mod)
    tenon.ir.assert_structural_equal(relay.parse(out), mod)
    dumped = sorted(path.name for path in folder.iterdir())
    assert dumped == ["001-InferType.txt", "002-SimplifyInference.txt", "003-FuseOps.txt"]
    assert "dropout" in (folder / dumped[0]).read_text()
    assert "dropout" not in (folder / dumped[1]).read_text()
    assert "Primitive=1" in (folder / dumped[2]).read_text()


def test_opt_runs_the_passes_of_a_relay_build(relay_file):
    status, out, err = call("opt", str(relay_file), "--lower", "--no-metadata")
    assert (status, err) == (0, "")
    assert "hash=" in out and "dropout" not in out and "#[metadata]" not in out
    apart = call("opt", str(relay_file), "--lower", "-O", "0", "--no-metadata")[1]
    assert apart.count("Primitive=1") == 3  # nothing is fused
    status, out, err = call("opt", "-", "--print-all", "-p", "InferType", text=RELAY.split("%1")[0])
    assert status == 1 and err.startswith("tenon: error: ") and "error: error" not in err
    assert call("compile", str(relay_file), "-o", str(relay_file.with_suffix(".so")))[0] == 0
    status, _, err = call("opt", str(relay_file), "--input", "x:1x4")
    assert status == 1 and "--input is for ONNX models" in err


def test_opt_errors_show_the_place():
    status, out, err = call(
        "opt", "-", text="@T.prim_func\ndef main(A: T.Buffer((2,), 'float32')):\n    A[0] = b\n"
    )
    assert status == 1 and not out
    assert "error" in err and "    A[0] = b" in err and "^" in err
    status, _, err = call("opt", "-", "-p", "Simplifi", text=PROGRAM)
    assert status == 1 and "unknown pass Simplifi; did you mean" in err
    status, _, err = call("opt", "/nowhere/x.py")
    assert status == 1 and "cannot open /nowhere/x.py: No such file" in err


def test_doctor_tells_what_there_is():
    status, out, _ = call("doctor")
    assert status == 0 and "target c             yes" in out
    facts = json.loads(call("doctor", "--json")[1])
    assert facts["tenon"] == tenon.__version__ and facts["threads used"] >= 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_are_scripts(shell):
    status, out, _ = call("completion", shell)
    assert status == 0 and "doctor" in out and "print-all" in out
    if shutil.which(shell):
        check = subprocess.run([shell, "-n"], input=out, capture_output=True, text=True, timeout=60)
        assert check.returncode == 0, check.stderr


def test_manual_page():
    out = call("man")[1]
    assert out.startswith(".TH TENON 1") and '.SS "tenon opt FILE"' in out
    if shutil.which("man"):
        # a sanitizer is for this project's programs: it would judge those of the system too
        env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        check = subprocess.run(
            ["man", "--warnings", "-l", "-"],
            input=out,
            capture_output=True,
            text=True,
            timeout=60,
            env=env,
        )
        assert check.returncode == 0 and "warning" not in check.stderr


def test_cache_is_told_and_emptied(tmp_path, monkeypatch):
    monkeypatch.setenv("TENON_CACHE", str(tmp_path))
    entry = tmp_path / "kernels" / "3f" / "3f9a01c2d4e5f607"
    entry.parent.mkdir(parents=True)
    entry.write_bytes(b"x" * 2048)
    told = json.loads(call("cache", "--json")[1])
    assert told == {
        "folder": str(tmp_path),
        "reason": "",
        "entries": 1,
        "bytes": 2048,
        "limit": 1 << 30,
    }
    assert str(tmp_path) in json.loads(call("doctor", "--json")[1])["kernel cache"]
    status, out, err = call("cache", "--clear")
    assert status == 0 and "entries  0" in out and "removed 1 compiled kernels" in err
    assert not entry.exists()
    monkeypatch.setenv("TENON_CACHE", "off")
    status, out, err = call("cache", "--clear")
    assert status == 1 and "TENON_CACHE turns it off" in err
