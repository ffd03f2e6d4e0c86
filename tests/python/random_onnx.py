"""Random nodes of every operator of ONNX that the importer knows. The graph executor with static
dimensions, the virtual machine with dynamic ones, onnx's reference evaluator and onnxruntime agree.

    python tests/python/random_onnx.py --seconds 600 --seed 1 [--only TopK]

compares nodes in child processes until the time is over. It prints the number of comparisons and of
refusals, by engine and message, and exits with 1 if results differed or a process died. Tenon is
always compared with itself, and with the two other engines where they agree. Results that only one
of them gives are counted, and with --alone compared too. A node that differs is made smaller first.

The rules are in onnx_calls.py, onnx_layers.py and onnx_fused.py.
"""

import argparse
import collections
import json
import os
import re
import subprocess
import sys
import time
import zlib

import numpy as np
import onnx
import onnx_calls
import onnx_fused  # noqa: F401  (adds its rules)
import onnx_layers  # noqa: F401  (adds its rules)
import tenon
from onnx import helper, numpy_helper
from random_operators import Source, difference, flat, told
from tenon import relay

BATCH = 40  # nodes in a process
KNOBS = ("special", "open", "empty", "types", "rank", "extents")
NAMES = sorted(f"{domain}:{op}" if domain else op for domain, op in onnx_calls.RULES)


def draw(name, seed, plain=()):
    g = Source((zlib.crc32(name.encode()), seed), plain)
    domain, _, op = name.rpartition(":")
    with np.errstate(all="ignore"):
        made = onnx_calls.RULES[domain, op](g, op)
    made.inputs = [a if a is None or isinstance(a, list) else np.asarray(a) for a in made.inputs]
    made.open = [[g.chance(0.5) for _ in np.shape(a)] for a in made.inputs]
    made.dynamic = g.chance(0.5) and "open" not in plain
    made.domain = domain
    if domain == "com.microsoft":  # its operators are onnxruntime's own
        made.judge = "onnxruntime"
    return made


def show(name, c):
    inputs = ", ".join("-" if a is None else f"{a.dtype}{list(a.shape)}" for a in c.inputs)
    attrs = {k: v if np.size(v) < 9 else f"[{np.size(v)}]" for k, v in c.attrs.items()}
    small = [f"input {i}: {a.tolist()}" for i, a in enumerate(c.inputs) if np.size(a) < 30]
    opened = f" open {c.open}" if c.dynamic else ""
    return (
        f"{name}({inputs}; {attrs}) outputs {c.outputs}, opset {c.opset}, "
        f"weights {sorted(c.constants)}{opened}\n    {'; '.join(small)}"
    )


def attribute(value):
    return numpy_helper.from_array(value) if isinstance(value, np.ndarray) else value


