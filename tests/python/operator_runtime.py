"""Rules of operator_calls.py for operators whose shapes, indices or ranges are values of a run."""

import numpy as np
from operator_calls import MAIN, NUMBERS, Call, call, moving, rule, said
from tenon import relay


def shape_type(g):
    return g.one_of(["int32", "int64"])


def maybe_static(g, *places):
    """Shapes are constants of the program in half of the calls, values of a run in the others."""
    return places if g.chance(0.5) else ()


def direct(name, *attrs):
    """The call of an operator whose Python function takes it for another one."""
    return lambda *e: relay.Call(relay.op.get(name), e, *attrs)


# ---- shapes that are values ----


@rule("dyn.reshape", "contrib_reverse_reshape")
def reshape(g, name):
    shape = g.shape()
    n = int(np.prod(shape))
    to = g.one_of([[-1], [n], shape[::-1], [1, *shape], [*shape, 1]])
    if name == "contrib_reverse_reshape":
        x = g.array([max(d, 1) for d in shape], g.dtype(NUMBERS))
        to = g.one_of([[-1], [-1, 0], [0, -1], [*x.shape], [1, -1]])
        return Call(lambda x: relay.reverse_reshape(x, to), x, text=said(newshape=to))
    x, s = g.array(shape, g.dtype(NUMBERS)), np.array(to, shape_type(g))
    reference = (lambda x, s: x.reshape(to)) if n else None
    return Call(relay.reshape, x, s, reference=reference, static=maybe_static(g, 1))


@rule("dyn.broadcast_to")
def broadcast_to(g, name):
    to = g.shape(1)
    shape = [d if g.chance(0.6) else 1 for d in to][g.number(0, len(to) + 1) :]
    x, s = g.array(shape, g.dtype(NUMBERS)), np.array(to, shape_type(g))
    reference = lambda x, s: np.broadcast_to(x, s)  # noqa: E731
    return Call(relay.broadcast_to, x, s, reference=reference, static=maybe_static(g, 1))


@rule("dyn.squeeze")
def squeeze(g, name):
    shape = [1 if g.chance(0.5) else d for d in g.shape()]
    ones = [i for i, d in enumerate(shape) if d == 1 and g.chance(0.7)]
    axis = np.array([i - len(shape) if g.chance(0.3) else i for i in ones], shape_type(g))
    x = g.array(shape, g.dtype(NUMBERS))
    reference = lambda x, a: x.squeeze(tuple(a.tolist()))  # noqa: E731
    return Call(relay.squeeze, x, axis, reference=reference, static=maybe_static(g, 1))


@rule("dyn.expand_dims")
def expand_dims(g, name):
    x, n = g.array(g.shape(), g.dtype(NUMBERS)), g.number(0, 3)
    axis = np.array(g.number(-x.ndim - 1, x.ndim + 1), shape_type(g))

    def reference(x, axis):
        at = int(axis) + x.ndim + 1 if axis < 0 else int(axis)
        return x.reshape(x.shape[:at] + (1,) * n + x.shape[at:])

    make = lambda x, a: relay.expand_dims(x, a, n)  # noqa: E731
    return Call(make, x, axis, reference=reference, static=maybe_static(g, 1))


@rule("dyn.sparse_to_dense")
def sparse_to_dense(g, name):
    shape, n, dtype = [g.extent() for _ in range(g.number(1, 4))], g.number(0, 5), g.dtype(MAIN)
    at = g.rng.integers(-1, 6, (n, len(shape))).astype(shape_type(g))
    values, fill = g.array([n], dtype), g.array([], dtype)
    s = np.array(shape, shape_type(g))

    def reference(at, values, fill, s):
        out = np.full(tuple(s), fill, values.dtype)
        for place, value in zip(at, values, strict=True):
            if all(0 <= i < d for i, d in zip(place, s, strict=True)):
                out[tuple(place)] = value
        return out

    make = lambda i, v, d, s: relay.sparse_to_dense(i, s, v, d)  # noqa: E731
    return Call(make, at, values, fill, s, reference=reference, static=maybe_static(g, 3))


@rule("dyn.image.resize2d")
def resize2d(g, name):
    layout = g.one_of(["NCHW", "NHWC"])
    attrs = {"layout": layout, "method": g.one_of(["nearest_neighbor", "linear", "cubic"])}
    places = ["half_pixel", "align_corners", "asymmetric"]
    attrs["coordinate_transformation_mode"] = g.one_of(places)
    x = g.array([1, g.number(1, 4), g.number(1, 6), g.number(1, 4)], "float32")
    size = np.array([g.number(0, 7), g.number(1, 7)], shape_type(g))
    make = lambda x, s: relay.image.resize2d(x, s, **attrs)  # noqa: E731
    return Call(make, x, size, static=maybe_static(g, 1), loose=True, text=said(**attrs))


