"""Operations of the reference evaluator: how each is written as Python text, and what that calls.

Integers are Python numbers within their type, floats Python floats that their type holds.
"""

import functools
import math
import re

import ml_dtypes
import numpy as np


class Undefined(Exception):
    """The program does what has no meaning: it divides by zero, reads what nobody wrote, ..."""


class OutOfBounds(Undefined):
    """An index outside its axis."""


class Refused(Exception):
    """This evaluator does not know what the program asks for."""


# ---- types ----


@functools.cache
def parse_dtype(dtype):
    """(code, bits, lanes) of "float32x4"."""
    dtype = str(dtype)
    if dtype == "bool":
        return "bool", 1, 1
    m = re.fullmatch(r"(int|uint|float|bfloat|bool)(\d*)(?:x(\d+))?", dtype)
    if m is None:
        raise Refused(f"type {dtype}")
    if m[1] == "bool" or (m[1] == "uint" and m[2] == "1"):
        return "bool", 1, int(m[3] or 1)
    return m[1], int(m[2]), int(m[3] or 1)


def lanes_of(dtype):
    return 1 if dtype == "handle" else parse_dtype(dtype)[2]


def scalar(dtype):
    return str(dtype).split("x")[0]


def is_float(dtype):
    return parse_dtype(dtype)[0] in ("float", "bfloat")


def numpy_dtype(dtype):
    dtype = scalar(dtype)
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


# ---- integers wrap around, floats are rounded ----


def wrap(dtype, text):
    """Text of an integer brought into its type."""
    code, bits, _ = parse_dtype(dtype)
    if code == "bool":
        return f"bool({text})"
    if code == "uint":
        return f"({text} & {2**bits - 1:#x})"
    half = 2 ** (bits - 1)
    return f"(({text} + {half:#x} & {2**bits - 1:#x}) - {half:#x})"


def rounded(dtype, text):
    code, bits, _ = parse_dtype(dtype)
    if code == "float" and bits == 64:
        return f"({text})"
    return f"round_{code}{bits}({text})"


def fit(dtype, text):
    return rounded(dtype, text) if is_float(dtype) else wrap(dtype, text)


def round_float32(x):
    return float(np.float32(x))


def round_float16(x):
    return float(np.float16(x))


def round_bfloat16(x):
    return float(ml_dtypes.bfloat16(x))


def _round_int(kind, x):
    """An integer as a float: rounded once, not by way of float64."""
    return float(kind(np.uint64(x) if x >= 2**63 else np.int64(x)))


def int_as_float32(x):
    return _round_int(np.float32, x)


def int_as_float64(x):
    return float(x)


def int_as_float16(x):  # beyond its range anyway where float64 has to round
    return float(np.float16(float(x)))


def int_as_bfloat16(x):
    return float(ml_dtypes.bfloat16(_round_int(np.float32, x)))


def float_as_int(x, low, high):
    if not math.isfinite(x) or not low <= math.trunc(x) <= high:
        raise Undefined(f"{x} as an integer of {low} to {high}")
    return math.trunc(x)


def int_limits(dtype):
    code, bits, _ = parse_dtype(dtype)
    return (0, 2**bits - 1) if code == "uint" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def cast_text(source, target, x):
    source, target = scalar(source), scalar(target)
    if source == target or "handle" in (source, target):
        return x
    if parse_dtype(target)[0] == "bool":
        return f"({x} != 0)"
    if is_float(source):
        if is_float(target):
            return rounded(target, x)
        low, high = int_limits(target)
        return f"float_as_int({x}, {low}, {high})"
    if is_float(target):
        code, bits, _ = parse_dtype(target)
        return f"int_as_{code}{bits}(int({x}))"
    return wrap(target, f"int({x})" if parse_dtype(source)[0] == "bool" else x)


# ---- arithmetic ----


def int_floordiv(a, b):
    if b == 0:
        raise Undefined("division by zero")
    return a // b


def int_floormod(a, b):
    if b == 0:
        raise Undefined("remainder of a division by zero")
    return a % b


def int_truncdiv(a, b):
    if b == 0:
        raise Undefined("division by zero")
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def int_truncmod(a, b):
    return a - b * int_truncdiv(a, b)


