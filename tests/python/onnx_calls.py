"""Rules of random_onnx.py: for each operator of ONNX a function that draws inputs and attributes.

``rule(*names)`` adds one; it is called with a source of choices (random_operators.Source) and the
name, and gives a Call. RULES maps (domain, operator) to the function.
"""

import numpy as np

RULES = {}
FLOATS = ["float32", "float32", "float64", "float16"]
NUMBERS = ["float32", "int64", "int32", "float64", "int8", "uint8", "float16", "int16", "uint32"]
ALL = [*NUMBERS, "bool", "uint64", "uint16"]
NEWEST = 22  # most sets that both engines know


class Call:
    """A node. ``inputs`` are arrays, None where one is left out; those at places in ``constants``
    are weights; ``nodes`` (a function of names of inputs) makes several nodes in its stead.
    ``judge`` is the one engine that knows all attributes of the node, "onnxruntime" say."""

    def __init__(self, op, inputs, attrs=None, constants=(), outputs=1, **more):
        self.op, self.inputs, self.attrs = op, inputs, attrs or {}
        self.constants, self.outputs = set(constants), outputs
        self.opset, self.domain = more.pop("opset", NEWEST), more.pop("domain", "")
        self.loose, self.nodes = more.pop("loose", True), more.pop("nodes", None)
        self.judge = more.pop("judge", None)
        assert not more, more


def rule(*names, domain=""):
    def add(f):
        for name in names:
            assert (domain, name) not in RULES, name
            RULES[domain, name] = f
        return f

    return add


def maybe(g, chance=0.3, /, **attrs):
    """Attributes that are there or not."""
    return {k: v for k, v in attrs.items() if g.chance(chance)}


def axis_of(g, rank):
    return g.number(-rank, rank) if rank else 0


def some_axes(g, rank):
    axes = [i for i in range(rank) if g.chance(0.5)]
    return [a - rank if g.chance(0.4) else a for a in axes]


def either(g, *places):
    """Places whose inputs are weights: mostly, as exported models have them."""
    return set(places) if g.chance(0.7) else set()


def i64(values):
    return np.array(values, "int64")


def spread(g, shape):
    """A shape that broadcasts with another."""
    shape = [1 if g.chance(0.25) else d for d in shape]
    return shape[g.number(0, len(shape) + 1) :] if g.chance(0.3) else shape


# ---- elements ----


@rule("Acos", "Acosh", "Asin", "Asinh", "Atan", "Atanh", "Ceil", "Cos", "Cosh", "Erf", "Exp",
      "Floor", "Log", "Reciprocal", "Round", "Sigmoid", "Sin", "Sinh", "Sqrt", "Tan", "Tanh",
      "Softplus", "Softsign", "Mish", "HardSwish", "IsNaN")  # fmt: skip
def unary_float(g, name):
    return Call(name, [g.array(g.shape(), g.dtype(FLOATS), special=True)])


@rule("Abs", "Neg", "Sign", "Relu", "Identity")
def unary(g, name):
    kinds = [k for k in NUMBERS if name not in ("Neg", "Relu") or k[0] != "u"]
    return Call(name, [g.array(g.shape(), g.dtype(kinds), special=True)], loose=False)


@rule("Not")
def negation(g, name):
    return Call(name, [g.array(g.shape(), "bool")])


@rule("BitwiseNot")
def bits(g, name):
    kinds = ["int32", "int8", "uint8", "int64", "uint64", "int16"]
    return Call(name, [g.array(g.shape(), g.dtype(kinds), special=True)])


@rule("IsInf")
def is_infinite(g, name):
    attrs = maybe(g, detect_negative=g.number(0, 2), detect_positive=g.number(0, 2))
    return Call(name, [g.array(g.shape(), "float32", special=True)], attrs)


@rule("LeakyRelu", "Elu", "Celu", "ThresholdedRelu")
def alpha(g, name):
    dtype = "float32" if name == "Celu" else g.dtype(FLOATS)
    attrs = maybe(g, 0.6, alpha=g.one_of([0.5, 1.0, 2.0, 0.01]))
    return Call(name, [g.array(g.shape(), dtype, special=True)], attrs)


