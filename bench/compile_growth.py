"""How build time and memory grow with the size of a program.

    python bench/compile_growth.py [--only TEXT,TEXT] [--double N] [--limit SECONDS] [--above R]
    python bench/compile_growth.py --list
    python bench/compile_growth.py --models MODEL.onnx ...

A family is a program of any size: a chain of n operators, a concatenation of n tensors, a window of
n x n elements. Each is built at two sizes, n and 2n, in its own process without the cache of
kernels, and once at a small size before, so that what starts up once is not counted. Printed are
both times in seconds, their ratio, the growth of memory in MB and its ratio; `*` marks a time
ratio above 2.5 of what takes long enough to tell (0.3 s). `--double 3` takes n, 2n, 4n and 8n.
"""

import argparse
import os
import resource
import subprocess
import sys
import time

from growth import control, long, open_extents, operators, tensor_programs, texts, wide
from growth.common import FAMILIES, TARGET

__all__ = ["control", "long", "open_extents", "operators", "tensor_programs", "texts", "wide"]

# ---- running a family ----


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(name, n):
    """In its own process: seconds, and MB above what was there before."""
    fn, _, small = FAMILIES[name]
    fn(small)()
    run, before = fn(n), peak()
    start = time.process_time()
    run()
    print(f"{time.process_time() - start:.3f} {max(peak() - before, 0.0):.1f}")


def measure_model(path):
    import onnx
    from tenon import relay

    onnx_model_ = onnx.load(path)
    before, start = peak(), time.process_time()
    mod, params = relay.frontend.from_onnx(onnx_model_, freeze_params=True)
    try:
        relay.build(mod, TARGET, params=params)
    except Exception:  # what only the virtual machine runs
        relay.vm.compile(mod, TARGET, params=params)
    print(f"{time.process_time() - start:.3f} {peak() - before:.1f}")


def child(arguments, limit):
    """(seconds, MB), or why there are none."""
    command = [sys.executable, os.path.abspath(__file__), *arguments]
    env = {**os.environ, "TENON_CACHE": "off", "TVM_NUM_THREADS": "1"}
    try:
        r = subprocess.run(
            command, env=env, capture_output=True, text=True, timeout=limit, check=False
        )
    except subprocess.TimeoutExpired:
        return f"more than {limit} s"
    words = r.stdout.split()
    if r.returncode or len(words) < 2:
        lines = [line for line in r.stderr.strip().splitlines() if line.strip()]
        return f"failed ({r.returncode}): {lines[-1][:120] if lines else ''}"
    return float(words[-2]), float(words[-1])


def report(name, doubles, limit, above):
    _, n, _ = FAMILIES[name]
    got, line, mark, worst = [], "", " ", 0.0
    for k in range(doubles + 1):
        got.append((n << k, child(["--measure", name, str(n << k)], limit)))
        if isinstance(got[-1][1], str):
            break
    if len(got) == 1:
        line, mark, worst = f"  {got[0][1]}", "*", float("inf")
    for (_, a), (_, b) in zip(got, got[1:], strict=False):
        if isinstance(a, str) or isinstance(b, str):
            line += f"  {b if isinstance(b, str) else a}"
            mark, worst = "*", float("inf")
            break
        ratio, more = b[0] / max(a[0], 1e-3), b[1] / max(a[1], 1.0)
        if b[0] >= 0.3:
            worst = max(worst, ratio)
            mark = "*" if worst > 2.5 else mark
        line += (
            f"  {a[0]:8.2f} {b[0]:8.2f} s {ratio:5.1f}x  {a[1]:6.0f} {b[1]:6.0f} MB {more:5.1f}x"
        )
    if worst >= above:
        print(f"{mark} {name:22} {n:>8} ->{n << doubles:>9}{line}", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    p.add_argument("--only", default="")
    p.add_argument("--double", type=int, default=1)
    p.add_argument("--limit", type=float, default=120)
    p.add_argument("--above", type=float, default=0)
    p.add_argument("--list", action="store_true")
    p.add_argument("--measure", nargs=2, help=argparse.SUPPRESS)
    p.add_argument("--measure-model", help=argparse.SUPPRESS)
    p.add_argument("--models", nargs="*")
    a = p.parse_args()
    if a.measure:
        return measure(a.measure[0], int(a.measure[1]))
    if a.measure_model:
        return measure_model(a.measure_model)
    for path in a.models or []:
        got = child(["--measure-model", path], a.limit)
        text = got if isinstance(got, str) else f"{got[0]:8.2f} s {got[1]:8.0f} MB"
        print(f"{os.path.basename(path):40} {text}", flush=True)
    if a.models:
        return None
    wanted = [t for t in a.only.split(",") if t]
    for name, (_, size, _small) in FAMILIES.items():
        if wanted and not any(t in name for t in wanted):
            continue
        if a.list:
            print(f"{name:24} {size}")
        else:
            report(name, a.double, a.limit, a.above)
    return None


if __name__ == "__main__":
    main()
