"""A rule for each operator of Relay: random calls of it, of any attributes, types and shapes.

A rule is a function of a source of choices (random_operators.Source) that returns a Call. It draws
shapes and attributes that are mostly right; a call that is refused is counted, not skipped.
"""

import numpy as np
import semantics
from semantics import FLOATS, INTS
from tenon import relay

NUMBERS = [*INTS, "float16", "float32", "float64"]
MAIN = ["float32", "float32", "float64", "float16", "int32", "int64", "int8", "uint8"]


class Call:
    """An operator, arguments, and what it should give.

    Attributes
    ----------
    make : function of Relay expressions that returns the call
    arrays : the arguments, numpy arrays
    reference : function of the arrays that gives an array or a list of them; None: there is none,
        the interpreter's answer counts
    static : positions of arguments that are constants in the program
    loose : sums in any order, so that floats are compared within a tolerance
    """

    def __init__(self, make, *arrays, reference=None, static=(), loose=False, text=""):
        self.make, self.arrays = make, list(arrays)
        self.reference, self.static, self.loose, self.text = reference, static, loose, text


RULES = {}


def rule(*names):
    def add(f):
        for name in names:
            RULES[name] = (f, name)
        return f

    return add


def function(name):
    """The Python function of an operator."""
    at = relay
    for part in name.split("."):
        at = getattr(at, part)
    return at


def said(**attrs):
    return ", ".join(f"{k}={v!r}" for k, v in attrs.items())


def call(name, *arrays, attrs=None, **more):
    f, attrs = function(name), attrs or {}
    return Call(lambda *e: f(*e, **attrs), *arrays, text=said(**attrs), **more)


# ---- element by element ----

ROUNDED = {"ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": semantics.away}
UNARY = {
    "abs": np.abs,
    "negative": np.negative,
    "sign": semantics.sign,
    "logical_not": np.logical_not,
    "bitwise_not": np.invert,
    "copy": np.copy,
    "isnan": np.isnan,
    "isinf": np.isinf,
    "isfinite": np.isfinite,
    "zeros_like": np.zeros_like,
    "ones_like": np.ones_like,
}
REAL = "acos acosh asin asinh atan atanh cos cosh erf exp fast_exp fast_erf fast_tanh log log10"
REAL = f"{REAL} log2 rsqrt sigmoid sin sinh sqrt tan tanh".split()


@rule(*UNARY, *ROUNDED)
def unary(g, name):
    kinds = ["bool"] if name == "logical_not" else INTS if name == "bitwise_not" else NUMBERS
    x = g.array(g.shape(), g.dtype(kinds), special=True)

    def reference(x):
        if name in ROUNDED:
            return x if x.dtype.kind in "iu" else ROUNDED[name](x).astype(x.dtype)
        if name == "sign" and x.dtype.kind in "iu":
            return np.sign(x)
        if name in ("isnan", "isinf", "isfinite") and x.dtype.kind in "iu":
            return np.full(x.shape, name == "isfinite")
        return UNARY[name](x)

    return call(name, x, reference=reference)


@rule(*REAL)
def real(g, name):
    x = g.array(g.shape(), g.dtype([*FLOATS, "float32", "int32", "int8", "bool"]))
    return call(name, x, loose=True)


ARITHMETIC = {
    "add": "add",
    "subtract": "sub",
    "multiply": "mul",
    "maximum": "max",
    "minimum": "min",
    "equal": "eq",
    "not_equal": "ne",
    "less": "lt",
    "less_equal": "le",
    "greater": "gt",
    "greater_equal": "ge",
}
OF_INTS = {"bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor"}
OF_INTS |= {"left_shift": "shift_left", "right_shift": "shift_right"}
DIVISIONS = {"floor_divide": "floordiv", "floor_mod": "floormod", "trunc_divide": "truncdiv"}
DIVISIONS |= {"trunc_mod": "truncmod"}
LOGIC = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


def pair(g, dtype, special=True):
    """Two arrays that broadcast."""
    shape = g.shape()
    a = [d if g.chance(0.8) else 1 for d in shape]
    b = [d if g.chance(0.8) else 1 for d in shape][g.number(0, len(shape) + 1) :]
    arrays = [g.array(a, dtype, special), g.array(b, dtype, special)]
    return arrays if g.chance(0.5) else arrays[::-1]


@rule(*ARITHMETIC, *OF_INTS)
def binary(g, name):
    kinds = INTS if name in OF_INTS else NUMBERS
    table = ARITHMETIC | OF_INTS

    def reference(a, b):
        a, b = (np.array(x) for x in np.broadcast_arrays(a, b))
        return semantics.binary(table[name], a, b)

    return call(name, *pair(g, g.dtype(kinds)), reference=reference)


