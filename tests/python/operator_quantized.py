"""Rules of operator_calls.py for quantized operators: integers with scales and zero points."""

import numpy as np
from operator_calls import Call, call, function, rule, said
from tenon import relay

BYTES = ["int8", "uint8"]
SCALES = [1.0, 0.5, 0.25, 0.1, 0.037, 2.0]


def scale(g):
    return np.float32(g.one_of(SCALES))


def zero(g, dtype="int8"):
    return np.int32(g.number(0, 9) if dtype == "uint8" else g.number(-4, 5))


def quantum(g, dtype="int8"):
    return scale(g), zero(g, dtype)


def constants(*values):
    return [relay.const(v) for v in values]


def filled(g, shape, dtype):
    """All numbers of a type, the ends of it among them."""
    info = np.iinfo(dtype)
    return g.rng.integers(info.min, info.max + 1, shape).astype(dtype)


TABLES = [f"qnn.{f}" for f in "abs erf exp hardswish log rsqrt sigmoid sqrt tanh".split()]


@rule(*TABLES)
def table(g, name):
    dtype = g.one_of(BYTES)
    numbers = [*quantum(g, dtype), *quantum(g, dtype)]
    f = function(name)
    x = filled(g, g.shape(), dtype)
    return Call(lambda x: f(x, *constants(*numbers)), x, text=said(numbers=numbers))


@rule("qnn.add", "qnn.subtract", "qnn.mul")
def pair(g, name):
    dtype, shape = g.one_of(BYTES), g.shape()
    other = [d if g.chance(0.8) else 1 for d in shape]
    numbers = [*quantum(g, dtype), *quantum(g, dtype), *quantum(g, dtype)]
    f = function(name)
    a, b = filled(g, shape, dtype), filled(g, other, dtype)
    return Call(lambda a, b: f(a, b, *constants(*numbers)), a, b, text=said(numbers=numbers))


@rule("qnn.requantize")
def requantize(g, name):
    shape, out = g.shape(1), g.one_of(["int8", "uint8", "int32"])
    dtype = g.one_of(["int8", "uint8", "int32"])
    axis = g.number(-len(shape), len(shape))
    many = g.chance(0.4)
    scales = np.array([scale(g) for _ in range(shape[axis])], "float32") if many else scale(g)
    numbers = [scales, zero(g), scale(g), zero(g, "uint8" if out == "uint8" else "int8")]
    attrs = {"axis": axis, "out_dtype": out}
    attrs["rounding"] = g.one_of(["None", "UPWARD", "TONEAREST"])
    x = g.rng.integers(-100 if dtype != "uint8" else 0, 100, shape).astype(dtype)
    return Call(
        lambda x: relay.qnn.op.requantize(x, *constants(*numbers), **attrs),
        x,
        text=said(numbers=numbers, **attrs),
    )


@rule("qnn.concatenate")
def concatenate(g, name):
    dtype, shape = g.one_of(BYTES), g.shape(1)
    axis, n = g.number(-len(shape), len(shape)), g.number(1, 4)
    parts = []
    for _ in range(n):
        own = list(shape)
        own[axis] = g.extent()
        parts.append(filled(g, own, dtype))
    scales, zeros = [scale(g) for _ in range(n)], [zero(g, dtype) for _ in range(n)]
    out = quantum(g, dtype)

    def make(*xs):
        return relay.qnn.op.concatenate(
            relay.Tuple(list(xs)),
            relay.Tuple(constants(*scales)),
            relay.Tuple(constants(*zeros)),
            *constants(*out),
            axis=axis,
        )

    return Call(make, *parts, text=said(axis=axis, scales=scales, zeros=zeros, out=out))


@rule("qnn.softmax")
def softmax(g, name):
    shape = [max(d, 1) for d in g.shape(1)]
    numbers = [*quantum(g), *quantum(g)]
    axis = g.number(-len(shape), len(shape))
    return Call(
        lambda x: relay.qnn.op.softmax(x, *constants(*numbers), axis=axis),
        filled(g, shape, "int8"),
        text=said(numbers=numbers, axis=axis),
    )


def sums(x, w, depth):
    """The exact products of integers, where a product has few terms."""
    return np.matmul(x.astype("int64"), w.astype("int64")).astype("int32") if depth else None


@rule("qnn.dense")
def dense(g, name):
    m, n, k = (max(g.extent(), 1) for _ in range(3))
    dx, dw = g.one_of(BYTES), g.one_of(BYTES)
    zx, zw = zero(g, dx), zero(g, dw)
    numbers = [zx, zw, scale(g), scale(g)]
    return Call(
        lambda x, w: relay.qnn.op.dense(x, w, *constants(*numbers), units=n),
        filled(g, [m, k], dx),
        filled(g, [n, k], dw),
        reference=lambda x, w: sums(x.astype("int64") - zx, (w.astype("int64") - zw).T, k),
        static=(1,) if g.chance(0.7) else (),
        text=said(numbers=numbers),
    )


