"""Operators of detectors: regions, priors, boxes that show something, blocks of YOLO."""

import numpy as np
import pytest
import tenon
from op_cases import check, compute, rand, result_type
from tenon import relay
from tenon.topi.testing import reorg_python

TARGETS = ["stackvm", "llvm"]


def pooled(data, rois, size, scale):
    """Exact, with integers."""
    _, channels, *extents = data.shape
    out = np.zeros((len(rois), channels, *size), data.dtype)
    for r, roi in enumerate(rois):
        corners = np.trunc(roi[1:] * np.float32(scale) + np.copysign(0.5, roi[1:])).astype(int)
        for p in np.ndindex(*size):
            part = []
            for axis in range(2):
                first, last = corners[1 - axis], corners[3 - axis]
                n = max(last - first + 1, 1)
                begin, end = p[axis] * n // size[axis], -(-(p[axis] + 1) * n // size[axis])
                part.append(slice(*np.clip([first + begin, first + end], 0, extents[axis])))
            cut = data[int(roi[0])][:, part[0], part[1]]
            out[(r, slice(None), *p)] = cut.max((1, 2)) if cut.size else 0
    return out


@pytest.mark.parametrize("target", TARGETS)
def test_roi_pool(target):
    rng = np.random.default_rng(3)
    data = rng.normal(size=(2, 3, 7, 9)).astype("float32")
    rois = rng.uniform(-3, 14, (12, 5)).astype("float32")
    rois[:, 0] = rng.integers(0, 2, 12)
    rois[0, 1:] = 20, 20, 30, 30  # outside: zeros
    for size, scale in (((1, 1), 1.0), ((2, 3), 0.5), ((7, 7), 0.9)):
        call = lambda x, r, s=size, f=scale: relay.vision.roi_pool(x, r, s, f)  # noqa: E731
        check(call, lambda x, r, s=size, f=scale: pooled(x, r, s, f), data, rois, target=target)
    assert compute(call, data, rois[:0], target=target).shape == (0, 3, 7, 7)
    square = relay.vision.roi_pool(relay.var("x", shape=(1, 1, 4, 4)), relay.var("r", shape=(2, 5)),
                                   3, 1.0)  # fmt: skip
    assert list(square.attrs.pooled_size) == [3, 3]


@pytest.mark.parametrize("target", TARGETS)
def test_roi_pool_of_any_numbers(target):
    """Boxes of huge numbers, infinities and NaN read no memory of others."""
    data = rand(2, 1, 3, 3)
    hostile = [np.nan, np.inf, -np.inf, 3e38, -3e38, 1e9, -1e9, 0.5]
    rois = np.random.default_rng(1).choice(hostile, (60, 5)).astype("float32")
    got = compute(lambda x, r: relay.vision.roi_pool(x, r, (2, 2), 1e3), data, rois, target=target)
    assert set(got.ravel()) <= {*data.ravel(), 0}
    whole = np.array([[1, -1e9, -1e9, 1e9, 1e9]], "float32")
    got = compute(lambda x, r: relay.vision.roi_pool(x, r, (1, 1), 1.0), data, whole, target=target)
    assert got.item() == data[1].max()


def priors(h, w, sizes, ratios, steps, offsets, clip):
    out = []
    step = [s if s > 0 else 1 / n for s, n in zip(steps, (h, w), strict=True)]
    halves = [(s * h / w / 2, s / 2) for s in sizes]
    halves += [(sizes[0] * h / w * r**0.5 / 2, sizes[0] / r**0.5 / 2) for r in ratios[1:]]
    for i, j in np.ndindex(h, w):
        y, x = (i + offsets[0]) * step[0], (j + offsets[1]) * step[1]
        out += [(x - a, y - b, x + a, y + b) for a, b in halves]
    out = np.array(out, "float32").reshape(1, -1, 4)
    return np.clip(out, 0, 1) if clip else out


@pytest.mark.parametrize("target", TARGETS)
def test_multibox_prior(target):
    for case in (
        ((1.0,), (1.0,), (-1.0, -1.0), (0.5, 0.5), False),
        ((0.3, 1.5, 0.7), (1.3, 2.4), (2.0, 1.5), (0.2, 0.3), False),
        ((0.2, 0.4), (1, 2, 0.5), (-1, 0.1), (0.5, 0), True),
    ):
        check(
            lambda x, c=case: relay.vision.multibox_prior(x, *c),
            lambda x, c=case: priors(x.shape[2], x.shape[3], *c),
            rand(2, 3, 4, 5),
            target=target,
        )
    assert compute(lambda x: relay.vision.multibox_prior(x), rand(1, 1, 0, 3)).shape == (1, 0, 4)


