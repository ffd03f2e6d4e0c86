"""tools/torture: finds generators, gives each run its own seed and keeps what fails."""

import json
import os
import pathlib
import subprocess
import sys

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "torture"

GENERATOR = """
import os, signal, sys, endless
def check(seed):
    if seed % 1000000 == {bad}:
        {what}
    if seed % 1000000 == 5:
        os._exit(0 if print("5 compared, 0 failed", flush=True) is None else 1)
    return "compared"
sys.exit(endless.main(check, lambda seed: "small case"))
"""


def torture(tmp_path, *args):
    return subprocess.run(
        [
            sys.executable,
            str(TOOL),
            "--cases",
            str(tmp_path),
            "--out",
            str(tmp_path / "out"),
            *args,
        ],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)},
    )


def write(tmp_path, name, what="pass", bad=-1):
    path = tmp_path / f"random_{name}.py"
    path.write_text(GENERATOR.format(what=what, bad=bad))


def test_counts_of_generators_that_find_nothing(tmp_path):
    write(tmp_path, "good")
    done = torture(tmp_path, "--seconds", "1", "--seed", "3000000", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    counts = told["counts"]["good"]
    assert told["seed"] == 3000000 and told["failures"] == []
    assert counts["compared"] == 5 * counts["runs"] > 0 and counts["failed"] == 0
    assert not (tmp_path / "out").exists()


def test_failures_are_kept(tmp_path):
    write(tmp_path, "wrong", "raise ValueError('differs')", 2)
    write(tmp_path, "dead", "os.kill(os.getpid(), signal.SIGABRT)", 2)
    done = torture(tmp_path, "--seconds", "1", "--seed", "0", "-j", "2", "--json")
    assert done.returncode == 1
    failures = json.loads(done.stdout)["failures"]
    assert {f["generator"] for f in failures} >= {"dead"}
    dead = next(f for f in failures if f["generator"] == "dead")
    text = pathlib.Path(dead["file"]).read_text()
    assert dead["status"] == "exit status -6" and text.rstrip().endswith(f"seed {dead['seed'] + 2}")


def test_a_difference_is_made_smaller(tmp_path):
    write(tmp_path, "wrong", "raise ValueError('differs')", 2)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "random_wrong.py"), "0", "4"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(pathlib.Path(__file__).parent)},
    )
    assert done.returncode == 1
    assert (
        "ValueError: differs" in done.stdout and "seed 2, made smaller:\nsmall case" in done.stdout
    )
    assert done.stdout.endswith("3 compared, 1 failed\n")


def test_a_wrong_name_is_told(tmp_path):
    write(tmp_path, "good")
    done = torture(tmp_path, "godo")
    assert done.returncode == 1
    assert done.stderr == "tools/torture: unknown generator godo; known: good\n"
