"""Operators that move, cut or sort axes follow a layout: the numbers stay, axes are renamed."""

import numpy as np
import pytest
import tenon
from layout_programs import blocked, function, run_passes, transforms
from tenon import relay
from tenon.relay import transform

RNG = np.random.default_rng(11)
X = relay.var("x", shape=(1, 2, 5, 4))
DATA = RNG.normal(size=(1, 2, 5, 4)).astype("float32")
WEIGHT = relay.const(RNG.normal(size=(3, 2, 1, 1)).astype("float32"))
NHWC = {"nn.conv2d": ["NHWC", "default"]}


def conv():
    return relay.nn.conv2d(X, WEIGHT, channels=3, kernel_size=(1, 1))


def values(func, *data):
    mod = transform.InferType()(tenon.IRModule({"main": func}))
    with tenon.transform.PassContext(opt_level=0):
        made = relay.create_executor("graph", mod=mod, target="stackvm").evaluate()(*data)
    return [v.numpy() for v in (made if isinstance(made, list) else [made])]


def converted(body, wanted=NHWC, *data):
    before = run_passes(function(body))
    after = run_passes(before, transform.ConvertLayout(wanted))
    data = data or (DATA,)
    for a, b in zip(values(after, *data), values(before, *data), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    return after


def calls(func, name):
    found = []

    def visit(e):
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == name:
            found.append(e)

    relay.analysis.post_order_visit(func, visit)
    return found


def like(y):
    return relay.slice_like(relay.nn.relu(y), relay.nn.max_pool2d(y, (3, 3)), axes=[2, -1])


# an operator of the convolution's result, and the number of times it is brought back to NCHW
FOLLOW = {
    "transpose": (lambda y: relay.transpose(y, [0, 2, 3, 1]), 0),
    "transpose backwards": (lambda y: relay.exp(relay.transpose(y)), 0),
    "slice_like": (like, 1),
    "slice_like everywhere": (lambda y: relay.slice_like(y, relay.exp(y)), 1),
    "slice_like of another": (lambda y: relay.slice_like(y, relay.const(DATA), axes=[2]), 1),
    "topk": (lambda y: relay.topk(y, 2, axis=2).astuple(), 2),
    "values of topk": (lambda y: relay.topk(y, 2, axis=1, ret_type="values"), 1),
    "sort": (lambda y: relay.sort(y, axis=-1, is_ascend=False), 1),
    "argsort": (lambda y: relay.argsort(y, axis=1), 1),
    "unique": (lambda y: relay.reshape(y, (-1,)), 1),
}


@pytest.mark.parametrize("name", FOLLOW)
def test_followers(name):
    make, back = FOLLOW[name]
    found = transforms(converted(make(conv())))
    assert found.count(("NHWC", "NCHW")) == back


def test_transpose_of_the_new_order_is_none():
    after = converted(relay.transpose(conv(), [0, 2, 3, 1]))
    assert [[int(a) for a in c.attrs.axes] for c in calls(after, "transpose")] == [[0, 1, 2, 3]]


@pytest.mark.parametrize(
    "lists",
    [
        ([0, 1], [1, -1, 3], [1, 1, 2, 1]),
        ([], [1, 2], [1]),
        ([0, 0, 4], [1, 3, 0], [1, 1, -2]),
        ([0, 2], [1, -9], [1, -1]),
        ([0, 1, 1, 1], [1, 3, 99, -1], []),
        ([], [], [1, 1, -1, -1]),
    ],
)
def test_slices_of_first_axes(lists):
    begin, end, strides = lists
    after = converted(relay.strided_slice(conv(), begin, end, strides))
    assert transforms(after).count(("NHWC", "NCHW")) == 1
    (call,) = calls(after, "strided_slice")
    assert len(call.attrs.begin) == len(call.attrs.end) == len(call.attrs.strides) == 4
    (got,) = values(function(relay.strided_slice(X, begin, end, strides)), DATA)

    def at(items, i):
        return items[i] if i < len(items) else None

    want = DATA[tuple(slice(at(begin, i), at(end, i), at(strides, i)) for i in range(4))]
    if lists[1] == [1, -9]:
        want = DATA[:, 2::-1]
    np.testing.assert_array_equal(got, want)


def test_slices_by_size_and_of_named_axes():
    sized = converted(relay.strided_slice(conv(), [0, 1], [-1, 2], slice_mode="size"))
    assert [int(n) for n in calls(sized, "strided_slice")[0].attrs.end] == [-1, -1, -1, 2]
    named = converted(relay.strided_slice(conv(), [1], [3], axes=[-3]))
    assert [int(n) for n in calls(named, "strided_slice")[0].attrs.axes] == [3]


def test_longer_ends_have_a_gradient():
    y = relay.sum(relay.strided_slice(X, [0], [1, 1, 2], [1, 1, 1, 3]))
    mod = transform.InferType()(tenon.IRModule({"main": function(y)}))
    mod["main"] = transform.gradient(mod["main"], mode="first_order")
    _, (grad,) = relay.create_executor("graph", mod=mod, target="stackvm").evaluate()(DATA)
    want = np.zeros_like(DATA)
    want[:, :1, :2, ::3] = 1
    np.testing.assert_array_equal(grad.numpy(), want)


def test_too_many_ends():
    with pytest.raises(ValueError, match="have 5 elements for 4 dimensions"):
        run_passes(function(relay.strided_slice(X, [0], [1, 1, 1, 1, 1])))


ROIS = relay.const(np.float32([[0, 0, 0, 3, 4], [0, 1, 1, 2, 9], [0, 2, 3, 1, 1]]))
REGIONS = {
    "roi_align": lambda y, **k: relay.vision.roi_align(y, ROIS, (2, 3), 1.0, 2, **k),
    "roi_pool": lambda y, **k: relay.vision.roi_pool(y, ROIS, (2, 3), 1.0, **k),
}


@pytest.mark.parametrize("name", REGIONS)
def test_regions_keep_their_layout_unless_asked(name):
    make = REGIONS[name]
    kept = converted(make(conv()))
    assert str(calls(kept, f"vision.{name}")[0].attrs.layout) == "NCHW"
    moved = converted(make(conv()), {**NHWC, f"vision.{name}": ["NHWC", "default"]})
    assert str(calls(moved, f"vision.{name}")[0].attrs.layout) == "NHWC"
    assert transforms(moved)[-1] == ("NHWC", "NCHW")
    with pytest.raises(tenon.TVMError, match="layout HWCN is not supported: expected NCHW or NHWC"):
        run_passes(function(make(X, layout="HWCN")))


def deformed():
    shape = (1, 8, 4, 3)
    offset = relay.const(RNG.normal(size=shape).astype("float32"))
    weight = relay.const(RNG.normal(size=(3, 2, 2, 2)).astype("float32"))
    return relay.nn.deformable_conv2d(X, offset, weight, kernel_size=(2, 2), channels=3)


def test_deformable_convolutions():
    after = converted(relay.nn.relu(deformed()), {"nn.deformable_conv2d": ["NHWC", "default"]})
    want = [("NCHW", "NHWC"), ("NCHW", "NHWC"), ("OIHW", "HWIO"), ("NHWC", "NCHW")]
    assert sorted(transforms(after)) == sorted(want)
    with pytest.raises(ValueError, match="layout NCHW4c is not supported: expected NCHW or NHWC"):
        wanted = {"nn.deformable_conv2d": ["NCHW4c", "OIHW4o"]}
        run_passes(function(deformed()), transform.ConvertLayout(wanted))


def test_quantized_pools_follow():
    x = relay.var("q", shape=(1, 2, 5, 4), dtype="int8")
    scale, zero = relay.const(0.5), relay.const(1)
    y = relay.qnn.op.avg_pool2d(
        x, scale, zero, scale, zero, (2, 2), (1, 1), (0, 0), (1, 1), layout="NCHW"
    )
    data = RNG.integers(-9, 9, (1, 2, 5, 4)).astype("int8")
    after = converted(y, {"qnn.avg_pool2d": ["NHWC"]}, data)
    assert transforms(after) == [("NCHW", "NHWC"), ("NHWC", "NCHW")]


def in_blocks(make, layout="NCHW4c"):
    """What AlterOpLayout makes of an operator behind a convolution in blocks."""
    x = relay.var("x", shape=(1, 4, 5, 4))
    weight = relay.const(RNG.normal(size=(12, 4, 1, 1)).astype("float32"))
    y = relay.nn.conv2d(x, weight, channels=12, kernel_size=(1, 1))
    before = run_passes(function(make(y)))
    with blocked(layout, "OIHW4i"):
        after = run_passes(before, transform.AlterOpLayout())
    data = RNG.normal(size=(1, 4, 5, 4)).astype("float32")
    (got,), (want,) = values(after, data), values(before, data)
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
    return calls(after, "strided_slice")[0].attrs, after.body.op.name == "layout_transform"


CUTS = {
    "first axes": (dict(begin=[0, 4], end=[1, 8]), ([0, 1, 0, 0, 0], [1, 2, 5, 4])),
    "beyond the end": (dict(begin=[0, 8], end=[1, 99], strides=[1]), ([0, 2], [1, 3])),
    "a named axis": (dict(begin=[4], end=[12], axes=[-3]), ([1], [3])),
    "sizes": (dict(begin=[0, 4], end=[-1, 4], slice_mode="size"), ([0, 1], [-1, 1])),
    "all that is left": (dict(begin=[0, 4], end=[1, -1], slice_mode="size"), ([0, 1], [1, -1])),
}


@pytest.mark.parametrize("name", CUTS)
def test_cuts_between_blocks(name):
    how, (begin, end) = CUTS[name]
    attrs, follows = in_blocks(lambda y: relay.strided_slice(y, **how))
    assert follows
    assert [int(n) for n in attrs.begin][: len(begin)] == begin
    assert [int(n) for n in attrs.end][: len(end)] == end


@pytest.mark.parametrize(
    "how",
    [
        dict(begin=[0, 2], end=[1, 8]),
        dict(begin=[0, 4], end=[1, 7]),
        dict(begin=[0, -8], end=[1, 8]),
        dict(begin=[0, 4], end=[1, -1]),
        dict(begin=[0, 0], end=[1, 8], strides=[1, 2]),
        dict(begin=[0, 0], end=[1, 6], slice_mode="size"),
    ],
)
def test_cuts_inside_of_blocks(how):
    _, follows = in_blocks(lambda y: relay.strided_slice(y, **how))
    assert not follows


def test_equal_tuples_become_one():
    parts = [relay.nn.relu(X), relay.nn.relu(X)]
    joined = [relay.concatenate([p, relay.const(DATA)], 0) for p in parts]
    after = run_passes(function(relay.add(*joined)), transform.EliminateCommonSubexpr())
    assert len(calls(after, "concatenate")) == len(calls(after, "nn.relu")) == 1
    other = [
        relay.concatenate([X, relay.const(DATA)], 0),
        relay.concatenate([relay.const(DATA), X], 0),
    ]
    after = run_passes(function(relay.add(*other)), transform.EliminateCommonSubexpr())
    assert len(calls(after, "concatenate")) == 2
