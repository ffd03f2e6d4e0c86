"""What `import tenon` costs, and what it leaves for later."""

import os
import subprocess
import sys

import pytest

SANITIZED = "LD_PRELOAD" in os.environ


def run(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_slow_modules_wait():
    code = (
        "import sys\nbefore = set(sys.modules)\nimport tenon\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    loaded = set(run(code))
    for name in "numpy ctypes torch inspect subprocess tempfile typing dataclasses".split():
        assert name not in loaded
    assert not any(name.startswith(("tenon.testing", "tenon.contrib")) for name in loaded)


@pytest.mark.skipif(SANITIZED, reason="sanitizers need memory and time of their own")
def test_memory():
    code = (
        "import resource\n"
        "def rss():\n"
        "    with open('/proc/self/statm') as f:\n"
        "        return int(f.read().split()[1]) * resource.getpagesize()\n"
        "memory = rss()\n"
        "import tenon\n"
        "print(rss() - memory)"
    )
    # how long it takes is measured by bench/ffi.py
    assert min(float(run(code)[0]) for _ in range(3)) < 20e6


def test_a_missing_extension_is_explained(tmp_path):
    import pathlib

    import tenon

    (tmp_path / "tenon").mkdir()
    package = pathlib.Path(tenon.__file__).parent
    for path in package.iterdir():
        if not path.name.startswith("_core."):
            (tmp_path / "tenon" / path.name).symlink_to(path.resolve())
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport tenon\n"
    done = subprocess.run([sys.executable, "-B", "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "tenon._core" in done.stderr and "pip install" in done.stderr


CLASSES = """
import importlib, pkgutil, sys
import tenon
from tenon import _core

if sys.argv[1] == "everything":
    for found in pkgutil.walk_packages(tenon.__path__, "tenon."):
        try:
            importlib.import_module(found.name)
        except (ImportError, RuntimeError):
            pass  # what needs a package that is not installed, or a device
for key in _core.list_types():
    cls = _core.class_of(key)
    print(f"{key}={cls.__module__}.{cls.__qualname__}")
"""


def test_objects_have_their_class_whatever_is_imported():
    """A te.Tensor that a program gets before it imports te can be indexed all the same."""
    first, all_there = (
        subprocess.run(
            [sys.executable, "-c", CLASSES, what], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        for what in ("nothing", "everything")
    )
    # types of parts that are opened later come with these only
    assert len(first) > 300 and sorted(set(first) - set(all_there)) == []
