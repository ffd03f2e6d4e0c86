"""Latency, build time and memory of ONNX models here and in the engines that are installed.

    python bench/models/run.py PATH ... [--only resnet50,...] [--threads 1,2] [--rounds N]
                               [--engines tenon,onnxruntime,...] [--peak GFLOPS] [--json FILE]
                               [--precision exact|relaxed] [--tolerance X] [--shape INPUT=1,3,224]

A PATH is a model, or a folder of them. NAME.npz beside NAME.onnx holds its data: arrays
``in:INPUT``, and ``out:0``, ..., the reference outputs. For models without one, inputs are random
(integers are zeros and ones), dynamic extents are 1 or what ``--shape`` says, and the reference is
what onnxruntime gives. Every engine is a separate process, pinned to as many cores as it may have
threads; in each round all of them run in turn, so that a change of the machine's pace meets all. A
time is that of a call with numpy arrays in and out: the median over rounds of the median of a
round, and the fastest call. Outputs are compared with the reference: the largest difference
relative to the largest output must stay below 1e-4, or the given tolerance. ``--precision relaxed``
allows bfloat16 (relay.backend.precision, and what OpenVINO does by itself) and 2e-2; for quantized
models, whose references are those of the models before, say what is expected of them.

The build time is from the file to the first possible call; that of Tenon is taken with an empty
kernel cache and again with what the first build left in it.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from data import data_of, input_names, input_shapes
from work import multiply_adds

HERE = pathlib.Path(__file__).resolve().parent
TOLERANCE = {"exact": 1e-4, "relaxed": 2e-2}
NAMES = {
    "tenon": "tenon",
    "onnxruntime": "onnxruntime",
    "openvino": "openvino",
    "torch": "torchvision",
}


class Engine:
    """A process that runs a model."""

    def __init__(self, name, model, data, threads, precision, cache):
        self.name, self.rounds, self.error = name, [], None
        words = [name, str(model), str(threads), precision, str(data)]
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "engines.py"), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "TENON_CACHE": cache},
        )

    def ask(self, command):
        """The answer to a command; {} after a failure, which is kept."""
        if self.error:
            return {}
        try:
            print(command, file=self.process.stdin, flush=True)
            found = json.loads(self.process.stdout.readline() or '{"error": "the process ended"}')
        except BrokenPipeError:
            found = {"error": "the process ended"}
        self.error = found.get("error")
        return {} if self.error else found

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.wait()


def prepared(name, model, data, threads, precision, cache):
    """An engine that can be called, and what preparing it took."""
    engine = Engine(name, model, data, threads, precision, cache)
    engine.prepare = engine.ask("prepare")
    return engine


def worst_difference(engine, data, folder):
    """Largest difference from the reference, relative to the largest output; None without one."""
    path = os.path.join(folder, f"{engine.name}.npz")
    engine.ask(f"outputs {path}")
    if engine.error:
        return None
    found, expected = np.load(path), np.load(data)
    keys = [k for k in expected.files if k.startswith("out:")]
    worst = 0.0 if keys else None
    for key in keys:
        if found[key].shape != expected[key].shape:
            return float("inf")
        largest = max(float(np.abs(expected[key]).max()), 1e-30)
        worst = max(worst, float(np.abs(found[key] - expected[key]).max()) / largest)
    return worst


def summary(engine):
    """The figures of an engine's rounds, in seconds."""
    if engine.error or not engine.rounds:
        return {"error": engine.error}
    calls = [time for one in engine.rounds for time in one["times"]]
    return {
        "median": statistics.median(statistics.median(r["times"]) for r in engine.rounds),
        "fastest": min(calls),
        "calls": len(calls),
        "waited": statistics.median(r["waited"] for r in engine.rounds),
        "prepare": engine.prepare,
    }


def measure_model(model, data, threads, args, folder):
    """All engines on one model."""
    cache = os.path.join(folder, f"cache-{model.stem}-{threads}")
    found, engines = {}, []
    if "tenon" in args.engines:
        cold = prepared("tenon", model, data, threads, args.precision, cache)
        found["cold"] = cold.prepare
        cold.close()
    for name in args.engines:
        engines.append(prepared(name, model, data, threads, args.precision, cache))
    for engine in engines:
        engine.difference = worst_difference(engine, data, folder)
    for _ in range(args.rounds):
        for engine in engines:
            one = engine.ask(f"call {args.seconds}")
            if one:
                engine.rounds.append(one)
    for engine in engines:
        engine.close()
        found[engine.name] = {**summary(engine), "difference": engine.difference}
    return found


