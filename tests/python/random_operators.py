"""Random calls of every operator: executors, levels and targets agree, and with numpy where there
is a reference.

    python tests/python/random_operators.py --seconds 600 --seed 1 [--only nn.pad]

compares calls in child processes until the time is over. It prints the number of comparisons and of
refusals, by message, and exits with 1 if results differed or a process died. A call that differs is
made smaller first: fewer attributes, smaller extents, static dimensions.

The rules are in operator_calls.py.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zlib

import machines
import ml_dtypes
import numpy as np
import operator_calls
import operator_images  # noqa: F401  (adds its rules)
import operator_layers  # noqa: F401  (adds its rules)
import operator_quantized  # noqa: F401  (adds its rules)
import operator_random  # noqa: F401  (adds its rules)
import operator_runtime  # noqa: F401  (adds its rules)
import semantics
import tenon
from tenon import relay

BATCH = 25  # calls in a process
CPUS = machines.runnable(["llvm -mcpu=x86-64", "llvm -mcpu=haswell"])
TARGETS = [*CPUS, "llvm -mcpu=native", "llvm", "stackvm"]
VARIANTS = [(kind, level) for kind in ("graph", "vm", "debug") for level in range(5)]
VARIANTS += [("aot", 0), ("aot", 3)]
# Executors of programs whose results have extents that depend on values.
OPEN_VARIANTS = [v for v in VARIANTS if v[0] in ("vm", "debug")]
# What shrinking takes away, one after the other.
KNOBS = ("special", "dynamic", "empty", "types", "rank", "extents")


class Source:
    """Choices of one call. ``plain`` holds what is taken away from it."""

    def __init__(self, seed, plain=()):
        self.rng, self.plain = np.random.default_rng(seed), set(plain)

    def number(self, low, high):
        return int(self.rng.integers(low, high))

    def chance(self, p):
        return bool(self.rng.random() < p)

    def one_of(self, items):
        return items[self.number(0, len(items))]

    def dtype(self, kinds):
        found = self.one_of(kinds)
        return kinds[0] if "types" in self.plain else found

    def extent(self):
        found = self.one_of([1, 1, 2, 3, 4, 5, 7, 17]) if not self.chance(0.06) else 0
        if "empty" in self.plain and found == 0:
            return 1
        return min(found, 2) if "extents" in self.plain else found

    def shape(self, least=0, most=4):
        rank = self.number(least, most + 1)
        shape = [self.extent() for _ in range(rank)]
        return shape[: max(least, 1)] if "rank" in self.plain else shape

    def array(self, shape, dtype, special=False, few=False):
        """Small numbers, those of ``semantics.values`` where special; few: with many that are
        equal."""
        kind = semantics.numpy_type(dtype)
        if dtype == "bool":
            return self.rng.random(shape) < 0.5
        if special and self.chance(0.3) and "special" not in self.plain:
            return self.rng.choice(semantics.values(dtype), shape).astype(kind)
        if few or kind.kind in "iu":
            return self.rng.integers(0 if kind.kind == "u" else -3, 4, shape).astype(kind)
        return (self.rng.random(shape) * 4 - 2).astype(kind)


def draw(name, seed, plain=()):
    g = Source((zlib.crc32(name.encode()), seed), plain)
    f, _ = operator_calls.RULES[name]
    with np.errstate(all="ignore"):
        made = f(g, name)
    made.arrays = [np.asarray(a) for a in made.arrays]
    made.open = [[g.chance(0.5) for _ in a.shape] for a in made.arrays]
    made.dynamic = g.chance(0.4) and "dynamic" not in g.plain
    return made


def show(name, c):
    shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in c.arrays)
    return f"{name}({shapes}; {c.text})" + (f" dynamic {c.open}" if c.dynamic else "")


def program(c, dynamic):
    """The module; its arguments are the arrays that are not constants in it."""
    params, operands, args = [], [], []
    for i, a in enumerate(c.arrays):
        if i in c.static:
            operands.append(relay.const(a))
            continue
        opened = c.open[i] if dynamic else [False] * a.ndim
        shape = [relay.Any() if o else d for o, d in zip(opened, a.shape, strict=True)]
        params.append(relay.var(f"x{i}", shape=shape, dtype=str(a.dtype)))
        operands.append(params[-1])
        args.append(a)
    made = c.make(*operands)
    made = made.astuple() if hasattr(made, "astuple") else made
    return tenon.IRModule.from_expr(relay.Function(params, made)), args


def flat(value):
    if not hasattr(value, "numpy"):
        return [x for v in value for x in flat(v)]
    bits = value.numpy()
    return [bits.view(ml_dtypes.bfloat16) if value.dtype == "bfloat16" else bits]


def run(kind, level, target, mod, args):
    with tenon.transform.PassContext(opt_level=level):
        f = relay.create_executor(kind, mod=mod, device=tenon.cpu(), target=target).evaluate()
    return flat(f(*[tenon.nd.array(a) for a in args]))


def run_c(mod, args):
    """Through C and the C compiler."""
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, target="c")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lib.so")
        lib.export_library(path)
        m = tenon.contrib.graph_executor.GraphModule(
            tenon.runtime.load_module(path)["default"](tenon.cpu())
        )
        for i, a in enumerate(args):
            m.set_input(i, a)
        m.run()
        return [m.get_output(i).numpy() for i in range(m.get_num_outputs())]


def difference(got, want, loose):
    """What differs, or None. Where sums are made in any order, the answer is a tolerance."""
    if [a.shape for a in got] != [np.shape(b) for b in want]:
        return f"shapes {[a.shape for a in got]}, expected {[np.shape(b) for b in want]}"
    for a, b in zip(got, want, strict=True):
        b = np.asarray(b)
        if a.dtype != b.dtype:
            return f"type {a.dtype}, expected {b.dtype}"
        if a.dtype.kind in "iub":
            near = np.abs(a.astype("float64") - b.astype("float64")) <= (loose == "steps")
            if not near.all():
                return f"{a.ravel()[:8]}, expected {b.ravel()[:8]}"
            continue
        rough = {2: 2e-2, 4: 2e-4, 8: 1e-8}[a.dtype.itemsize] if loose else 0
        a, b = a.astype("float64"), b.astype("float64")
        with np.errstate(all="ignore"):
            scale = max(1, np.abs(b[np.isfinite(b)]).max(initial=0))
            same = (a == b) | (np.isnan(a) & np.isnan(b)) | (np.abs(a - b) <= rough * scale)
        if not same.all():
            at = np.argmin(same.ravel())
            return f"{a.ravel()[at]!r} at {at}, expected {b.ravel()[at]!r}"
    return None


def told(error):
    """The first line that says something, without numbers and names that change."""
    text = str(error).strip()
    lines = [line for line in text.splitlines() if "rror" in line or ":" in line] or [text]
    line = re.sub(r"-?\d+(\.\d+)?", "N", " ".join(lines[0].split()))
    return f"{type(error).__name__}: {line[:100]}"


def is_hostile(error):
    """Errors that no call may end with: they name neither the operator nor what is wrong."""
    text, kind = str(error), type(error).__name__
    hostile = (
        "LLVM",
        "Assert fail",
        "well formed",
        "store to buffer",
        "interpreted: ",
        "substitute: ",
    )
    kinds = ("InternalError", "CodegenError", "NameError", "AttributeError")
    return kind in kinds or any(h in text for h in hostile)


def has_open_result(mod):
    return "?" in str(relay.transform.InferType()(mod)["main"].checked_type.ret_type)


def compare(name, seed, plain=(), variants=3):
    """(what differs or None, {refusal: count}, number of variants compared)"""
    refused, n = collections.Counter(), 0
    try:
        c = draw(name, seed, plain)
        mod, args = program(c, False)
        want = run("debug", 0, "llvm", mod, args)
    except Exception as e:
        if is_hostile(e):
            return f"debug 0 llvm: {told(e)}", refused, n
        refused[f"{name}: {told(e)}"] += 1
        return None, refused, n
    loose = "steps" if name.startswith("qnn.") else c.loose
    if c.reference is not None:
        with np.errstate(all="ignore"):
            known = c.reference(*c.arrays)
        known = list(known) if isinstance(known, list | tuple) else [known]
        if what := difference(want, known, loose):
            return f"debug 0 llvm, against numpy: {what}", refused, n
    rng = np.random.default_rng(seed)
    kinds = VARIANTS if c.static or not has_open_result(mod) else OPEN_VARIANTS
    runs = [
        (*kinds[i], TARGETS[int(rng.integers(len(TARGETS)))], False)
        for i in rng.permutation(len(kinds))[:variants]
    ]
    if c.dynamic:
        runs += [("vm", int(rng.integers(5)), TARGETS[int(rng.integers(len(TARGETS)))], True)]
    if kinds is VARIANTS and rng.random() < 0.03:
        runs += [("graph", 3, "c", False)]
    for kind, level, target, dynamic in runs:
        at = f"{kind} {level} {target}{' dynamic' if dynamic else ''}"
        try:
            use, given = program(c, True) if dynamic else (mod, args)
            got = run_c(use, given) if target == "c" else run(kind, level, target, use, given)
        except Exception as e:
            if is_hostile(e):
                return f"{at}: {told(e)}", refused, n
            refused[
                f"{name}, {kind}{' ' + target if target in 'c stackvm' else ''}"
                f"{' dynamic' if dynamic else ''}: {told(e)}"
            ] += 1
            continue
        n += 1
        # levels above 3 may compute floats in another way
        rough = loose or (level == 4 and want[0].dtype.kind not in "iub")
        if what := difference(got, want, rough):
            return f"{at}: {what}", refused, n
    return None, refused, n


def shrink(name, seed):
    """The plainest call of the seed that still differs, as text."""
    plain = []
    for knob in KNOBS:
        if compare(name, seed, [*plain, knob], len(VARIANTS))[0]:
            plain.append(knob)
    what = compare(name, seed, plain, len(VARIANTS))[0] or compare(name, seed)[0]
    try:
        call = show(name, draw(name, seed, plain))
    except Exception as e:
        call = f"{name}: {e}"
    return f"{call}\n    {what}\n    plain: {plain}"


def batch(pairs):
    """Compares calls of (name, seed); prints each before it is compared, and then what came out."""
    for name, seed in pairs:
        print(json.dumps({"now": [name, seed]}), flush=True)
        what, refused, n = compare(name, seed)
        made = {"compared": n, "refused": refused}
        if what:
            made["differs"] = shrink(name, seed)
        print(json.dumps(made), flush=True)


def child(pairs, seconds=300):
    """A batch in its own process. @return what it printed, and the pair that ended it"""
    command = [sys.executable, os.path.abspath(__file__), "--batch", json.dumps(pairs)]
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        out, status = p.stdout, p.returncode
    except subprocess.TimeoutExpired as e:
        out, status = (e.stdout or b"").decode(), "hangs"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    last = [line["now"] for line in lines if "now" in line][-1:]
    return lines, (last[0], status) if status != 0 and last else None


def search(seconds, seed, only=()):
    names = sorted(only or operator_calls.RULES)
    counts, refused, found = collections.Counter(), collections.Counter(), []
    end = time.monotonic() + seconds
    todo = []
    while time.monotonic() < end:
        if not todo:
            todo, seed = [(name, seed) for name in names], seed + 1
        pairs, todo = todo[:BATCH], todo[BATCH:]
        lines, died = child(pairs)
        for line in lines:
            counts["calls"] += "now" in line
            counts["compared"] += line.get("compared", 0)
            refused.update(line.get("refused", {}))
            if "differs" in line:
                found.append(line["differs"])
                print(line["differs"], flush=True)
        if died:
            (name, at), status = died
            found.append(f"{name} seed {at}: the process ended with {status}")
            print(found[-1], flush=True)
            rest = [i for i, p in enumerate(pairs) if list(p) == [name, at]]
            todo = pairs[rest[0] + 1 :] + todo
    for text, n in refused.most_common():
        print(f"refused {n} times: {text}")
    calls = f"{counts['calls']} calls, {counts['compared']} comparisons"
    print(f"{calls}, {sum(refused.values())} refusals, {len(found)} differences, next seed {seed}")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*", default=())
    p.add_argument("--batch", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.batch:
        return batch(json.loads(args.batch))
    return 1 if search(args.seconds, args.seed, args.only) else 0


if __name__ == "__main__":
    sys.exit(main())