@rule("dyn.nn.upsampling", "dyn.nn.upsampling3d")
def upsampling(g, name):
    n = 3 if name.endswith("3d") else 2
    linear = "trilinear" if n == 3 else "bilinear"
    attrs = {"method": g.one_of(["nearest_neighbor", linear])}
    x = g.array([1, 2, *(g.number(1, 5) for _ in range(n))], "float32")
    kind = g.one_of(["float32", "float64"])
    factors = [np.array(g.one_of([1, 2, 3, 1.5, 0.5]), kind) for _ in range(n)]
    f = relay.nn.upsampling3d if n == 3 else relay.nn.upsampling
    make = lambda *e: f(*e, **attrs)  # noqa: E731
    static = maybe_static(g, *range(1, n + 1))
    return Call(make, x, *factors, static=static, loose=True, text=said(**attrs))


@rule("dyn.tile")
def tile(g, name):
    shape = g.shape()
    reps = np.array([g.number(0, 3) for _ in range(g.number(1, 4))], shape_type(g))
    x = g.array(shape, g.dtype(NUMBERS))
    return Call(relay.tile, x, reps, reference=np.tile, static=maybe_static(g, 1))


@rule("dyn.zeros", "dyn.ones")
def constant(g, name):
    dtype, shape = g.dtype([*NUMBERS, "bool"]), np.array(g.shape(1), shape_type(g))
    f = name[4:]
    make = lambda s: getattr(relay, f)(s, dtype)  # noqa: E731
    reference = lambda s: getattr(np, f)(s, dtype)  # noqa: E731
    return Call(make, shape, reference=reference, static=maybe_static(g, 0), text=said(dtype=dtype))


@rule("dyn.full")
def full(g, name):
    dtype, shape = g.dtype(NUMBERS), np.array(g.shape(1), shape_type(g))
    value = g.array([], dtype)
    make = lambda v, s: relay.full(v, s, dtype)  # noqa: E731
    reference = lambda v, s: np.full(s, v)  # noqa: E731
    return Call(make, value, shape, reference=reference, static=maybe_static(g, 1))


@rule("dyn.one_hot")
def one_hot(g, name):
    i, depth = g.array(g.shape(0, 3), "int32", few=True), g.number(1, 5)
    axis = g.number(-1, i.ndim + 1)
    on, off = np.float32(2), np.float32(-1)

    def make(i, depth):
        return relay.one_hot(i, relay.const(on), relay.const(off), depth, axis, "float32")

    def reference(i, depth):
        hot = np.where(i[..., None] == np.arange(depth), on, off)
        return np.moveaxis(hot, -1, axis)

    return Call(make, i, np.int32(depth), reference=reference, text=said(axis=axis))


@rule("dyn.nn.pad")
def pad(g, name):
    shape = g.shape(1)
    width = np.array([(g.number(0, 3), g.number(0, 3)) for _ in shape], shape_type(g))
    mode = g.one_of(["constant", "constant", "edge", "reflect"])
    dtype = g.dtype(NUMBERS)
    make = lambda x, w, v: relay.nn.pad(x, w, v, mode)  # noqa: E731
    known = mode == "constant"

    def reference(x, w, v):
        return np.pad(x, w, "constant", constant_values=v)

    return Call(
        make,
        g.array(shape, dtype),
        width,
        g.array([], dtype),
        reference=reference if known else None,
        static=maybe_static(g, 1),
        text=said(mode=mode),
    )


@rule("dyn.strided_slice")
def strided_slice(g, name):
    shape = g.shape(1)
    kind = shape_type(g)
    steps = np.array([g.one_of([1, 1, 2, 3, -1, -2]) for _ in shape], kind)
    begin = np.array([g.number(-d - 2, d + 3) for d in shape], kind)
    end = np.array([g.number(-d - 2, d + 3) for d in shape], kind)

    def reference(x, begin, end, steps):
        return x[tuple(slice(*cut) for cut in zip(begin, end, steps, strict=True))]

    return Call(
        lambda *e: relay.strided_slice(*e),
        g.array(shape, g.dtype(NUMBERS)),
        begin,
        end,
        steps,
        reference=reference,
        static=g.one_of([(), (1,), (1, 2, 3)]),
    )


