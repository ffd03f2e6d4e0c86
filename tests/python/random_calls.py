"""Calls of every function of the registry, and of every type's constructor, with random values of
wrong and right classes: an error is a fine answer, the death of the process is not.

``python random_calls.py`` runs as many seeds as one likes (endless.py); each seed is a batch of
calls in its own process. A batch that ends its process is run again to find the call, which is
printed.
"""

import os
import random
import re
import subprocess
import sys
import tempfile

import endless

CALLS = 400  # in a batch
TRIES = 10  # with arguments that the errors before ask for
SECONDS = 120  # a batch that takes longer hangs

# Functions that do what they are asked to: they read or write memory at an address, wait, or end
# or change the process.
LEFT_OUT = {
    "runtime.TensorFromHandle": "reads memory at the address that it is given",
    "testing.sleep_in_ffi": "waits for as long as it is told",
    "testing.run_check_signal": "waits for as long as it is told",
    "runtime.SetNumThreads": "changes the process",
    "runtime.config_threadpool": "changes the process",
    "ir.RegisterOpAttr": "changes the registry for what runs after it",
    "ir.OpResetAttr": "changes the registry for what runs after it",
}


def values(rng):
    """Values of every kind, made anew for each batch."""
    import numpy as np
    import tenon
    from tenon import ir, relay, te, tir

    x = relay.var("x", shape=(2, 3))
    f = relay.Function([x], relay.nn.relu(x) + relay.const(1.0))
    mod = tenon.IRModule.from_expr(f)
    n, i = te.var("n"), tir.Var("i", "int32")
    a = te.placeholder((4, n), name="A")
    b = te.compute(a.shape, lambda p, q: a[p, q] + 1.0, name="B")
    prim = te.create_prim_func([te.placeholder((4, 4), name="C")])
    buffer = tir.decl_buffer((4, 4), name="D")
    texts = ["", "x", "main", "float32", "int8x4", "llvm", "NCHW", "global", "[1, 2]", "{}", "\0"]
    plain = [None, True, False, 0, 1, -1, 7, 2**31, -(2**63), 2**63 - 1, 0.5, float("nan"), 1e308]
    objects = [
        *(x, f, mod, n, i, a, b, a.op, b.op, prim, buffer, tenon.cpu(0), tenon.cuda(3)),
        *(i + 1, i % 4, tir.const(3, "int64"), tir.StringImm("s"), tir.BufferLoad(buffer, [i, i])),
        *(tir.Evaluate(0), tir.SeqStmt([tir.Evaluate(0), tir.Evaluate(1)])),
        *(tir.For(i, 0, 4, tir.ForKind.SERIAL, tir.Evaluate(i)), ir.Range(0, 4)),
        *(relay.const(np.zeros((2, 2), "float32")), relay.Tuple([x, x]), relay.TupleGetItem(x, 0)),
        *(relay.TensorType((2, 3)), relay.TupleType([]), relay.FuncType([], relay.TensorType(()))),
        *(ir.GlobalVar("main"), relay.GlobalTypeVar("T"), ir.Op.get("nn.conv2d"), relay.Any()),
        *(
            tenon.target.Target("llvm"),
            tenon.transform.PassContext(),
            b"\x00\x01",
            bytearray(b"ab"),
        ),
        *(tenon.nd.array(np.arange(6, dtype="float32").reshape(2, 3)), np.zeros(3, "int64")),
        *(tenon.nd.empty((0,), "int8"), lambda *args: None, relay.transform.InferType()),
        *(te.create_schedule(b.op), tir.Schedule(prim), tir.IterVar((0, 4), "v", 0)),
        *(tir.BufferRegion(buffer, [ir.Range(0, 1), ir.Range(0, 1)]), tir.layout("NCHW4c")),
        *(
            te.reduce_axis((0, 4), "r"),
            tenon.arith.IntervalSet(0, 3),
            tir.IndexMap.from_func(lambda p: [p]),
        ),
        *(relay.PatternWildcard(), relay.Match(x, []), relay.dataflow_pattern.wildcard()),
        *(tenon.runtime.convert([1, "a", None]), tenon.runtime.ShapeTuple([1, -1])),
        *(tenon.runtime.convert({"a": 1}), tenon.runtime.convert({}), tenon.DataType("int32")),
    ]
    for _ in range(12):  # lists and maps of anything, two deep
        some = [rng.choice(texts + plain + objects) for _ in range(rng.randint(0, 4))]
        objects.append(rng.choice([some, tuple(some), [some], {"k": some}]))
    return texts, plain, objects


def short(value):
    try:
        text = repr(value)
    except Exception as e:
        text = f"<{type(value).__name__}: {type(e).__name__}>"
    text = " ".join(text.split())
    return text if len(text) < 60 else f"{text[:56]} ... ({type(value).__name__})"


