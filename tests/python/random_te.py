"""Random tensor expressions under random schedules compute what numpy computes.

A program is a graph of computes over placeholders: of all ranks, with extents that are numbers or
symbols (an extent may be 0), reductions, scans and reads at shifted, reversed, wrapped and loaded
indices. Each expression is drawn together with its value in numpy, so that the reference knows
neither the compiler nor its schedules. All values are whole numbers that their type holds, so that
the order of a sum does not show.

``python random_te.py`` runs as many seeds as one likes (endless.py).
"""

import pathlib
import random
import re
import sys
import tempfile

import endless
import numpy as np
import tenon
from tenon import te, tir
from tenon.target.codegen import llvm_version_major

HAS_LLVM = llvm_version_major(True) is not None
WORK = ["int32", "int64", "float32", "float64"]  # types that expressions have
RANGES = {"int8": (-100, 100), "uint8": (0, 100), "int16": (-900, 900), "uint32": (0, 900)}
LIMIT = 2**20  # float32 holds all whole numbers to here, and sums of a few of them
SMALL = 50


class Extent:
    """A number or a symbol, and what the symbol stands for in this run."""

    def __init__(self, expr, number):
        self.expr, self.number = expr, number

    def same(self, other):
        return self.expr is other.expr or (
            isinstance(self.expr, int) and isinstance(other.expr, int) and self.expr == other.expr
        )


class Axis:
    """A variable, the numbers that it takes (shaped to broadcast), its extent and first value."""

    def __init__(self, var, numbers, extent, start=0):
        self.var, self.numbers, self.extent, self.start = var, numbers, extent, start


class Node:
    """An expression, its values over all axes, and what their absolute value does not exceed."""

    def __init__(self, expr, value, bound):
        self.expr, self.value, self.bound = expr, value, bound


class Value:
    """A tensor with its values."""

    def __init__(self, tensor, array, extents, bound):
        self.tensor, self.array, self.extents, self.bound = tensor, array, extents, bound


def wide(dtype):
    return "float64" if dtype.startswith("float") else "int64"