@rule("Selu")
def selu(g, name):
    attrs = maybe(g, alpha=1.5, gamma=0.75)
    return Call(name, [g.array(g.shape(), g.dtype(FLOATS), special=True)], attrs)


@rule("HardSigmoid")
def hard_sigmoid(g, name):
    attrs = maybe(g, 0.5, alpha=0.5, beta=0.6)
    return Call(name, [g.array(g.shape(), g.dtype(FLOATS), special=True)], attrs)


@rule("Gelu")
def gelu(g, name):
    attrs = maybe(g, 0.5, approximate=g.one_of(["none", "tanh"]))
    return Call(name, [g.array(g.shape(), g.dtype(FLOATS), special=True)], attrs)


@rule("Swish")
def swish(g, name):
    return Call(name, [g.array(g.shape(), "float32")], maybe(g, alpha=0.5), opset=24)


@rule("Shrink")
def shrink(g, name):
    attrs = maybe(g, 0.5, lambd=g.one_of([0.5, 1.0]), bias=0.25)
    return Call(name, [g.array(g.shape(), g.dtype(["float32", "float64"]), special=True)], attrs)


@rule("PRelu")
def prelu(g, name):
    shape, dtype = g.shape(), g.dtype(FLOATS)
    slope = shape[g.number(0, len(shape) + 1) :] if g.chance(0.5) else spread(g, shape)
    slope = slope[-len(shape) :] if shape else []
    return Call(name, [g.array(shape, dtype, special=True), g.array(slope, dtype)])


@rule("Add", "Sub", "Mul", "Div", "Pow", "Mod", "Max", "Min", "Equal", "Less", "Greater",
      "LessOrEqual", "GreaterOrEqual")  # fmt: skip
def binary(g, name):
    dtype, shape = g.dtype(NUMBERS), g.shape()
    a, b = g.array(spread(g, shape), dtype, True), g.array(spread(g, shape), dtype, True)
    attrs = {}
    if name == "Mod" and a.dtype.kind == "f":
        attrs["fmod"] = 1
    elif name == "Mod":
        attrs = maybe(g, fmod=g.number(0, 2))
    if name == "Pow" and g.chance(0.4):
        a = np.abs(g.array(a.shape, dtype))
        b = np.abs(g.array(b.shape, g.dtype(["float32", "int64", "int32", "float64"])))
    if name in ("Div", "Mod") and a.dtype.kind in "iu":
        b = np.where(b == 0, b.dtype.type(3), b)
    return Call(name, [a, b], attrs, loose=name == "Pow")


@rule("And", "Or", "Xor")
def logic(g, name):
    shape = g.shape()
    return Call(name, [g.array(spread(g, shape), "bool"), g.array(spread(g, shape), "bool")])


@rule("BitwiseAnd", "BitwiseOr", "BitwiseXor")
def bit_pairs(g, name):
    shape, dtype = g.shape(), g.dtype(["int32", "int8", "uint8", "int64", "uint64", "int16"])
    return Call(name, [g.array(spread(g, shape), dtype, True) for _ in range(2)])


@rule("BitShift")
def shift(g, name):
    shape, dtype = g.shape(), g.dtype(["uint8", "uint32", "uint64", "uint16"])
    by = g.rng.integers(0, 9, spread(g, shape)).astype(dtype)
    attrs = {"direction": g.one_of(["LEFT", "RIGHT"])}
    return Call(name, [g.array(spread(g, shape), dtype, True), by], attrs)


@rule("Sum", "Mean")
def variadic(g, name):
    shape, dtype = g.shape(), g.dtype(FLOATS)
    return Call(name, [g.array(spread(g, shape), dtype) for _ in range(g.number(1, 4))])


@rule("Clip")
def clip(g, name):
    dtype = g.dtype(["float32", "int64", "int32", "float64", "int8", "uint8", "float16"])
    low = g.array([], dtype) if g.chance(0.7) else None
    high = g.array([], dtype) if g.chance(0.7) else None
    inputs = [g.array(g.shape(), dtype, True), low, high]
    return Call(name, inputs[: 3 if high is not None else 2], {}, either(g, 1, 2), loose=False)


@rule("Where")
def where(g, name):
    shape, dtype = g.shape(), g.dtype(ALL)
    return Call(name, [g.array(spread(g, shape), "bool"), g.array(spread(g, shape), dtype, True),
                       g.array(spread(g, shape), dtype, True)], loose=False)  # fmt: skip