def callables():
    import tenon
    from tenon import _core, relay, script, te, tir, topi  # noqa: F401 (they register functions)

    names = [n for n in tenon._ffi.registry.list_global_func_names() if n not in LEFT_OUT]
    calls = [(name, tenon.get_global_func(name)) for name in names]
    for key in _core.list_types():
        fields = [f[0] for f in _core.type_info(key)["fields"]]
        calls.append((f"make {key}", maker(key, fields)))
    return sorted(calls, key=lambda c: c[0])


def by_class(values):
    """Values by the names of their classes and the keys of their types."""
    found = {}
    for value in values:
        names = {c.__name__ for c in type(value).__mro__}
        names |= {str(getattr(type(value), "_type_key", ""))}
        for name in names | {n.split(".")[-1] for n in names}:
            found.setdefault(name, []).append(value)
    for ours, python in {
        "Array": "list",
        "String": "str",
        "Map": "dict",
        "Function": "function",
    }.items():
        found[ours] = found.get(ours, []) + found.get(python, [])
    return found


def better(rng, error, args, found):
    """Arguments that do not fail with the same message, or None."""
    if match := re.search(r"expected (?:at (?:most|least) )?(\d+) arguments?\b", error):
        n, args = int(match[1]), list(args)
        if n == len(args) or n > 20:
            return None
        return args[:n] + [rng.choice(found["object"]) for _ in range(n - len(args))]
    if match := re.search(r"argument (\d+):? expected ([\w.]+)|argument (\d+): expected", error):
        i, want = int(match[1] or match[3]), (match[2] or "object").split(".")[-1]
        if want not in found or i > 20:
            return None
        args = list(args) + [rng.choice(found["object"]) for _ in range(i + 1 - len(args))]
        args[i] = rng.choice(found[want])
        return args
    if (match := re.search(r"expected ([\w.]+), got", error)) and args:
        want = match[1].split(".")[-1]
        if want in found:
            args = list(args)
            args[rng.randrange(len(args))] = rng.choice(found[want])
            return args
    return None


def maker(key, fields):
    """The constructor by keyword, through JSON's door: any field, any value."""
    import tenon

    def make(*args):
        named = dict(zip(fields, args, strict=False))
        return tenon.ir.make_node(key, **named)

    return make


def batch(seed, first, last):
    """Runs calls first .. last - 1 of a batch, saying each before it is made when there is one."""
    import contextlib

    rng = random.Random(seed)
    texts, plain, objects = values(rng)
    calls = callables()
    found = by_class(texts + plain + objects)
    done = {"calls": 0, "returned": 0}
    for k in range(first, last):
        rng = random.Random(f"{seed}, call {k}")
        name, function = rng.choice(calls)
        kinds = [rng.choice([texts, plain, objects, objects]) for _ in range(rng.randint(0, 6))]
        args = [rng.choice(kind) for kind in kinds]
        for _ in range(TRIES):
            if last - first == 1:
                print(f"call {name}({', '.join(map(short, args))})", flush=True)
            try:
                with contextlib.redirect_stdout(None):
                    repr(function(*args))
                done["returned"] += 1
                break
            except Exception as e:
                args = better(rng, str(e), args, found)
            if args is None:
                break
        done["calls"] += 1
    return done


def run(seed, first=0, last=CALLS):
    """A batch in its own process. @return exit status (None: it hangs) and output"""
    with tempfile.TemporaryDirectory() as folder:  # files that calls write by a relative name
        command = [
            sys.executable,
            os.path.abspath(__file__),
            "--batch",
            *map(str, (seed, first, last)),
        ]
        try:
            env = {**os.environ, "PYTHONHASHSEED": "0"}  # the same calls each time
            p = subprocess.run(
                command, capture_output=True, text=True, timeout=SECONDS, cwd=folder, env=env
            )
        except subprocess.TimeoutExpired:
            return None, ""
    return p.returncode, p.stdout + p.stderr


def find(seed):
    """The first call of a batch without which it does not fail, as text."""
    low, high = 0, CALLS  # the calls before `high` are enough to fail
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if run(seed, 0, middle)[0] != 0 else (middle, high)
    status, alone = run(seed, high - 1, high)
    kind = "alone" if status != 0 else "only after the calls before it"
    shown = [line for line in alone.splitlines() if line.startswith("call ")][-1:]
    return f"seed {seed}, call {high - 1} ({kind}): {shown}"


def check(seed):
    status, output = run(seed)
    if status != 0:
        raise AssertionError("it hangs" if status is None else f"status {status}: {output[-2000:]}")
    return "batches survived"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--batch"]:
        print(batch(*map(int, sys.argv[2:])))
    else:
        sys.exit(endless.main(check, find))
