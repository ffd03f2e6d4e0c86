"""Look for tiles of kernels that are faster than those that the rules choose.

    python -m tenon.exec.tune_kernels model.onnx ... -o own.log
    python -m tenon.exec.tune_kernels --again own.log -o kept.log

Every kernel of the models whose tile can be tuned is built with other values, each measured in turn
with what the rules choose. What is faster by more than ``--gain`` per cent is measured once more,
alone beside the rules' choice, and written as a record only where it is again. ``--again`` does the
last step for the records of a file. Kernels are measured alone: a convolution with the border that
keeps the size of its image, bias and ReLU.

Measure on a machine that does nothing else, with as many threads (TENON_NUM_THREADS) as programs
will have. Records name the processor and the number of threads, and count for no others.
"""

import argparse
import itertools
import json
import random
import statistics
import sys
import time

import numpy as np

import tenon
from tenon import autotvm, relay
from tenon._ffi import get_global_func
from tenon._ffi.files import append_line

SECONDS = 0.25  # of measuring a set of candidates
EVICTED = 8 << 20  # bytes that drive others out of the caches of a core


# ---- programs ----


def _tensors(workload):
    return [arg for arg in workload if isinstance(arg, tuple) and arg and arg[0] == "TENSOR"]


def _constant(*shape):
    return relay.const(np.random.RandomState(0).randn(*shape).astype("float32") / 10)