def float_div(a, b):
    return float(np.float64(a) / np.float64(b))


def float_floordiv(a, b, rounding):
    return float(np.floor(rounding(float_div(a, b))))


def float_truncmod(a, b):
    return float(np.fmod(a, b))


def float_floormod(a, b, rounding):
    return rounding(a - rounding(float_floordiv(a, b, rounding) * b))


def smaller(a, b):
    return a if a < b else b


def larger(a, b):
    return a if a > b else b


def _symbol(op):
    return lambda a, b, dtype: fit(dtype, f"({a} {op} {b})")


def _division(name):
    def make(a, b, dtype):
        if not is_float(dtype):
            return wrap(dtype, f"int_{name}({a}, {b})")
        code, bits, _ = parse_dtype(dtype)
        rounding = "float" if bits == 64 else f"round_{code}{bits}"
        if name == "truncdiv":
            return rounded(dtype, f"float_div({a}, {b})")
        if name == "truncmod":
            return f"float_truncmod({a}, {b})"
        return f"float_{name}({a}, {b}, {rounding})"

    return make


def _plain(text):
    return lambda a, b, dtype: text.format(a=a, b=b)


BINARY = {
    "Add": _symbol("+"),
    "Sub": _symbol("-"),
    "Mul": _symbol("*"),
    "Div": _division("truncdiv"),
    "Mod": _division("truncmod"),
    "FloorDiv": _division("floordiv"),
    "FloorMod": _division("floormod"),
    "Min": _plain("smaller({a}, {b})"),
    "Max": _plain("larger({a}, {b})"),
    "And": _plain("({a} and {b})"),
    "Or": _plain("({a} or {b})"),
} | {
    name: _plain(f"({{a}} {op} {{b}})")
    for name, op in [
        ("EQ", "=="),
        ("NE", "!="),
        ("LT", "<"),
        ("LE", "<="),
        ("GT", ">"),
        ("GE", ">="),
    ]
}


# ---- intrinsics ----


def _functions():
    """Functions of one float, computed in float64."""
    erf = np.vectorize(math.erf, otypes=[float])
    plain = "exp exp2 tanh sqrt log log2 log10 log1p tan cos cosh sin sinh floor ceil trunc fabs"
    plain += " arcsin arccos arctan arcsinh arccosh arctanh"
    table = {f.replace("arc", "a"): getattr(np, f) for f in plain.split()}
    table |= {
        "erf": lambda x: float(erf(x)),
        "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
        "rsqrt": lambda x: 1 / np.sqrt(x),
        "exp10": lambda x: np.power(10.0, x),
        "nearbyint": np.rint,
        "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x) if abs(x) < 2**52 else x,
    }
    return {f"math_{name}": (lambda x, f=f: float(f(np.float64(x)))) for name, f in table.items()}


MATH = _functions()
MATH2 = {
    "pow": np.power,
    "fmod": np.fmod,
    "atan2": np.arctan2,
    "hypot": np.hypot,
    "copysign": np.copysign,
}


def shift_amount(b, bits):
    if not 0 <= b < bits:
        raise Undefined(f"shift of {bits} bits by {b}")
    return b


def count_leading_zeros(x, bits):
    return bits - (x & (2**bits - 1)).bit_length()


def _shift(op):
    def make(dtype, a, b):
        return wrap(dtype, f"({a} {op} shift_amount({b}, {parse_dtype(dtype)[1]}))")

    return make


def _bits(op):
    return lambda dtype, a, b: wrap(dtype, f"({a} {op} {b})")


def _first_type(text):
    return lambda dtype, x: text.format(x=x)