def row(name, found, work, peak, threads, tolerance):
    """Two lines about a model at a number of threads."""
    times = {k: v["median"] for k, v in found.items() if "median" in v}
    peers = {k: v for k, v in times.items() if k != "tenon"}
    parts = [f"{name:16s} {threads}"]
    for engine in [k for k in found if k != "cold"]:
        ms = times.get(engine)
        parts.append(f"{ms * 1e3:11.3f}" if ms else f"{'-':>11s}")
    failed = {k: v["error"] for k, v in found.items() if v.get("error")}
    if "tenon" not in times:
        return " ".join([*parts, *(f"  {k}: {why}" for k, why in failed.items())])
    rate = 2 * work / times["tenon"] / 1e9
    parts.append(f"{times['tenon'] / min(peers.values()):7.2f}" if peers else f"{'-':>7s}")
    parts.append(f"{rate:8.1f}")
    parts.append(f"{rate / (peak * threads):6.0%}" if peak else f"{'-':>6s}")
    tenon, cold = found["tenon"], found.get("cold", {})
    wrong = "" if (tenon["difference"] or 0) < tolerance else " WRONG"
    known = tenon["difference"] is not None
    parts.append(f"{tenon['difference']:8.1e}{wrong}" if known else f"{'-':>8s}")
    parts.append(f"{cold.get('seconds', 0):7.2f} {tenon['prepare']['seconds']:6.2f}")
    parts.append(f"{tenon['prepare']['stages']['load'] * 1e3:7.1f}")
    parts.append(f"{cold.get('peak_mb', 0):7.0f}")
    parts.append(f"{max(v.get('waited', 0) for k, v in found.items() if k != 'cold'):6.0%}")
    return " ".join(parts)


def heading(engines):
    first = " ".join(f"{name:>11s}" for name in engines)
    rest = "  ratio  GFLOP/s   peak    error    cold  cache load ms peak MB   wait"
    return f"{'model':14s} thr {first} {rest}"


def measured_peak():
    """GFLOP/s of one core, where the program that measures it was built; None otherwise."""
    for path in sorted(HERE.parent.parent.glob("build*/**/bench/peak")):
        done = subprocess.run([str(path), "1"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return float(json.loads(done.stdout)["peak"])
    return None


def given_shape(parser, text):
    """Name and extents of ``--shape``."""
    name, _, extents = text.partition("=")
    try:
        return name, [int(n) for n in extents.split(",")]
    except ValueError:
        parser.error(f"--shape {text}: expected INPUT=extents, as x=1,3,224,224")


def models_of(parser, args):
    """The models that are asked for, small ones first."""
    only, found = set(filter(None, args.only.split(","))), []
    for path in args.paths:
        if not path.exists():
            parser.error(f"{path}: no such file or folder")
        found += path.glob("*.onnx") if path.is_dir() else [path]
    if unknown := set(args.shapes) - {name for model in found for name in input_names(model)}:
        parser.error(f"--shape: no model has an input {', '.join(sorted(unknown))}")
    chosen = [model for model in found if not only or model.stem in only]
    if not chosen:
        parser.error("no model *.onnx in what is given")
    return sorted(chosen, key=lambda p: p.stat().st_size)


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", nargs="+", type=pathlib.Path, metavar="PATH")
    parser.add_argument("--shape", action="append", default=[], help="INPUT=extents, of open ones")
    parser.add_argument("--only", default="", help="models, with commas between")
    parser.add_argument("--engines", default="", help="engines, with commas between")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=0.2, help="of an engine in a round")
    parser.add_argument("--peak", type=float, help="GFLOP/s of a core; measured where it can be")
    parser.add_argument("--precision", choices=list(TOLERANCE), default="exact")
    parser.add_argument("--tolerance", type=float, help="of the largest output")
    parser.add_argument("--json", type=pathlib.Path, help="file for all figures")
    args = parser.parse_args()
    chosen = args.engines.split(",") if args.engines else list(NAMES)
    if unknown := [n for n in chosen if n not in NAMES]:
        parser.error(f"--engines: {', '.join(unknown)}: expected some of {', '.join(NAMES)}")
    found = [n for n in chosen if importlib.util.find_spec(NAMES[n])]
    missing = [n for n in chosen if n not in found and (args.engines or n == "tenon")]
    if missing:
        hint = "; for tenon: PYTHONPATH=build/<preset>/python" if "tenon" in missing else ""
        parser.error(f"no Python package of: {', '.join(missing)}{hint}")
    args.engines = found
    args.shapes = dict(given_shape(parser, text) for text in args.shape)
    args.models = models_of(parser, args)
    if args.tolerance is None:
        args.tolerance = TOLERANCE[args.precision]
    return args


def main():
    args = parse_args()
    peak = args.peak or measured_peak()
    print(f"peak of a core: {peak:.0f} GFLOP/s" if peak else "peak of a core: not measured")
    print("ratio: tenon to the fastest other; times of a call in ms, builds in s")
    print(heading(args.engines), flush=True)
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for model in args.models:
            data = data_of(model, args.shapes, folder)
            work, weights = multiply_adds(str(model), input_shapes(data))
            for threads in map(int, args.threads.split(",")):
                found = measure_model(model, data, threads, args, folder)
                results[f"{model.stem}/{threads}"] = {
                    **found,
                    "multiply_adds": work,
                    "weight_bytes": weights,
                }
                print(row(model.stem, found, work, peak, threads, args.tolerance), flush=True)
    if args.json:
        args.json.write_text(json.dumps({"peak": peak, "models": results}, indent=1))


if __name__ == "__main__":
    main()