def shown(scores, moves, anchors, clip, threshold, variances, background):
    n, _, boxes = scores.shape
    out, count = np.full((n, boxes, 6), -1, "float32"), np.zeros(n, "int32")
    for i, b in np.ndindex(n, boxes):
        column = scores[i, :, b]
        first = 0 if background else 1
        best = first + int(column[first:].argmax())
        score = column[best]
        best = 0 if score < threshold else best
        if best == 0 and not background:
            continue
        a, m = anchors[0, b], moves[i, b * 4 : b * 4 + 4] * variances
        size, middle = a[2:] - a[:2], (a[2:] + a[:2]) / 2
        middle, half = m[:2] * size + middle, np.exp(m[2:]) * size / 2
        box = np.concatenate([middle - half, middle + half])
        box = np.clip(box, 0, 1) if clip else box
        out[i, count[i]] = [best if background else best - 1, score, *box]
        count[i] += 1
    return [out, count]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("background", [False, True])
@pytest.mark.parametrize("clip", [False, True])
def test_multibox_transform_loc(target, background, clip):
    rng = np.random.default_rng(4)
    scores = rng.random((3, 4, 5)).astype("float32")
    scores[1] *= 0.1
    moves = rng.normal(size=(3, 20)).astype("float32")
    anchors = rng.random((1, 5, 4)).astype("float32")
    how = (clip, 0.6, (0.1, 0.2, 0.3, 0.4), background)
    check(
        lambda *a: relay.vision.multibox_transform_loc(*a, *how).tuple_value,
        lambda *a: shown(*a, *how),
        scores,
        moves,
        anchors,
        target=target,
    )
    rows, count = compute(
        lambda *a: relay.vision.multibox_transform_loc(*a, *how).tuple_value,
        np.full((1, 4, 5), np.nan, "float32"), moves[:1], anchors, target=target,
    )  # fmt: skip
    assert count.tolist() == [5 if background else 0] and rows.shape == (1, 5, 6)


def reorganised(x, s):
    n, c, h, w = x.shape
    few, flat, out = c // (s * s), x.ravel(), np.empty(x.size, x.dtype)
    for p, (b, k, j, i) in enumerate(np.ndindex(n, c, h, w)):
        row, column = j * s + k // few // s, i * s + k // few % s
        out[p] = flat[column + w * s * (row + h * s * (k % few + few * b))]
    return out.reshape(n, c * s * s, h // s, w // s)


@pytest.mark.parametrize("target", TARGETS)
def test_yolo_reorg(target):
    for shape, s in (((1, 4, 6, 6), 2), ((2, 9, 3, 6), 3), ((2, 3, 2, 5), 1), ((0, 4, 2, 2), 2)):
        x = rand(*shape)
        call = lambda x, s=s: relay.vision.yolo_reorg(x, s)  # noqa: E731
        check(call, lambda x, s=s: reorganised(x, s), x, target=target)
        np.testing.assert_array_equal(reorg_python(x, s), reorganised(x, s))


def test_open_extents():
    any_ = relay.Any()
    data, rois = relay.var("x", shape=(any_, 2, any_, any_)), relay.var("r", shape=(any_, 5))
    scores, moves = relay.var("s", shape=(any_, 3, any_)), relay.var("m", shape=(any_, any_))
    anchors = relay.var("a", shape=(1, any_, 4))
    rows = relay.vision.multibox_transform_loc(scores, moves, anchors)
    body = [relay.vision.roi_pool(data, rois, (2, 2), 0.5), relay.vision.yolo_reorg(data, 1)]
    body += [relay.vision.multibox_prior(data, (0.5,), (1.0, 2.0)), rows[0], rows[1]]
    params = [data, rois, scores, moves, anchors]
    f = relay.create_executor("vm", target="llvm").evaluate(
        relay.Function(params, relay.Tuple(body))
    )
    x, r = rand(2, 2, 4, 6), np.array([[1, 0, 0, 9, 9], [0, 2, 1, 4, 4]], "float32")
    s, m, a = rand(2, 3, 5, low=0), rand(2, 20, seed=1), rand(1, 5, 4, seed=2)
    got = [v.numpy() for v in f(x, r, s, m, a)]
    wanted = [pooled(x, r, (2, 2), 0.5), x]
    wanted += [priors(4, 6, (0.5,), (1.0, 2.0), (-1, -1), (0.5, 0.5), False)]
    wanted += shown(s, m, a, True, 0.01, (0.1, 0.1, 0.2, 0.2), False)
    for have, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-5)
    with pytest.raises(tenon.TVMError, match="do not fit"):
        f(x, r, s, m[:, :16], a)


