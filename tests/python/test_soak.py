"""tools/soak: many runs in every executor leave memory as it is. By hand it makes a million."""

import json
import os
import pathlib
import subprocess
import sys

import pytest
from tenon.target.codegen import llvm_version_major

TOOL = pathlib.Path(__file__).resolve().parents[2] / "tools" / "soak"


@pytest.mark.skipif(not llvm_version_major(allow_none=True), reason="built without LLVM")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="quarantine")
def test_memory_stays_flat():
    command = [sys.executable, str(TOOL), "--runs", "4000", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = json.loads(done.stdout)
    assert [r["executor"] for r in rows] == ["graph", "debug", "vm", "aot", "c"]


def test_a_wrong_name_is_told():
    done = subprocess.run(
        [sys.executable, str(TOOL), "garph"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert "unknown executor garph: expected one of graph, debug, vm, aot, c" in done.stderr
