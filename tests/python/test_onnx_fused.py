"""Operators of com.microsoft that stand for several, against numpy."""

import math

import numpy as np
import pytest
from onnx_cases import check, model
from tenon import relay

MS = {"domain": "com.microsoft"}
rng = np.random.default_rng(5)


def normal(*shape):
    return rng.normal(0, 1, shape).astype("float32")


def gelu(x):
    return (x * 0.5 * (1 + np.vectorize(math.erf)(x.astype("float64") / 2**0.5))).astype("float32")


def by_tanh(x):
    return x * 0.5 * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x**3)))


def test_gelu_and_its_forms():
    x, bias = normal(3, 5) * 3, normal(5)
    x[0, :4] = 0, -0.0, 1000, -1000
    check("Gelu", [x], [gelu(x)], **MS)
    check("BiasGelu", [x, bias], [gelu(x + bias)], **MS)
    check("FastGelu", [x], [by_tanh(x)], rtol=1e-3, **MS)
    check("FastGelu", [x, bias], [by_tanh(x + bias)], rtol=1e-3, **MS)
    x = normal(0, 4)
    check("QuickGelu", [x], [x], **MS)
    x = normal(4)
    check("QuickGelu", [x], [x / (1 + np.exp(-2 * x))], alpha=2.0, **MS)


def layer_norm(x, scale, bias, epsilon):
    d = x - x.mean(-1, keepdims=True)
    return d / np.sqrt((d * d).mean(-1, keepdims=True) + epsilon) * scale + bias


def test_norm_of_a_sum():
    x, skip, scale, beta, bias = normal(2, 3, 8), normal(2, 3, 8), normal(8), normal(8), normal(8)
    wanted = layer_norm(x + skip + bias, scale, beta, 1e-3)
    check("SkipLayerNormalization", [x, skip, scale, beta, bias], [wanted], epsilon=1e-3, **MS)
    d = x + skip
    mean = d.mean(-1, keepdims=True)
    inverse = 1 / np.sqrt(d.var(-1, keepdims=True) + 1e-3)
    wanted = [layer_norm(d, scale, 0, 1e-3), mean, inverse, d]
    check("SkipLayerNormalization", [x, skip, scale], wanted, outputs=4, epsilon=1e-3, **MS)


def test_embeddings():
    ids = rng.integers(0, 6, (2, 3)).astype("int32")
    segments, mask = np.array([[0, 1, 1], [1, 0, 0]], "int32"), np.array([[1, 1, 0], [1, 0, 0]])
    words, places, kinds, scale, bias = normal(6, 8), normal(5, 8), normal(2, 8), *normal(2, 8)
    total = words[ids] + places[:3] + kinds[segments]
    given = [ids, segments, words, places, kinds, scale, bias, mask.astype("int32")]
    wanted = [layer_norm(total, scale, bias, 1e-3), mask.sum(1).astype("int32")]
    how = {"epsilon": 1e-3, **MS}
    check("EmbedLayerNormalization", given, wanted, outputs=2, **how)
    at = np.array([[4, 0, 1], [2, 2, 3]], "int32")
    total = words[ids] + places[at]
    given = [ids, None, words, places, None, scale, bias, None, at]
    wanted = [layer_norm(total, scale, bias, 1e-3), np.zeros(2, "int32"), total]
    check("EmbedLayerNormalization", given, wanted, outputs=3, **how)


def attention(x, w, b, heads, add=0.0, past=None, scale=None):
    batch, length, _ = x.shape
    parts = [p.reshape(batch, length, heads, -1) for p in np.split(x @ w + b, 3, -1)]
    q, k, v = (p.transpose(0, 2, 1, 3) for p in parts)
    if past is not None:
        k, v = np.concatenate([past[0], k], 2), np.concatenate([past[1], v], 2)
    s = q @ k.swapaxes(2, 3) * (scale or q.shape[3] ** -0.5) + add
    p = np.exp(s - s.max(-1, keepdims=True))
    y = (p / p.sum(-1, keepdims=True)) @ v
    return [y.transpose(0, 2, 1, 3).reshape(batch, length, -1).astype("float32"), np.stack([k, v])]


X, W, B = normal(2, 3, 4), normal(4, 18), normal(18)
CAUSAL = np.where(np.triu(np.ones((3, 3)), 1), -np.inf, 0)
PLACES = np.arange(3)
MASKS = {
    "keys": (np.array([[1, 0, 2], [0, 0, -1]]), None),
    "ends": (np.array([2, 0]), PLACES < np.array([[2], [0]])),
    "ends and starts": (np.array([3, 2, 1, 0]), np.array([[0, 1, 1], [1, 1, 0]])),
    "pairs": (rng.integers(0, 2, (2, 3, 3)), None),
    "stands for none": (np.zeros((2, 1)), np.ones((1, 1))),
}


@pytest.mark.parametrize("kind", MASKS)
@pytest.mark.parametrize("causal", [0, 1])
def test_attention_with_a_mask(kind, causal):
    mask, counts = MASKS[kind]
    counts = mask > 0 if counts is None else counts
    add = np.where(counts, 0, -10000.0)
    add = add[:, None] if add.ndim == 3 else add[:, None, None]
    wanted = attention(X, W, B, 2, add + (CAUSAL if causal else 0))[:1]
    given = [X, W, B, mask.astype("int32")]
    check("Attention", given, wanted, num_heads=2, unidirectional=causal, atol=2e-3, **MS)


