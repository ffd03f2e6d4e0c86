"""How long models take from file to first call: cold, with the kernel cache, beside onnxruntime.

    python bench/build/run.py [--only resnet50,...] [--threads N] [--rounds N] [--engines ...]
                              [--json FILE] [MODEL.onnx ...]

Without models it makes those of ``zoo.py`` in a temporary folder. Every measurement is a separate
process that imports the engine first and then reads the file, builds and calls once. ``cold`` has
an empty kernel cache, ``cached`` what the cold build left. Printed for each: wall-clock seconds,
CPU seconds (user and system, of all threads: the figure to go by beside other work), the peak of
memory in MB and its ratio to the size of the file. Of several rounds the least counts. Python
finds the bytecode of Tenon's modules, as it does once they are installed.
"""

import argparse
import importlib
import importlib.util
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "models"))


# ---- one measurement, in a separate process ----


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def tenon_call(path, inputs):
    import tenon

    tenon.compile(path)(**inputs)


def onnxruntime_call(path, inputs):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = int(os.environ["OMP_NUM_THREADS"])
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    session.run(None, inputs)


ENGINES = {"tenon": tenon_call, "onnxruntime": onnxruntime_call}


def measure(engine, path, data):
    """Prints what it takes, as JSON."""
    import numpy as np
    from engines import peak_mb

    arrays = np.load(data)
    inputs = {key[3:]: arrays[key] for key in arrays.files if key.startswith("in:")}
    importlib.import_module(engine)
    wall, cpu = time.perf_counter(), cpu_seconds()
    ENGINES[engine](path, inputs)
    found = {"wall": time.perf_counter() - wall, "cpu": cpu_seconds() - cpu, "peak_mb": peak_mb()}
    print(json.dumps(found))


# ---- all of them ----


def environment(bytecode):
    """That of this process, with bytecode kept in a folder."""
    env = {**os.environ, "PYTHONPYCACHEPREFIX": str(bytecode)}
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    return env


def compile_modules(bytecode):
    """Writes the bytecode of Tenon's modules."""
    package = importlib.util.find_spec("tenon").submodule_search_locations[0]
    words = [sys.executable, "-m", "compileall", "-q", package]
    subprocess.run(words, env=environment(bytecode), check=True)


def ask(engine, path, data, args, cache):
    """A measurement; {"error": ...} after a failure."""
    words = [sys.executable, str(HERE / "run.py"), "--measure", engine, str(path), str(data)]
    number = str(args.threads)
    env = environment(args.bytecode)
    env |= {"TENON_CACHE": cache, "TVM_NUM_THREADS": number, "OMP_NUM_THREADS": number}
    done = subprocess.run(words, env=env, capture_output=True, text=True)
    if done.returncode:
        return {"error": (done.stderr.strip().splitlines() or ["the process ended"])[-1]}
    return json.loads(done.stdout.splitlines()[-1])


def least(before, now):
    if before is None or "error" in now:
        return now
    return {key: min(before[key], now[key]) for key in now}


def measure_model(path, data, args):
    found = {}
    for _ in range(args.rounds):
        with tempfile.TemporaryDirectory() as cache:
            if "tenon" in args.engines:
                for kind in ("cold", "cached"):
                    one = ask("tenon", path, data, args, cache)
                    found[kind] = least(found.get(kind), one)
        for engine in args.engines:
            if engine != "tenon":
                one = ask(engine, path, data, args, "off")
                found[engine] = least(found.get(engine), one)
    return found


def show(name, size, found):
    for kind, one in found.items():
        if "error" in one:
            print(f"{name:16s} {kind:12s} {one['error']}", flush=True)
            continue
        ratio = one["peak_mb"] / size
        print(
            f"{name:16s} {kind:12s} {one['wall']:8.2f} {one['cpu']:8.2f} {one['peak_mb']:8.0f}"
            f" {ratio:8.2f}",
            flush=True,
        )


def models_of(args, folder):
    """The files to measure, one after another; those that are made are removed behind it."""
    import zoo

    for path in map(pathlib.Path, args.models):
        yield path
    for name in [] if args.models else args.only.split(",") if args.only else zoo.NAMES:
        path = pathlib.Path(folder) / f"{name}.onnx"
        zoo.make(name, path)
        yield path
        path.unlink()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--only", default="")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--engines", default="tenon,onnxruntime")
    parser.add_argument("--json")
    args = parser.parse_args()
    args.engines = args.engines.split(",")
    from data import data_of

    results = {}
    print(f"{'model':16s} {'':12s} {'wall s':>8s} {'CPU s':>8s} {'peak MB':>8s} {'x file':>8s}")
    with tempfile.TemporaryDirectory() as folder:
        args.bytecode = pathlib.Path(folder) / "bytecode"
        if "tenon" in args.engines:
            compile_modules(args.bytecode)
        for path in models_of(args, folder):
            found = measure_model(path, data_of(path, {}, folder), args)
            show(path.stem, path.stat().st_size / 2**20, found)
            results[path.stem] = found
    if args.json:
        pathlib.Path(args.json).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(*sys.argv[2:5])
    else:
        main()
