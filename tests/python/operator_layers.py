"""Rules of operator_calls.py for indices, orders, products, layers, images and quantities."""

import numpy as np
import semantics
from operator_calls import MAIN, NUMBERS, Call, call, function, rule, said
from semantics import INTS
from tenon import relay

# ---- indices ----


def indices(g, shape, extent):
    return g.rng.integers(-extent - 2, extent + 3, shape).astype(g.one_of(["int32", "int64"]))


@rule("take")
def take(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.one_of([None, g.number(-len(shape), len(shape))])
    mode = g.one_of(["clip", "wrap"])
    extent = int(np.prod(shape)) if axis is None else shape[axis]
    x, i = g.array(shape, g.dtype(NUMBERS)), indices(g, g.shape(0, 2), extent)
    attrs = {"axis": axis, "mode": mode}

    def reference(x, i):
        return np.take(x, i, axis=axis, mode=mode)

    return call(name, x, i, attrs=attrs, reference=reference)


@rule("gather")
def gather(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(-len(shape), len(shape))
    inner = [g.number(0, d + 1) for d in shape]
    i = g.rng.integers(0, shape[axis], inner).astype("int32")

    def reference(x, i):
        cut = tuple(slice(d) if k != axis % x.ndim else slice(None) for k, d in enumerate(i.shape))
        return np.take_along_axis(x[cut], i, axis)

    x = g.array(shape, g.dtype(NUMBERS))
    return Call(
        lambda x, i: relay.gather(x, axis, i), x, i, reference=reference, text=said(axis=axis)
    )


@rule("gather_nd")
def gather_nd(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    n = g.number(1, len(shape) + 1)
    some = g.shape(0, 2)
    i = np.stack([g.rng.integers(0, d, some) for d in shape[:n]]).astype("int32")
    x = g.array(shape, g.dtype(NUMBERS))
    return call(name, x, i, reference=lambda x, i: x[tuple(i)])


@rule("one_hot")
def one_hot(g, name):
    i, depth = g.array(g.shape(0, 3), "int32", few=True), g.number(1, 5)
    axis = g.number(-1, i.ndim + 1)
    text = said(depth=depth, axis=axis)
    return Call(
        lambda i: relay.one_hot(i, relay.const(2.0), relay.const(-1.0), depth, axis, "float32"),
        i,
        text=text,
    )


@rule("scatter_elements")
def scatter(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(-len(shape), len(shape))
    inner = [g.number(1, d + 1) for d in shape]
    i = g.rng.integers(0, shape[axis], inner).astype("int64")
    dtype = g.dtype(["float32", "int32", "int64"])
    attrs = {"axis": axis, "reduction": g.one_of(["add", "max", "min", "mul"])}
    return call(name, g.array(shape, dtype), i, g.array(inner, dtype), attrs=attrs, loose=True)


@rule("sequence_mask")
def sequence_mask(g, name):
    shape = [max(d, 1) for d in g.shape(2)]
    axis = g.number(0, 2)
    lengths = g.rng.integers(0, shape[axis] + 2, shape[1 - axis]).astype("int32")
    x = g.array(shape, g.dtype(["float32", "int32", "float64"]))
    return call(name, x, lengths, attrs={"mask_value": 7.0, "axis": axis})


@rule("reverse_sequence")
def reverse_sequence(g, name):
    shape = [max(d, 1) for d in g.shape(2)]
    axis = g.number(0, 2)
    lengths = g.rng.integers(0, shape[axis] + 1, shape[1 - axis]).astype("int64")
    attrs = {"seq_axis": axis, "batch_axis": 1 - axis}
    return call(name, g.array(shape, g.dtype(NUMBERS)), lengths, attrs=attrs)


@rule("unravel_index")
def unravel_index(g, name):
    shape = [g.number(1, 5) for _ in range(g.number(1, 4))]
    i = g.rng.integers(0, int(np.prod(shape)), g.number(1, 6)).astype("int64")
    want = lambda i, s: np.stack(np.unravel_index(i, s)).astype("int64")  # noqa: E731
    return call(name, i, np.array(shape, "int64"), reference=want, static=(1,))


# ---- order ----


@rule("sort", "argsort")
def sort(g, name):
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    attrs = {"axis": axis, "is_ascend": g.chance(0.5)}
    if name == "argsort":
        attrs["dtype"] = g.one_of(["int32", "int64"])
    x = g.array(shape, g.dtype(["float32", "int32", "int64", "float64", "uint8"]), few=True)

    def reference(x):
        keys = x if attrs["is_ascend"] else -x.astype("float64")
        order = np.argsort(keys, axis, kind="stable")
        return (
            np.take_along_axis(x, order, axis) if name == "sort" else order.astype(attrs["dtype"])
        )

    return call(name, x, attrs=attrs, reference=reference)


@rule("topk")
def topk(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    axis = g.number(-len(shape), len(shape))
    k, kind = g.number(1, shape[axis] + 1), g.one_of(["values", "indices", "both"])
    attrs = {"k": k, "axis": axis, "is_ascend": g.chance(0.5), "ret_type": kind, "dtype": "int64"}
    x = g.array(shape, g.dtype(["float32", "int32", "int64"]), few=True)
    f = relay.topk

    def make(x):
        made = f(x, **attrs)
        return made.astuple() if kind == "both" else made

    return Call(make, x, text=said(**attrs))


@rule("searchsorted")
def searchsorted(g, name):
    x = np.sort(g.array([g.number(1, 7)], "float32"))
    right = g.chance(0.5)
    attrs = {"right": right, "dtype": "int64"}
    values = g.array(g.shape(1, 2), "float32")
    side = "right" if right else "left"
    reference = lambda x, v: np.searchsorted(x, v, side).astype("int64")  # noqa: E731
    return call(name, x, values, attrs=attrs, reference=reference)


# ---- made of attributes ----


@rule("zeros", "ones")
def constant(g, name):
    shape, dtype = g.shape(), g.dtype([*NUMBERS, "bool"])
    f = getattr(np, name)
    x = g.array([], "float32")  # a program has an argument
    made = lambda x: relay.Tuple([function(name)(shape, dtype), x])  # noqa: E731
    return Call(made, x, reference=lambda x: [f(shape, dtype), x], text=said(shape=shape))


@rule("full")
def full(g, name):
    shape, dtype = g.shape(), g.dtype(NUMBERS)
    attrs = {"shape": shape, "dtype": dtype}
    return call(name, g.array([], dtype), attrs=attrs, reference=lambda x: np.full(shape, x))


@rule("full_like")
def full_like(g, name):
    dtype = g.dtype(NUMBERS)
    return call(name, g.array(g.shape(), dtype), g.array([], dtype), reference=np.full_like)


@rule("ndarray_size", "shape_of")
def sizes(g, name):
    x = g.array(g.shape(), g.dtype(NUMBERS))
    want = (lambda x: np.array(x.size)) if name == "ndarray_size" else lambda x: np.array(x.shape)
    attrs = {"dtype": g.one_of(["int32", "int64"])}
    return call(name, x, attrs=attrs, reference=lambda x: want(x).astype(attrs["dtype"]))


@rule("meshgrid")
def meshgrid(g, name):
    n, how = g.number(1, 4), g.one_of(["ij", "xy"])
    arrays = [g.array([g.extent()], "float32") for _ in range(n)]
    return Call(
        lambda *e: relay.meshgrid(e, how).astuple(),
        *arrays,
        reference=lambda *x: list(np.meshgrid(*x, indexing=how)),
        text=said(indexing=how),
    )


# ---- products ----


def bit_numbers(g, *shape):
    return g.rng.integers(-9, 40, shape).astype(g.dtype(["int8", "int16", "int32", "uint8"]))


@rule("nn.bitpack")
def bitpack(g, name):
    word, rank = g.one_of([8, 16, 32]), g.number(1, 4)
    shape, axis = [g.extent() for _ in range(rank)], g.number(0, rank)
    shape[axis] *= word
    attrs = {"bits": g.number(1, 5), "pack_axis": axis, "bit_axis": g.number(0, rank + 1)}
    return call(name, bit_numbers(g, *shape), attrs=attrs | {"pack_type": f"uint{word}"})


@rule("nn.bitserial_dense", "nn.bitserial_conv2d")
def bitserial(g, name):
    inner, units = g.number(1, 9), g.number(1, 5)
    attrs = {"weight_bits": g.number(1, 4), "unipolar": g.chance(0.5)}
    attrs |= {"out_dtype": g.one_of(["int16", "int32"])}
    if "dense" in name:
        attrs["data_bits"] = g.number(1, 4)
        return call(name, bit_numbers(g, 3, inner), bit_numbers(g, units, inner), attrs=attrs)
    size = [g.number(1, 4), g.number(1, 4)]
    attrs |= {"kernel_size": size, "channels": units, "activation_bits": g.number(1, 4)}
    attrs |= {"padding": [1, 0], "strides": [g.number(1, 3), 1]}
    x = bit_numbers(g, 1, inner, *[n + s for n, s in zip(spatial(g, 2), size, strict=True)])
    return call(name, x, bit_numbers(g, units, inner, *size), attrs=attrs, static=(1,))


@rule("nn.dense", "nn.matmul")
def dense(g, name):
    m, k, n = g.extent(), g.extent(), g.extent()
    dtype = g.dtype(MAIN)
    rows = [m] if g.chance(0.7) else g.shape(1, 2)
    if name == "nn.matmul":
        attrs = {"transpose_a": g.chance(0.5), "transpose_b": g.chance(0.5)}
        a = [k, m] if attrs["transpose_a"] else [m, k]
        b = [n, k] if attrs["transpose_b"] else [k, n]
    else:
        attrs, a, b = {}, [*rows, k], [n, k]
    attrs["out_dtype"] = g.one_of(["", "", "int32" if dtype in INTS else "float32"])

    def reference(a, b):
        out = attrs["out_dtype"] or a.dtype
        a, b = (x.astype(out) for x in (a, b))
        a = a.T if attrs.get("transpose_a") else a
        return (a @ (b.T if attrs.get("transpose_b", True) else b)).astype(out)

    known = reference if dtype != "float16" else None
    return call(
        name, g.array(a, dtype), g.array(b, dtype), attrs=attrs, reference=known, loose=True
    )


@rule("nn.batch_matmul")
def batch_matmul(g, name):
    n, i, j, k = (g.extent() for _ in range(4))
    p, q = g.one_of([(n, n), (1, n), (n, 1)])
    attrs = {"transpose_a": g.chance(0.3), "transpose_b": g.chance(0.5)}
    a = [p, k, i] if attrs["transpose_a"] else [p, i, k]
    b = [q, j, k] if attrs["transpose_b"] else [q, k, j]
    dtype = g.dtype(["float32", "float64", "int32", "int64"])

    def reference(a, b):
        a = a.transpose(0, 2, 1) if attrs["transpose_a"] else a
        return np.matmul(a, b.transpose(0, 2, 1) if attrs["transpose_b"] else b)

    arrays = g.array(a, dtype), g.array(b, dtype)
    return call(name, *arrays, attrs=attrs, reference=reference, loose=True)


@rule("einsum")
def einsum(g, name):
    equation = g.one_of(
        ["ij,jk->ik", "bij,bjk->bik", "ij,ij->i", "i,j->ij", "ij->ji", "ij->", "ii->i"]
    )
    sizes = {c: g.extent() for c in "bijk"}
    terms = equation.split("->")[0].split(",")
    dtype = g.dtype(["float32", "float64", "int32"])
    arrays = [g.array([sizes[c] for c in term], dtype) for term in terms]
    return Call(
        lambda *e: relay.einsum(e, equation),
        *arrays,
        reference=lambda *x: np.asarray(np.einsum(equation, *x)),
        loose=True,
        text=said(equation=equation),
    )


# ---- layers ----


def spatial(g, n, least=3):
    return [g.number(least, least + 5) for _ in range(n)]


@rule(*(f"nn.conv{n}d{t}" for n in (1, 2, 3) for t in ("", "_transpose")))
def conv(g, name):
    n, transposed = int(name[7]), name.endswith("transpose")
    groups = 1 if transposed else g.one_of([1, 1, 2])
    i, o, size = groups * g.number(1, 4), groups * g.number(1, 5), g.number(1, 4)
    if groups > 1 and g.chance(0.5):
        i = groups
    attrs = {"strides": [g.number(1, 3) for _ in range(n)], "padding": [g.number(0, 2)] * n}
    attrs |= {"channels": o, "kernel_size": [size] * n, "groups": groups}
    attrs["dilation"] = [1 if transposed else g.number(1, 3)] * n
    x = g.array(
        [g.number(1, 3), i, *spatial(g, n, 2 * size)],
        dtype := g.dtype(["float32", "float64", "int32"]),
    )
    w = g.array([i, o, *[size] * n] if transposed else [o, i // groups, *[size] * n], dtype)
    return call(name, x, w, attrs=attrs, loose=True, static=(1,) if g.chance(0.5) else ())


@rule(*(f"nn.{k}_pool{n}d" for n in (1, 2, 3) for k in ("max", "avg")))
def pool(g, name):
    n = int(name[-2])
    size = [g.number(1, 4) for _ in range(n)]
    attrs = {"pool_size": size, "strides": [g.number(1, 4) for _ in range(n)]}
    attrs |= {"padding": [g.number(0, s) for s in size], "ceil_mode": g.chance(0.3)}
    if "avg" in name:
        attrs["count_include_pad"] = g.chance(0.5)
    x = g.array(
        [1, g.number(1, 3), *spatial(g, n, 4)], g.dtype(["float32", "float64", "int32", "int8"])
    )
    return call(name, x, attrs=attrs, loose=True)


@rule(*(f"nn.adaptive_{k}_pool{n}d" for n in (1, 2, 3) for k in ("max", "avg")))
def adaptive(g, name):
    n = int(name[-2])
    attrs = {"output_size": [g.number(1, 4) for _ in range(n)]}
    x = g.array([1, 2, *spatial(g, n)], g.dtype(["float32", "float64"]))
    return call(name, x, attrs=attrs, loose=True)


@rule("nn.global_avg_pool2d", "nn.global_max_pool2d", "nn.batch_flatten")
def whole(g, name):
    return call(
        name, g.array([1, 2, *spatial(g, 2, 1)], g.dtype(["float32", "float64"])), loose=True
    )


@rule("nn.softmax", "nn.log_softmax", "nn.fast_softmax")
def softmax(g, name):
    shape = g.shape(1)
    attrs = {"axis": g.number(-len(shape), len(shape))}
    return call(
        name, g.array(shape, g.dtype(["float32", "float64", "float16"])), attrs=attrs, loose=True
    )


@rule("nn.relu")
def relu(g, name):
    x = g.array(g.shape(), g.dtype(NUMBERS), special=True)
    zero = lambda x: semantics.maximum(x, np.zeros_like(x), np.greater)  # noqa: E731
    return call(name, x, reference=lambda x: np.maximum(x, 0) if x.dtype.kind in "iu" else zero(x))


@rule("nn.leaky_relu")
def leaky_relu(g, name):
    return call(
        name, g.array(g.shape(), g.dtype(["float32", "float64"])), attrs={"alpha": 0.1}, loose=True
    )


@rule("nn.prelu")
def prelu(g, name):
    shape = g.shape(2)
    return call(
        name,
        g.array(shape, "float32"),
        g.array([shape[1]], "float32"),
        attrs={"axis": 1},
        loose=True,
    )


@rule("nn.bias_add")
def bias_add(g, name):
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    dtype = g.dtype(NUMBERS)

    def reference(x, b):
        with np.errstate(all="ignore"):
            return x + b.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])

    return call(
        name,
        g.array(shape, dtype),
        g.array([shape[axis]], dtype),
        attrs={"axis": axis},
        reference=reference,
    )


@rule("nn.layer_norm", "nn.instance_norm", "nn.group_norm")
def norm(g, name):
    shape = [max(d, 2) for d in g.shape(3)]
    axis = 1 if name != "nn.layer_norm" else g.number(-len(shape), len(shape))
    attrs = {"axis": axis, "center": g.chance(0.7), "scale": g.chance(0.7)}
    if name == "nn.group_norm":
        shape[1] = 4
        attrs["num_groups"] = g.one_of([1, 2, 4])
    n = shape[axis]
    return call(name, *(g.array(s, "float32") for s in (shape, [n], [n])), attrs=attrs, loose=True)


@rule("nn.pad")
def pad(g, name):
    shape = g.shape()
    width = [(g.number(-1, 3), g.number(0, 3)) for _ in shape]
    width = [(max(0, a), b) if d < 2 else (a, b) for (a, b), d in zip(width, shape, strict=True)]
    mode = g.one_of(["constant", "constant", "edge", "reflect"])
    if mode != "constant":
        width = [(max(a, 0), b) for a, b in width]
    attrs = {"pad_width": width, "pad_value": g.number(-3, 4), "pad_mode": mode}
    return call(name, g.array(shape, g.dtype(NUMBERS)), attrs=attrs)


@rule("nn.mirror_pad")
def mirror_pad(g, name):
    shape = [d + 3 for d in g.shape(1)]
    width = [[g.number(0, 3), g.number(0, 3)] for _ in shape]
    mode = g.one_of(["SYMMETRIC", "REFLECT"])
    want = lambda x: np.pad(x, width, mode.lower())  # noqa: E731
    return call(
        name,
        g.array(shape, g.dtype(NUMBERS)),
        attrs={"pad_width": width, "mode": mode},
        reference=want,
    )


@rule("nn.dilate")
def dilate(g, name):
    shape = g.shape(1)
    attrs = {"strides": [g.number(1, 4) for _ in shape], "dilation_value": 2.0}
    return call(name, g.array(shape, g.dtype(["float32", "int32"])), attrs=attrs)


@rule("nn.space_to_depth", "nn.depth_to_space")
def blocks(g, name):
    b = g.number(1, 4)
    shape = [g.number(1, 3), b * b * g.number(1, 3), b * g.number(1, 3), b * g.number(1, 3)]
    attrs = {"block_size": b, "layout": g.one_of(["NCHW", "NHWC"])}
    if attrs["layout"] == "NHWC":
        shape = [shape[0], shape[2], shape[3], shape[1]]
    if "depth_to" in name:
        attrs["mode"] = g.one_of(["DCR", "CRD"])
    return call(name, g.array(shape, g.dtype(NUMBERS)), attrs=attrs)


@rule("nn.upsampling")
def upsampling(g, name):
    attrs = {"scale_h": g.number(1, 4), "scale_w": g.number(1, 4)}
    attrs["method"] = g.one_of(["nearest_neighbor", "bilinear"])
    return call(name, g.array([1, 2, *spatial(g, 2, 1)], "float32"), attrs=attrs, loose=True)


@rule("nn.lrn", "nn.l2_normalize")
def local(g, name):
    shape = [max(d, 1) for d in g.shape(4, 4)]
    attrs = (
        {"size": g.number(1, 6)} if name == "nn.lrn" else {"eps": 1e-3, "axis": [g.number(0, 4)]}
    )
    return call(name, g.array(shape, "float32"), attrs=attrs, loose=True)


@rule("image.resize1d", "image.resize2d", "image.resize3d")
def resize(g, name):
    n = int(name[-2])
    attrs = {"size": [g.number(1, 7) for _ in range(n)]}
    attrs["method"] = g.one_of(["nearest_neighbor", "linear", "cubic"][: 2 if n == 3 else 3])
    places = ["half_pixel", "align_corners", "asymmetric"]
    attrs["coordinate_transformation_mode"] = g.one_of(places)
    return call(name, g.array([1, 2, *spatial(g, n, 1)], "float32"), attrs=attrs, loose=True)


# ---- quantities ----


@rule("qnn.quantize", "qnn.dequantize")
def quantize(g, name):
    shape = g.shape(1)
    axis = g.number(-len(shape), len(shape))
    many = [shape[axis]] if g.chance(0.5) else []
    scale = np.abs(g.array(many, "float32")) + np.float32(0.25)
    zero = g.array(many, "int32", few=True)
    attrs = {"axis": axis}
    if name == "qnn.quantize":
        x = g.array(shape, "float32", special=True)
        attrs["out_dtype"] = g.one_of(["int8", "uint8"])
    else:
        x = g.array(shape, g.one_of(["int8", "uint8", "int32"]))
    return call(name, x, scale, zero, attrs=attrs, loose=True, static=(1, 2))
