"""Compiling tensor programs, and what they run at.

    python bench/tensor_programs.py [--json] [--rounds N] [--peak PROGRAM]

- build: a naive matrix product of 137 x 137 through `to_pytorch_func` (or the module itself where
  there is no torch), from the program to its first result, for the first and later builds of a
  process.
- matmul: 512 x 512 x 512 in float32 on one core, tiled, vectorised and unrolled by `tir.Schedule`,
  beside the peak of the core, which bench/peak measures in the same run.
- large programs: parsing, printing and lowering of 50,000 statements and of 1,000 blocks.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

import tenon
from tenon import tir
from tenon.script import from_source

NAIVE = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"),
         C: T.Buffer(({n}, {n}), "float32")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""

PACKED = """
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer(({n}, {n}), "float32"), B: T.Buffer(({n}, {n}), "float32"),
         C: T.Buffer(({n}, {n}), "float32")):
    T.func_attr({{"global_symbol": "main", "tir.noalias": True}})
    P = T.alloc_buffer(({panels}, {n}, {width}), "float32")
    for p, k, j in T.grid({panels}, {n}, {width}):
        with T.block("P"):
            vp, vk, vj = T.axis.remap("SSS", [p, k, j])
            P[vp, vk, vj] = B[vk, vp * {width} + vj]
    for i, j, k in T.grid({n}, {n}, {n}):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * P[vj // {width}, vk, vj % {width}]
"""


def seconds(function, *args):
    """Time of a call, and its result."""
    start = time.perf_counter()
    result = function(*args)
    return time.perf_counter() - start, result


# ---- building ----


def matrices(n):
    import numpy as np

    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((n, n), "float32") for _ in range(2))
    return a, b


def build_and_call(n):
    """Builds the naive product and computes one; checks it."""
    import numpy as np

    a, b = matrices(n)
    try:
        import torch
    except ImportError:
        torch = None
    if torch:
        args = [torch.from_numpy(x) for x in (a, b)] + [torch.empty((n, n))]
    else:
        args = [tenon.nd.array(x) for x in (a, b)] + [tenon.nd.empty((n, n))]

    def work():
        built = tenon.build(from_source(NAIVE.format(n=n)), target="llvm", name="main")
        function = tenon.contrib.dlpack.to_pytorch_func(built["main"]) if torch else built["main"]
        function(*args)

    took, _ = seconds(work)
    np.testing.assert_allclose(args[2].numpy(), a @ b, rtol=1e-3, atol=1e-3)
    return took


def measure_builds(rounds):
    times = [build_and_call(137) * 1e3 for _ in range(rounds + 1)]
    return {"first ms": times[0], "second ms": times[1], "best later ms": min(times[1:])}


# ---- the scheduled product ----


def vector_floats():
    """Floats of a vector register of this machine, and the tile (rows, columns) for it."""
    try:
        flags = pathlib.Path("/proc/cpuinfo").read_text()
    except OSError:
        flags = ""
    if "avx512f" in flags:
        return 16, (8, 32)  # 16 accumulators, 2 vectors and a broadcast of 32 registers
    if "avx2" in flags:
        return 8, (4, 16)
    return 4, (8, 8)


def scheduled_matmul(n):
    """A panel of B at a time, packed; a tile of C in registers while k runs; A in two bands."""
    lanes, (rows, columns) = vector_floats()
    schedule = tir.Schedule(from_source(PACKED.format(n=n, panels=n // columns, width=columns)))
    pack = schedule.get_block("P")
    schedule.vectorize(schedule.split(schedule.get_loops(pack)[-1], [None, lanes])[1])
    block = schedule.get_block("C")
    i, j, k = schedule.get_loops(block)
    i_band, i_outer, i_inner = schedule.split(i, [2, None, rows])
    j_outer, j_inner, j_lane = schedule.split(j, [None, columns // lanes, lanes])
    k, k_inner = schedule.split(k, [None, 8])
    schedule.reorder(i_band, j_outer, i_outer, k, k_inner, i_inner, j_inner, j_lane)
    schedule.unroll(k_inner)
    schedule.vectorize(j_lane)
    schedule.unroll(j_inner)
    schedule.unroll(i_inner)
    schedule.decompose_reduction(block, k)
    return schedule.mod


def peak_program():
    """bench/peak of the build that this package comes from, or None."""
    package = pathlib.Path(os.path.realpath(tenon._core.__file__)).parent
    for folder in package.parents:
        if (folder / "bench" / "peak").is_file():
            return folder / "bench" / "peak"
    return None


def measure_matmul(rounds, program, n=512):
    import numpy as np

    a, b = matrices(n)
    took, built = seconds(lambda: tenon.build(scheduled_matmul(n), target="llvm"))
    args = [tenon.nd.array(a), tenon.nd.array(b), tenon.nd.empty((n, n))]
    built["main"](*args)
    np.testing.assert_allclose(args[2].numpy(), a @ b, rtol=1e-3, atol=1e-3)
    peak, best = 0.0, float("inf")
    for _ in range(rounds):  # the peak before and between, so that both meet the same machine
        if program:
            out = subprocess.run([str(program), "0.1"], capture_output=True, text=True, check=True)
            peak = max(peak, json.loads(out.stdout)["peak"])
        evaluate = built.time_evaluator("main", tenon.cpu(), number=3, repeat=5)
        best = min(best, evaluate(*args).min)
    rate = 2 * n**3 / best / 1e9
    row = {"build ms": took * 1e3, "GFLOP/s": rate}
    return row | ({"peak GFLOP/s": peak, "percent of peak": 100 * rate / peak} if peak else {})


# ---- large programs ----


def many_statements(n=50000):
    lines = [f"    A[{i % 997}] = A[{i * 7 % 991}] * T.float32({i % 13})" for i in range(n)]
    head = ["@T.prim_func", 'def main(A: T.Buffer((1000,), "float32")):']
    return "\n".join(["from tvm.script import tir as T", *head, *lines])


def many_blocks(n=1000):
    lines = [
        "from tvm.script import tir as T",
        "@T.prim_func",
        f'def main(A0: T.Buffer((16, 16), "float32"), A{n}: T.Buffer((16, 16), "float32")):',
    ]
    lines += [f"    A{i} = T.alloc_buffer((16, 16))" for i in range(1, n)]
    for i in range(n):
        lines += [
            "    for i, j in T.grid(16, 16):",
            f'        with T.block("B{i}"):',
            '            vi, vj = T.axis.remap("SS", [i, j])',
            f"            A{i + 1}[vi, vj] = A{i}[vi, vj] + T.float32(1)",
        ]
    return "\n".join(lines)


def measure_large(text):
    parse, func = seconds(from_source, text)
    show, _ = seconds(func.script)
    lower, _ = seconds(tenon.lower, func)
    return {"parse ms": parse * 1e3, "print ms": show * 1e3, "lower ms": lower * 1e3}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each case (default 5)")
    parser.add_argument("--peak", type=pathlib.Path, help="program to measure the peak with")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # one core, for the peak too
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    table = {
        "build of matmul 137, naive": measure_builds(options.rounds),
        "matmul 512, scheduled": measure_matmul(options.rounds, options.peak or peak_program()),
        "50,000 statements": measure_large(many_statements()),
        "1,000 blocks": measure_large(many_blocks()),
    }
    if options.json:
        json.dump(table, sys.stdout, indent=2)
        print()
        return
    for name, row in table.items():
        print(name)
        print("".join(f"    {key:18}{value:10.1f}\n" for key, value in row.items()), end="")


if __name__ == "__main__":
    main()