TYPES = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7,
         "bool": 9, "float16": 10, "float64": 11, "uint32": 12, "uint64": 13}  # fmt: skip


@rule("Cast")
def cast(g, name):
    x = g.array(g.shape(), g.dtype(ALL), special=g.chance(0.3))
    return Call(name, [x], {"to": TYPES[g.dtype(ALL)]}, loose=False)


@rule("CastLike")
def cast_like(g, name):
    return Call(name, [g.array(g.shape(), g.dtype(ALL)), g.array([1], g.dtype(ALL))], loose=False)


@rule("BitCast")
def bit_cast(g, name):
    kinds = [["float32", "int32", "uint32"], ["float64", "int64"], ["int8", "uint8"]]
    kinds = g.one_of(kinds)
    return Call(name, [g.array(g.shape(), g.one_of(kinds), True)],
                {"to": TYPES[g.one_of(kinds)]}, opset=26)  # fmt: skip


@rule("Softmax", "LogSoftmax", "Hardmax")
def softmax(g, name):
    shape = g.shape(1)
    attrs = maybe(g, 0.7, axis=axis_of(g, len(shape)))
    return Call(name, [g.array(shape, g.dtype(FLOATS))], attrs, opset=g.one_of([11, 13, 13]))


# ---- reductions ----


@rule("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
      "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")  # fmt: skip
def reduction(g, name):
    kinds = ["float32", "float64", "int32", "int64", "float16"]
    kinds = kinds[:2] if "Log" in name or name in ("ReduceL2", "ReduceMean") else kinds
    shape, dtype = g.shape(), g.dtype(kinds)
    x = g.array(shape, dtype, special=name in ("ReduceMax", "ReduceMin"))
    x = np.abs(x) if name == "ReduceLogSum" else x
    attrs = maybe(g, 0.5, keepdims=g.number(0, 2))
    axes = some_axes(g, len(shape)) if g.chance(0.8) else None
    opset = g.one_of([18, 18, 13])
    if opset == 13 and name != "ReduceSum":
        return Call(name, [x], {**attrs, **({"axes": axes} if axes else {})}, opset=13)
    attrs.update(maybe(g, noop_with_empty_axes=g.number(0, 2)))
    inputs = [x] if axes is None else [x, i64(axes)]
    return Call(name, inputs, attrs, either(g, 1), opset=opset)


@rule("ArgMax", "ArgMin")
def argument(g, name):
    shape = g.shape(1)
    x = g.array(shape, g.dtype(["float32", "int32", "float64", "int8", "uint8"]), few=True)
    attrs = maybe(g, 0.5, axis=axis_of(g, len(shape)), keepdims=g.number(0, 2),
                  select_last_index=g.number(0, 2))  # fmt: skip
    return Call(name, [x], attrs)


@rule("CumSum", "CumProd")
def scan(g, name):
    shape = g.shape(1)
    axis = np.array(axis_of(g, len(shape)), g.one_of(["int32", "int64"]))
    attrs = maybe(g, 0.4, exclusive=g.number(0, 2), reverse=g.number(0, 2))
    x = g.array(shape, g.dtype(["float32", "int32", "int64", "float64"]))
    return Call(name, [x, axis], attrs, either(g, 1), opset=26 if name == "CumProd" else 14)


@rule("TopK")
def top_k(g, name):
    shape = g.shape(1)
    axis = axis_of(g, len(shape))
    x = g.array(shape, g.dtype(["float32", "int64", "float64", "int32"]))
    if g.chance(0.4):
        x = x.round()
    attrs = {"axis": axis, **maybe(g, 0.4, largest=g.number(0, 2))}
    return Call(name, [x, i64([g.number(0, shape[axis] + 1)])], attrs, either(g, 1), 2, opset=11)


@rule("Unique")
def unique(g, name):
    x = g.array(g.shape(1, 2), g.dtype(["float32", "int64"]), few=True).round()
    attrs = maybe(g, 0.5, axis=axis_of(g, x.ndim), sorted=g.number(0, 2))
    return Call(name, [x], attrs, outputs=g.number(1, 5))


