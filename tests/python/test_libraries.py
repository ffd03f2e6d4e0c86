"""What the built libraries ask for and offer."""

import pathlib
import re
import subprocess
import sys

import pytest
import tenon

PACKAGE = pathlib.Path(tenon.__file__).parent
LIBRARIES = sorted(PACKAGE.glob("libtenon*.so"))
BASIC = ("libc.so", "libm.so", "ld-linux", "libtenon_runtime.so", "libpthread.so", "libdl.so")
# Beside the public prefix, the runtime offers the old stack's C functions; tests of the compiler
# call functions that begin with a word of their layer.
OFFERED = {
    "libtenon_runtime.so": re.compile(r"(tn_|TVM|_init$|_fini$)"),
    "libtenon.so": re.compile(r"[a-z]+_|_init$|_fini$"),
}


def readelf(option, library):
    done = subprocess.run(
        ["readelf", "--wide", option, str(library)], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()


def needed(library):
    lines = [line for line in readelf("--dynamic", library) if "(NEEDED)" in line]
    return [line.split("[")[1].rstrip("]") for line in lines]


def sanitized(library):
    return any("san.so" in name for name in needed(library))


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda p: p.name)
def test_needs_the_c_library_alone(library):
    if sanitized(library):
        pytest.skip("a sanitizer build")
    assert [name for name in needed(library) if not name.startswith(BASIC)] == []


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda p: p.name)
def test_offers_only_its_own_names(library):
    rows = [line.split() for line in readelf("--dyn-syms", library)]
    names = [r[7] for r in rows if len(r) == 8 and r[4] in ("GLOBAL", "WEAK") and r[6].isdigit()]
    assert any(name.startswith("tn_") for name in names)
    strays = [name for name in names if not OFFERED[library.name].match(name)]
    assert [s for s in strays if "san" not in s] == []


def test_runtime_is_small(tmp_path):
    library = PACKAGE / "libtenon_runtime.so"
    if sanitized(library):
        pytest.skip("a sanitizer build")
    stripped = tmp_path / library.name
    subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
    assert stripped.stat().st_size <= 500_000


def test_runtime_can_be_closed():
    """Workers go on sleeping in it, and threads of the host that used it still end in it."""
    library = PACKAGE / "libtenon_runtime.so"
    if sanitized(library):
        pytest.skip("a sanitizer build")
    program = """
import _ctypes, ctypes, sys, threading, time
lib = ctypes.CDLL(sys.argv[1])
task = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
lib.tn_set_num_threads(4)
used, closed = threading.Event(), threading.Event()
def use():
    assert lib.tn_runtime_init() == 0
    assert lib.tn_parallel_launch(task(lambda i, env, data: 0), None, 0) == 0
    used.set()
    closed.wait()
thread = threading.Thread(target=use)
thread.start()
used.wait()
_ctypes.dlclose(lib._handle)
closed.set()
thread.join()
time.sleep(0.05)
"""
    subprocess.run([sys.executable, "-c", program, str(library)], check=True, timeout=60)
