"""Random tensor programs whose results are the same wherever they are computed.

Integers of 32 and 64 bits stay where they do not overflow (of each expression a bound is known);
narrower and unsigned ones wrap around. Floats are multiples of small powers of two that their type
holds, so that neither order nor contraction of operations shows; functions of the C library come
last, just before a result is stored, where a tolerance can be given.

``python random_programs.py`` compares the code generators on as many as one likes (endless.py); a
seed is a module of several programs.
"""

import pathlib
import sys
import tempfile

import endless
import numpy as np
import tenon
from tenon.script import from_source
from tenon.target.codegen import llvm_version_major

SIZE = 16
INTS = ["int8", "int16", "int32", "int64"]
UINTS = ["uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
DTYPES = [*INTS, *UINTS, *FLOATS, "bool"]
# the largest whole number times 2 ** -6 that is exact, and that sums and products may reach
EXACT = {"float16": 16, "float32": 2**16, "float64": 2**40}
FUNCTIONS = ["exp", "tanh", "erf", "sqrt", "log", "sin", "floor", "round", "sigmoid", "atan"]


def bits(dtype):
    return 1 if dtype == "bool" else np.dtype(dtype).itemsize * 8


def limit(dtype):
    """No value of the type is larger than this."""
    if dtype == "bool":
        return 1
    if dtype in FLOATS:
        return EXACT[dtype]
    return 2 ** (bits(dtype) - (dtype in INTS)) - (dtype in UINTS)


class Value:
    """Text of an expression, its type, and what its absolute value does not exceed. A float is a
    multiple of 2 ** -places."""

    def __init__(self, text, dtype, bound, places=0):
        self.text, self.dtype, self.bound, self.places = text, dtype, bound, places


class Program:
    """One function, and the arrays it is called with."""

    def __init__(self, seed, name, dtypes=DTYPES, functions=FUNCTIONS):
        self.rng = np.random.default_rng(seed)
        self.name, self.functions = name, functions
        self.dtypes = [str(d) for d in self.rng.choice(dtypes, min(6, len(dtypes)), replace=False)]
        self.loops, self.lets, self.count = [], [], 0
        self.locals = {}  # name -> dtype
        self.lines = []
        for _ in range(int(self.rng.integers(2, 5))):
            self.statement(1)
        self.text = self.head() + "".join(f"    {line}\n" for line in self.lines)

    # ---- the function around the statements ----

    def head(self):
        params = [f'I_{d}: T.Buffer(({SIZE},), "{d}")' for d in self.dtypes]
        params += [f'O_{d}: T.Buffer(({SIZE * SIZE},), "{d}")' for d in self.dtypes]
        text = f"@T.prim_func\ndef {self.name}({', '.join(params)}):\n"
        text += f'    T.func_attr({{"global_symbol": "{self.name}", "tir.noalias": True}})\n'
        for name, dtype in self.locals.items():
            text += f'    {name} = T.alloc_buffer(({SIZE},), "{dtype}")\n'
            text += f"    for i in range({SIZE}):\n        {name}[i] = {self.zero(dtype)}\n"
        return text

    def arrays(self):
        rng = np.random.default_rng(1)
        inputs = []
        for d in self.dtypes:
            if d in FLOATS:
                inputs.append((rng.integers(-16, 17, SIZE) / 4).astype(d))
            elif d == "bool":
                inputs.append(rng.integers(0, 2, SIZE).astype(d))
            else:
                inputs.append(rng.integers(0 if d in UINTS else -100, 101, SIZE).astype(d))
        return inputs + [np.zeros(SIZE * SIZE, d) for d in self.dtypes]

    def zero(self, dtype):
        return "False" if dtype == "bool" else f"T.{dtype}(0)"

    # ---- choices ----

    def one_of(self, options):
        return options[int(self.rng.integers(len(options)))]

    def chance(self, p):
        return self.rng.random() < p

    def fresh(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    # ---- statements ----

    def put(self, depth, line):
        self.lines.append("    " * (depth - 1) + line)

    def statement(self, depth):
        kind = self.rng.random()
        if depth < 4 and kind < (0.95 if not self.loops else 0.35):
            self.loop(depth)
        elif depth < 4 and kind < 0.5:
            self.branch(depth)
        elif kind < 0.6 and self.loops:
            self.let(depth)
        else:
            self.store(depth)

    def body(self, depth):
        saved = len(self.lets)
        for _ in range(int(self.rng.integers(1, 3))):
            self.statement(depth)
        if self.lines[-1].rstrip().endswith(":") or "=" not in self.lines[-1]:
            self.store(depth)
        if self.lines[-1].lstrip().startswith("x"):  # a name needs something that it is for
            self.store(depth)
        del self.lets[saved:]

    def loop(self, depth):
        name = self.fresh("i")
        kinds = ["range", "range", "T.unroll", "T.serial"]
        extent = self.one_of([1, 2, 3, 4, 5, 8, SIZE])
        flat = not any(kind == "T.vectorized" for _, _, kind in self.loops)
        kind = self.one_of([*kinds, "T.vectorized", "T.vectorized"] if flat else kinds)
        if kind == "T.vectorized":
            extent = self.one_of([2, 4, 8, SIZE])
            self.put(depth, f"for {name} in T.vectorized({extent}):")
            self.loops.append((name, extent, kind))
            for _ in range(int(self.rng.integers(1, 3))):
                self.store(depth + 1)
            self.loops.pop()
            return
        self.put(depth, f"for {name} in {kind}({extent}):")
        self.loops.append((name, extent, kind))
        self.body(depth + 1)
        self.loops.pop()

    def branch(self, depth):
        self.put(depth, f"if {self.expression('bool', 2).text}:")
        self.body(depth + 1)
        if self.chance(0.5):
            self.put(depth, "else:")
            self.body(depth + 1)

    def let(self, depth):
        dtype = self.one_of([d for d in self.dtypes if d != "bool"] or ["int32"])
        value = self.expression(dtype, 2)
        name = self.fresh("x")
        self.put(depth, f"{name}: T.{dtype} = {value.text}")
        self.lets.append(Value(name, dtype, value.bound, value.places))

    def store(self, depth):
        dtype = self.one_of(self.dtypes)
        if self.chance(0.25) and not self.in_vector():
            return self.store_local(depth, dtype)
        value = self.expression(dtype, 3)
        text = value.text
        if dtype in ("float32", "float64") and self.functions and self.chance(0.3):
            text = self.function(value)
        self.put(depth, f"O_{dtype}[{self.place()}] = {text}")
        return None

    def store_local(self, depth, dtype):
        name = f"L_{dtype}"
        self.locals[name] = dtype
        value = self.expression(dtype, 2)
        if dtype in FLOATS or dtype in INTS:  # what is read again stays small
            value = self.small(value)
        self.put(depth, f"{name}[{self.index(SIZE)}] = {value.text}")

    def small(self, v):
        if v.dtype in FLOATS:
            return v if v.bound <= 4 and v.places <= 2 else self.literal(v.dtype)
        return v if v.bound <= 100 else Value(f"T.truncmod({v.text}, T.{v.dtype}(97))", v.dtype, 96)

    def in_vector(self):
        return any(kind == "T.vectorized" for _, _, kind in self.loops)

    def function(self, v):
        name = self.one_of(self.functions)
        x = v.text
        if name in ("exp", "sqrt", "log"):
            x = f"T.fabs({x})" if name == "sqrt" else f"T.min(T.fabs({x}), T.{v.dtype}(8))"
            x += f" + T.{v.dtype}(0.25)"
        return f"T.{name}({x})"

    # ---- indices ----

    def place(self):
        """Where a result goes: each iteration of a vectorised loop has its own place."""
        if self.in_vector():
            (name,) = [n for n, _, kind in self.loops if kind == "T.vectorized"]
            others = [n for n, _, kind in self.loops if kind != "T.vectorized"]
            stride = self.one_of([1, 1, 1, 2, 3])
            base = self.one_of([f"{n} * {SIZE}" for n in others] + ["0", "5", "16"])
            return f"({base} + {name} * {stride}) % {SIZE * SIZE}" if base != "0" else name
        terms = [f"{n} * {self.one_of([1, 3, SIZE])}" for n, _, _ in self.loops]
        return f"({' + '.join([*terms, str(self.rng.integers(SIZE))])}) % {SIZE * SIZE}"

    def index(self, size):
        if not self.loops or self.chance(0.1):
            return str(self.rng.integers(size))
        name, extent, _ = self.one_of(self.loops)
        form = self.rng.random()
        if extent <= size and form < 0.4:
            return name
        if extent <= size and form < 0.5:
            return f"{extent - 1} - {name}"
        if form < 0.7:
            return f"({name} + {self.rng.integers(1, 9)}) % {size}"
        return f"T.floormod({name} * {self.rng.integers(-5, 6)} - 3, {size})"

    # ---- expressions ----

    def leaf(self, dtype):
        named = [v for v in self.lets if v.dtype == dtype]
        if named and self.chance(0.4):
            return self.one_of(named)
        if dtype == "int32" and self.loops and self.chance(0.3):
            name, extent, _ = self.one_of(self.loops)
            return Value(name, dtype, extent - 1)
        if f"L_{dtype}" in self.locals and self.chance(0.3):
            bound = 4 if dtype in FLOATS else limit(dtype) if dtype in UINTS else 100
            return Value(f"L_{dtype}[{self.index(SIZE)}]", dtype, bound, 2)
        if dtype in self.dtypes and self.chance(0.75):
            bound = 4 if dtype in FLOATS else min(100, limit(dtype))
            return Value(f"I_{dtype}[{self.index(SIZE)}]", dtype, bound, 2)
        return self.literal(dtype)

    def literal(self, dtype):
        if dtype == "bool":
            return Value(self.one_of(["T.bool(True)", "T.bool(False)"]), dtype, 1)
        if dtype in FLOATS:
            return Value(f"T.{dtype}({self.rng.integers(-16, 17) / 4})", dtype, 4, 2)
        top = min(100, limit(dtype))
        low = 0 if dtype in UINTS else -top
        return Value(f"T.{dtype}({self.rng.integers(low, top + 1)})", dtype, top)

    def expression(self, dtype, depth):
        if depth == 0 or self.chance(0.1):
            return self.leaf(dtype)
        if dtype == "bool":
            return self.condition(depth)
        made = None
        if self.chance(0.25):
            made = self.general(dtype, depth)
        elif dtype in FLOATS:
            made = self.float_operation(dtype, depth)
        else:
            made = self.int_operation(dtype, depth)
        return made or self.leaf(dtype)

    def condition(self, depth):
        kind = self.rng.random()
        if kind < 0.2:
            op = self.one_of(["and", "or"])
            a, b = (self.condition(depth - 1) if depth > 1 else self.leaf("bool") for _ in "ab")
            name = {"and": "T.And", "or": "T.Or"}[op]
            return Value(f"{name}({a.text}, {b.text})", "bool", 1)
        if kind < 0.3:
            return Value(f"(not {self.leaf('bool').text})", "bool", 1)
        if kind < 0.35:
            return self.leaf("bool")
        dtype = self.one_of([d for d in self.dtypes if d != "bool"])
        a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
        op = self.one_of(["<", "<=", ">", ">=", "==", "!="])
        return Value(f"({a.text} {op} {b.text})", "bool", 1)

    def general(self, dtype, depth):
        """Operations of all types: choices and conversions."""
        kind = self.rng.random()
        if kind < 0.35:
            a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
            name = self.one_of(["T.Select", "T.if_then_else"])
            c = self.condition(depth - 1) if depth > 1 else self.leaf("bool")
            text = f"{name}({c.text}, {a.text}, {b.text})"
            return Value(text, dtype, max(a.bound, b.bound), max(a.places, b.places))
        if kind < 0.6:
            a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
            name = self.one_of(["T.min", "T.max"])
            text = f"{name}({a.text}, {b.text})"
            return Value(text, dtype, max(a.bound, b.bound), max(a.places, b.places))
        return self.conversion(dtype, depth)

    def conversion(self, dtype, depth):
        source = self.one_of(self.dtypes)
        v = self.expression(source, depth - 1)
        if source in FLOATS and dtype not in FLOATS:
            if v.bound > limit(dtype):
                return None
            if dtype in UINTS:
                v.text = f"T.max({v.text}, {self.zero(source)})"
        if dtype in FLOATS and not self.fits(dtype, v.bound, v.places):
            return None
        bound = v.bound if source != dtype else v.bound
        wraps = source in INTS and dtype in UINTS
        if dtype not in FLOATS and (wraps or bound > limit(dtype)):
            bound = limit(dtype)
        places = v.places if source in FLOATS else 0
        return Value(f'T.Cast("{dtype}", {v.text})', dtype, bound, places)

    def fits(self, dtype, bound, places):
        return bound <= EXACT[dtype] and places <= 6

    def float_operation(self, dtype, depth):
        a, b = self.expression(dtype, depth - 1), self.expression(dtype, depth - 1)
        kind = self.rng.random()
        if kind < 0.5:
            op = self.one_of(["+", "-"])
            v = Value(f"({a.text} {op} {b.text})", dtype, a.bound + b.bound)
            v.places = max(a.places, b.places)
        elif kind < 0.75:
            v = Value(f"({a.text} * {b.text})", dtype, a.bound * b.bound, a.places + b.places)
        elif kind < 0.85:
            by = self.one_of([2, 4, -2, 0.5])
            v = Value(f"({a.text} / T.{dtype}({by}))", dtype, a.bound * 2, a.places + 2)
        else:
            v = Value(f"T.fabs({a.text})", dtype, a.bound, a.places)
        return v if self.fits(dtype, v.bound, v.places) else a

    def int_operation(self, dtype, depth):
        a = self.expression(dtype, depth - 1)
        kind = self.rng.random()
        if kind < 0.35:
            return self.division(a)
        if kind < 0.45:
            return self.bit_operation(a, depth)
        b = self.expression(dtype, depth - 1)
        op = self.one_of(["+", "-", "*"])
        bound = a.bound * b.bound if op == "*" else a.bound + b.bound
        if bound >= limit(dtype):
            if dtype in ("int32", "int64"):
                return a
            bound = limit(dtype)
        if op == "-" and dtype in UINTS:
            bound = limit(dtype)
        return Value(f"({a.text} {op} {b.text})", dtype, bound)

    def division(self, a):
        op = self.one_of(["T.floordiv", "T.floormod", "T.truncdiv", "T.truncmod"])
        d = self.one_of([2, 3, 4, 7, 16, 97] + ([] if a.dtype in UINTS else [-2, -3, -7]))
        by = f"T.{a.dtype}({d})"
        if self.chance(0.3) and a.dtype in self.dtypes:
            by = f"T.max(I_{a.dtype}[{self.index(SIZE)}], T.{a.dtype}(3))"
            if a.dtype in INTS and self.chance(0.5):
                by = f"T.min(I_{a.dtype}[{self.index(SIZE)}], T.{a.dtype}(-3))"
        bound = a.bound if op.endswith("div") else min(100, limit(a.dtype))
        return Value(f"{op}({a.text}, {by})", a.dtype, min(limit(a.dtype), bound + 1))

    def bit_operation(self, a, depth):
        dtype = a.dtype
        by = int(self.rng.integers(bits(dtype)))
        kind = self.rng.random()
        if kind < 0.3:
            return Value(f"T.shift_right({a.text}, T.{dtype}({by}))", dtype, a.bound)
        if kind < 0.4 and dtype in UINTS:
            return Value(f"T.shift_left({a.text}, T.{dtype}({by}))", dtype, limit(dtype))
        if kind < 0.5 and dtype in UINTS:
            return Value(f"T.bitwise_not({a.text})", dtype, limit(dtype))
        if kind < 0.55 and dtype in UINTS:
            return Value(f"T.popcount({a.text})", dtype, 64)
        b = self.expression(dtype, depth - 1)
        op = self.one_of(["bitwise_and", "bitwise_or", "bitwise_xor"])
        bound = 1
        while bound <= max(a.bound, b.bound):
            bound *= 2
        return Value(f"T.{op}({a.text}, {b.text})", dtype, min(bound, limit(dtype)))


# ---- comparing code generators ----

EACH = 10  # functions of a module: a C compiler is started once for all
C_DTYPES = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
C_DTYPES += ["float16", "float32", "float64", "bool"]


def compiled(target, mod, folder):
    """The module for a target."""
    built = tenon.build(mod, target=target)
    if target != "c":
        return built
    path = str(pathlib.Path(folder) / "lib.so")
    built.export_library(path, options=["-O1", "-w"])
    return tenon.runtime.load_module(path)


def results(built, program):
    tensors = [tenon.nd.array(a) for a in program.arrays()]
    built[program.name](*tensors)
    return [t.numpy() for t in tensors]


def compare(program, target, got, want):
    for i, (x, y) in enumerate(zip(got, want, strict=True)):
        kind = x.dtype
        what = f"{target}: argument {i} ({kind}) of\n{program.text}"
        if kind in (np.float32, np.float64):
            rtol = 4e-6 if kind == np.float32 else 1e-13
            np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol, err_msg=what)
        else:
            np.testing.assert_array_equal(x, y, err_msg=what)


def compare_programs(programs):
    """Raises where a code generator computes other results than the interpreter."""
    functions = {
        p.name: from_source("from tvm.script import tir as T\n" + p.text) for p in programs
    }
    mod = tenon.IRModule(functions)
    reference = compiled("stackvm", mod, None)
    wanted = [results(reference, p) for p in programs]
    targets = ["c", "llvm", "llvm -mcpu=x86-64", "llvm -opt-level=0"]
    for target in targets if llvm_version_major(allow_none=True) else ["c"]:
        with tempfile.TemporaryDirectory() as folder:
            built = compiled(target, mod, folder)
            for program, want in zip(programs, wanted, strict=True):
                compare(program, target, results(built, program), want)


def programs_of(seed):
    return [Program(seed * EACH + i, f"f{i}", C_DTYPES) for i in range(EACH)]


def compare_module(seed):
    """@return how many programs were compared"""
    programs = programs_of(seed)
    compare_programs(programs)
    return len(programs)


def check(seed):
    compare_module(seed)
    return "modules compared"


def shrink(seed):
    """The first program of the module that fails alone."""
    for program in programs_of(seed):
        try:
            compare_programs([program])
        except Exception as e:
            return f"{type(e).__name__}: {e}\n{program.text}"
    return "no program of it fails alone"


if __name__ == "__main__":
    sys.exit(endless.main(check, shrink))