@rule("dyn.topk")
def topk(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(-len(shape), len(shape))
    k, kind = g.number(1, shape[axis] + 2), g.one_of(["values", "indices", "both"])
    attrs = {"axis": axis, "is_ascend": g.chance(0.5), "ret_type": kind, "dtype": "int64"}
    x = g.array(shape, g.dtype(["float32", "int32", "int64"]), few=True)

    def make(x, k):
        made = relay.topk(x, k, **attrs)
        return made.astuple() if kind == "both" else made

    return Call(make, x, np.array(k, shape_type(g)), text=said(**attrs))


@rule("arange")
def arange(g, name):
    dtype = g.one_of(["int32", "int64", "float32", "float64"])
    numbers = [np.array(g.number(-9, 10), dtype) for _ in range(2)]
    step = np.array(g.one_of([1, 1, 2, 3, -1, -2, 0]), dtype)
    if dtype in ("float32", "float64"):
        step = step * np.asarray(0.5, dtype)

    def reference(a, b, step):
        return np.arange(a, b, step, dtype) if step else np.zeros(0, dtype)

    make = lambda a, b, s: relay.arange(a, b, s, dtype)  # noqa: E731
    static = g.one_of([(), (0, 1, 2)])
    if static and not step:
        step = step + np.asarray(1, dtype)
    return Call(make, *numbers, step, reference=reference, static=static, text=said(dtype=dtype))


# ---- sizes that depend on data ----


@rule("argwhere")
def argwhere(g, name):
    x = g.array(g.shape(1), g.dtype(["bool", "int32", "float32", "int64"]), few=True)
    return call(name, x, reference=lambda x: np.argwhere(x).astype("int32"))


@rule("unique")
def unique(g, name):
    x = g.array(g.shape(1, 1), g.dtype(["int32", "int64", "float32"]), few=True)
    ordered, counts = g.chance(0.5), g.chance(0.5)

    def make(x):
        out, index, inverse, n, *more = relay.unique(x, ordered, counts)
        cut = [relay.strided_slice(part, [0], n, slice_mode="size") for part in (out, *more)]
        return relay.Tuple([*cut, inverse, n])

    return Call(make, x, text=said(is_sorted=ordered, return_counts=counts))


# ---- indices that are data ----


def indices(g, shape, extent, dtype="int64"):
    """Places of an axis, sometimes counted from its end or outside of it."""
    low = -extent if g.chance(0.3) else 0
    high = extent + (2 if g.chance(0.1) else 0)
    return g.rng.integers(low, max(high, low + 1), shape).astype(dtype)


@rule("adv_index")
def adv_index(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    n = g.number(1, len(shape) + 1)
    some = g.shape(1, 2)
    where = [indices(g, [d if g.chance(0.8) else 1 for d in some], d0) for d0 in shape[:n]]
    inside = all((-d <= i).all() and (i < d).all() for i, d in zip(where, shape, strict=False))
    return Call(
        lambda *e: relay.adv_index(list(e)),
        g.array(shape, g.dtype(NUMBERS)),
        *where,
        reference=(lambda x, *i: x[i]) if inside else None,
    )


@rule("scatter_nd")
def scatter_nd(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    n, some = g.number(1, len(shape) + 1), g.shape(0, 2)
    where = np.stack([indices(g, some, d) for d in shape[:n]])
    mode = g.one_of(["update", "add", "mul", "min", "max"])
    if mode == "update":  # which of two writes is the last is not defined
        flat = g.rng.permutation(int(np.prod(shape[:n])))[: int(np.prod(some))]
        some = [len(flat)]
        where = np.stack(np.unravel_index(flat, shape[:n])).astype("int64")
    dtype = g.dtype(["float32", "int32", "int64"])
    updates = g.array([*some, *shape[n:]], dtype)
    return call(name, g.array(shape, dtype), where, updates, attrs={"mode": mode}, loose=True)


@rule("strided_set")
def strided_set(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    steps = [g.one_of([1, 1, 2, -1]) for _ in shape]
    begin = [g.number(0, d) if s > 0 else g.number(0, d) for d, s in zip(shape, steps, strict=True)]
    end = [
        g.number(b, d + 1) if s > 0 else g.number(-d - 1, b - d + 1)
        for b, d, s in zip(begin, shape, steps, strict=True)
    ]
    cut = tuple(slice(*c) for c in zip(begin, end, steps, strict=True))
    dtype = g.dtype(NUMBERS)
    x = g.array(shape, dtype)
    v = g.array(x[cut].shape, dtype)

    def reference(x, v):
        out = x.copy()
        out[cut] = v
        return out

    numbers = [[int(n) for n in part] for part in (begin, end, steps)]
    make = lambda x, v: relay.strided_set(x, v, *(relay.const(n, "int64") for n in numbers))  # noqa: E731
    return Call(make, x, v, reference=reference, text=said(cut=numbers))


@rule("matrix_set_diag")
def matrix_set_diag(g, name):
    shape = [max(d, 1) for d in g.shape(2)]
    rows, columns = shape[-2:]
    low = g.number(1 - rows, columns)
    high = g.number(low, columns)
    longest = min(rows + min(high, 0), columns - max(low, 0))
    many = [high - low + 1] if high > low else []
    align = g.one_of(["RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"])
    dtype = g.dtype(NUMBERS)
    k = low if low == high else (low, high)
    diagonal = g.array([*shape[:-2], *many, longest], dtype)
    return call(name, g.array(shape, dtype), diagonal, attrs={"k": k, "align": align})


@rule("rank_rows")
def rank_rows(g, name):
    x = g.array(g.shape(2, 2), g.dtype(["int32", "float32", "int64"]), few=True)

    def reference(x):
        """The place of each row among the different rows in order."""
        return np.unique(x, axis=0, return_inverse=True)[1].reshape(-1).astype("int32")

    known = x.size and x.dtype.kind == "i"
    return Call(direct(name), x, reference=reference if known else None)


@rule("layout_transform")
def layout_transform(g, name):
    n, c, h, w = g.number(1, 3), 4 * g.number(1, 3), g.number(1, 4), g.number(1, 4)
    sizes = {"NCHW": [n, c, h, w], "NHWC": [n, h, w, c], "NCHW4c": [n, c // 4, h, w, 4]}
    sizes["NCHW2c"] = [n, c // 2, h, w, 2]
    start, end = g.one_of(sorted(sizes)), g.one_of(sorted(sizes))
    attrs = {"src_layout": start, "dst_layout": end}

    def plain(x):
        if start == "NHWC":
            return x.transpose(0, 3, 1, 2)
        return x if start == "NCHW" else x.transpose(0, 1, 4, 2, 3).reshape(n, c, h, w)

    def reference(x):
        y = plain(x)
        if end in ("NCHW", "NHWC"):
            return y if end == "NCHW" else y.transpose(0, 2, 3, 1)
        inner = int(end[4])
        return y.reshape(n, c // inner, inner, h, w).transpose(0, 1, 3, 4, 2)

    return moving(g, name, sizes[start], attrs, reference)


@rule("dft")
def dft(g, name):
    shape, inverse = [max(d, 1) for d in g.shape(1)], g.chance(0.5)
    dtype = g.one_of(["float32", "float64"])

    def reference(re, im):
        z = (np.fft.ifft if inverse else np.fft.fft)(re + 1j * im)
        return [z.real.astype(dtype), z.imag.astype(dtype)]

    return Call(
        lambda re, im: relay.dft(re, im, inverse).astuple(),
        g.array(shape, dtype),
        g.array(shape, dtype),
        reference=reference,
        loose=True,
        text=said(inverse=inverse),
    )


@rule("stft")
def stft(g, name):
    n = g.number(1, 9)
    hop, length = g.number(1, 5), n + g.number(0, 9)
    attrs = {"hop_length": hop, "win_length": n, "normalized": g.chance(0.5)}
    attrs["onesided"] = g.chance(0.5)
    arrays = [g.array([g.number(1, 3), length], dtype := g.one_of(["float32", "float64"]))]
    if g.chance(0.5):
        arrays.append(g.array([n], dtype))

    def reference(x, window=None):
        window = np.ones(n) if window is None else window
        rows = np.stack([x[:, i : i + n] * window for i in range(0, length - n + 1, hop)], 1)
        z = (np.fft.rfft if attrs["onesided"] else np.fft.fft)(rows)
        z = z / np.sqrt(n) if attrs["normalized"] else z
        return np.stack([z.real, z.imag], -1).transpose(0, 2, 1, 3).astype(dtype)

    make = lambda x, window=None: relay.stft(x, n, window=window, **attrs)  # noqa: E731
    return Call(make, *arrays, reference=reference, loose=True, text=said(n_fft=n, **attrs))


@rule("nn.dropout")
def dropout(g, name):
    x = g.array(g.shape(), g.dtype(MAIN))
    return Call(lambda x: relay.nn.dropout(x, 0.3), x, reference=lambda x: x)