class Program:
    def __init__(self, seed):
        self.rng = rng = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.symbols = [Extent(te.var(name), self.length()) for name in "nm"]
        if rng.random() < 0.05:
            self.symbols[0].number = 0
        self.pass_symbols = rng.random() < 0.3
        self.values, self.inputs, self.used = [], [], set()
        for _ in range(rng.randint(1, 3)):
            self.placeholder()
        kinds = [self.compute, self.compute, self.compute, self.reduction, self.reduction]
        kinds += [self.scan, self.largest]
        for _ in range(rng.randint(1, 5)):
            rng.choice(kinds)()
        self.outputs = [v for v in self.values if self.is_output(v)]

    def is_output(self, value):
        if value in self.inputs:
            return False
        return value.tensor not in self.used or self.rng.random() < 0.15

    # ---- choices ----

    def length(self):
        return self.rng.choice([1, 2, 3, 4, 5, 7, 8, 12, 16, 17])

    def extent(self):
        if self.rng.random() < 0.35:
            return self.rng.choice(self.symbols)
        n = self.length()
        return Extent(n, n)

    def extents(self):
        """Rather those that there are already, so that tensors fit together."""
        if self.values and self.rng.random() < 0.6:
            found = list(self.rng.choice(self.values).extents)
            return self.rng.sample(found, len(found))
        return [self.extent() for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3]))]

    # ---- tensors ----

    def placeholder(self):
        extents = self.extents()
        dtype = self.rng.choice([*WORK, *RANGES, "bool"])
        low, high = RANGES.get(dtype, (-20, 20))
        shape = tuple(e.number for e in extents)
        if dtype == "bool":
            low, high = 0, 1
        array = self.numbers.integers(low, min(high, 20) + 1, shape).astype(dtype)
        name = f"A{len(self.values)}"
        tensor = te.placeholder(tuple(e.expr for e in extents), dtype, name=name)
        self.values.append(Value(tensor, array, extents, max(20, -low)))
        self.inputs.append(self.values[-1])

    def add(self, tensor, array, extents, bound):
        shape = tuple(e.number for e in extents)
        array = np.array(np.broadcast_to(array, shape)).astype(str(tensor.dtype))
        self.values.append(Value(tensor, array, extents, bound))

    def axes(self, extents, variables, starts=None):
        starts = starts or [0] * len(extents)
        made = []
        for d, (extent, var) in enumerate(zip(extents, variables, strict=True)):
            shape = [1] * len(extents)
            shape[d] = extent.number
            numbers = np.arange(extent.number).reshape(shape) + starts[d]
            made.append(Axis(var, numbers, extent, starts[d]))
        return made

    def compute(self):
        extents, made = self.extents(), []

        def body(*variables):
            axes = self.axes(extents, variables)
            if self.rng.random() < 0.1:
                node = self.condition(axes, 2)
            else:
                node = self.stored(self.expression(self.rng.choice(WORK), axes, 3))
            made.append(node)
            return node.expr

        tensor = te.compute(tuple(e.expr for e in extents), body, name=f"B{len(self.values)}")
        self.add(tensor, made[0].value, extents, made[0].bound)

    def stored(self, node):
        """Now and then of a smaller type."""
        if self.rng.random() < 0.6:
            return node
        dtype = self.rng.choice(list(RANGES))
        low, high = RANGES[dtype]
        low, high = (tir.const(x, node.expr.dtype) for x in (low, high))
        value = np.clip(node.value, *RANGES[dtype])
        node = tir.max(tir.min(node.expr, high), low).astype(dtype)
        return Node(node, value, RANGES[dtype][1])

    def reduced(self, extents):
        """Axes to reduce: their extents, first values and variables."""
        inner = [self.extent() for _ in range(self.rng.choice([1, 1, 2]))]
        starts = [self.rng.choice([0, 0, 0, 1, 5]) for _ in inner]
        variables = [
            te.reduce_axis((start, start + e.expr), name=f"r{d}")
            for d, (start, e) in enumerate(zip(starts, inner, strict=True))
        ]
        return inner, [0] * len(extents) + starts, variables

    def reduction(self):
        extents, made = self.extents(), []
        inner, starts, reduce_axes = self.reduced(extents)
        kind = self.rng.choice(["sum", "sum", "max", "min"])
        dtype = self.rng.choice(WORK)

        def body(*variables):
            all_variables = [*variables, *(r.var for r in reduce_axes)]
            axes = self.axes(extents + inner, all_variables, starts)
            node = self.small(self.expression(dtype, axes, 2))
            where = self.condition(axes, 1) if self.rng.random() < 0.2 else None
            least = 0 if kind == "sum" else self.extreme(dtype, smallest=kind == "max")
            whole = np.broadcast_to(node.value, [e.number for e in extents + inner])
            whole = whole if where is None else np.where(where.value, whole, least)
            over = tuple(range(len(extents), whole.ndim))
            made.append(getattr(np, kind)(whole, axis=over, initial=least))
            condition = {} if where is None else {"where": where.expr}
            return getattr(te, kind)(node.expr, axis=reduce_axes, **condition)

        tensor = te.compute(tuple(e.expr for e in extents), body, name=f"R{len(self.values)}")
        self.add(tensor, made[0], extents, LIMIT * 4096)

    def extreme(self, dtype, smallest):
        info = np.finfo(dtype) if dtype.startswith("float") else np.iinfo(dtype)
        return info.min if smallest else info.max

    def largest(self):
        """The largest element with its place: a reduction of two values at once."""
        extents, made = self.extents(), []
        inner, starts, reduce_axes = self.reduced(extents)
        inner, starts, reduce_axes = inner[:1], starts[: len(extents) + 1], reduce_axes[:1]

        def better(a, b):
            return tir.any(a[1] > b[1], tir.all(a[1] == b[1], a[0] < b[0]))

        reducer = te.comm_reducer(
            lambda a, b: [tir.Select(better(a, b), x, y) for x, y in zip(a, b, strict=True)],
            lambda t0, t1: (tir.const(2**30, t0), te.min_value(t1)),
            name="largest",
        )

        def body(*variables):
            axes = self.axes(extents + inner, [*variables, reduce_axes[0].var], starts)
            node = self.small(self.expression("int32", axes, 2))
            whole = np.broadcast_to(node.value, [e.number for e in extents + inner])
            if whole.shape[-1]:
                made.extend([whole.argmax(-1) + starts[-1], whole.max(-1)])
            else:
                made.extend([np.int64(2**30), np.int64(-(2**31))])
            return reducer((reduce_axes[0].var, node.expr), axis=reduce_axes)

        shape = tuple(e.expr for e in extents)
        tensors = te.compute(shape, body, name=f"L{len(self.values)}")
        for tensor, array in zip(tensors, made, strict=True):
            self.add(tensor, array, extents, LIMIT * 4096)

    def scan(self):
        """Each row from the one before and something else."""
        n = self.length() + 1
        extents = [Extent(n, n), self.extent()]
        shape = tuple(e.expr for e in extents)
        state = te.placeholder(shape, "int32", name=f"state{len(self.values)}")
        first, rest = [], []

        def start(t, i):
            axes = self.axes([Extent(1, 1), extents[1]], [t, i])
            first.append(self.small(self.expression("int32", axes, 1)))
            return first[0].expr

        reverse = self.rng.random() < 0.4

        def update(t, i):
            axes = self.axes(extents, [t, i])
            rest.append(self.small(self.expression("int32", axes, 2)))
            at = extents[1].expr - 1 - i if reverse else i
            return tir.floordiv(state[t - 1, at], tir.const(2, "int32")) + rest[0].expr

        init = te.compute((1, shape[1]), start, name=f"I{len(self.values)}")
        update = te.compute(shape, update, name=f"U{len(self.values)}")
        tensor = te.scan(init, update, state, name=f"S{len(self.values)}")
        others = np.broadcast_to(rest[0].value, [e.number for e in extents])
        rows = [np.broadcast_to(first[0].value, (1, extents[1].number))[0]]
        for t in range(1, n):
            before = rows[-1][::-1] if reverse else rows[-1]
            rows.append(before // 2 + others[t])
        self.add(tensor, np.stack(rows), extents, 4 * SMALL)

    # ---- expressions ----

    def small(self, node):
        """Not beyond SMALL, whatever it was."""
        if node.bound <= SMALL:
            return node
        low, high = (tir.const(x, node.expr.dtype) for x in (-SMALL, SMALL))
        return Node(
            tir.max(tir.min(node.expr, high), low), np.clip(node.value, -SMALL, SMALL), SMALL
        )

    def expression(self, dtype, axes, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.15:
            return self.leaf(dtype, axes)
        a = self.expression(dtype, axes, depth - 1)
        kind = rng.random()
        if kind < 0.15 and not dtype.startswith("float"):
            return self.division(a)
        if kind < 0.2:
            return self.small(a)
        b = self.expression(dtype, axes, depth - 1)
        if kind < 0.4:
            c = self.condition(axes, depth - 1)
            choose = rng.choice([tir.Select, tir.if_then_else])
            value = np.where(c.value, a.value, b.value)
            return Node(choose(c.expr, a.expr, b.expr), value, max(a.bound, b.bound))
        op = rng.choice(["+", "-", "*", "min", "max"])
        if op in ("min", "max"):
            value = np.minimum(a.value, b.value) if op == "min" else np.maximum(a.value, b.value)
            return Node(getattr(tir, op)(a.expr, b.expr), value, max(a.bound, b.bound))
        if (a.bound * b.bound if op == "*" else a.bound + b.bound) > LIMIT:
            a, b = self.small(a), self.small(b)
        if op == "*":
            return Node(a.expr * b.expr, a.value * b.value, a.bound * b.bound)
        if op == "-":
            return Node(a.expr - b.expr, a.value - b.value, a.bound + b.bound)
        return Node(a.expr + b.expr, a.value + b.value, a.bound + b.bound)

    def division(self, a):
        by = self.rng.choice([2, 3, 4, 7, -3])
        d, name = tir.const(by, a.expr.dtype), self.rng.choice(["floor", "trunc"])
        quotient = np.floor_divide(a.value, by)
        if name == "trunc":
            quotient = np.where((quotient < 0) & (quotient * by != a.value), quotient + 1, quotient)
        if self.rng.random() < 0.5:
            return Node(getattr(tir, name + "div")(a.expr, d), quotient, a.bound)
        rest = a.value - quotient * by
        return Node(getattr(tir, name + "mod")(a.expr, d), rest, 8)

    def condition(self, axes, depth):
        dtype = self.rng.choice(WORK)
        a, b = (self.expression(dtype, axes, max(0, depth - 1)) for _ in "ab")
        if self.rng.random() < 0.25:
            c = self.condition(axes, 0)
            if self.rng.random() < 0.5:
                return Node(tir.all(a.expr < b.expr, c.expr), (a.value < b.value) & c.value, 1)
            return Node(tir.any(a.expr < b.expr, c.expr), (a.value < b.value) | c.value, 1)
        op = self.rng.choice(["less", "less_equal", "greater", "not_equal"])
        sign = {"less": "__lt__", "less_equal": "__le__", "greater": "__gt__"}
        expr = tir.NE(a.expr, b.expr) if op == "not_equal" else getattr(a.expr, sign[op])(b.expr)
        return Node(expr, getattr(np, op)(a.value, b.value), 1)

    def leaf(self, dtype, axes):
        kind = self.rng.random()
        if kind < 0.1 and axes:
            axis = self.rng.choice(axes)
            value = axis.numbers.astype(wide(dtype))
            return Node(axis.var.astype(dtype), value, 40)
        read = self.read(axes) if kind < 0.85 else None
        if read is None:
            n = self.rng.randint(-9, 9)
            return Node(tir.const(n, dtype), np.array(n, wide(dtype)), 9)
        return self.cast(self.small(read) if read.bound > LIMIT else read, dtype)

    def cast(self, node, dtype):
        if str(node.expr.dtype) == dtype:
            return node
        return Node(node.expr.astype(dtype), node.value.astype(wide(dtype)), node.bound)

    def read(self, axes, plain=False):
        """An element of a tensor, or None where none of it can be named."""
        value = self.rng.choice(self.values)
        indices = [self.index(e, axes, plain) for e in value.extents]
        if any(i is None for i in indices):
            return None
        self.used.add(value.tensor)
        array = value.array[tuple(i.value for i in indices)]
        dtype = str(value.tensor.dtype)
        expr = value.tensor(*(i.expr for i in indices))
        if dtype in WORK:
            return Node(expr, array.astype(wide(dtype)), value.bound)
        # arithmetic of narrow and unsigned types wraps around, and bool has no order
        return Node(expr.astype("int32"), array.astype("int64"), value.bound)

    def index(self, extent, axes, plain):
        options = [a for a in axes if a.extent.same(extent) and a.start == 0]
        kind, n = self.rng.random(), extent.expr
        if options and (kind < 0.65 or extent.number == 0):
            axis = self.rng.choice(options)
            if kind < 0.5:
                return Node(axis.var, axis.numbers, 0)
            return Node(n - 1 - axis.var, extent.number - 1 - axis.numbers, 0)
        if extent.number == 0 or any(a.extent.number == 0 for a in axes):
            return None
        fits = [a for a in axes if isinstance(n, int) and isinstance(a.extent.expr, int)]
        fits = [a for a in fits if a.start + a.extent.number <= extent.number]
        if fits and kind < 0.8:
            axis = self.rng.choice(fits)
            by = self.rng.randint(0, extent.number - axis.start - axis.extent.number)
            return Node(axis.var + by, axis.numbers + by, 0)
        if axes and kind < 0.92:
            axis, by = self.rng.choice(axes), self.rng.randint(0, 9)
            times = self.rng.choice([1, 2, 3, -1])
            expr = tir.floormod(axis.var * times + by, n)
            return Node(expr, (axis.numbers * times + by) % extent.number, 0)
        loaded = None if plain or kind < 0.96 else self.read(axes, plain=True)
        if loaded is None:
            at = self.rng.randrange(extent.number) if isinstance(n, int) else 0
            return Node(tir.const(at, "int32"), np.array(at), 0)
        loaded = self.cast(self.small(loaded), "int32")
        low = tir.max(loaded.expr, tir.const(0, "int32"))
        value = np.clip(loaded.value, 0, extent.number - 1)
        return Node(tir.min(low, n - 1), value, 0)

    # ---- calls ----

    def given(self):
        """Symbols that are arguments: those that no shape of an argument tells, and some others."""
        told = {e.expr for v in self.inputs + self.outputs for e in v.extents}
        return [e for e in self.symbols if e.expr not in told or self.pass_symbols]

    def arguments(self):
        return [*(e.expr for e in self.given()), *(v.tensor for v in self.inputs + self.outputs)]

    def wanted(self):
        return [v.array for v in self.outputs]

    def is_plain(self):
        """A block of a reduction over nothing does not run: its first value is not stored either.
        Scans have no blocks."""
        scans = any(isinstance(v.tensor.op, te.ScanOp) for v in self.values)
        return not scans and all(e.number for e in self.symbols)

    def arrays(self):
        return [v.array for v in self.inputs] + [np.full_like(v.array, 1) for v in self.outputs]


# ---- schedules ----


def step(s, rng, may_fuse):
    """One step on one stage; what does not apply is refused.

    A loop that is an axis and a reduction over nothing in one has no iteration in which the first
    value is stored: where an extent is 0, `may_fuse` is False.
    """
    stages = [st for st in s.stages if isinstance(st.op, te.ComputeOp)]
    st = rng.choice(stages)
    loops = list(st.leaf_iter_vars)
    what = rng.randrange(13)
    if not loops and what not in (3, 4, 5, 6):
        return
    if what < 2:
        how = {rng.choice(["factor", "nparts"]): rng.choice([2, 3, 4, 8])}
        st.split(rng.choice(loops), **how)
    elif what == 2 and may_fuse:
        at = rng.randrange(len(loops))
        st.fuse(*loops[at : at + 2])
    elif what == 3:
        others = [o for o in stages if len(o.leaf_iter_vars)]
        if others:
            other = rng.choice(others)
            st.compute_at(other, rng.choice(list(other.leaf_iter_vars)))
    elif what == 4:
        rng.choice([st.compute_inline, st.compute_root])()
    elif what == 5:
        tensor = st.op.output(rng.randrange(st.op.num_outputs))
        s.cache_write(tensor, "global")
    elif what == 6:
        users = [st.op, *(o.op for o in rng.sample(stages, 1) if st.op.input_tensors)]
        for source in list(st.op.input_tensors)[:1]:
            users = [u for u in users if any(t.op == source.op for t in u.input_tensors)]
            s.cache_read(source, "global", users)
    elif what == 7:
        st.reorder(*rng.sample(loops, min(len(loops), rng.choice([2, 3]))))
    elif what == 8:
        mark(st, rng, loops)
    elif what == 9:
        st.storage_align(rng.choice(loops), rng.choice([4, 8]), rng.choice([0, 1]))
    elif what == 10:
        st.double_buffer()
    elif what == 11 and len(loops) > 1:
        st.tile(*loops[:2], 2, rng.choice([3, 4]))
    elif len(st.op.reduce_axis):
        s.rfactor(st.op.output(0), rng.choice(loops), rng.choice([0, -1]))


def mark(st, rng, loops):
    """How a loop is run."""
    kind, loop = rng.choice(["parallel", "vectorize", "unroll", "pragma"]), rng.choice(loops)
    if kind == "vectorize":
        loop = loops[-1]
    if kind == "pragma":
        st.pragma(loop, "auto_unroll_max_step", rng.choice([4, 16]))
    elif kind == "parallel" or isinstance(loop.dom, tenon.ir.Range):
        getattr(st, kind)(loop)


def schedule(program, rng, most=9):
    """@return the schedule and the steps that it has taken"""
    s = te.create_schedule([v.tensor.op for v in program.outputs])
    may_fuse = all(e.number for e in program.symbols)
    for _ in range(rng.randrange(0, most)):
        try:
            step(s, rng, may_fuse)
        except tenon.TVMError:
            continue
    return s


# ---- running ----


def run(mod, program, target, folder):
    built = tenon.build(mod, target=target, name="main")
    if target == "c":
        path = str(folder / "lib.so")
        built.export_library(path)
        built = tenon.runtime.load_module(path)
    tensors = [tenon.nd.array(a) for a in program.arrays()]
    built["main"](*(e.number for e in program.given()), *tensors)
    for at, want in enumerate(program.wanted()):
        got = tensors[len(program.inputs) + at].numpy()
        np.testing.assert_array_equal(got, want, err_msg=f"result {at}")
    for tensor, value in zip(tensors, program.inputs, strict=False):
        np.testing.assert_array_equal(tensor.numpy(), value.array, err_msg="an input was written")


# Steps that no schedule can take are found while it is lowered, or while its loops are made.
REFUSED = (
    "must be attached at root|must be computed at the root|cannot be inlined|is an output|"
    "which needs it stored|the producer|not a loop of|constant extent|only a stage of one result|"
    "double_buffer"
)


def lowered(program, rng):
    """By a schedule, or as a function without one; None where it is refused."""
    args = program.arguments()
    try:
        if program.is_plain() and rng.random() < 0.15:
            return tenon.lower(te.create_prim_func(args))
        return tenon.lower(schedule(program, rng), args)
    except (tenon.TVMError, ValueError) as err:
        if not re.search(REFUSED, str(err)):
            raise
        return None


def check(seed):
    """Draws a program and its schedule, and compares them with numpy."""
    program, rng = Program(seed), random.Random(seed + 1)
    mod = lowered(program, rng) or lowered(program, rng)
    if mod is None:
        return "refused"
    targets = ["stackvm", *(["llvm"] if HAS_LLVM else []), *(["c"] if seed % 8 == 0 else [])]
    with tempfile.TemporaryDirectory() as folder:
        for target in targets:
            try:
                run(mod, program, target, pathlib.Path(folder))
            except Exception as err:
                err.add_note(f"seed {seed}, {target}:\n{mod.script()}")
                raise
    return "compared"


if __name__ == "__main__":
    sys.exit(endless.main(check))
