"""The foundation at work: a C extension and this program call each other, with costs and sizes.

Run by `make demo`. Every number is measured in this run.
"""

import ctypes
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]

started = time.perf_counter()
import tenon  # noqa: E402  (timed)

import_ms = (time.perf_counter() - started) * 1e3


def title(text):
    print(f"\n{text}\n{'-' * len(text)}")


def row(what, value):
    print(f"  {what:<58} {value:>16}")


def cost_ns(call, seconds=0.2):
    """The least time per call among a few rounds."""
    n, best = 1, float("inf")
    while True:
        begin = time.perf_counter()
        for _ in range(n):
            call()
        took = time.perf_counter() - begin
        best = min(best, took / n)
        if took > seconds / 4:
            break
        n *= 4
    for _ in range(4):
        begin = time.perf_counter()
        for _ in range(n):
            call()
        best = min(best, (time.perf_counter() - begin) / n)
    return best * 1e9


def c_extension():
    """Builds examples/c_extension and calls what it registers."""
    title("A C library registers functions; Python calls them, and they call Python")
    folder = ROOT / "examples" / "c_extension"
    subprocess.run(["make", "-s", "-C", str(folder)], check=True)
    (library,) = sorted((folder / "lib").glob("*.so"))[:1]
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)

    myadd = tenon.get_global_func("myadd")
    row("myadd(4, 5)", myadd(4, 5))
    try:
        myadd(4, "five")
    except TypeError as error:
        print(f'  myadd(4, "five")  ->  TypeError: {str(error).splitlines()[0]}')
    heard = []
    tenon.get_global_func("callhello")(heard.append)
    row("callhello(heard.append); heard", repr(heard))
    return myadd


def tensors():
    title("Tensors share memory with numpy")
    import numpy as np

    x = np.arange(6, dtype="float32")
    y = tenon.nd.from_dlpack(x)
    x[0] = 42
    row("after x[0] = 42, the tensor made from x reads", f"{y.numpy()[0]:g}")
    row("numpy reads the tensor in place", str(np.shares_memory(x, np.from_dlpack(y))))


def objects():
    title("Objects: saved, loaded and compared without any code of their own")
    values = tenon.runtime.convert({"layers": [64, 128, 256], "name": "net", "bias": True})
    text = tenon.ir.save_json(values)
    row("map saved as JSON", f"{len(text)} bytes")
    same = tenon.ir.structural_equal(tenon.ir.load_json(text), values)
    row("loaded and structurally equal", str(bool(same)))

    big = tenon.runtime.convert([[i, float(i), str(i)] for i in range(25_000)])
    begin = time.perf_counter()
    text = tenon.ir.save_json(big)
    saved = time.perf_counter()
    tenon.ir.structural_hash(big)
    hashed = time.perf_counter()
    row("100,001 nodes saved as JSON", f"{(saved - begin) * 1e3:.0f} ms")
    row("the same hashed", f"{(hashed - saved) * 1e3:.0f} ms")


def costs(myadd):
    title("What a call costs from Python (least of several rounds)")

    def nothing():
        pass

    loop = cost_ns(nothing)
    back = tenon.runtime.convert(lambda a: a)
    row("calling an empty Python function", f"{loop:.0f} ns")
    row("myadd(4, 5), written in C", f"{cost_ns(lambda: myadd(4, 5)) - loop:.0f} ns")
    row("a Python function called through C", f"{cost_ns(lambda: back(1)) - loop:.0f} ns")


def sizes():
    title("Sizes")
    package = pathlib.Path(tenon.__file__).parent
    with tempfile.TemporaryDirectory() as folder:
        for library in sorted(package.glob("*.so")):
            stripped = pathlib.Path(folder) / library.name
            subprocess.run(["strip", "-o", str(stripped), str(library)], check=True)
            row(f"{library.name}, stripped", f"{stripped.stat().st_size / 1e3:.0f} KB")
    row("import tenon", f"{import_ms:.0f} ms")


def main():
    print(f"tenon {tenon.__version__}, Python {sys.version.split()[0]}")
    myadd = c_extension()
    tensors()
    objects()
    costs(myadd)
    sizes()


if __name__ == "__main__":
    main()