@rule(*LOGIC)
def logic(g, name):
    return call(name, *pair(g, "bool"), reference=LOGIC[name])


@rule(*DIVISIONS, "divide", "mod", "power")
def division(g, name):
    dtype = g.dtype(NUMBERS)
    a, b = pair(g, dtype, special=False)
    b = np.where(b == 0, np.asarray(1, b.dtype), b)
    if name == "power":
        b = np.abs(b % np.asarray(4, b.dtype)).astype(b.dtype)

    def reference(a, b):
        a, b = (np.array(x) for x in np.broadcast_arrays(a, b))
        return semantics.binary(DIVISIONS[name], a, b)

    exact = name in DIVISIONS and dtype in INTS
    return call(name, a, b, reference=reference if exact else None, loose=not exact)


@rule("cast", "cast_like")
def cast(g, name):
    x = g.array(g.shape(), g.dtype([*NUMBERS, "bool", "bfloat16"]), special=True)
    to = g.dtype([*NUMBERS, "bool"])
    if name == "cast_like":
        like = g.array(g.shape(), to)
        return call(name, x, like, reference=lambda x, _: semantics.cast(x, to))
    reference = lambda x: semantics.cast(x, to)  # noqa: E731
    return call(name, x, attrs={"dtype": to}, reference=reference)


@rule("reinterpret")
def reinterpret(g, name):
    same = {1: ["int8", "uint8"], 2: ["int16", "uint16", "float16"]}
    same |= {4: ["int32", "uint32", "float32"], 8: ["int64", "uint64", "float64"]}
    kinds = same[g.one_of([1, 2, 4, 8])]
    x, to = g.array(g.shape(), g.dtype(kinds), special=True), g.dtype(kinds)
    return call(name, x, attrs={"dtype": to}, reference=lambda x: x.view(to))


@rule("clip")
def clip(g, name):
    low, high = sorted([g.number(-9, 9), g.number(-9, 9)])
    x = g.array(g.shape(), g.dtype(["float32", "float64", "int32", "int8"]))
    return call(
        name,
        x,
        attrs={"a_min": float(low), "a_max": float(high)},
        reference=lambda x: np.clip(x, low, high).astype(x.dtype),
    )


@rule("where")
def where(g, name):
    a, b = pair(g, g.dtype([*NUMBERS, "bool"]))
    c = g.array(np.broadcast_shapes(a.shape, b.shape), "bool")
    return call(name, c, a, b, reference=np.where)


@rule("fixed_point_multiply")
def fixed_point(g, name):
    x = g.array(g.shape(), "int32")
    return call(name, x, attrs={"multiplier": g.number(1, 2**31 - 1), "shift": g.number(-8, 8)})


# ---- reductions ----

SUMS = {"sum": np.sum, "prod": np.prod, "max": np.max, "min": np.min}
TRUTH = {"all": np.all, "any": np.any}
ARG = {"argmax": np.argmax, "argmin": np.argmin}


def some_axes(g, shape):
    """None, a number or a list, negative ones too; and the axes that it means."""
    if g.chance(0.25) or not shape:
        return None, tuple(range(len(shape)))
    axes = [i for i in range(len(shape)) if g.chance(0.5)] or [g.number(0, len(shape))]
    shown = [a - len(shape) if g.chance(0.3) else a for a in axes]
    return (shown[0] if len(axes) == 1 and g.chance(0.5) else shown), tuple(axes)


@rule(*SUMS, *TRUTH, "mean", "variance")
def reduction(g, name):
    shape = g.shape()
    dtype = "bool" if name in TRUTH else g.dtype(MAIN + ["bool"])
    axis, axes = some_axes(g, shape)
    attrs = {"axis": axis, "keepdims": g.chance(0.5), "exclude": g.chance(0.1)}
    if attrs["exclude"]:
        axes = tuple(i for i in range(len(shape)) if i not in axes)

    def reference(x):
        f = {**SUMS, **TRUTH}[name]
        how = {"dtype": x.dtype} if name in ("sum", "prod") else {}
        return np.asarray(f(x, axis=axes, keepdims=attrs["keepdims"], **how))

    empty = any(shape[a] == 0 for a in axes)
    known = name in SUMS | TRUTH and dtype in [*INTS, "bool"] and axes and axis is not None
    known = known and not (empty and name in ("max", "min")) and not attrs["exclude"]
    known = known and not (dtype == "bool" and name == "prod")
    x = g.array(shape, dtype)
    return call(name, x, attrs=attrs, reference=reference if known else None, loose=True)


@rule(*ARG)
def arg_reduction(g, name):
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    attrs = {"axis": axis, "keepdims": g.chance(0.5)}
    attrs["select_last_index"] = g.chance(0.2)
    return call(name, g.array(shape, g.dtype(MAIN), few=True), attrs=attrs)