def _convolution(workload):
    (_, data, _), (_, kernel, _) = _tensors(workload)
    strides, dilation = workload[3], workload[5]
    border = [(k - 1) * d // 2 for k, d in zip(kernel[2:], dilation, strict=True)]
    size = [n - 2 * b for n, b in zip(data[2:], border, strict=True)]
    if min(size) < 1:
        border, size = [0, 0], list(data[2:])
    x = relay.var("x", shape=(*data[:2], *size))
    conv = relay.nn.conv2d(
        x,
        _constant(*kernel),
        strides=strides,
        padding=tuple(border),
        dilation=dilation,
        groups=data[1] // kernel[1],
        channels=kernel[0],
        kernel_size=kernel[2:],
    )
    return relay.Function([x], relay.nn.relu(relay.nn.bias_add(conv, _constant(kernel[0]))))


def _product(workload):
    (_, left, _), (_, right, _) = _tensors(workload)
    x = relay.var("x", shape=left)
    if len(left) == 3:
        y = relay.var("y", shape=right)
        return relay.Function([x, y], relay.nn.batch_matmul(x, y))
    if workload[0] == "dense_nopack.x86":
        y = relay.var("y", shape=right)
        return relay.Function([x, y], relay.nn.dense(x, y))
    dense = relay.nn.dense(x, _constant(*right))
    return relay.Function([x], relay.nn.bias_add(dense, _constant(right[0])))


def program_of(workload):
    """A module of the one kernel of a workload; None for what this tool does not measure."""
    tensors = _tensors(workload)
    if len(tensors) != 2 or any(dtype != "float32" for _, _, dtype in tensors):
        return None
    make = _convolution if "conv2d" in workload[0] else _product
    return tenon.IRModule.from_expr(make(workload))


# ---- kernels ----


def _record(task, knobs, seconds=1.0):
    config = autotvm.ConfigEntity(0, None, {name: ["ot", v] for name, v in knobs.items()})
    result = autotvm.record.MeasureResult((seconds,), 0, seconds, time.time() if seconds else 0)
    return autotvm.record.MeasureInput(task.target, task, config), result


class Arrays:
    """The operands of all kernels of a workload, so that where they lie makes no difference. Before
    a call the caches hold what they do in a model: the data, and nothing of the weights."""

    def __init__(self):
        self._known = {}
        self._other = np.zeros(EVICTED // 8)

    def of(self, shape, dtype, role, value=None):
        """The array of a shape and type; what it holds is made up where there is no value."""
        key = (tuple(shape), dtype, role)
        if key not in self._known:
            if value is None:
                value = np.random.RandomState(1).randn(*shape).astype("float32") / 10
            array = tenon.nd.array(value.astype(dtype))
            self._known[key] = array, np.from_dlpack(array)
        return self._known[key][0]

    def prepare(self):
        """Bring the caches into that state."""
        self._other.sum()
        for (_, _, role), (_, view) in self._known.items():
            if role == "data":
                view.sum()


class Kernel:
    """The kernel of a workload with some values of its knobs, ready to be called."""

    def __init__(self, task, mod, knobs, arrays):
        self.knobs = knobs
        self.times = []
        given = [(_record(task, knobs)[0], autotvm.record.MeasureResult((1.0,), 0, 1.0, 0.0))]
        context = autotvm.ApplyHistoryBest(given if knobs else [])
        with tenon.transform.PassContext(opt_level=3), context:
            built = relay.build(mod, task.target)
        graph = json.loads(built.get_graph_json())
        self._prepare = arrays.prepare
        self._arguments(graph, built.get_params(), arrays)
        self.lib = built.get_lib()
        evaluator = self.lib.time_evaluator
        self._measure = evaluator(self.name, tenon.cpu(), number=1, repeat=1)

    def _arguments(self, graph, params, arrays):
        shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
        first = graph["node_row_ptr"]
        wanted = ("conv2d", "dense", "batch_matmul")
        (number, node), *others = [
            (i, n)
            for i, n in enumerate(graph["nodes"])
            if n["op"] != "null" and any(w in n["attrs"]["func_name"] for w in wanted)
        ]
        if others:
            raise ValueError(f"the workload has several kernels: {graph['nodes']}")
        self.name = node["attrs"]["func_name"]
        self.arrays = []
        for position, (source, index, *_) in enumerate(node["inputs"]):
            value = params.get(graph["nodes"][source]["name"])
            role = "data" if value is None else f"weight {position}"
            at = first[source] + index
            value = None if value is None else value.numpy()
            self.arrays.append(arrays.of(shapes[at], types[at], role, value))
        at = first[number]
        self.arrays.append(arrays.of(shapes[at], types[at], "result"))

    def measure(self):
        """Adds the seconds that a call takes to those of the kernel."""
        self._prepare()
        self.times.append(self._measure(*self.arrays).mean)


def measure(kernels, seconds=SECONDS):
    """Rounds through all kernels, in turn, so that all meet the same machine."""
    for kernel in kernels:
        kernel.times = []
        kernel.measure()
    once = sum(kernel.times[0] for kernel in kernels) / len(kernels) + 1e-3
    for _ in range(max(15, min(200, int(seconds / once)))):
        for kernel in random.sample(kernels, len(kernels)):
            kernel.measure()


def gain_of(kernel, rules):
    """Per cent of the time saved: the lesser of what the medians and the fastest calls say."""
    ratios = [f(kernel.times) / f(rules.times) for f in (statistics.median, min)]
    return 100 * (1 - max(ratios))


# ---- candidates ----


def _near(values, chosen, count):
    """Values next to the chosen one in their order."""
    order = sorted(v for v in values if v != chosen)
    return sorted(
        order,
        key=lambda v: (
            abs(v / max(chosen, 1) - 1) if v >= chosen else abs(max(chosen, 1) / max(v, 1) - 1)
        ),
    )[:count]


def _tiles(task):
    """Tiles that fill at least half of the registers and divide the work well, the best first; the
    kernel itself decides whether it can be made with them."""
    names = [n for n in ("tile_oh", "tile_ow", "tile_oc", "tile_m", "tile_n") if n in task.knobs]
    if len(names) < 2 or "depthwise" in task.name:
        return []
    lanes = min(task.knobs["tile_n"][1]) if "tile_n" in names else 1
    registers = 31 if max(max(task.knobs[n][1]) for n in names if n != "tile_n") > 14 else 32
    rated = []
    for values in itertools.product(*(task.knobs[n][1] for n in names)):
        *pixels, vectors = values
        vectors //= lanes
        count = int(np.prod(pixels))
        held = count * vectors + vectors + 1
        if held > registers or held * 2 < registers:
            continue
        waste = 1.0
        for name, value in zip(names, pixels, strict=False):
            most = max(task.knobs[name][1])
            waste *= most / (-(-most // value) * value) if most < 30 else 1.0
        rated.append((waste * count * vectors / (count + vectors), values))
    rated.sort(reverse=True)
    return [dict(zip(names, (int(v) for v in values), strict=True)) for _, values in rated]


def candidates(task, best, trials):
    """Values of knobs to try, from the best ones so far."""
    found = []
    for name, (chosen, values) in task.knobs.items():
        if name in ("chunks", "bands"):  # they divide work among threads, which records do not name
            continue
        for value in _near(values, best.get(name, chosen), 4):
            found.append({**best, name: value})
    if not best:
        found += _tiles(task)[:trials]
    unique = []
    for one in found:
        if one not in unique:
            unique.append(one)
    return unique[:trials]


# ---- the search ----


def search(task, mod, trials, gain):
    """The best values of a task's knobs: (knobs, per cent gained, seconds); None."""
    arrays = Arrays()
    rules, best = Kernel(task, mod, {}, arrays), {}
    for _ in range(2):
        tried = [Kernel(task, mod, k, arrays) for k in candidates(task, best, trials)]
        if not tried:
            break
        measure([rules, *tried])
        first = max(tried, key=lambda kernel: gain_of(kernel, rules))
        if gain_of(first, rules) < gain:
            break
        best = first.knobs
        trials //= 2
    return confirmed(task, mod, best, gain) if best else None


def confirmed(task, mod, knobs, gain):
    """Measured once more, the two alone; (knobs, per cent gained, seconds) or None."""
    arrays = Arrays()
    rules, kernel = Kernel(task, mod, {}, arrays), Kernel(task, mod, knobs, arrays)
    measure([rules, kernel])
    saved = gain_of(kernel, rules)
    return (knobs, saved, statistics.median(kernel.times)) if saved >= gain else None


def _target(text):
    """The target with the name of its processor and the number of threads."""
    target = tenon.target.Target(text)
    name = str(get_global_func("tune.records_processor")(target))
    if name and not target.mcpu:
        text += f" -mcpu={name}"
    return tenon.target.Target(f"{text} -num-cores={get_global_func('runtime.NumThreads')()}")


def _tasks_of_models(paths, target):
    import onnx

    found = {}
    for path in paths:
        mod, params = relay.frontend.from_onnx(onnx.load(path), freeze_params=True)
        with tenon.transform.PassContext(opt_level=3, config={"relay.backend.records": "auto"}):
            for task in autotvm.task.extract_from_program(mod, params, target):
                found.setdefault(task.workload, task)
    return list(found.values())


def _tasks_of_records(path, target):
    for given, _ in autotvm.record.load_from_file(path):
        knobs = {name: value for name, _, value in given.config.to_json_dict()["entity"]}
        yield autotvm.task.Task(given.task.name, given.task.args, target), knobs


def main():
    """Measures, as the arguments of the command say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", help="ONNX models")
    parser.add_argument("-o", "--output", required=True, help="file that records are added to")
    parser.add_argument("--again", help="file of records to measure again, instead of models")
    parser.add_argument("--target", default="llvm", help="of kind llvm, for this machine")
    parser.add_argument("--trials", type=int, default=24, help="candidates for each kernel")
    parser.add_argument("--gain", type=float, default=3.0, help="least gain, in per cent")
    parser.add_argument("--only", default="", help="part of the text of the workloads to look at")
    args = parser.parse_args()
    target = _target(args.target)
    if args.again:
        tasks = list(_tasks_of_records(args.again, target))
    else:
        tasks = [(task, None) for task in _tasks_of_models(args.models, target)]
    kept = 0
    for task, knobs in tasks:
        mod = program_of(task.workload)
        if mod is None or args.only not in str(task.workload):
            continue
        if knobs is None:
            task.target = target
            found = search(task, mod, args.trials, args.gain)
        else:
            found = confirmed(task, mod, knobs, args.gain)
        text = f"{found[1]:.1f} % with {found[0]}" if found else "the rules' choice stays"
        print(f"{task.name} {_tensors(task.workload)}: {text}", flush=True)
        if found:
            kept += 1
            append_line(args.output, autotvm.record.encode(*_record(task, found[0], found[2])))
    print(f"{kept} records of {len(tasks)} kernels")
    return 0


if __name__ == "__main__":
    sys.exit(main())
