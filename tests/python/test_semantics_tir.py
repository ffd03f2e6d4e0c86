"""Operators of tensor programs: every pair of extreme operands gives what docs/semantics.md
says, on every target, in vectors and one by one, with operands that are constants or not."""

import itertools

import numpy as np
import pytest
import semantics
import tenon
from tenon import te, tir
from tenon.target import codegen

TIR = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": tir.div,
    "truncdiv": tir.truncdiv,
    "truncmod": tir.truncmod,
    "fmod": tir.fmod,
    "floordiv": tir.floordiv,
    "floormod": tir.floormod,
    "min": tir.min,
    "max": tir.max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "shift_left": lambda a, b: a << b,
    "shift_right": lambda a, b: a >> b,
    "pow": lambda a, b: tir.call_intrin(a.dtype, "tir.pow", a, b),
    "eq": tir.EQ,
    "ne": tir.NE,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def targets():
    """Those of this machine; llvm for several processors."""
    found = ["stackvm", "c", "c -mcpu=native"]
    if not codegen.llvm_version_major(allow_none=True):
        return found
    cpus = ["x86-64", "haswell", "skylake-avx512"]
    flags = set(open("/proc/cpuinfo").read().split())
    needs = [{"sse2"}, {"avx2", "fma", "f16c"}, {"avx512f", "avx512bw", "avx512dq", "avx512vl"}]
    return found + [
        f"llvm -mcpu={cpu}" for cpu, need in zip(cpus, needs, strict=True) if need <= flags
    ]


def built(mod, target, folder):
    lib = tenon.build(mod, target=target)
    if not target.startswith("c"):
        return lib
    path = str(folder / "lib.so")
    options = ["-O1", "-w", *(["-march=native"] if "native" in target else [])]
    lib.export_library(path, options=options)
    return tenon.runtime.load_module(path)


def tensor(a):
    if a.dtype == semantics.numpy_type("bfloat16"):
        return tenon.nd.empty(a.shape, "bfloat16").copyfrom(a.view("uint16"))
    return tenon.nd.array(a)


def back(t, kind):
    a = t.numpy()
    return a.view(kind) if a.dtype != kind else a


class Programs:
    """Many elementwise computations of a few inputs, as one function for each dtype."""

    def __init__(self):
        self.functions, self.calls = {}, {}

    def add(self, name, inputs, computations, lanes):
        """computations: (what it is, dtype, expression of the inputs' elements, wanted)"""
        n = len(inputs[0])
        places = [te.placeholder((n,), str(a.dtype), f"i{k}") for k, a in enumerate(inputs)]

        def compute(e, name):
            return te.compute((n,), lambda i: e(*(p[i] for p in places)), name)

        outs = [compute(e, f"o{k}") for k, (_, _, e, _) in enumerate(computations)]
        s = te.create_schedule([o.op for o in outs])
        for o in outs:
            if lanes > 1:
                _, inner = s[o].split(o.op.axis[0], factor=lanes)
                s[o].vectorize(inner)
        mod = tenon.lower(s, [*places, *outs], name=name)
        self.functions[name] = mod[name]
        self.calls[name] = inputs, computations

    def check(self, target, folder):
        lib = built(tenon.IRModule(self.functions), target, folder)
        for name, (inputs, computations) in self.calls.items():
            n = len(inputs[0])
            outs = [tenon.nd.empty((n,), dtype) for _, dtype, _, _ in computations]
            lib[name](*map(tensor, inputs), *outs)
            for out, (what, dtype, _, want) in zip(outs, computations, strict=True):
                got = back(out, semantics.numpy_type(dtype))
                wrong = np.nonzero(semantics.bits(got) != semantics.bits(want.astype(got.dtype)))[0]
                if len(wrong):
                    k = wrong[0]
                    raise AssertionError(
                        f"{target}: {name}: {what} of {[a[k] for a in inputs]}: "
                        f"{got[k]}, not {want[k]} ({len(wrong)} of {n} differ)"
                    )


def pairs(dtype):
    v = semantics.values(dtype)
    a, b = np.meshgrid(v, v, indexing="ij")
    a, b = a.ravel(), b.ravel()
    more = -len(a) % 16  # whole vectors
    return np.concatenate([a, a[:more]]), np.concatenate([b, b[:more]])


def operators(dtype):
    return semantics.OF_INTS if dtype in semantics.INTS else semantics.OF_FLOATS


def result_type(op, dtype):
    return "bool" if op in semantics.COMPARE else dtype


def known(dtype, op):
    """Operands that programs may have as constants: text refuses what is an error there."""
    v = semantics.values(dtype)
    some = v if len(v) < 20 else v[[0, 1, 3, 4, 6, 8, 20]]
    return [x for x in some if not (op.startswith("shift") and not 0 <= x < 8 * x.itemsize)]


def const(x, dtype):
    if dtype == "uint64" and int(x) > np.iinfo("int64").max:
        return tir.call_intrin(
            "uint64",
            "tir.large_uint_imm",
            *(tir.const(int(x) >> s & 0xFFFFFFFF, "uint32") for s in (0, 32)),
        )
    return tir.const(x.item() if dtype != "bfloat16" else float(x), dtype)


def divides(op):
    return op in ("div", "truncdiv", "truncmod", "fmod", "floordiv", "floormod")


