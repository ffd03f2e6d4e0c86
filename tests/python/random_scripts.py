"""Random texts of tensor programs: what the parser of scripts makes of them.

Programs are made of the script's builtins with arguments that are right more often than not: too
few, too many, of other types, under wrong names, in wrong places. A text is refused with a
diagnostic that has a place, or gives a function that prints, parses back to the same, and is
lowered or refused with a message. ``python random_scripts.py`` tries as many as one likes
(endless.py).
"""

import random
import re
import sys

import endless
import tenon
from tenon.script import from_source

DTYPES = ["int8", "int32", "int64", "uint8", "float16", "float32", "float64", "bool", "handle"]
ODD_DTYPES = ["float32x4", "int32x0", "float7", "", "custom[x]32", "int32x99999999999"]
ATOMS = ["0", "1", "-1", "2", "7", "2147483648", "1.5", "1e400", "True", "None", '"float32"', '"x"']
OPERATORS = "+ - * / // % << >> & | ^ == != < <= > >= and or".split()
UNARY = ["-", "not ", "~", "+"]
# name: arguments that are right, E for an expression, D for a data type, B for a buffer's name
CALLS = {
    "exp": "E", "sqrt": "E", "abs": "E", "floor": "E", "likely": "E", "popcount": "E",
    "pow": "EE", "fmod": "EE", "max": "EE", "min": "EE", "floordiv": "EE", "floormod": "EE",
    "truncdiv": "EE", "truncmod": "EE", "ceildiv": "EE", "shift_left": "EE", "bitwise_and": "EE",
    "if_then_else": "EEE", "Select": "EEE", "Cast": "DE", "cast": "ED", "reinterpret": "DE",
    "Ramp": "EEE", "Broadcast": "EE", "Shuffle": "LL", "min_value": "D", "max_value": "D",
    "infinity": "D", "address_of": "E", "int32": "E", "float32": "E", "bool": "E", "uint8": "E",
    "call_extern": "DSE", "call_packed": "SE", "call_pure_extern": "DSE", "tvm_access_ptr": "DPEEE",
    "isnan": "E", "Let": "EWE", "Range": "EE", "iter_var": "EEES", "index_map": "F",
    "comm_reducer": "FL", "reduce": "EEEE", "vectorlow": "DE", "ptx_wait_group": "E", "undef": "",
    "tvm_tuple": "EE", "ret": "E", "clz": "E", "atan2": "EE", "bitwise_not": "E",
    "Mul": "EE", "Not": "E", "And": "EE", "EQ": "EE", "StringImm": "S", "lookup_param": "S",
    "tvm_struct_get": "EEED", "type_annotation": "D", "nextafter": "EE",
    "q_multiply_shift": "EEEEE",
}  # fmt: skip
METHODS = [
    "vload",
    "access_ptr",
    "scope",
    "astype",
    "data",
    "shape",
    "offset_of",
    "nothing",
    "dtype",
]
KEYWORDS = ["dtype", "scope", "value", "span", "annotations", "nothing", "shape", "data", "body"]
AXES = ["spatial", "reduce", "scan", "opaque", "remap", "S", "R", "nothing"]
LOOPS = ["range", "T.serial", "T.parallel", "T.vectorized", "T.unroll", "T.grid", "T.nothing"]
RIGHT = 0.98  # rate of choices that fit