@rule("cumsum", "cumprod")
def scan(g, name):
    shape = g.shape(1)
    attrs = {"axis": g.one_of([None, g.number(-len(shape), len(shape))])}
    attrs |= {"exclusive": g.chance(0.3), "dtype": g.one_of([None, "float64", "int64"])}
    return call(name, g.array(shape, g.dtype(MAIN)), attrs=attrs, loose=True)


# ---- elements that move ----


@rule("transpose")
def transpose(g, name):
    shape = g.shape()
    axes = [int(a) for a in g.rng.permutation(len(shape))]
    attrs = {"axes": None if g.chance(0.2) else axes}
    if attrs["axes"] and g.chance(0.3):
        attrs["axes"] = [a - len(shape) for a in axes]
    return moving(g, name, shape, attrs, lambda x: x.transpose(attrs["axes"]))


def moving(g, name, shape, attrs, reference):
    x = g.array(shape, g.dtype([*NUMBERS, "bool"]), special=True)
    return call(name, x, attrs=attrs, reference=reference)


@rule("expand_dims")
def expand_dims(g, name):
    shape = g.shape()
    axis, n = g.number(-len(shape) - 1, len(shape) + 1), g.number(0, 3)

    def reference(x):
        at = axis + x.ndim + 1 if axis < 0 else axis
        return x.reshape(x.shape[:at] + (1,) * n + x.shape[at:])

    return moving(g, name, shape, {"axis": axis, "num_newaxis": n}, reference)


@rule("squeeze")
def squeeze(g, name):
    shape = [1 if g.chance(0.5) else d for d in g.shape()]
    ones = [i for i, d in enumerate(shape) if d == 1 and g.chance(0.7)]
    axis = [i - len(shape) if g.chance(0.3) else i for i in ones]
    return moving(g, name, shape, {"axis": axis}, lambda x: x.squeeze(tuple(axis)))


@rule("reshape")
def reshape(g, name):
    shape = g.shape()
    n = int(np.prod(shape))
    to = g.one_of([[-1], [n], shape[::-1], [1, *shape], [*shape, 1]])
    return moving(g, name, shape, {"newshape": to, "allowzero": True}, lambda x: x.reshape(to))


@rule("reverse")
def reverse(g, name):
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    return moving(g, name, shape, {"axis": axis}, lambda x: np.flip(x, axis))


@rule("repeat")
def repeat(g, name):
    shape = g.shape(1)
    axis, n = g.number(-len(shape), len(shape)), g.number(1, 4)
    reference = lambda x: np.repeat(x, n, axis)  # noqa: E731
    return moving(g, name, shape, {"repeats": n, "axis": axis}, reference)


@rule("tile")
def tile(g, name):
    shape = g.shape()
    reps = [g.number(1, 3) for _ in range(g.number(1, 4))]
    return moving(g, name, shape, {"reps": reps}, lambda x: np.tile(x, reps))


@rule("broadcast_to")
def broadcast_to(g, name):
    to = g.shape()
    shape = [d if g.chance(0.6) else 1 for d in to][g.number(0, len(to) + 1) :]
    return moving(g, name, shape, {"shape": to}, lambda x: np.broadcast_to(x, to))


@rule("broadcast_to_like")
def broadcast_to_like(g, name):
    to = g.shape()
    shape = [d if g.chance(0.6) else 1 for d in to][g.number(0, len(to) + 1) :]
    x, like = g.array(shape, g.dtype(NUMBERS)), g.array(to, "float32")
    return call(name, x, like, reference=lambda x, y: np.broadcast_to(x, y.shape))


@rule("collapse_sum_like", "collapse_sum_to")
def collapse(g, name):
    shape = g.shape()
    to = [d if g.chance(0.6) else 1 for d in shape][g.number(0, len(shape) + 1) :]
    more = len(shape) - len(to)

    def reference(x, *_):
        one = tuple(i for i in range(x.ndim) if i < more or to[i - more] == 1)
        return x.sum(axis=one, keepdims=True, dtype=x.dtype).reshape(to)

    x = g.array(shape, g.dtype(["float32", "int32", "float64"]))
    if name == "collapse_sum_to":
        return call(name, x, attrs={"shape": to}, reference=reference, loose=True)
    return call(name, x, g.array(to, str(x.dtype)), reference=reference, loose=True)


@rule("reshape_like")
def reshape_like(g, name):
    shape = g.shape()
    like = g.array(g.one_of([shape[::-1], [1, *shape], [int(np.prod(shape))]]), "float32")
    x = g.array(shape, g.dtype(NUMBERS))
    return call(name, x, like, reference=lambda x, y: x.reshape(y.shape))