@rule("qnn.batch_matmul")
def batch_matmul(g, name):
    b, m, n, k = (max(g.extent(), 1) for _ in range(4))
    dtype = g.one_of(BYTES)
    zx, zy = zero(g, dtype), zero(g, dtype)
    numbers = [zx, zy, scale(g), scale(g)]

    def reference(x, y):
        return sums(x.astype("int64") - zx, np.swapaxes(y.astype("int64") - zy, 1, 2), k)

    return Call(
        lambda x, y: relay.qnn.op.batch_matmul(x, y, *constants(*numbers)),
        filled(g, [b, m, k], dtype),
        filled(g, [b, n, k], dtype),
        reference=reference,
        text=said(numbers=numbers),
    )


def window(g, most):
    """Kernel, strides, padding and dilation of two axes."""
    kernel = [g.number(1, 4) for _ in range(2)]
    attrs = {"strides": [g.number(1, 4) for _ in range(2)]}
    attrs["padding"] = [g.number(0, most) for _ in range(g.one_of([2, 4]))]
    attrs["dilation"] = [g.number(1, 3) for _ in range(2)]
    return kernel, attrs


def image(g, kernel, attrs):
    """Extents that the window fits into."""
    least = [(k - 1) * d + 1 for k, d in zip(kernel, attrs["dilation"], strict=True)]
    return [n + g.number(0, 6) for n in least]


@rule("qnn.conv2d")
def conv2d(g, name):
    kernel, attrs = window(g, 3)
    groups = g.one_of([1, 1, 2, 4])
    cin, cout = groups * g.number(1, 4), groups * g.number(1, 4)
    dx, dw = g.one_of(BYTES), g.one_of(BYTES)
    numbers = [zero(g, dx), zero(g, dw), scale(g), scale(g)]
    attrs |= {"groups": groups, "channels": cout, "kernel_size": kernel}
    return Call(
        lambda x, w: relay.qnn.op.conv2d(x, w, *constants(*numbers), **attrs),
        filled(g, [g.number(1, 3), cin, *image(g, kernel, attrs)], dx),
        filled(g, [cout, cin // groups, *kernel], dw),
        static=(1,) if g.chance(0.8) else (),
        text=said(numbers=numbers, **attrs),
    )


@rule("qnn.conv2d_transpose")
def conv2d_transpose(g, name):
    kernel, attrs = window(g, 2)
    attrs["dilation"] = [1, 1]
    cin, cout = g.number(1, 5), g.number(1, 5)
    numbers = [zero(g), np.int32(0), scale(g), scale(g)]
    attrs |= {"channels": cout, "kernel_size": kernel}
    return Call(
        lambda x, w: relay.qnn.op.conv2d_transpose(x, w, *constants(*numbers), **attrs),
        filled(g, [1, cin, g.number(3, 7), g.number(3, 7)], "int8"),
        filled(g, [cin, cout, *kernel], "int8"),
        static=(1,),
        text=said(numbers=numbers, **attrs),
    )


@rule("qnn.avg_pool2d")
def avg_pool2d(g, name):
    kernel, attrs = window(g, 2)
    attrs["padding"] = [min(p, k // 2) for p, k in zip(attrs["padding"][:2], kernel, strict=True)]
    dtype = g.one_of(BYTES)
    numbers = [*quantum(g, dtype), *quantum(g, dtype)]
    attrs |= {"pool_size": kernel, "layout": "NCHW"}
    attrs |= {"ceil_mode": g.chance(0.3), "count_include_pad": g.chance(0.5)}
    return Call(
        lambda x: relay.qnn.op.avg_pool2d(x, *constants(*numbers), **attrs),
        filled(g, [1, g.number(1, 4), *image(g, kernel, attrs)], dtype),
        text=said(numbers=numbers, **attrs),
    )


@rule("fixed_point_scale")
def fixed_point_scale(g, name):
    shape = g.shape()
    return call(
        name,
        g.rng.integers(-(2**20), 2**20, shape).astype("int32"),
        g.rng.integers(0, 2**31, shape).astype("int32"),
        g.rng.integers(0, 31, shape).astype("int32"),
    )


@rule("float_scale")
def float_scale(g, name):
    shape = g.shape()
    x = g.rng.integers(-(2**20), 2**20, shape).astype("int32")
    return call(name, x, g.array(shape, "float32"))
