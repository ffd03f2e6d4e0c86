"""The tenon command: help, usage errors, exit statuses, opt, doctor, completions, manual page."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest
import tenon

PACKAGE = pathlib.Path(tenon._core.__file__).parent
COMMAND = PACKAGE / "bin" / "tenon"  # in a wheel
if not COMMAND.exists():
    COMMAND = PACKAGE.parent.parent / "bin" / "tenon"

PROGRAM = """@T.prim_func
def main(A: T.Buffer((64,), "float32")):
    for i in range(8):
        if i < 10:
            A[(i * 4 + 3) // 4] = T.float32(0)
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
        (("dcotor",), "there is no command dcotor; did you mean doctor?"),
        (("opt", "--pas", "x"), "there is no option --pas; did you mean pass?"),
        (("opt",), "tenon opt: expected FILE"),
        (("opt", "a", "b"), "one too many: b"),
        (("opt", "-p"), "--pass needs a value: NAME"),
        (("doctor", "--json=1"), "--json takes no value"),
        (("opt", "-z"), "there is no option -z"),
    ],
)
def test_wrong_usage(args, message):
    status, out, err = call(*args)
    assert status == 2 and not out and message in err


def test_opt_runs_passes_in_order():
    status, out, err = call("opt", "-", "--pass", "Simplify", text=PROGRAM)
    assert (status, err) == (0, "")
    assert "A[i] = T.float32(0)" in out and "if" not in out
    status, out, _ = call("opt", "-", "-p", "tir.Simplify", "-p", "tir.UnrollLoop", text=PROGRAM)
    assert status == 0 and "for i in range(8)" in out
    status, out, _ = call("opt", "-", "--lower", "--target", "llvm", text=PROGRAM)
    assert status == 0 and '"target"' in out
    assert "tir.VectorizeLoop" in call("opt", "--list", "-")[1]


def test_opt_errors_show_the_place():
    status, out, err = call(
        "opt", "-", text="@T.prim_func\ndef main(A: T.Buffer((2,), 'float32')):\n    A[0] = b\n"
    )
    assert status == 1 and not out
    assert "error" in err and "    A[0] = b" in err and "^" in err
    status, _, err = call("opt", "-", "-p", "Simplifi", text=PROGRAM)
    assert status == 1 and "there is no pass Simplifi; did you mean" in err
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