@rule("concatenate", "stack")
def join(g, name):
    shape, n = g.shape(1 if name == "concatenate" else 0), g.number(1, 5)
    dtype = g.dtype([*NUMBERS, "bool"])
    rank = len(shape) + (name == "stack")
    axis = g.number(-rank, rank)
    shapes = [list(shape) for _ in range(n)]
    for s in shapes if name == "concatenate" else ():
        s[axis] = g.extent()
    f = getattr(np, name)
    return Call(
        lambda *e: function(name)(e, axis),
        *(g.array(s, dtype, special=True) for s in shapes),
        reference=lambda *x: f(x, axis),
        text=said(axis=axis),
    )


@rule("split")
def split(g, name):
    """Split, and its parts put together in any order, along any axis."""
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    n = g.number(1, 4)
    if g.chance(0.5):
        shape[axis] = n * g.number(0, 3)
        parts = n
    else:
        parts = sorted(g.number(0, shape[axis] + 1) for _ in range(n))
    count = parts if isinstance(parts, int) else len(parts) + 1
    order = [g.number(0, count) for _ in range(g.number(1, count + 2))]
    if g.chance(0.5):
        order = list(range(count))
    along = axis if g.chance(0.7) else g.number(-len(shape), len(shape))
    join = g.chance(0.7)

    def make(x):
        all_parts = relay.split(x, parts, axis)
        chosen = [all_parts[i] for i in order]
        return relay.concatenate(chosen, along) if join else relay.Tuple(chosen)

    def reference(x):
        chosen = [np.split(x, parts, axis)[i] for i in order]
        return np.concatenate(chosen, along) if join else chosen

    x = g.array(shape, g.dtype(NUMBERS))
    text = said(indices=parts, axis=axis, order=order, along=along, join=join)
    return Call(make, x, reference=reference, text=text)


@rule("strided_slice")
def strided_slice(g, name):
    shape = g.shape(1)
    n = g.number(1, len(shape) + 1)
    steps = [g.one_of([1, 1, 2, 3, -1, -2]) for _ in range(n)]
    begin = [g.number(-d - 2, d + 3) for d in shape[:n]]
    end = [g.number(-d - 2, d + 3) for d in shape[:n]]

    def reference(x):
        cut = tuple(slice(b, e, s) for b, e, s in zip(begin, end, steps, strict=True))
        return x[cut]

    return moving(g, name, shape, {"begin": begin, "end": end, "strides": steps}, reference)


@rule("slice_like")
def slice_like(g, name):
    shape = g.shape(1)
    to = [g.number(0, d + 1) for d in shape]
    x, like = g.array(shape, g.dtype(NUMBERS)), g.array(to, "float32")
    return call(name, x, like, reference=lambda x, y: x[tuple(slice(d) for d in y.shape)])


@rule("sliding_window")
def sliding_window(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(0, len(shape))
    window = [g.number(1, d + 1) for d in shape[axis:]]
    attrs = {"axis": axis, "window_shape": window, "strides": [g.number(1, 3) for _ in window]}
    return call(name, g.array(shape, g.dtype(NUMBERS)), attrs=attrs)


@rule("trilu")
def trilu(g, name):
    shape, k, upper = g.shape(2), g.number(-3, 4), g.chance(0.5)
    x, f = g.array(shape, g.dtype(NUMBERS)), np.triu if upper else np.tril
    return Call(
        lambda x: relay.trilu(x, relay.const(k, "int32"), upper),
        x,
        reference=lambda x: f(x, k),
        text=said(k=k, upper=upper),
    )


# Operators without a rule, and why.
_VM = "an instruction of the virtual machine, made by the compiler: programs do not call it"
_MARK = "a mark of the compiler that computes nothing"
_OWN = "has operands of a special form (sparse parts, boxes, sequences, optional values)"
WITHOUT = {
    **dict.fromkeys(
        "call_lowered memory.alloc_storage memory.alloc_tensor memory.kill vm.check_extents "
        "vm.check_shapes vm.invoke_tvm_op vm.make_shape vm.reshape_tensor vm.shape_func "
        "vm.shape_of".split(),
        _VM,
    ),
    **dict.fromkeys(
        "annotation.checkpoint annotation.compiler_begin annotation.compiler_end "
        "annotation.stop_fusion debug device_copy on_device".split(),
        _MARK,
    ),
}
OWN = (
    "nn.sparse_add nn.sparse_dense nn.sparse_transpose sparse_reshape sparse_to_dense optional.get "
    "sparse_fill_empty_rows "
    "optional.has sequence.at sequence.concat sequence.erase sequence.insert sequence.length "
    "sequence.split value.narrow value.none value.squeeze value.widen "
    "vision.all_class_non_max_suppression vision.get_valid_counts vision.non_max_suppression"
)
WITHOUT |= dict.fromkeys(OWN.split(), _OWN)