def add_binary(all, dtype, lanes):
    a, b = pairs(dtype)
    todo = [
        (op, result_type(op, dtype), TIR[op], semantics.binary(op, a, b)) for op in operators(dtype)
    ]
    all.add(f"{dtype}x{lanes}", [a, b], todo, lanes)


def add_with_constants(all, dtype, lanes, first):
    """Two constants to the right of each operator and one to the left, in turns."""
    v = semantics.values(dtype)
    v = np.concatenate([v, v[: -len(v) % 16]])
    todo = []
    for turn, op in enumerate(operators(dtype), first):
        some = known(dtype, op)
        kind, f = result_type(op, dtype), TIR[op]
        for c in (some[turn % len(some)], some[(turn * 5 + 3) % len(some)]):
            if not (divides(op) and c == 0):
                todo.append(
                    (
                        f"{op} by {c}",
                        kind,
                        right_of(f, const(c, dtype)),
                        semantics.binary(op, v, np.full_like(v, c)),
                    )
                )
        todo.append(
            (
                f"{c} {op}",
                kind,
                left_of(f, const(c, dtype)),
                semantics.binary(op, np.full_like(v, c), v),
            )
        )
    all.add(f"{dtype}_known{lanes}", [v], todo, lanes)


def right_of(f, k):
    return lambda x: f(x, k)


def left_of(f, k):
    return lambda x: f(k, x)


def add_casts(all, dtype, lanes):
    v = semantics.values(dtype)
    v = np.concatenate([v] * 16)[: len(v) + -len(v) % 16]
    to = [t for t in [*semantics.INTS, *semantics.FLOATS, "bool"] if t != dtype]
    todo = [(t, t, lambda x, t=t: tir.Cast(t, x), semantics.cast(v, t)) for t in to]
    all.add(f"cast_{dtype}{lanes}", [v], todo, lanes)


def widths(target):
    """Lanes of the loops: plain C has no vectors, the interpreter takes them one by one."""
    return (1, 8) if target.startswith("llvm") else (8,) if "native" in target else (1,)


@pytest.mark.parametrize("target", targets())
def test_every_pair_of_extreme_operands(target, tmp_path):
    all = Programs()
    for dtype in [*semantics.INTS, *semantics.FLOATS]:
        for lanes in widths(target):
            add_binary(all, dtype, lanes)
            add_casts(all, dtype, lanes)
    add_casts(all, "bool", 1)
    all.check(target, tmp_path)


def whole_vectors(a, lanes):
    return np.concatenate([a, a[: -len(a) % lanes]])


@pytest.mark.parametrize("target", [t for t in targets() if t.startswith("llvm")])
@pytest.mark.parametrize("lanes", [3, 5, 12, 20, 28, 44])
def test_any_number_of_lanes(target, lanes, tmp_path):
    """Numbers of lanes that are not a power of two: no register holds them as they are."""
    all = Programs()
    for dtype in ["int8", "int32", "float32", "float64"]:
        v = whole_vectors(semantics.values(dtype), lanes)
        to = [t for t in [*semantics.INTS, "float16", "bool"] if t != dtype]
        todo = [(t, t, lambda x, t=t: tir.Cast(t, x), semantics.cast(v, t)) for t in to]
        all.add(f"cast_{dtype}", [v], todo, lanes)
    a, b = (whole_vectors(x, lanes) for x in pairs("int8"))
    some = ["floordiv", "truncmod", "shift_right", "mul", "max", "lt"]
    todo = [(op, result_type(op, "int8"), TIR[op], semantics.binary(op, a, b)) for op in some]
    all.add("binary", [a, b], todo, lanes)
    all.check(target, tmp_path)


ONE_PROCESSOR = [t for i, t in enumerate(targets()) if i < 2] + targets()[3:5]


@pytest.mark.parametrize("target", ONE_PROCESSOR)
def test_operands_that_are_known(target, tmp_path):
    all = Programs()
    for dtype in [*semantics.INTS, *semantics.FLOATS]:
        add_with_constants(all, dtype, widths(target)[-1], targets().index(target))
    all.check(target, tmp_path)


@pytest.mark.parametrize("dtype", [*semantics.INTS, "float32", "float64"])
def test_constants_are_folded_to_the_same(dtype):
    v = semantics.values(dtype)
    for op in operators(dtype):
        for a, b in itertools.product(v, v):
            if (divides(op) and b == 0) or (op.startswith("shift") and not 0 <= b < 8 * b.itemsize):
                continue
            r = TIR[op](const(a, dtype), const(b, dtype))
            if not isinstance(r, tir.IntImm | tir.FloatImm):
                continue
            want = semantics.binary(op, np.array([a]), np.array([b]))[0]
            assert semantics.bits(np.array(r.value, want.dtype)) == semantics.bits(want), (op, a, b)


@pytest.mark.parametrize("dtype", [*semantics.INTS, *semantics.FLOATS, "bool"])
def test_casts_are_folded_to_the_same(dtype):
    for x in semantics.values(dtype):
        for t in [*semantics.INTS, *semantics.FLOATS, "bool"]:
            r = const(x, dtype).astype(t)
            want = semantics.cast(np.array([x]), t)[0]
            if isinstance(r, tir.Call | tir.Cast):  # above int64
                continue
            assert semantics.bits(np.array(r.value).astype(want.dtype)) == semantics.bits(want), (
                x,
                t,
            )
