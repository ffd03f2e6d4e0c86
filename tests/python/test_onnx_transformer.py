"""ONNX operators of transformers, and those on boxes and grids, against numpy."""

import numpy as np
import pytest
import tenon
from onnx_cases import check
from tenon import relay

rng = np.random.default_rng(3)


def normal(*shape):
    return rng.normal(0, 1, shape).astype("float32")


def test_norms():
    x, scale = normal(2, 3, 8), normal(3, 8)
    root = np.sqrt((x**2).mean((1, 2), keepdims=True) + 1e-3)
    check("RMSNormalization", [x, scale], [x / root * scale], axis=1, epsilon=1e-3, opset=23)
    x[0, 0] = 0
    for p, axis in ((1, 1), (2, -1)):
        norm = (
            np.abs(x).sum(axis, keepdims=True)
            if p == 1
            else np.sqrt((x**2).sum(axis, keepdims=True))
        )
        wanted = np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm)).astype("float32")
        check("LpNormalization", [x], [wanted], p=p, axis=axis)
    check("Swish", [x], [x / (1 + np.exp(-2 * x))], alpha=2.0, opset=24)


def softmax(s):
    top = s.max(-1, keepdims=True)
    e = np.where(np.isneginf(top), 0, np.exp(s - np.where(np.isneginf(top), 0, top)))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total == 0, 1, total)


def attention(q, k, v, bias=0.0, seen=True, cap=0.0, scale=None):
    times = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, times, 1), np.repeat(v, times, 1)
    s = q @ k.swapaxes(2, 3) * (scale or 1 / np.sqrt(q.shape[3]))
    s = cap * np.tanh(s / cap) if cap else s
    return (softmax(np.where(seen, s + bias, -np.inf)) @ v).astype("float32")


def test_attention():
    q, k, v = normal(2, 4, 5, 8), normal(2, 2, 7, 8), normal(2, 2, 7, 6)
    check("Attention", [q, k, v], [attention(q, k, v)], opset=23)
    bias = normal(5, 7)
    wanted = attention(q, k, v, bias, cap=0.5, scale=0.3)
    check("Attention", [q, k, v, bias], [wanted], opset=23, softcap=0.5, scale=0.3)
    seen = rng.random((2, 1, 5, 7)) < 0.5
    seen[0, 0, 2] = False  # this query gets zeros
    check("Attention", [q, k, v, seen], [attention(q, k, v, seen=seen)], opset=23)
    causal = np.tri(5, 7, dtype=bool)
    check("Attention", [q, k, v], [attention(q, k, v, seen=causal)], opset=23, is_causal=1)
    window = causal & ~np.tri(5, 7, -3, dtype=bool)
    how = {"opset": 25, "is_causal": 1, "left_window_size": 2}
    check("Attention", [q, k, v], [attention(q, k, v, seen=window)], **how)


def test_attention_with_a_past_and_flat_heads():
    q, k, v = normal(2, 3, 8), normal(2, 3, 8), normal(2, 3, 8)
    pk, pv = normal(2, 2, 4, 4), normal(2, 2, 4, 4)

    def heads(x):
        return x.reshape(2, 3, 2, 4).swapaxes(1, 2)

    keys, values = np.concatenate([pk, heads(k)], 2), np.concatenate([pv, heads(v)], 2)
    seen = np.tri(3, 7, 4, dtype=bool)
    wanted = attention(heads(q), keys, values, seen=seen).swapaxes(1, 2).reshape(2, 3, 8)
    how = {"q_num_heads": 2, "kv_num_heads": 2, "is_causal": 1, "opset": 23, "outputs": 3}
    check("Attention", [q, k, v, None, pk, pv], [wanted, keys, values], **how)


def test_attention_with_padded_keys():
    q, k, v = normal(2, 2, 2, 4), normal(2, 2, 6, 4), normal(2, 2, 6, 4)
    valid = np.array([3, 5])
    seen = np.arange(6) < valid[:, None, None, None]
    mask = np.ones((2, 5), bool)  # shorter than the keys: the last is not seen
    given = [q, k, v, mask, None, None, valid]
    check("Attention", given, [attention(q, k, v, seen=seen)], opset=24)
    order = np.arange(6) <= np.arange(2)[:, None] + (valid - 2)[:, None, None, None]
    given[3] = None
    check("Attention", given, [attention(q, k, v, seen=seen & order)], opset=24, is_causal=1)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("places", [True, False])
def test_rotary_embedding(interleaved, places):
    x, angle = normal(2, 3, 4, 8), normal(10, 2) if places else normal(2, 4, 2)
    at = np.array([[0, 3, 5, 9], [1, 1, 2, 0]])
    iteration = (angle[at] if places else angle)[:, None]
    part = x[..., :4]
    a, b = (part[..., ::2], part[..., 1::2]) if interleaved else (part[..., :2], part[..., 2:])
    re, im = (
        np.cos(iteration) * a - np.sin(iteration) * b,
        np.sin(iteration) * a + np.cos(iteration) * b,
    )
    y = np.stack([re, im], -1).reshape(part.shape) if interleaved else np.concatenate([re, im], -1)
    wanted = np.concatenate([y, x[..., 4:]], -1)
    given = [x, np.cos(angle), np.sin(angle), *([at] if places else [])]
    how = {"rotary_embedding_dim": 4, "interleaved": interleaved, "opset": 23}
    check("RotaryEmbedding", given, [wanted.astype("float32")], **how)


