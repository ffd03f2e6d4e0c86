"""Recurrent models and the virtual machine's own cost, beside torch and ONNX Runtime.

    python bench/vm_models.py [--rounds N] [--models FOLDER] [--only lstm,tree,static,rows,memory]

Everything runs on one thread in this process; in each round all of them run in turn, so that a
change of the machine's pace meets all. A figure is the median over rounds of the fastest call of a
round. Results are compared with torch's (1e-4) before anything is timed. What is not installed is
left out. With ``--models`` ResNet-50 and BERT of that folder (see bench/models) run on both
executors.
"""

import argparse
import importlib.util
import os
import pathlib
import statistics
import tempfile
import time
import warnings

for _name in ("TENON_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[_name] = "1"

import numpy as np  # noqa: E402
import tenon  # noqa: E402
from tenon import relay  # noqa: E402
from tenon.contrib import graph_executor  # noqa: E402
from tenon.relay.backend import vm as relay_vm  # noqa: E402
from tenon.runtime.container import ADT  # noqa: E402
from tenon.runtime.vm import VirtualMachine  # noqa: E402

TOLERANCE = 1e-4


def has(name):
    return importlib.util.find_spec(name) is not None


def compiled(mod, params=None):
    with tenon.transform.PassContext(opt_level=3):
        return relay_vm.compile(mod, target="llvm", params=params)


def machine(mod, params=None):
    return VirtualMachine(compiled(mod, params), tenon.cpu())


def session(model):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def best(call, seconds=0.15):
    """The fastest of the calls that fit into some time, in microseconds."""
    found, end = [], time.perf_counter() + seconds
    while not found or time.perf_counter() < end:
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found) * 1e6


def compare(title, calls, rounds):
    """Times calls by name in turn and prints each with its ratio to the first."""
    times = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(best(call))
    medians = {name: statistics.median(values) for name, values in times.items()}
    first = next(iter(medians.values()))
    print(title)
    for name, value in medians.items():
        print(f"  {name:34} {value:10.1f} us   {value / first:6.2f}")


def check(what, got, want):
    worst = float(np.abs(got - want).max())
    if worst > TOLERANCE:
        raise SystemExit(f"{what}: differs by {worst:g}")


# ---- LSTM

STEPS, WIDTH, HIDDEN = 50, 128, 256


def recursive_lstm(weights):
    """An LSTM as a loop of calls, for sequences of any length."""
    w, r, b = weights
    loop = relay.GlobalVar("loop")
    xs = relay.var("xs", shape=(relay.Any(), 4 * HIDDEN))
    t, n = relay.var("t", shape=(), dtype="int32"), relay.var("n", shape=(), dtype="int32")
    h, c = relay.var("h", shape=(1, HIDDEN)), relay.var("c", shape=(1, HIDDEN))
    row = relay.reshape(relay.take(xs, t, axis=0), (1, 4 * HIDDEN))
    gates = relay.nn.dense(h, relay.const(r)) + row
    i, f, g, o = relay.split(gates, 4, axis=1)
    after = relay.sigmoid(f) * c + relay.sigmoid(i) * relay.tanh(g)
    out = relay.sigmoid(o) * relay.tanh(after)
    again = relay.Call(loop, [t + relay.const(1), n, xs, out, after])
    body = relay.If(relay.less(t, n), again, h)
    mod = tenon.IRModule()
    mod[loop] = relay.Function([t, n, xs, h, c], body, relay.TensorType((1, HIDDEN)))
    x = relay.var("x", shape=(relay.Any(), WIDTH))
    both = relay.nn.bias_add(relay.nn.dense(x, relay.const(w)), relay.const(b))
    zero = relay.const(np.zeros((1, HIDDEN), "float32"))
    length = relay.take(relay.shape_of(x, dtype="int32"), relay.const(0), axis=0)
    mod["main"] = relay.Function([x], loop(relay.const(0), length, both, zero, zero))
    return mod


