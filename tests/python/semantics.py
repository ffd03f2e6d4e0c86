"""What operators give (docs/semantics.md), by numpy, and values that are at the ends of types."""

import ml_dtypes
import numpy as np

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]


def numpy_type(dtype):
    return np.dtype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def values(dtype):
    """Numbers at the ends of a type, and between."""
    kind = numpy_type(dtype)
    if dtype == "bool":
        return np.array([False, True])
    if kind.kind in "iu":
        i = np.iinfo(kind)
        some = [i.min, i.min + 1, i.max, i.max - 1, 0, 1, 2, 3, 7, 31, 40, 64, i.max // 3]
        some += [-1, -2, -5, -40, i.min // 2] if i.min < 0 else [i.max // 2 + 1]
        return np.array(some, kind)
    info = ml_dtypes.finfo(kind)
    some = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -2.5, 3, -7, 300.7]
    some += [-300.7, 65504, 3e9, -3e9, 1e20, -1e20, 1.8e19, 127.5, -128.5, 255.5, -1.5]
    some += [float(info.max), float(info.min), float(info.tiny), float(info.smallest_subnormal)]
    some += [-float(info.smallest_subnormal)]
    with np.errstate(all="ignore"):
        return np.array(some, "float64").astype(kind)


def truncdiv(a, b):
    q, r = np.floor_divide(a, b), np.remainder(a, b)
    return q + ((r != 0) & ((a < 0) ^ (b < 0))).astype(q.dtype)


def int_power(a, b):
    kind = a.dtype
    bits = kind.itemsize * 8

    def one(x, n):
        if n < 0:
            return {1: 1, -1: -1 if n % 2 else 1}.get(x, 0)
        r = pow(x, n, 1 << bits)
        return r - (1 << bits) if kind.kind == "i" and r >> (bits - 1) else r

    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([one(x, n) for x, n in pairs], kind).reshape(a.shape)


def shift(a, b, left):
    bits = a.dtype.itemsize * 8
    inside = (b >= 0) & (b < bits)
    by = np.where(inside, b, 0).astype(a.dtype)
    if left:
        return np.where(inside, np.left_shift(a, by), 0).astype(a.dtype)
    none = np.where(a < 0, -1, 0).astype(a.dtype)
    return np.where(inside, np.right_shift(a, by), none)


def maximum(a, b, better):
    """Of equal ones the first; NaN if there is one."""
    with np.errstate(invalid="ignore"):
        return np.where(np.isnan(b) | better(b, a), b, a)


def rounded(f):
    """Computed with float32, for the types below."""

    def compute(*args):
        kind = args[0].dtype
        if kind.itemsize > 2:
            return f(*args)
        return f(*(a.astype("float32") for a in args)).astype(kind)

    return compute


def floored(a, b):
    """bfloat16 is rounded when all is computed."""
    if a.dtype == np.float16:
        return rounded(np.floor)(rounded(np.divide)(a, b))
    return rounded(lambda x, y: np.floor(x / y))(a, b)


def away(x):
    return np.trunc(x) + np.where(np.abs(x - np.trunc(x)) >= 0.5, np.copysign(1, x), 0).astype(
        x.dtype
    )


def sign(x):
    return np.where(np.isnan(x), x, np.sign(x) + 0).astype(x.dtype)


COMPARE = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}
OF_INTS = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truncdiv": truncdiv,
    "truncmod": np.fmod,
    "floordiv": np.floor_divide,
    "floormod": np.remainder,
    "min": np.minimum,
    "max": np.maximum,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "shift_left": lambda a, b: shift(a, b, True),
    "shift_right": lambda a, b: shift(a, b, False),
    "pow": int_power,
    **COMPARE,
}
OF_FLOATS = {
    "add": rounded(np.add),
    "sub": rounded(np.subtract),
    "mul": rounded(np.multiply),
    "div": rounded(np.divide),
    "fmod": rounded(np.fmod),
    "floordiv": lambda a, b: floored(a, b),
    "floormod": rounded(np.mod),
    "min": lambda a, b: maximum(a, b, np.less),
    "max": lambda a, b: maximum(a, b, np.greater),
    **COMPARE,
}


def binary(name, a, b):
    table = OF_INTS if a.dtype.kind in "iu" else OF_FLOATS
    with np.errstate(all="ignore"):
        return table[name](a, b)


def to_int(x, dtype):
    """Through int32 or int64, where what does not fit is the smallest; then it wraps around."""
    kind = np.dtype(dtype)
    x = x.astype("float64")
    wide = kind.itemsize > (4 if kind.kind == "i" else 2)
    bits = 64 if wide else 32
    with np.errstate(all="ignore"):
        t = np.trunc(x)
        inside = (t >= -(2.0 ** (bits - 1))) & (t < 2.0 ** (bits - 1))
        least = np.iinfo(f"int{bits}").min
        whole = np.where(inside, t, least).astype(f"int{bits}")
        if dtype == "uint64":
            high = (t >= 2.0**63) & (t < 2.0**64)
            whole = whole.astype("uint64")
            upper = np.where(high, t, 2.0**63).astype("uint64")
            return np.where(high, upper, np.where(t >= 2.0**64, np.uint64(0), whole))
        return whole.astype(kind)


def cast(x, dtype):
    kind = numpy_type(dtype)
    floats = x.dtype.kind not in "iub"
    with np.errstate(all="ignore"):
        if dtype == "bool":
            return x != 0
        if floats and kind.kind in "iu":
            return to_int(x, dtype)
        if dtype == "bfloat16":
            return x.astype("float32").astype(kind)
        return x.astype(kind)


def bits(x):
    """The bits, with one NaN for all: which one comes out is not defined."""
    x = np.ascontiguousarray(x)
    if x.dtype.kind in "iub":
        return x
    nan = np.array(np.nan, x.dtype)
    return np.where(np.isnan(x), nan, x).view(f"uint{x.dtype.itemsize * 8}")