@pytest.mark.parametrize("known", [True, False])
def test_centre(known):
    x, wanted = normal(7, 3, 4), np.zeros((4, 3, 7), "float32")
    wanted[:, :, 1:5] = x[1:5]
    how = {"axes": [-1, 0], "opset": 18, "shapes": None if known else [(4, 3, 7)]}
    check("CenterCropPad", [x, np.array([7, 4])], [wanted], {1} if known else (), **how)
    with pytest.raises(ValueError, match="shape and axes differ in length"):
        check("CenterCropPad", [x, np.array([7])], [], {1}, axes=[0, 1], opset=18)


@pytest.mark.parametrize("corners", [0, 1])
def test_affine_grid(corners):
    theta = normal(2, 2, 3)
    h, w = (np.linspace(-1, 1, n) if corners else (np.arange(n) * 2 + 1) / n - 1 for n in (4, 5))
    base = np.stack([np.tile(w, (4, 1)), np.tile(h[:, None], (1, 5)), np.ones((4, 5))], -1)
    wanted = np.einsum("hwj,nkj->nhwk", base, theta).astype("float32")
    given = [theta, np.array([2, 1, 4, 5])]
    check("AffineGrid", given, [wanted], {1}, align_corners=corners, opset=20)


def regions(x, rois, size, scale, ratio, aligned, mode):
    """vision.roi_align in plain Python."""

    def at(image, channel, y, z):
        h, w = x.shape[2:]
        if not (-1 <= y <= h and -1 <= z <= w):
            return 0.0
        y, z = min(max(y, 0), h - 1), min(max(z, 0), w - 1)
        i, j = int(y), int(z)
        corner = [
            x[image, channel, min(i + a, h - 1), min(j + b, w - 1)]
            * abs(1 - a - (y - i)) * abs(1 - b - (z - j))
            for a in (0, 1) for b in (0, 1)
        ]  # fmt: skip
        return max(corner) if mode == "corner_max" else sum(corner)

    out = np.zeros((len(rois), x.shape[1], *size), "float32")
    for r, c, p, q in np.ndindex(*out.shape):
        begin = rois[r, [2, 1]] * scale - aligned * 0.5
        span = rois[r, [4, 3]] * scale - aligned * 0.5 - begin
        part = (span if aligned else np.maximum(span, 1)) / size
        n = [ratio] * 2 if ratio > 0 else np.maximum(np.ceil(part), 1).astype(int)
        samples = [
            at(int(rois[r, 0]), c, *(begin + part * ([p, q] + (np.array(k) + 0.5) / n)))
            for k in np.ndindex(*n)
        ]
        out[r, c, p, q] = np.mean(samples) if mode == "avg" else max(samples)
    return out


@pytest.mark.parametrize("mode", ["avg", "max", "corner_max"])
@pytest.mark.parametrize("ratio, aligned", [(2, False), (-1, True)])
def test_roi_align(mode, ratio, aligned):
    data = normal(2, 2, 9, 11)
    boxes = np.float32(
        [[0, 1, 2, 9, 12], [1, 0, 0, 15, 15], [0, -9, -9, 4, 5], [1, 10, 10, 30, 40]]
    )
    x, r = relay.var("x", shape=data.shape), relay.var("r", shape=boxes.shape)
    how = {"pooled_size": [2, 3], "spatial_scale": 0.5, "sample_ratio": ratio}
    body = relay.vision.roi_align(x, r, mode=mode, aligned=aligned, **how)
    got = tenon.compile(relay.Function([x, r], body))(data, boxes)
    wanted = regions(data, boxes, (2, 3), 0.5, ratio, aligned, mode)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)
    last = relay.var("x", shape=data.transpose(0, 2, 3, 1).shape)
    body = relay.vision.roi_align(last, r, mode=mode, aligned=aligned, layout="NHWC", **how)
    got = tenon.compile(relay.Function([last, r], body))(data.transpose(0, 2, 3, 1), boxes)
    np.testing.assert_allclose(got, wanted.transpose(0, 2, 3, 1), rtol=1e-4, atol=1e-5)
    how = {"output_height": 2, "output_width": 3, "spatial_scale": 0.5, "opset": 16}
    how |= {"sampling_ratio": max(ratio, 0), "mode": "avg" if mode == "avg" else "max"}
    how["coordinate_transformation_mode"] = "half_pixel" if aligned else "output_half_pixel"
    if mode != "max":
        given = [data, boxes[:, 1:], boxes[:, 0].astype("int64")]
        check("RoiAlign", given, [wanted], **how)


def test_wrong_regions():
    x, r = relay.var("x", shape=(1, 1, 4, 4)), relay.var("r", shape=(2, 4))
    with pytest.raises(tenon.error.DiagnosticError, match="NCHWx is not supported: expected NCHW"):
        boxes = relay.var("r", shape=(2, 5))
        call = relay.vision.roi_align(x, boxes, [2, 2], 1.0, layout="NCHWx")
        relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, boxes], call)))
    call = relay.vision.roi_align(x, r, [2, 2], 1.0)
    with pytest.raises(tenon.error.DiagnosticError, match="a row of rois must have 5 numbers"):
        relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, r], call)))


def test_log_sum_exp_of_nothing():
    x, wanted = np.zeros((2, 0, 3), "float32"), np.full((2, 1, 3), -np.inf, "float32")
    check("ReduceLogSumExp", [x, np.array([1])], [wanted], opset=18, shapes=[(2, 1, 3)])
    check("ReduceLogSumExp", [x, np.array([1])], [wanted], {1}, opset=18)