def bench_lstm(rounds):
    import torch

    torch.manual_seed(0)
    lstm = torch.nn.LSTM(WIDTH, HIDDEN).eval()

    class Last(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = lstm

        def forward(self, x):
            return self.lstm(x)[1][0][0]

    x = torch.randn(STEPS, 1, WIDTH)
    with torch.inference_mode():
        want = Last()(x).numpy()
    scripted = torch.jit.freeze(torch.jit.script(Last().eval()))
    arrays = [p.detach().numpy() for p in lstm.parameters()]
    weights = (arrays[0], arrays[1], arrays[2] + arrays[3])
    loop, x2 = machine(recursive_lstm(weights)), tenon.nd.array(x.numpy()[:, 0])
    check("LSTM as a loop", loop.run(x2).numpy(), want)
    calls = {"tenon vm, loop, any length": lambda: loop.run(x2)}
    if has("onnx"):
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = str(pathlib.Path(folder) / "lstm.onnx")
            torch.onnx.export(Last().eval(), (x,), path, dynamo=False, input_names=["x"])
            mod, params = relay.frontend.from_onnx(path)
            unrolled, x3 = machine(mod, params), tenon.nd.array(x.numpy())
            check("LSTM from ONNX", unrolled.run(x3).numpy(), want)
            calls["tenon vm, from ONNX"] = lambda: unrolled.run(x3)
            if has("onnxruntime"):
                ort = session(path)
                calls["onnxruntime"] = lambda: ort.run(None, {"x": x.numpy()})
    module = Last().eval()

    def torch_call(f):
        def call():
            with torch.inference_mode():
                return f(x)

        return call

    calls["torch, eager"] = torch_call(module)
    calls["torch, scripted"] = torch_call(scripted)
    compare(f"LSTM, {STEPS} steps, {WIDTH} inputs, {HIDDEN} hidden, batch 1", calls, rounds)


# ---- Tree-LSTM: leaves hold a vector, inner nodes have two children

TREE_WIDTH, TREE_HIDDEN = 64, 128

TREE_TEXT = """#[version = "0.0.5"]
type Tree { Leaf(Tensor[(1, 64), float32]), Node(Tree[], Tree[]), }
"""


def tree_module(w, b, u, v):
    """The binary Tree-LSTM as a recursive function of an algebraic data type."""
    mod = relay.parse(TREE_TEXT + "def @unused() { 0 }")
    tree, leaf, node = mod.get_type("Tree")
    walk = relay.GlobalVar("walk")
    state = relay.TensorType((1, TREE_HIDDEN))
    t, x, left, right = relay.var("t", tree()), relay.var("x"), relay.var("l"), relay.var("r")
    i, o, g = relay.split(relay.nn.dense(x, relay.const(w)) + relay.const(b[None]), 3, axis=1)
    c = relay.sigmoid(i) * relay.tanh(g)
    at_leaf = relay.Tuple([relay.sigmoid(o) * relay.tanh(c), c])
    a, z = relay.var("a"), relay.var("z")
    below = relay.concatenate([relay.TupleGetItem(a, 0), relay.TupleGetItem(z, 0)], 1)
    gates = relay.nn.dense(below, relay.const(u)) + relay.const(v[None])
    i, fl, fr, o, g = relay.split(gates, 5, axis=1)
    c = relay.sigmoid(i) * relay.tanh(g) + relay.sigmoid(fl) * relay.TupleGetItem(a, 1)
    c = c + relay.sigmoid(fr) * relay.TupleGetItem(z, 1)
    at_node = relay.Tuple([relay.sigmoid(o) * relay.tanh(c), c])
    at_node = relay.Let(a, walk(left), relay.Let(z, walk(right), at_node))
    clauses = [
        relay.Clause(relay.PatternConstructor(leaf, [relay.PatternVar(x)]), at_leaf),
        relay.Clause(
            relay.PatternConstructor(node, [relay.PatternVar(left), relay.PatternVar(right)]),
            at_node,
        ),
    ]
    mod[walk] = relay.Function([t], relay.Match(t, clauses), relay.TupleType([state, state]))
    whole = relay.var("tree", tree())
    mod["main"] = relay.Function([whole], relay.TupleGetItem(walk(whole), 0))
    return mod


def random_tree(rng, leaves):
    """Nested pairs with arrays at the leaves."""
    if leaves == 1:
        return rng.standard_normal((1, TREE_WIDTH)).astype("float32")
    left = int(rng.integers(1, leaves))
    return (random_tree(rng, left), random_tree(rng, leaves - left))


def as_adt(tree):
    if isinstance(tree, tuple):
        return ADT(1, [as_adt(tree[0]), as_adt(tree[1])])
    return ADT(0, [tenon.nd.array(tree)])


def postorder(tree, leaves, links):
    """Numbers of nodes, children first: vectors of leaves, and children of the others (-1, ..)."""
    if not isinstance(tree, tuple):
        links.append((-1, len(leaves)))
        leaves.append(tree)
    else:
        both = tuple(postorder(child, leaves, links) for child in tree)
        links.append(both)
    return len(links) - 1


def torch_tree(w, b, u, v):
    """Functions of a nested tree (eager) and of its nodes in postorder (scripted)."""
    import torch

    w, b, u, v = (torch.from_numpy(a) for a in (w, b, u, v))

    def cell(below, c_left, c_right):
        i, fl, fr, o, g = torch.nn.functional.linear(below, u, v).chunk(5, 1)
        c = i.sigmoid() * g.tanh() + fl.sigmoid() * c_left + fr.sigmoid() * c_right
        return o.sigmoid() * c.tanh(), c

    def eager(tree):
        if not isinstance(tree, tuple):
            i, o, g = torch.nn.functional.linear(tree, w, b).chunk(3, 1)
            c = i.sigmoid() * g.tanh()
            return o.sigmoid() * c.tanh(), c
        (hl, cl), (hr, cr) = eager(tree[0]), eager(tree[1])
        return cell(torch.cat([hl, hr], 1), cl, cr)

    @torch.jit.script
    def scripted(
        leaves: list[torch.Tensor],
        links: list[tuple[int, int]],
        w: torch.Tensor,
        b: torch.Tensor,
        u: torch.Tensor,
        v: torch.Tensor,
    ):
        hs: list[torch.Tensor] = []
        cs: list[torch.Tensor] = []
        for left, right in links:
            if left < 0:
                i, o, g = torch.nn.functional.linear(leaves[right], w, b).chunk(3, 1)
                c = i.sigmoid() * g.tanh()
            else:
                below = torch.cat([hs[left], hs[right]], 1)
                i, fl, fr, o, g = torch.nn.functional.linear(below, u, v).chunk(5, 1)
                c = i.sigmoid() * g.tanh() + fl.sigmoid() * cs[left] + fr.sigmoid() * cs[right]
            hs.append(o.sigmoid() * c.tanh())
            cs.append(c)
        return hs[-1]

    return eager, lambda leaves, links: scripted(leaves, links, w, b, u, v)


def onnx_tree(w, b, u, v):
    """The same as an ONNX Loop over the nodes in postorder, states in two matrices."""
    from onnx import TensorProto, helper, numpy_helper

    make, info = helper.make_node, helper.make_tensor_value_info
    f32, i64 = TensorProto.FLOAT, TensorProto.INT64
    constants = {"w": w, "b": b, "u": u, "v": v, "zero": np.array(0), "one": np.array([1])}
    weights = [numpy_helper.from_array(np.asarray(a), name) for name, a in constants.items()]

    def end(gates, parts, c):
        return [
            make("Split", [gates], parts, axis=1, num_outputs=len(parts)),
            *[make("Sigmoid", [p], [f"s{p}"]) for p in parts[:-1]],
            make("Tanh", [parts[-1]], [f"t{parts[-1]}"]),
            *c,
            make("Tanh", ["c_" + gates], ["tc" + gates]),
            make("Mul", [f"s{parts[-2]}", "tc" + gates], ["h_" + gates]),
        ]

    at_leaf = [
        make("Gather", ["leaves", "right"], ["x"], axis=0),
        make("Gemm", ["x", "w", "b"], ["lg"], transB=1),
        *end("lg", ["li", "lo", "lu"], [make("Mul", ["sli", "tlu"], ["c_lg"])]),
    ]
    at_node = [
        make("Concat", ["left", "right"], ["pair"], axis=0),
        make("Gather", ["hs", "pair"], ["two"], axis=0),
        make("Reshape", ["two", "flat"], ["below"]),
        make("Gather", ["cs", "left"], ["cl"], axis=0),
        make("Gather", ["cs", "right"], ["cr"], axis=0),
        make("Gemm", ["below", "u", "v"], ["ng"], transB=1),
        *end(
            "ng",
            ["ni", "nl", "nr", "no", "nu"],
            [
                make("Mul", ["sni", "tnu"], ["ca"]),
                make("Mul", ["snl", "cl"], ["cb"]),
                make("Mul", ["snr", "cr"], ["cc"]),
                make("Add", ["ca", "cb"], ["cd"]),
                make("Add", ["cd", "cc"], ["c_ng"]),
            ],
        ),
    ]
    weights.append(numpy_helper.from_array(np.array([1, 2 * TREE_HIDDEN]), "flat"))
    state = [None, TREE_HIDDEN]
    branches = [
        helper.make_graph(nodes, name, [], [info(f"{s}_{g}", f32, [1, TREE_HIDDEN]) for s in "hc"])
        for nodes, name, g in ((at_leaf, "leaf", "lg"), (at_node, "node", "ng"))
    ]
    body = helper.make_graph(
        [
            make("Gather", ["links", "k"], ["link"], axis=0),
            make("Split", ["link"], ["left", "right"], axis=0, num_outputs=2),
            make("Squeeze", ["left"], ["first"]),
            make("Less", ["first", "zero"], ["is_leaf"]),
            make("If", ["is_leaf"], ["h", "c"], then_branch=branches[0], else_branch=branches[1]),
            make("Unsqueeze", ["k", "zero_axis"], ["at"]),
            make("Unsqueeze", ["at", "zero_axis"], ["place"]),
            make("ScatterND", ["hs", "place", "h"], ["hs_out"]),
            make("ScatterND", ["cs", "place", "c"], ["cs_out"]),
            make("Identity", ["going"], ["going_out"]),
        ],
        "turn",
        [
            info("k", i64, []),
            info("going", TensorProto.BOOL, []),
            info("hs", f32, state),
            info("cs", f32, state),
        ],
        [
            info("going_out", TensorProto.BOOL, []),
            info("hs_out", f32, state),
            info("cs_out", f32, state),
        ],
    )
    weights.append(numpy_helper.from_array(np.array([0]), "zero_axis"))
    weights.append(numpy_helper.from_array(np.array([TREE_HIDDEN]), "hidden"))
    graph = helper.make_graph(
        [
            make("Shape", ["links"], ["size"], end=1),
            make("Squeeze", ["size"], ["n"]),
            make("Concat", ["size", "hidden"], ["shape"], axis=0),
            make("ConstantOfShape", ["shape"], ["none"]),
            make("Loop", ["n", "", "none", "none"], ["hs_all", "cs_all"], body=body),
            make("Sub", ["size", "one"], ["last"]),
            make("Gather", ["hs_all", "last"], ["y"], axis=0),
        ],
        "tree",
        [info("leaves", f32, [None, TREE_WIDTH]), info("links", i64, [None, 2])],
        [info("y", f32, [1, TREE_HIDDEN])],
        weights,
    )
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=8).SerializeToString()