CALLS = {
    "bitwise_and": _bits("&"),
    "bitwise_or": _bits("|"),
    "bitwise_xor": _bits("^"),
    "bitwise_not": lambda dtype, a: (
        f"(not {a})" if parse_dtype(dtype)[0] == "bool" else wrap(dtype, f"(~{a})")
    ),
    "shift_left": _shift("<<"),
    "shift_right": _shift(">>"),
    "isnan": _first_type("({x} != {x})"),
    "isinf": _first_type("(abs({x}) == infinity)"),
    "isfinite": _first_type("(abs({x}) < infinity)"),
    "fma": lambda dtype, a, b, c: rounded(dtype, f"exact_fma({a}, {b}, {c})"),
    "large_uint_imm": lambda dtype, low, high: f"({low} + ({high} << 32))",
    "popcount": lambda dtype, x: f"({x} & {2 ** parse_dtype(dtype)[1] - 1:#x}).bit_count()",
    "clz": lambda dtype, x: f"count_leading_zeros({x}, {parse_dtype(dtype)[1]})",
    "assume": lambda dtype, x: "0",
}
CALLS |= {
    name.removeprefix("math_"): (lambda dtype, x, name=name: rounded(dtype, f"{name}({x})"))
    for name in MATH
}
CALLS |= {
    name: (lambda dtype, a, b, name=name: rounded(dtype, f"math_{name}({a}, {b})"))
    for name in MATH2
}


def exact_fma(a, b, c):
    from fractions import Fraction

    if not all(map(math.isfinite, (a, b, c))):
        return float(np.float64(a) * np.float64(b) + np.float64(c))
    return float(Fraction(a) * Fraction(b) + Fraction(c))


# ---- memory ----


class Storage:
    """Elements of one type; None where nothing was written yet."""

    __slots__ = ("dtype", "name", "values")

    def __init__(self, dtype, values, name):
        self.dtype, self.values, self.name = dtype, values, name

    @staticmethod
    def of(array):
        wide = array.astype(float) if array.dtype == ml_dtypes.bfloat16 else array
        return Storage(str(array.dtype), wide.ravel().tolist(), "argument")


class Pointer:
    """A place in a storage."""

    __slots__ = ("offset", "storage")

    def __init__(self, storage, offset):
        self.storage, self.offset = storage, offset

    def moved(self, by):
        return Pointer(self.storage, self.offset + (by[0] if isinstance(by, list) else by))


def new_storage(dtype, count, name):
    return Pointer(Storage(dtype, [None] * max(count, 0), name), 0)


def _values(pointer, place, dtype):
    storage = pointer.storage
    if storage.dtype != dtype and (storage.dtype, dtype) != ("bool", "uint1"):
        raise Refused(f"{storage.name}: memory of {storage.dtype} seen as {dtype}")
    place += pointer.offset
    if not 0 <= place < len(storage.values):
        raise OutOfBounds(f"{storage.name}: place {place} of {len(storage.values)} elements")
    return storage.values, place


def read(pointer, place, dtype):
    values, place = _values(pointer, place, dtype)
    value = values[place]
    if value is None:
        raise Undefined(f"{pointer.storage.name}: element {place} is read before it is written")
    return value


def write(pointer, place, value, dtype):
    values, place = _values(pointer, place, dtype)
    values[place] = value


def read_lanes(pointer, places, dtype):
    return [read(pointer, p, dtype) for p in places]


def write_lanes(pointer, places, value, dtype):
    for p, v in zip(places, value, strict=True):
        write(pointer, p, v, dtype)


def at(index, extent, name):
    if 0 <= index < extent:
        return index
    raise OutOfBounds(f"{name}: index {index} on an axis of {extent}")


def at_spread(index, extent, name):
    return index if extent == 1 else at(index, extent, name)


def add_lanes(*terms):
    """Sum of numbers and lists of numbers, by lanes."""
    lanes = max(len(t) for t in terms if isinstance(t, list))
    return [sum(t[i] if isinstance(t, list) else t for t in terms) for i in range(lanes)]


def shuffle(vectors, indices):
    whole = [x for v in vectors for x in v]
    return [whole[i] for i in indices]


def require(condition, message):
    if not condition:
        raise AssertionError(message)


def in_domain(value, first, extent, name):
    if not first <= value < first + extent:
        raise OutOfBounds(f"block iterator {name}: {value} is not in [{first}, {first + extent})")


def runtime_names():
    """What the text of functions may name."""
    names = {name: value for name, value in globals().items() if not name.startswith("_")}
    names |= MATH | {"infinity": math.inf}
    names |= {
        f"math_{name}": (lambda a, b, f=f: float(f(np.float64(a), np.float64(b))))
        for name, f in MATH2.items()
    }
    return names
