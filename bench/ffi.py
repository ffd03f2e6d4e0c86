"""Cost of calls between Python and the library, of importing it, and its size.

    python bench/ffi.py [--json] [--rounds N]

Where apache-tvm-ffi, numpy or torch are installed, the same calls are made with them in the same
run: the rounds of all take turns, so that a busy machine disturbs them alike. Printed are medians
in nanoseconds a call, the loop included, and the ratio of each to its counterpart.
"""

import argparse
import importlib.util
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time


def loop(function, args, n):
    """Nanoseconds of a call."""
    times = itertools.repeat(None, n)
    if len(args) == 0:
        start = time.perf_counter_ns()
        for _ in times:
            function()
    elif len(args) == 1:
        (a,) = args
        start = time.perf_counter_ns()
        for _ in times:
            function(a)
    else:
        a, b, c = args
        start = time.perf_counter_ns()
        for _ in times:
            function(a, b, c)
    return (time.perf_counter_ns() - start) / n


def measure(cases, rounds, n=20000):
    """{name: {who: median}} of [(name, who, function, args)], the rounds interleaved."""
    samples = [[] for _ in cases]
    for _, _, function, args in cases:
        loop(function, args, 1000)  # caches warm
    for _ in range(rounds):
        for (_, _, function, args), times in zip(cases, samples, strict=True):
            times.append(loop(function, args, n))
    table = {}
    for (name, who, _, _), times in zip(cases, samples, strict=True):
        table.setdefault(name, {})[who] = statistics.median(times)
    return table


def our_cases(core):
    nop = core.get_global_func("testing.nop")
    echo = core.get_global_func("testing.echo")
    empty = core.get_global_func("runtime.TensorEmpty")
    cpu = core.Device(1, 0)
    tensors = tuple(empty("float32", cpu, None, 128) for _ in range(3))
    node = core.make_node("runtime.BoxInt", {"value": 3})
    return [
        ("no argument", nop, ()),
        ("one int", nop, (1,)),
        ("one str", nop, ("some text",)),
        ("three tensors", nop, tensors),
        ("callback round trip", core.Function(lambda x: x), (1,)),
        ("object returned", echo, (tensors[0],)),
        ("field of an object", lambda x: x.value, (node,)),
        ("new tensor", lambda: empty("float32", cpu, None, 128), ()),
        ("tensor to numpy, shared", None, tensors[:1]),
        ("list of three ints", nop, ([1, 2, 3],)),
    ]


def ffi_cases(ffi):
    import numpy as np

    nop = ffi.get_global_func("testing.nop")
    echo = ffi.get_global_func("testing.echo")
    tensors = tuple(ffi.from_dlpack(np.zeros(128, "float32")) for _ in range(3))
    return [
        ("no argument", nop, ()),
        ("one int", nop, (1,)),
        ("one str", nop, ("some text",)),
        ("three tensors", nop, tensors),
        ("callback round trip", ffi.convert(lambda x: x), (1,)),
        ("object returned", echo, (tensors[0],)),
        ("tensor to numpy, shared", np.from_dlpack, tensors[:1]),
        ("list of three ints", nop, ([1, 2, 3],)),
    ]


def installed(*names):
    return all(importlib.util.find_spec(name) for name in names)


def all_cases():
    from tenon import _core

    cases = [(name, "tenon", f, args) for name, f, args in our_cases(_core)]
    if installed("tvm_ffi", "numpy"):
        import tvm_ffi

        cases += [(name, "apache-tvm-ffi", f, args) for name, f, args in ffi_cases(tvm_ffi)]
    if installed("numpy"):
        import numpy as np

        cases = [
            (name, who, np.from_dlpack if f is None else f, args) for name, who, f, args in cases
        ]
        cases.append(("new tensor", "numpy", lambda: np.empty(128, "float32"), ()))
    if installed("torch"):
        import torch

        three = tuple(torch.zeros(128) for _ in range(3))
        name = "three torch tensors"
        cases.append((name, "tenon", _core.get_global_func("testing.nop"), three))
        if installed("tvm_ffi"):
            cases.append((name, "apache-tvm-ffi", tvm_ffi.get_global_func("testing.nop"), three))
    return [case for case in cases if case[2] is not None]


# ---- import and size ----

PROBE = """
import time
def rss():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * {page} / 2**20
before, start = rss(), time.perf_counter()
{statement}
print((time.perf_counter() - start) * 1e3, rss() - before)
"""


def import_cost(statement, rounds=7):
    """Milliseconds and MiB that a statement costs a bare interpreter (medians)."""
    code = PROBE.format(page=os.sysconf("SC_PAGESIZE"), statement=statement)
    env = dict(os.environ, PYTHONPATH=os.pathsep.join(p for p in sys.path if p))
    found = []
    for _ in range(rounds):
        out = subprocess.run(
            [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True
        ).stdout
        found.append([float(x) for x in out.split()])
    return [statistics.median(column) for column in zip(*found, strict=True)]


def stripped_size(path):
    """Bytes of a library without its symbol table (as it is where there is no strip)."""
    if not shutil.which("strip"):
        return os.path.getsize(path)
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "stripped.so")
        subprocess.run(["strip", "-o", out, path], check=True)
        return os.path.getsize(out)


def costs():
    from tenon import _core

    result = {}
    for statement in ("import tenon", "import numpy"):
        if not installed(statement.split()[1]):
            continue
        result[statement] = dict(zip(("ms", "MiB"), import_cost(statement), strict=True))
    folder = os.path.dirname(os.path.abspath(_core.__file__))
    for name in ("libtenon_runtime.so", os.path.basename(_core.__file__)):
        size = stripped_size(os.path.realpath(os.path.join(folder, name)))
        result[name] = {"KiB stripped": size / 1024}
    return result


# ---- output ----


def show(table, other):
    print(f"{'nanoseconds a call':28}{'tenon':>10}{'other':>12}{'ratio':>9}")
    for name, row in table.items():
        ours = row.get("tenon")
        rest = [(who, ns) for who, ns in row.items() if who != "tenon"]
        line = f"{name:28}{ours:10.0f}"
        for who, ns in rest:
            line += f"{ns:12.0f}{ours / ns:9.2f}  {who}"
        print(line)
    print()
    for name, numbers in other.items():
        print(f"{name:28}" + "".join(f"{value:10.1f} {unit}" for unit, value in numbers.items()))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each case (default 15)")
    options = parser.parse_args()
    table = measure(all_cases(), options.rounds)
    other = costs()
    if options.json:
        print(json.dumps({"calls": table, "costs": other}, indent=2))
    else:
        show(table, other)


if __name__ == "__main__":
    main()