def bench_tree(rounds, count=16, leaves=24):
    import torch

    rng = np.random.default_rng(0)

    def weight(*shape):
        return (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype("float32")

    w, b = weight(3 * TREE_HIDDEN, TREE_WIDTH), weight(3 * TREE_HIDDEN)
    u, v = weight(5 * TREE_HIDDEN, 2 * TREE_HIDDEN), weight(5 * TREE_HIDDEN)
    trees = [random_tree(rng, leaves) for _ in range(count)]
    vm, adts = machine(tree_module(w, b, u, v)), [as_adt(t) for t in trees]
    eager, scripted = torch_tree(w, b, u, v)
    nested = [_map(t, torch.from_numpy) for t in trees]
    flat = []
    for t in trees:
        vectors, links = [], []
        postorder(t, vectors, links)
        flat.append((vectors, links))
    tensors = [([torch.from_numpy(x) for x in xs], links) for xs, links in flat]
    with torch.inference_mode():
        for adt, tree, (xs, links) in zip(adts, nested, tensors, strict=True):
            want = eager(tree)[0].numpy()
            check("Tree-LSTM", vm.run(adt).numpy(), want)
            check("Tree-LSTM, scripted", scripted(xs, links).numpy(), want)

    def eager_all():
        with torch.inference_mode():
            for tree in nested:
                eager(tree)

    def scripted_all():
        with torch.inference_mode():
            for xs, links in tensors:
                scripted(xs, links)

    calls = {
        "tenon vm, recursion on data": lambda: [vm.run(adt) for adt in adts],
        "torch, eager recursion": eager_all,
        "torch, scripted, postorder": scripted_all,
    }
    if has("onnx") and has("onnxruntime"):
        ort = session(onnx_tree(w, b, u, v))
        feeds = [{"leaves": np.concatenate(xs), "links": np.array(links)} for xs, links in flat]
        check("Tree-LSTM, ONNX", ort.run(None, feeds[0])[0], eager(nested[0])[0].numpy())
        calls["onnxruntime, Loop, postorder"] = lambda: [ort.run(None, feed) for feed in feeds]
    title = f"binary Tree-LSTM, {count} random trees of {leaves} leaves, {TREE_HIDDEN} hidden"
    compare(title, calls, rounds)


def _map(tree, f):
    return tuple(_map(t, f) for t in tree) if isinstance(tree, tuple) else f(tree)


# ---- static models on both executors


def bench_static(rounds, folder):
    for name in ("resnet50", "bert_base"):
        path = pathlib.Path(folder) / f"{name}.onnx"
        if not path.exists():
            print(f"{path} is not there")
            continue
        mod, params = relay.frontend.from_onnx(str(path))
        with np.load(path.with_suffix(".npz")) as kept:
            inputs = {k[3:]: kept[k] for k in kept.files if k.startswith("in:")}
        with tenon.transform.PassContext(opt_level=3):
            lib = relay.build(mod, target="llvm", params=params)
        graph = graph_executor.GraphModule(lib["default"](tenon.cpu()))
        vm = VirtualMachine(compiled(mod, params), tenon.cpu())
        names = [str(p.name_hint) for p in mod["main"].params if str(p.name_hint) in inputs]
        args = [tenon.nd.array(inputs[n]) for n in names]
        for n, a in zip(names, args, strict=True):
            graph.set_input(n, a)
        calls = {"graph executor": graph.run, "tenon vm": lambda vm=vm, a=args: vm.run(*a)}
        compare(f"{name}, static", calls, rounds)


# ---- products of any number of rows


ROWS = (1, 2, 3, 7, 8, 16, 31, 64, 100, 128, 500)
PRODUCTS = (
    ("dense", (512, 512)),
    ("dense", (768, 3072)),
    ("dense", (64, 10)),
    ("dense", (128, 64)),
    ("batch_matmul", (64, 64, 64)),
    ("batch_matmul", (128, 64, 128)),
    ("batch_matmul", (1, 64, 128)),
    ("batch_matmul", (16, 32, 16)),
)


def product(kind, shape, rows, level):
    """A machine for a product of any number of rows, or of one, and a maker of its arguments."""
    if kind == "dense":
        weight = np.random.default_rng(0).standard_normal(shape[::-1]).astype("float32")
        params = [relay.var("x", shape=(rows, shape[0]))]
        body = relay.nn.dense(params[0], relay.const(weight))
        sizes = [shape[:1]]
    else:
        sizes = [shape[:2], shape[:0:-1]]
        params = [relay.var(n, shape=(rows, *s)) for n, s in zip("xy", sizes, strict=True)]
        body = relay.nn.batch_matmul(*params)
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    with tenon.transform.PassContext(opt_level=level):
        vm = VirtualMachine(relay_vm.compile(mod, target="llvm"), tenon.cpu())
    return vm, lambda n: [tenon.nd.array(np.ones((n, *s), "float32")) for s in sizes]


def bench_rows(rounds):
    """Any number of rows against the static kernel: median over rounds of the ratio of the two."""
    print("products with any number of rows, ratio to the static kernel (its time in us)")
    worst = 0
    for level in (2, 3):
        for kind, shape in PRODUCTS:
            anyhow, args_of = product(kind, shape, relay.Any(), level)
            line = []
            for rows in ROWS:
                fixed, args = product(kind, shape, rows, level)[0], args_of(rows)
                times = []
                for _ in range(rounds):
                    both = [best(lambda vm=vm, a=args: vm.run(*a), 0.02) for vm in (fixed, anyhow)]
                    times.append((both[1] / both[0], both[0]))
                ratio, time_us = (statistics.median(t) for t in zip(*times, strict=True))
                worst = max(worst, ratio)
                line.append(f"{rows}: {ratio:.2f} ({time_us:.1f})")
            print(f"  level {level}, {kind} {shape}: " + ", ".join(line))
    print(f"  worst ratio {worst:.2f}")


# ---- memory


def resident():
    """Bytes of the process in memory."""
    pages = int(pathlib.Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def bench_memory(_rounds, calls=1_000_000):
    x = relay.var("x", shape=(relay.Any(), 8))
    vm = machine(tenon.IRModule.from_expr(relay.Function([x], relay.nn.softmax(relay.exp(x)))))
    args = [tenon.nd.array(np.ones((n, 8), "float32")) for n in (1, 3, 8)]
    for i in range(10_000):
        vm.run(args[i % 3])
    before, start = resident(), time.perf_counter()
    for i in range(calls):
        vm.run(args[i % 3])
    took = time.perf_counter() - start
    grown = resident() - before
    print(
        f"{calls} calls of any shape: {took / calls * 1e6:.2f} us each, {grown} bytes more resident"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--models", help="folder of resnet50.onnx and bert_base.onnx with inputs")
    parser.add_argument("--only", default="lstm,tree,static,rows,memory")
    args = parser.parse_args()
    wanted = args.only.split(",")
    if has("torch"):
        import torch

        torch.set_num_threads(1)
        for name, bench in (("lstm", bench_lstm), ("tree", bench_tree)):
            if name in wanted:
                bench(args.rounds)
    if args.models and "static" in wanted:
        bench_static(args.rounds, args.models)
    for name, bench in (("rows", bench_rows), ("memory", bench_memory)):
        if name in wanted:
            bench(args.rounds)


if __name__ == "__main__":
    main()