def model(c, dynamic):
    """The model and what it is fed with."""
    names = ["" if a is None else f"x{i}" for i, a in enumerate(c.inputs)]
    results = c.outputs if isinstance(c.outputs, list) else [f"y{i}" for i in range(c.outputs)]
    attrs = {k: attribute(v) for k, v in c.attrs.items()}
    nodes = c.nodes(names, results) if c.nodes else None
    nodes = nodes or [helper.make_node(c.op, names, results, domain=c.domain, **attrs)]
    values, weights, feed = [], [], {}
    for i, (name, a) in enumerate(zip(names, c.inputs, strict=True)):
        if a is None:
            continue
        if i in c.constants:
            weights.append(numpy_helper.from_array(a, name))
            continue
        opened = c.open[i] if dynamic else [False] * a.ndim
        shape = [
            f"d{i}_{k}" if o else n for k, (o, n) in enumerate(zip(opened, a.shape, strict=True))
        ]
        kind = helper.np_dtype_to_tensor_dtype(a.dtype)
        values.append(helper.make_tensor_value_info(name, kind, shape))
        feed[name] = a
    outs = [helper.make_empty_tensor_value_info(r) for r in results if r]
    graph = helper.make_graph(nodes, "case", values, outs, weights)
    imports = [helper.make_opsetid("", c.opset)]
    if c.domain:
        imports.append(helper.make_opsetid(c.domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=10), feed


# ---- engines ----


def run_reference(m, feed):
    from onnx.reference import ReferenceEvaluator

    return ReferenceEvaluator(m).run(None, feed)


def run_onnxruntime(m, feed):
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    # results have no type in the model: inference gives it
    m = onnx.shape_inference.infer_shapes(m)
    session = onnxruntime.InferenceSession(m.SerializeToString(), options)
    return session.run(None, feed)


def run_tenon(m, feed, kind, level):
    mod, params = relay.frontend.from_onnx(m)
    with tenon.transform.PassContext(opt_level=level):
        executor = relay.create_executor(
            kind, mod=mod, device=tenon.cpu(), target="llvm", params=params
        )
        f = executor.evaluate()
    names = [v.name_hint for v in mod["main"].params]
    return flat(f(*[tenon.nd.array(feed[n]) for n in names]))


def is_hostile(error):
    """Errors that no model may end with: they do not name the node, or come from inside."""
    text, kind = str(error), type(error).__name__
    hostile = (
        "LLVM",
        "Assert fail",
        "well formed",
        "store to buffer",
        "interpreted: ",
        "without s",
    )
    kinds = ("InternalError", "CodegenError", "NameError", "ZeroDivisionError", "UnboundLocalError")
    return kind in kinds or any(h in text for h in hostile)


def known(m, feed, say, judge=None):
    """(results, how many engines say so, {engine: refusal}); what a judge says counts as both."""
    results, refused = {}, {}
    for name, run in (("reference", run_reference), ("onnxruntime", run_onnxruntime)):
        if judge and name != judge:
            continue
        say(name)
        try:
            with np.errstate(all="ignore"):
                results[name] = [np.asarray(a) for a in run(m, feed)]
        except Exception as e:
            refused[name] = told(e)
    say("tenon")
    if len(results) == 2:
        same = difference(results["onnxruntime"], results["reference"], True) is None
        return results["onnxruntime"] if same else None, 2 if same else 0, refused
    for value in results.values():
        return value, 2 if judge else 1, refused
    return None, 0, refused


def compare(name, seed, plain=(), alone=False, say=lambda stage: None):
    """(what differs or None, {refusal: count}, {what was compared: count})"""
    refused, counts = collections.Counter(), collections.Counter()
    c = draw(name, seed, plain)
    m, feed = model(c, False)
    want, engines, theirs = known(m, feed, say, c.judge)
    refused.update(f"{engine}, {name}: {text}" for engine, text in theirs.items())
    counts[("engines differ", "one engine", "two engines agree")[engines]] += 1
    runs = [("graph", 3 * (seed % 2), False), ("vm", 3, c.dynamic)]
    if c.dynamic and seed % 3 == 0:
        runs.append(("debug", 0, True))
    got = {}
    for kind, level, dynamic in runs:
        at = f"{kind} {level}{' open' if dynamic else ''}"
        try:
            m, feed = model(c, dynamic)
            got[at] = run_tenon(m, feed, kind, level)
        except Exception as e:
            if is_hostile(e):
                return f"{at}: {type(e).__name__}: {str(e)[:300]}", refused, counts
            refused[f"tenon {kind}{' open' if dynamic else ''}, {name}: {told(e)}"] += 1
            if engines == 2:
                counts["refused, both engines compute it"] += 1
    results = list(got.items())
    for at, value in results[1:]:
        counts["compared"] += 1
        if what := difference(value, results[0][1], True):
            return f"{at}, against {results[0][0]}: {what}", refused, counts
    for at, value in results if engines == 2 or (alone and engines) else ():
        counts["compared"] += 1
        if what := difference(value, want, True):
            return f"{at}, against {engines} engines: {what}", refused, counts
    return None, refused, counts


def shrink(name, seed, alone=False):
    """The plainest node of the seed that still differs, as text."""
    plain = []
    for knob in KNOBS:
        try:
            if compare(name, seed, [*plain, knob], alone)[0]:
                plain.append(knob)
        except Exception:
            continue
    what = compare(name, seed, plain, alone)[0] or compare(name, seed, (), alone)[0]
    return f"{show(name, draw(name, seed, plain))}\n    {what}\n    seed {seed}, plain: {plain}"


def batch(pairs, alone):
    """Compares nodes of (name, seed); prints each before it is compared, and what came out."""
    for name, seed in pairs:

        def say(stage, now=(name, seed)):
            print(json.dumps({"now": list(now), "stage": stage}), flush=True)

        what, refused, counts = compare(name, seed, (), alone, say)
        made = {"counts": counts, "refused": refused}
        if what:
            made["differs"] = shrink(name, seed, alone)
        print(json.dumps(made), flush=True)


def child(pairs, alone, seconds=300):
    """A batch in its own process. @return what it printed, and what ended it"""
    command = [sys.executable, os.path.abspath(__file__), "--batch", json.dumps(pairs)]
    command += ["--alone"] if alone else []
    try:
        p = subprocess.run(command, capture_output=True, text=True, timeout=seconds)
        out, status, err = p.stdout, p.returncode, p.stderr
    except subprocess.TimeoutExpired as e:
        out, status, err = (e.stdout or b"").decode(), "hangs", ""
    lines = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    last = [line for line in lines if "now" in line][-1:]
    return lines, (last[0], f"{status} {err[-600:]}") if status != 0 and last else None


def search(seconds, seed, only=(), alone=False):
    names = sorted(only or NAMES)
    counts, refused, found = collections.Counter(), collections.Counter(), []
    end, todo = time.monotonic() + seconds, []
    while time.monotonic() < end:
        if not todo:
            todo, seed = [(name, seed) for name in names], seed + 1
        pairs, todo = todo[:BATCH], todo[BATCH:]
        lines, died = child(pairs, alone)
        for line in lines:
            counts["nodes"] += line.get("stage") == "tenon"
            counts.update(line.get("counts", {}))
            refused.update(line.get("refused", {}))
            if "differs" in line:
                found.append(line["differs"])
                print(line["differs"], flush=True)
        if died:
            last, status = died
            name, at = last["now"]
            if last["stage"] == "tenon":
                found.append(f"{name} seed {at}: the process ended with {status}")
                print(found[-1], flush=True)
            else:
                counts[f"{last['stage']} died"] += 1
            rest = [i for i, p in enumerate(pairs) if list(p) == [name, at]]
            todo = pairs[rest[0] + 1 :] + todo
    for text, n in refused.most_common():
        print(f"refused {n} times by {text}")
    words = ", ".join(f"{n} {re.sub(',', '', what)}" for what, n in counts.items())
    total = sum(refused.values())
    print(f"{words}, {total} refusals, {len(found)} differences, next seed {seed}")
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--seconds", type=float, default=60)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--only", nargs="*", default=())
    p.add_argument("--alone", action="store_true")
    p.add_argument("--batch", help=argparse.SUPPRESS)
    args = p.parse_args()
    if args.batch:
        return batch(json.loads(args.batch), args.alone)
    return 1 if search(args.seconds, args.seed, args.only, args.alone) else 0


if __name__ == "__main__":
    sys.exit(main())