def tensor(*shape, dtype="float32"):
    return relay.TensorType(shape, dtype)


IMAGE, ROWS, V = tensor(1, 4, 6, 6), tensor(3, 5), relay.vision


def proposed(scores, moves, image, scales, ratios, stride, threshold, pre, post, least, iou):
    count, rows = len(scales) * len(ratios), []
    for b, (height, width, scale) in enumerate(image):
        boxes = []
        for y, x, k in np.ndindex(*scores.shape[2:], count):
            ratio, grow = ratios[k // len(scales)], scales[k % len(scales)]
            w = np.floor(np.sqrt(np.floor(stride**2 / ratio)) + 0.5)
            size = np.array([w, np.floor(w * ratio + 0.5)]) * grow
            middle = (stride - 1) / 2 + np.array([x, y]) * stride
            d = moves[b, 4 * k : 4 * k + 4, y, x].astype("float64")
            if not iou:
                middle, size = middle + d[:2] * size, size * np.exp(d[2:])
            box = np.concatenate([middle - (size - 1) / 2, middle + (size - 1) / 2]) + iou * d
            box = np.clip(box, 0, [width - 1, height - 1] * 2)
            small = (box[2:] - box[:2] + 1 < least * scale).any()
            box += small * least * scale / 2 * np.array([-1, -1, 1, 1])
            beyond = y >= height // stride or x >= width // stride
            boxes.append((-1 if small or beyond else scores[b, count + k, y, x], box))
        left = [box for _, box in sorted(boxes, key=lambda pair: -pair[0])][
            : pre if pre > 0 else None
        ]
        kept = []
        while left:
            best, *left = left
            kept.append(best)
            left = [box for box in left if overlap(best, box) <= threshold]
        rows += [[b, *kept[i % len(kept)]] for i in range(post)]
    return np.array(rows, scores.dtype)


def overlap(a, b):
    area = lambda x: np.prod(x[2:] - x[:2] + 1)  # noqa: E731
    both = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]) + 1
    shared = np.prod(np.maximum(both, 0))
    return shared / (area(a) + area(b) - shared)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("iou", [False, True])
@pytest.mark.parametrize("pre, post, least", [(-1, 12, 0), (9, 6, 14)])
def test_proposal(target, iou, pre, post, least):
    rng = np.random.default_rng(5)
    scales, ratios = (0.5, 1.5), (0.5, 1.0, 2.0)
    scores = rng.permutation(2 * 12 * 3 * 4).reshape(2, 12, 3, 4).astype("float32")
    moves = rng.normal(size=(2, 24, 3, 4)).astype("float32") * (4 if iou else 0.3)
    image = np.float32([[48, 64, 1], [40, 56, 0.8]])
    args = (scales, ratios, 16, 0.4, pre, post, least, iou)
    check(
        lambda *a: relay.vision.proposal(*a, *args),
        lambda *a: proposed(*a, *args),
        scores,
        moves,
        image,
        target=target,
        rtol=1e-4,
        atol=1e-3,
    )


def test_proposals_of_empty_maps_and_any_numbers():
    call = lambda *a: relay.vision.proposal(*a, (1.0,), (1.0,), rpn_post_nms_top_n=2)  # noqa: E731
    image = np.float32([[16, 16, 1]])
    empty = np.zeros((1, 2, 0, 3), "float32"), np.zeros((1, 4, 0, 3), "float32")
    np.testing.assert_array_equal(compute(call, *empty, image), np.zeros((2, 5)))
    hostile = np.random.default_rng(2).choice(
        np.float32([np.nan, np.inf, -np.inf, 3e38, -3e38, 0]), (1, 6, 4, 4)
    )
    got = compute(call, hostile[:, :2], hostile[:, 2:], np.float32([[np.nan, np.inf, -1]]))
    assert got.shape == (2, 5) and not got[:, 0].any()