def test_attention_with_a_past():
    past, bias = normal(2, 2, 2, 4, 3), normal(2, 2, 3, 7)
    wanted = attention(X, W, B, 2, bias, past, 0.5)
    given = [X, W, B, None, past, bias]
    check("Attention", given, wanted, outputs=2, num_heads=2, scale=0.5, **MS)
    wanted = attention(X, W, 0, 2)
    check("Attention", [X, W], wanted, outputs=2, num_heads=2, **MS)


def test_attention_of_integers():
    x = rng.integers(0, 255, (2, 3, 4)).astype("uint8")
    w = rng.integers(-20, 20, (4, 18)).astype("int8")
    columns = np.abs(normal(18)) * np.float32(0.01)
    wanted = attention((x.astype("f") - 7) * 0.125, (w - 3.0) * columns, B, 2)[:1]
    given = [x, w, B, np.float32(0.125), columns, None, np.uint8(7), np.int8(3)]
    check("QAttention", given, wanted, {3, 4, 6, 7}, num_heads=2, **MS)


def test_products():
    a, b = rng.integers(-(2**15), 2**15, (2, 3, 4)), rng.integers(-(2**15), 2**15, (4, 5))
    wanted = (a @ b).astype("int32")
    check("MatMulInteger16", [a.astype("int16"), b.astype("int16")], [wanted], **MS)
    x, ml = normal(4, 3), {"domain": "ai.onnx.ml"}
    wanted = x @ np.array([[1, 2, 3], [4, 5, 6]], "f").T + np.array([0.5, -1], "f")
    how = {"coefficients": [1.0, 2, 3, 4, 5, 6], "targets": 2, **ml}
    check("LinearRegressor", [x], [wanted], intercepts=[0.5, -1], **how)
    check("LinearRegressor", [x], [wanted - np.array([0.5, -1], "f")], **how)
    how = {"coefficients": [1.0, -2, 3], **ml}
    check("LinearRegressor", [np.array([[1, 2, 3]])], [np.array([[6]], "f")], **how)


REFUSED = {
    "num_heads 0": ("Attention", [X, W, B], {}),
    "of 4 heads": ("Attention", [X, W, B], {"num_heads": 4}),
    "columns of the weight are left over": (
        "Attention", [X, W, B], {"num_heads": 1, "qkv_hidden_sizes": [5, 5, 5]}),
    "do_rotary is not supported": ("Attention", [X, W, B], {"num_heads": 2, "do_rotary": 1}),
    "mask_index: a shape of 2": ("Attention", [X, W, B, np.ones((2, 5), "int32")],
                                 {"num_heads": 2}),
    "past: expected the shape": ("Attention", [X, W, B, None, normal(2, 2, 1, 4, 3)],
                                 {"num_heads": 2}),
    "past: expected five": ("Attention", [X, W, B, None, normal(2, 2, 1)], {"num_heads": 2}),
    "input 2: expected one number for each element": (
        "SkipLayerNormalization", [X, X, normal(3)], {}),
    "input 0: expected at least two": ("SkipLayerNormalization", [normal(3)] * 3, {}),
    "are too few for sequences of 3": ("EmbedLayerNormalization", [
        np.zeros((1, 3), "int32"), None, normal(2, 4), normal(2, 4), None, normal(4), normal(4)],
        {}),
    "expected 4 numbers a row, got 5": ("EmbedLayerNormalization", [
        np.zeros((1, 2), "int32"), None, normal(2, 4), normal(2, 5), None, normal(4), normal(4)],
        {}),
    "segment_ids are missing": ("EmbedLayerNormalization", [
        np.zeros((1, 2), "int32"), None, normal(2, 4), normal(2, 4), normal(2, 4), normal(4),
        normal(4)], {}),
    "inner dimensions": ("MatMulInteger16", [np.ones((2, 3), "int16"), np.ones((2, 3), "int16")],
                         {}),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_does_not_fit_is_said(message):
    op, given, attrs = REFUSED[message]
    with pytest.raises(ValueError, match=message):
        relay.frontend.from_onnx(model(op, given, **attrs, **MS))


@pytest.mark.parametrize(
    ("message", "attrs"),
    [
        ("coefficients: expected 6 numbers", {"coefficients": [1.0], "targets": 2}),
        ("intercepts: expected 1", {"coefficients": [1.0, 2, 3], "intercepts": [1.0, 2]}),
        ("targets", {"coefficients": [1.0, 2, 3], "targets": 0}),
        (
            "post_transform: expected NONE",
            {"coefficients": [1.0, 2, 3], "post_transform": "PROBIT"},
        ),
    ],
)
def test_regressors_that_do_not_fit(message, attrs):
    with pytest.raises(ValueError, match=message):
        relay.frontend.from_onnx(
            model("LinearRegressor", [normal(4, 3)], domain="ai.onnx.ml", **attrs)
        )