class Script:
    """One text. Names stay known after their scope is over, so that some uses are wrong."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.lines, self.scalars, self.buffers = [], [], []
        self.count = 0

    def right(self, odds=RIGHT):
        return self.rng.random() < odds

    def pick(self, options):
        return self.rng.choice(options)

    def name(self, prefix):
        self.count += self.right()
        return f"{prefix}{self.count}"

    def line(self, depth, text):
        self.lines.append("    " * depth + text)

    # ---- expressions ----

    def dtype(self):
        return repr(self.pick(DTYPES if self.right() else ODD_DTYPES))

    def argument(self, kind, depth):
        if not self.right():
            kind = self.pick("EDSLWPFN")
        if kind == "D":
            return self.dtype()
        if kind == "S":
            return repr(self.pick(["f", "threadIdx.x", "CommReduce", "", "tir.exp", "\0é"]))
        if kind == "L":
            return "[" + ", ".join(self.expr(depth) for _ in range(self.rng.randrange(3))) + "]"
        if kind == "W":
            return self.pick([*self.scalars, "x"])
        if kind == "P":
            return self.pick([*self.buffers, "A"]) + self.pick([".data", "", ".strides"])
        if kind == "F":
            return self.pick(
                ["lambda x: x", "lambda x, y: (x, y // 2)", "lambda: 1", "lambda x: y"]
            )
        return self.expr(depth) if kind == "E" else "None"

    def arguments(self, kinds, depth):
        given = [self.argument(k, depth) for k in kinds]
        if not self.right():
            given = given[: self.rng.randrange(len(given) + 1)]
        if not self.right():
            given.append(self.expr(depth))
        if not self.right():
            given.append(f"{self.pick(KEYWORDS)}={self.argument(self.pick('EDS'), depth)}")
        return ", ".join(given)

    def index(self, depth):
        places = [*self.scalars, "0", "1"]
        n = 2 if self.right() else self.rng.randrange(4)
        parts = [self.pick(places) if self.right(0.8) else self.expr(depth) for _ in range(n)]
        if not self.right():
            parts.append(f"{self.expr(depth)}:{self.expr(depth)}" + self.pick(["", ":2", ":-1"]))
        return ", ".join(parts)

    def expr(self, depth=2):
        choice = self.rng.random()
        if depth <= 0 or choice < 0.45:
            return self.pick(self.scalars) if self.scalars and self.right(0.7) else self.pick(ATOMS)
        if choice < 0.55:
            text = f"{self.expr(depth - 1)} {self.pick(OPERATORS)} {self.expr(depth - 1)}"
            return f"({text})"
        if choice < 0.6:
            return f"({self.pick(UNARY)}{self.expr(depth - 1)})"
        if choice < 0.75 and self.buffers:
            return f"{self.pick(self.buffers)}[{self.index(depth - 1)}]"
        if choice < 0.8 and self.buffers:
            method = f"{self.pick(self.buffers)}.{self.pick(METHODS)}"
            return method + (
                f"({self.arguments(self.pick(['', 'L', 'LD', 'S']), 1)})" * self.right()
            )
        if choice < 0.83:
            return f"({self.expr(depth - 1)} if {self.expr(depth - 1)} else {self.expr(depth - 1)})"
        name = self.pick(list(CALLS))
        return f"T.{name}({self.arguments(CALLS[name], depth - 1)})"

    # ---- statements ----

    def shape(self):
        dims = [str(self.pick([1, 2, 4, 8])) for _ in range(2)]
        if not self.right():
            dims.append(self.pick(["0", "-1", "n", "1.5", "None", "2147483648"]))
        return "(" + ", ".join(dims) + ",)"

    def buffer(self, depth, kind):
        name = self.name("B")
        extra = "" if self.right(0.8) else f", {self.pick(KEYWORDS)}={self.argument('S', 1)}"
        first = f"{self.pick([*self.buffers, 'n'])}, " if kind == "match_buffer" else ""
        self.line(depth, f"{name} = T.{kind}({first}{self.shape()}, {self.dtype()}{extra})")
        self.buffers.append(name)

    def loop(self, depth):
        kind, name = self.pick(LOOPS[:-1] if self.right() else LOOPS), self.name("i")
        count = self.pick([2, 3]) if kind == "T.grid" and self.right() else 1
        names = [name] + [self.name("j") for _ in range(count - 1)]
        kinds = "E" * count if self.right(0.8) else "EE"
        given = ", ".join(self.pick(["4", "8", "2"]) for _ in kinds)
        if not self.right():
            given = self.arguments(kinds, 1)
        self.line(depth, f"for {', '.join(names)} in {kind}({given}):")
        self.body(depth + 1, names)

    def block(self, depth):
        self.line(
            depth, f"with T.block({self.arguments('S', 0) if not self.right() else repr('b')}):"
        )
        known = []
        for _ in range(self.rng.randrange(3)):
            v = self.name("v")
            kind = self.pick(AXES[:2] if self.right() else AXES)
            given = f"4, {self.expr(1)}" if self.right() else self.arguments("EE", 1)
            self.line(depth + 1, f"{v} = T.axis.{kind}({given})")
            known.append(v)
        if not self.right(0.8):
            what = self.pick(["reads", "writes", "where", "block_attr", "init", "reads"])
            self.line(depth + 1, f"T.{what}({self.arguments('E', 1)})")
        if not self.right(0.8):
            self.line(depth + 1, "with T.init():")
            self.store(depth + 2)
        self.body(depth + 1, known)

    def body(self, depth, names):
        self.scalars += names
        for _ in range(self.rng.randrange(1, 3)):
            self.statement(depth)
        if self.right():
            self.scalars = [s for s in self.scalars if s not in names]

    def store(self, depth):
        if not self.buffers:
            return self.line(depth, "T.evaluate(0)")
        return self.line(depth, f"{self.pick(self.buffers)}[{self.index(1)}] = {self.expr(3)}")

    def odd(self, depth):
        """Statements that belong elsewhere, or nowhere."""
        e = self.expr(1)
        self.line(depth, self.pick([
            f"T.func_attr({{{self.argument('S', 0)}: {self.pick(ATOMS)}}})",
            f"assert {e}, 'm'", f"return {e}", "pass", f"x: T.int32 = {e}",
            f"T.evaluate({self.arguments('E', 2)})", f"{e}",
            f"T.attr({self.arguments('ESE', 1)})", f"T.launch_thread({self.arguments('SE', 1)})",
            f"x, y = {e}", f"x = {e}", "break", f"T.realize({self.arguments('ES', 1)})",
            f"x = T.env_thread({self.arguments('S', 0)})", f"x += {e}", f"T.store({e})",
            f"T.func_attr({{'layout_transform_map': {{{self.pick([*self.buffers, '1'])}: 1}}}})",
            f"x = T.allocate({self.arguments('LDS', 1)})",
            f"x = T.handle({self.arguments('D', 1)})",
            f"x = T.decl_buffer({self.arguments('LD', 1)})",
            f"x = T.let({self.arguments('WE', 1)})",
            f"x = T.meta_var({e})", f"x = T.allocate_const({self.arguments('LDL', 1)})",
        ]))  # fmt: skip

    def statement(self, depth):
        choice = self.rng.random()
        if depth > 4 or choice < 0.35:
            self.store(depth)
        elif choice < 0.6:
            self.loop(depth)
        elif choice < 0.8:
            self.block(depth)
        elif choice < 0.88:
            self.line(depth, self.pick(["if", "while", "if", "if"]) + f" {self.expr(2)}:")
            self.body(depth + 1, [])
        elif choice < 0.94:
            self.buffer(depth, self.pick(["alloc_buffer", "decl_buffer", "match_buffer", "Buffer"]))
        else:
            self.odd(depth)

    def parameter(self, name):
        if self.right(0.75):
            self.buffers.append(name)
            return f"{name}: T.Buffer({self.shape()}, {self.dtype()})"
        self.scalars.append(name)
        types = ["T.int32", "T.handle", "T.float32", "T.int64()", "T.Ptr[T.float32]"]
        if not self.right():
            types = ["", "int", "5", "T.nothing", "T.Ptr[1]", "T.Buffer()", "T.int32 = 5"]
        return f"{name}: {self.pick(types)}" if self.right() else name

    def text(self):
        params = ", ".join(self.parameter(n) for n in "ABCn"[: self.rng.randrange(1, 5)])
        self.line(0, "@T.prim_func" + ("" if self.right() else f"({self.arguments('', 0)})"))
        self.line(0, f"def main({params}){'' if self.right() else f' -> {self.expr(1)}'}:")
        self.body(1, [])
        return "\n".join(self.lines) + "\n"


# ---- checking ----

# what a refusal says where nobody thought of the case
EMPTY = re.compile(r"without saying why|^\s*$|NULL|Internal error")


def refused(err, text, where):
    """An error that a user can do something with, or AssertionError."""
    # what Python itself says of a call comes out as it is, with the place as a note
    message = "\n".join([str(err), *getattr(err, "__notes__", [])])
    kinds = tenon.error.TenonError | ValueError | TypeError | IndexError | AttributeError
    kinds |= ArithmeticError | RuntimeError  # NotImplementedError among them
    proper = isinstance(err, kinds) and not isinstance(err, tenon.error.InternalError)
    assert proper and not EMPTY.search(message), f"{where}: {type(err).__name__}: {message}\n{text}"
    return message


def check_text(text):
    try:
        func = from_source(text)
    except Exception as err:
        message = refused(err, text, "parsing")
        assert re.search(r"<\w+>:\d+", message), f"no place: {message}\n{text}"
        return "refused by the parser"
    printed = func.script()
    try:
        again = from_source(printed)
        tenon.ir.assert_structural_equal(again, func, map_free_vars=True)
    except Exception as err:
        raise AssertionError(f"does not parse back: {err}\n{text}\nprinted as\n{printed}") from err
    try:
        tenon.lower(func)
    except Exception as err:
        refused(err, text, "lowering")
        return "not lowered"
    return "lowered"


def check(seed):
    return check_text(Script(seed).text())


def shrink(seed):
    """Takes lines away as long as the text fails in the same way."""

    def failure(lines):
        try:
            check_text("\n".join(lines) + "\n")
        except Exception as err:
            return type(err).__name__
        return None

    lines = Script(seed).text().splitlines()
    kind, at = failure(lines), len(lines) - 1
    while kind and at >= 2:
        fewer = lines[:at] + lines[at + 1 :]
        if failure(fewer) == kind:
            lines = fewer
        at -= 1
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(endless.main(check, shrink))