REFUSED = {
    "layout HWCN is not supported": (lambda x, r: V.roi_pool(x, r, 2, 1.0, "HWCN"), IMAGE, ROWS),
    "must have 5 numbers": (lambda x, r: V.roi_pool(x, r, 2, 1.0), IMAGE, tensor(3, 4)),
    "two positive numbers, got 0": (lambda x, r: V.roi_pool(x, r, 0, 1.0), IMAGE, ROWS),
    "two positive numbers$": (lambda x, r: V.roi_pool(x, r, (1, 2, 3), 1.0), IMAGE, ROWS),
    "one floating point type": (
        lambda x, r: V.roi_pool(x, r, 2, 1.0), tensor(1, 4, 6, 6, dtype="int32"), ROWS),
    "has no elements to take": (lambda x, r: V.roi_pool(x, r, 2, 1.0), tensor(0, 4, 6, 6), ROWS),
    "expected data of 4 dimensions, got": (lambda x: V.yolo_reorg(x, 2), tensor(4, 6, 6)),
    "stride must be positive and of 16 bits, got 0": (lambda x: V.yolo_reorg(x, 0), IMAGE),
    "dimension 1 of .* must be a multiple of 9": (lambda x: V.yolo_reorg(x, 3), IMAGE),
    "dimension 3 of .* must be a multiple of 2": (lambda x: V.yolo_reorg(x, 2), tensor(1, 4, 6, 5)),
    "data must be floats of 4": (lambda x: V.multibox_prior(x), tensor(1, 2, 3)),
    "sizes: expected 1 numbers, got 0": (lambda x: V.multibox_prior(x, ()), IMAGE),
    "steps: expected 2 numbers, got 1": (lambda x: V.multibox_prior(x, steps=(1,)), IMAGE),
    "ratios: element 1 is not positive": (lambda x: V.multibox_prior(x, ratios=(1, 0)), IMAGE),
    "offsets: element 0 is not a finite number": (
        lambda x: V.multibox_prior(x, offsets=(float("nan"), 0)), IMAGE),
    "are not scores, locations and anchors of as many boxes": (
        V.multibox_transform_loc, tensor(1, 3, 5), tensor(1, 16), tensor(1, 5, 4)),
    "expected scores of 3 dimensions": (
        V.multibox_transform_loc, tensor(1, 3), tensor(1, 20), tensor(1, 5, 4)),
    "first axis of anchors has no elements": (
        V.multibox_transform_loc, tensor(1, 3, 5), tensor(1, 20), tensor(0, 5, 4)),
    "2 anchors need 4 channels of scores and 8 of moves": (
        lambda *a: V.proposal(*a, (1,), (1, 2)),
        tensor(1, 4, 3, 3), tensor(1, 4, 3, 3), tensor(1, 3)),
    "proposal: ratios: element 1 is not positive": (
        lambda *a: V.proposal(*a, (1,), (1, -2)),
        tensor(1, 4, 3, 3), tensor(1, 8, 3, 3), tensor(1, 3)),
    "rpn_post_nms_top_n must be positive, got 0": (
        lambda *a: V.proposal(*a, (1,), (1,), rpn_post_nms_top_n=0),
        tensor(1, 2, 3, 3), tensor(1, 4, 3, 3), tensor(1, 3)),
    "feature_stride must be positive, got -16": (
        lambda *a: V.proposal(*a, (1,), (1,), -16),
        tensor(1, 2, 3, 3), tensor(1, 4, 3, 3), tensor(1, 3)),
    "expected height, width and scale of each image": (
        lambda *a: V.proposal(*a, (1,), (1,)),
        tensor(1, 2, 3, 3), tensor(1, 4, 3, 3), tensor(1, 2)),
    "not scores, moves and images of one batch": (
        lambda *a: V.proposal(*a, (1,), (1,)),
        tensor(1, 2, 3, 3), tensor(1, 4, 3, 4), tensor(1, 3)),
    "variances: expected 4 numbers, got 3": (
        lambda *a: V.multibox_transform_loc(*a, variances=(1, 2, 3)),
        tensor(1, 3, 5), tensor(1, 20), tensor(1, 5, 4)),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    make, *types = REFUSED[message]

    def call(*args):
        made = make(*args)
        return made.tuple_value if isinstance(made, relay.TupleWrapper) else made

    with pytest.raises(tenon.TVMError, match=message):
        result_type(call, *types)
