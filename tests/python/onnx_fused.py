"""Rules of random_onnx.py (onnx_calls.py): fused operators of com.microsoft, ai.onnx.ml, random
numbers."""

import numpy as np
from onnx_calls import Call, either, maybe, rule

MS = "com.microsoft"


@rule("Gelu", "QuickGelu", domain=MS)
def gelu(g, name):
    attrs = maybe(g, 0.5, alpha=1.5) if name[0] == "Q" else {}
    return Call(name, [g.array(g.shape(), "float32", special=True)], attrs)


@rule("BiasGelu", "FastGelu", domain=MS)
def bias_gelu(g, name):
    shape = g.shape(1)
    inputs = [g.array(shape, "float32"), g.array(shape[-1:], "float32")]
    return Call(name, inputs[: 1 if name[0] == "F" and g.chance(0.4) else 2], {}, either(g, 1))


@rule("SkipLayerNormalization", domain=MS)
def skip_norm(g, name):
    shape = [g.number(1, 4), g.number(1, 5), g.number(2, 9)]
    inputs = [g.array(shape, "float32") for _ in range(2)]
    inputs += [g.array(shape[-1:], "float32") for _ in range(g.number(1, 4))]
    if len(inputs) == 5 and g.chance(0.3):
        inputs[3] = None
    outputs = ["y0", "", "", "y3"] if g.chance(0.5) else 1
    return Call(name, inputs, {"epsilon": 1e-3}, either(g, 2, 3), outputs)


@rule("EmbedLayerNormalization", domain=MS)
def embed_norm(g, name):
    batch, length, size, words = g.number(1, 4), g.number(1, 5), g.number(2, 9), 6
    tables = [g.array([n, size], "float32") for n in (words, length + 2, 3)]
    ids = g.rng.integers(0, words, (batch, length)).astype("int32")
    segments = g.rng.integers(0, 3, (batch, length)).astype("int32")
    if g.chance(0.3):
        segments = tables[2] = None
    inputs = [ids, segments, *tables, *[g.array([size], "float32") for _ in range(2)]]
    if g.chance(0.5):
        inputs.append(g.rng.integers(0, 2, (batch, length)).astype("int32"))
    return Call(name, inputs, {"epsilon": 1e-3}, {2, 3, 4}, g.one_of([1, 2]))


def heads(g):
    """Extents of an attention: batch, length, size of the input, heads, size of a head, past."""
    return [g.number(1, 4) for _ in range(5)] + [g.number(0, 4)]


def mask(g, batch, length, total):
    kind = g.one_of(["none", "keys", "ends", "both", "pairs"])
    if kind == "none":
        return None
    if kind in ("ends", "both"):
        ends = g.rng.integers(1, total + 1, batch)
        both = kind == "both"
        return np.concatenate([ends, np.zeros(batch)] if both else [ends]).astype("int32")
    shape = (batch, total) if kind == "keys" else (batch, length, total)
    return g.rng.integers(0, 2, shape).astype("int32")


@rule("Attention", domain=MS)
def attention(g, name):
    batch, length, size, n, each, before = heads(g)
    total = length + before
    inputs = [g.array([batch, length, size], "float32"), g.array([size, 3 * n * each], "float32"),
              g.array([3 * n * each], "float32"), mask(g, batch, length, total), None]  # fmt: skip
    if before:
        inputs[4] = g.array([2, batch, n, before, each], "float32")
    if g.chance(0.3):
        inputs.append(g.array([batch, n, length, total], "float32"))
    attrs = {"num_heads": n, **maybe(g, 0.4, unidirectional=1, scale=0.25)}
    attrs.update(maybe(g, mask_filter_value=-8.0))
    return Call(name, inputs, attrs, either(g, 1, 2), 2 if before else 1)


@rule("QAttention", domain=MS)
def quantized_attention(g, name):
    batch, length, size, n, each, _ = heads(g)
    inputs = [g.rng.integers(0, 255, (batch, length, size)).astype("uint8"),
              g.rng.integers(-9, 9, (size, 3 * n * each)).astype("int8"),
              g.array([3 * n * each], "float32"), np.float32(0.02), np.float32(0.05),
              mask(g, batch, length, length), np.uint8(g.number(0, 255)), np.int8(0)]  # fmt: skip
    attrs = {"num_heads": n, **maybe(g, 0.4, unidirectional=1)}
    return Call(name, inputs[: g.number(6, 9)], attrs, {1, 3, 4, 6, 7})


@rule("MatMulInteger16", domain=MS)
def matmul_16(g, name):
    m, k, n = (g.number(1, 5) for _ in range(3))
    a, b = [m, k], [k, n]
    if g.chance(0.4):
        a = [2, *a]
    inputs = [g.rng.integers(-(2**15), 2**15, s).astype("int16") for s in (a, b)]
    return Call(name, inputs, loose=False)


@rule("LinearRegressor", domain="ai.onnx.ml")
def regressor(g, name):
    rows, size, targets = g.number(1, 5), g.number(1, 6), g.number(1, 4)
    attrs = {"coefficients": g.array([targets * size], "float32").tolist(), "targets": targets}
    attrs.update(maybe(g, 0.6, intercepts=g.array([targets], "float32").tolist()))
    return Call(name, [g.array([rows, size], "float32")], attrs)


# ---- random numbers, of distributions that leave no choice ----


@rule("RandomUniform", "RandomUniformLike", "RandomNormal", "RandomNormalLike")
def random_numbers(g, name):
    shape, at = g.shape(0 if name.endswith("Like") else 1), float(g.number(-3, 4))
    attrs = {"mean": at, "scale": 0.0} if "Normal" in name else {"low": at, "high": at}
    attrs.update(maybe(g, seed=float(g.number(0, 99)), dtype=g.one_of([1, 11])))
    if name.endswith("Like"):
        return Call(name, [g.array(shape, "float32")], attrs)
    return Call(name, [], {**attrs, "shape": shape})


@rule("Bernoulli")
def bernoulli(g, name):
    chances = g.rng.integers(0, 2, g.shape()).astype(g.dtype(["float32", "float64"]))
    return Call(name, [chances], maybe(g, dtype=g.one_of([1, 6, 7, 9, 11]), seed=2.0), opset=15)


@rule("Multinomial")
def multinomial(g, name):
    """Of logarithms of weights, all but one of which are none."""
    rows, classes = g.number(1, 4), g.number(1, 5)
    x = np.full((rows, classes), -1000, "float32")
    x[np.arange(rows), g.rng.integers(0, classes, rows)] = g.number(-5, 5)
    attrs = {"sample_size": g.number(1, 5), **maybe(g, dtype=g.one_of([6, 7]), seed=3.0)}
    return Call(name, [x], attrs)