# ---- shapes ----


@rule("Reshape")
def reshape(g, name):
    shape = g.shape()
    n, to = int(np.prod(shape)), []
    for _ in range(g.number(0, 4)):
        fits = [d for d in (1, 2, 3, 4, 5) if n and n % d == 0] or [1]
        to.append(g.one_of(fits))
        n //= to[-1]
    to.append(-1 if n and g.chance(0.4) else n)
    if n == 0:
        to = [0 if g.chance(0.5) and i < len(shape) else d for i, d in enumerate(shape)]
        return Call(name, [g.array(shape, "float32"), i64(to)], {}, either(g, 1))
    if not shape and g.chance(0.5):
        to = []
    attrs = maybe(g, 0.2, allowzero=g.number(0, 2))
    return Call(name, [g.array(shape, g.dtype(ALL)), i64(to)], attrs, either(g, 1))


@rule("Flatten")
def flatten(g, name):
    shape = g.shape()
    attrs = maybe(g, 0.8, axis=g.number(-len(shape), len(shape) + 1) if shape else 0)
    return Call(name, [g.array(shape, g.dtype(ALL))], attrs)


@rule("Transpose")
def transpose(g, name):
    shape = g.shape()
    attrs = maybe(g, 0.7, perm=[int(i) for i in g.rng.permutation(len(shape))])
    return Call(name, [g.array(shape, g.dtype(ALL))], attrs if shape else {})


@rule("Concat")
def concat(g, name):
    shape, dtype = g.shape(1), g.dtype(ALL)
    axis = axis_of(g, len(shape))
    parts = [[g.extent() if i == axis % len(shape) else d for i, d in enumerate(shape)]
             for _ in range(g.number(1, 4))]  # fmt: skip
    return Call(name, [g.array(p, dtype) for p in parts], {"axis": axis})


@rule("Split")
def split(g, name):
    shape = g.shape(1)
    axis = axis_of(g, len(shape))
    x, n = g.array(shape, g.dtype(ALL)), g.number(1, 4)
    attrs = {"axis": axis} if axis or g.chance(0.5) else {}
    if g.chance(0.5):
        return Call(name, [x], {**attrs, "num_outputs": n}, outputs=n, opset=18)
    cuts = sorted(g.number(0, shape[axis] + 1) for _ in range(n - 1))
    sizes = np.diff([0, *cuts, shape[axis]])
    return Call(name, [x, i64(sizes)], attrs, either(g, 1), n, opset=g.one_of([13, 18]))


@rule("Squeeze")
def squeeze(g, name):
    shape = [1 if g.chance(0.5) else d for d in g.shape()]
    ones = [i for i, d in enumerate(shape) if d == 1 and g.chance(0.6)]
    ones = [i - len(shape) if g.chance(0.4) else i for i in ones]
    x = g.array(shape, g.dtype(ALL))
    inputs = [x, i64(ones)] if ones else [x]
    return Call(name, inputs, {}, {1})


@rule("Unsqueeze")
def unsqueeze(g, name):
    shape, n = g.shape(), g.number(1, 3)
    axes = [int(i) for i in g.rng.permutation(len(shape) + n)[:n]]
    axes = [a - len(shape) - n if g.chance(0.3) else a for a in axes]
    return Call(name, [g.array(shape, g.dtype(ALL)), i64(axes)], {}, {1})


@rule("Slice")
def slice_(g, name):
    shape = g.shape(1)
    axes = [i for i in range(len(shape)) if g.chance(0.6)] or [0]
    ends = [-(2**63) + 1, 2**63 - 1, -(2**31), 2**31 - 1]

    def bound(n):
        return g.one_of(ends) if g.chance(0.2) else g.number(-n - 2, n + 3)

    starts, stops = ([bound(shape[a]) for a in axes] for _ in range(2))
    steps = [g.one_of([1, 1, 2, 3, -1, -2, -3]) for _ in axes]
    axes = [a - len(shape) if g.chance(0.3) else a for a in axes]
    x = g.array(shape, g.dtype(ALL))
    inputs = [x, i64(starts), i64(stops), i64(axes), i64(steps)]
    return Call(name, inputs, {}, either(g, 1, 2, 3, 4))


@rule("Gather")
def gather(g, name):
    shape, to = g.shape(1), g.shape(0, 2)
    axis = axis_of(g, len(shape))
    n = max(shape[axis], 1)
    shape[axis] = n
    index = g.rng.integers(-n, n, to).astype(g.one_of(["int64", "int32"]))
    return Call(name, [g.array(shape, g.dtype(ALL)), index], {"axis": axis}, either(g, 1))


@rule("GatherElements")
def gather_elements(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = axis_of(g, len(shape))
    to = [g.extent() if i == axis % len(shape) else d for i, d in enumerate(shape)]
    if g.chance(0.3):  # of a first part of the data
        to = [d if i == axis % len(shape) else g.number(1, d + 1) for i, d in enumerate(to)]
    index = g.rng.integers(-shape[axis], shape[axis], to)
    return Call(name, [g.array(shape, g.dtype(ALL)), index], {"axis": axis}, either(g, 1))


def coordinates(g, shape, batch=0):
    depth = g.number(1, len(shape) - batch + 1)
    to = [*shape[:batch], *[g.extent() for _ in range(g.number(0 if batch else 1, 3))]]
    columns = [g.rng.integers(-d, d, to) for d in shape[batch : batch + depth]]
    return np.stack(columns, -1).astype("int64") if columns else np.zeros([*to, 0], "int64")


@rule("GatherND")
def gather_nd(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    batch = g.number(0, len(shape))
    index = coordinates(g, shape, batch)
    attrs = {"batch_dims": batch} if batch else {}
    return Call(name, [g.array(shape, g.dtype(ALL)), index], attrs, either(g, 1))


@rule("Scatter", "ScatterElements")
def scatter_elements(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis, dtype = axis_of(g, len(shape)), g.dtype(["float32", "int64", "float64", "int32"])
    to = [g.number(1, d + 1) for d in shape]
    along = np.stack([g.rng.permutation(shape[axis]) for _ in range(int(np.prod(to)))])
    at = axis % len(shape)
    rest = to[:at] + to[at + 1 :]
    index = np.moveaxis(along[: int(np.prod(rest)), : to[at]].reshape([*rest, to[at]]), -1, at)
    index = np.where(g.rng.random(index.shape) < 0.3, index - shape[axis], index)
    attrs = {"axis": axis}
    if name == "ScatterElements":
        attrs.update(maybe(g, reduction=g.one_of(["add", "mul", "max", "min", "none"])))
    inputs = [g.array(shape, dtype), index.astype("int64"), g.array(to, dtype)]
    return Call(name, inputs, attrs, either(g, 1), opset=9 if name == "Scatter" else 18)


@rule("ScatterND")
def scatter_nd(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    depth = g.number(1, len(shape) + 1)
    n = int(np.prod(shape[:depth]))
    some = g.rng.permutation(n)[: g.number(0, n + 1)]
    index = np.stack(np.unravel_index(some, shape[:depth]), -1).astype("int64")
    index = np.where(g.rng.random(index.shape) < 0.3, index - np.array(shape[:depth]), index)
    attrs = maybe(g, reduction=g.one_of(["add", "mul", "max", "min", "none"]))
    dtype = g.dtype(["float32", "int64", "float64", "int32"])
    inputs = [g.array(shape, dtype), index, g.array([len(some), *shape[depth:]], dtype)]
    return Call(name, inputs, attrs, either(g, 1), opset=18)


@rule("Shape", "Size")
def shape_of(g, name):
    shape = g.shape()
    attrs = maybe(g, 0.4, start=g.number(-5, 5), end=g.number(-5, 5)) if name == "Shape" else {}
    return Call(name, [g.array(shape, g.dtype(ALL))], attrs)


@rule("ConstantOfShape")
def constant_of_shape(g, name):
    attrs = maybe(g, 0.6, value=g.array([1], g.dtype(ALL)))
    return Call(name, [i64(g.shape())], attrs, either(g, 0))


@rule("Constant")
def constant(g, name):
    return Call(name, [], {"value": g.array(g.shape(), g.dtype(ALL), True)})


@rule("Expand")
def expand(g, name):
    shape = g.shape()
    to = spread(g, shape)
    return Call(name, [g.array(spread(g, shape), g.dtype(ALL)), i64(to)], {}, either(g, 1))


@rule("Tile")
def tile(g, name):
    shape = g.shape(1, 3)
    times = [g.one_of([1, 2, 3, 1, 0]) for _ in shape]
    return Call(name, [g.array(shape, g.dtype(ALL)), i64(times)], {}, either(g, 1))


@rule("Range")
def range_(g, name):
    dtype = g.dtype(["int64", "float32", "int32", "float64", "int16"])
    begin, end = g.number(-5, 6), g.number(-5, 6)
    step = g.one_of([1, 2, -1, -2, 3])
    parts = [np.array(v * (0.5 if dtype[0] == "f" else 1), dtype) for v in (begin, end, step)]
    return Call(name, parts, {}, either(g, 0, 1, 2))


@rule("Pad")
def pad(g, name):
    shape = g.shape(1)
    mode = g.one_of(["constant", "constant", "reflect", "edge", "wrap"])
    low = -1 if mode == "constant" else 0
    most = [3 if mode == "constant" else max(min(3, d), 1) for d in shape]
    pads = [g.number(low, m) for m in most + most]
    pads = [0 if shape[i % len(shape)] < 2 and p < 0 else p for i, p in enumerate(pads)]
    dtype = g.dtype(["float32", "int64", "float64", "int32", "int8", "bool", "uint8"])
    inputs = [g.array(shape, dtype), i64(pads)]
    if mode == "constant" and g.chance(0.5):
        inputs.append(g.array([], dtype))
    return Call(name, inputs, {"mode": mode}, either(g, 1, 2), opset=19)


@rule("OneHot")
def one_hot(g, name):
    shape, depth = g.shape(0, 3), g.number(1, 5)
    index = g.rng.integers(-depth - 1, depth + 1, shape).astype(g.one_of(["int64", "int32"]))
    values = g.array([2], g.dtype(["float32", "int64", "int32"]))
    attrs = maybe(g, 0.6, axis=axis_of(g, len(shape) + 1))
    return Call(name, [index, np.array(depth, "int64"), values], attrs, either(g, 1))


@rule("Trilu")
def triangle(g, name):
    inputs = [g.array(g.shape(2), g.dtype(ALL))]
    if g.chance(0.6):
        inputs.append(np.array(g.one_of([0, 1, -1, 3, -4, 2**40, -(2**40)]), "int64"))
    return Call(name, inputs, maybe(g, 0.5, upper=g.number(0, 2)), either(g, 1))


@rule("EyeLike")
def eye_like(g, name):
    attrs = maybe(g, 0.5, k=g.number(-4, 5), dtype=TYPES[g.one_of(["float32", "int64", "bool"])])
    return Call(name, [g.array(g.shape(2, 2), g.dtype(["float32", "int32"]))], attrs)


@rule("NonZero")
def non_zero(g, name):
    return Call(name, [g.array(g.shape(1), g.dtype(["float32", "int64", "bool"]), few=True)])


@rule("Compress")
def compress(g, name):
    shape = g.shape(1)
    attrs = maybe(g, 0.7, axis=axis_of(g, len(shape)))
    n = shape[attrs["axis"]] if attrs else int(np.prod(shape))
    return Call(name, [g.array(shape, g.dtype(ALL)), g.array([g.number(0, n + 1)], "bool")], attrs)


@rule("ReverseSequence")
def reverse_sequence(g, name):
    shape = [max(d, 1) for d in g.shape(2)]
    time = g.number(0, 2)
    lengths = g.rng.integers(1, shape[time] + 1, shape[1 - time])
    attrs = {"time_axis": time, "batch_axis": 1 - time}
    return Call(name, [g.array(shape, g.dtype(ALL)), lengths], attrs)


@rule("Einsum")
def einsum(g, name):
    n = {c: g.number(1, 4) for c in "bijk"}
    text = g.one_of(["ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->", "ij,ij->", "...ij->...ji",
                     "i,j->ij", "bij->b", "bij,jk", "ij,jk->k", "ii->i"])  # fmt: skip
    dims = [[n[c] for c in part if c in n] for part in text.split("->")[0].split(",")]
    dtype = g.dtype(["float32", "float64", "int32"])
    return Call(name, [g.array(d, dtype) for d in dims], {"equation": text})
