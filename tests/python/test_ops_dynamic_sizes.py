"""Images whose new size, or the factors of it, are tensors known at run time only."""

import numpy as np
import pytest
import tenon
from tenon import relay

DATA = np.random.default_rng(3).standard_normal((1, 2, 4, 5)).astype("float32")
VOLUME = np.random.default_rng(4).standard_normal((1, 2, 2, 3, 2)).astype("float32")


def evaluate(params, body, *arrays, kind="vm"):
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    return relay.create_executor(kind, mod=mod, target="llvm").evaluate()(*arrays).numpy()


@pytest.mark.parametrize("method", ["nearest_neighbor", "linear", "cubic"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_resize2d(method, layout, dtype):
    data = DATA if layout == "NCHW" else DATA.transpose(0, 2, 3, 1)
    x, size = relay.var("x", shape=data.shape), relay.var("s", shape=(2,), dtype=dtype)
    opened = relay.var("x", shape=[relay.Any()] * 4)
    how = {"layout": layout, "method": method}
    for to in ((7, 3), (1, 1), (0, 4)):
        want = evaluate([x], relay.image.resize2d(x, to, **how), data, kind="graph")
        for v in (x, opened):
            body = relay.image.resize2d(v, size, **how)
            got = evaluate([v, size], body, data, np.array(to, dtype))
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_sizes_that_cannot_be():
    x, size = (
        relay.var("x", shape=(1, 2, relay.Any(), 5)),
        relay.var("s", shape=(2,), dtype="int64"),
    )
    body = relay.image.resize2d(x, size)
    with pytest.raises(ValueError, match="expected 0 or more, got -1"):
        evaluate([x, size], body, DATA, np.array([3, -1]))
    with pytest.raises(tenon.TVMError):  # something of nothing
        evaluate([x, size], body, DATA[:, :, :0], np.array([3, 3]))
    assert evaluate([x, size], body, DATA[:, :, :0], np.array([0, 3])).shape == (1, 2, 0, 3)


@pytest.mark.parametrize("method", ["nearest_neighbor", "bilinear"])
def test_upsampling(method):
    x = relay.var("x", shape=DATA.shape)
    h, w = (relay.var(name, shape=(), dtype="float32") for name in "hw")
    for factors in ((2.0, 3.0), (1.0, 1.5), (0.5, 0.0)):
        want = evaluate([x], relay.nn.upsampling(x, *factors, method=method), DATA, kind="graph")
        body = relay.nn.upsampling(x, h, w, method=method)
        got = evaluate([x, h, w], body, DATA, *(np.float32(f) for f in factors))
        np.testing.assert_array_equal(got, want)
    whole = relay.var("h", shape=(), dtype="int64")
    body = relay.nn.upsampling(x, whole, w)
    got = evaluate([x, whole, w], body, DATA, np.int64(2), np.float32(1))
    assert got.shape == (1, 2, 8, 5)
    body = relay.nn.upsampling(x, h, 3.0)
    assert evaluate([x, h], body, DATA, np.float32(2)).shape == (1, 2, 8, 15)
    for factor in (np.nan, -1.0, 1e30, np.inf):
        with pytest.raises(ValueError, match="expected 0 or more, got -1"):
            evaluate([x, h], body, DATA, np.float32(factor))


@pytest.mark.parametrize("method", ["nearest_neighbor", "trilinear"])
def test_upsampling3d(method):
    x = relay.var("x", shape=VOLUME.shape)
    factors = [relay.var(name, shape=(), dtype="float64") for name in "dhw"]
    want = evaluate([x], relay.nn.upsampling3d(x, 2, 1, 3, method=method), VOLUME, kind="graph")
    body = relay.nn.upsampling3d(x, *factors, method=method)
    got = evaluate([x, *factors], body, VOLUME, *(np.float64(f) for f in (2, 1, 3)))
    np.testing.assert_array_equal(got, want)


def test_constants_are_no_tensors():
    x = relay.var("x", shape=DATA.shape)
    resized = relay.image.resize2d(x, relay.const(np.array([3, 4])))
    assert resized.op.name == "image.resize2d" and list(resized.attrs.size) == [3, 4]
    larger = relay.nn.upsampling(x, relay.const(2.0), 3)
    assert larger.op.name == "nn.upsampling" and larger.attrs.scale_h == 2


@pytest.mark.parametrize(
    "name, make, shape",
    [
        ("image.resize2d", lambda x, v: relay.image.resize2d(x, v([3, 7])), (1, 2, 3, 7)),
        ("nn.upsampling", lambda x, v: relay.nn.upsampling(x, v(2.0), 2), (1, 2, 8, 10)),
        ("squeeze", lambda x, v: relay.squeeze(x, v([0])), (2, 4, 5)),
        ("expand_dims", lambda x, v: relay.expand_dims(x, v(-2)), (1, 2, 4, 1, 5)),
    ],
)
def test_dynamic_to_static(name, make, shape):
    """What folds to a constant becomes an attribute."""
    x = relay.var("x", shape=DATA.shape)
    unknown = lambda v: relay.copy(relay.const(np.array(v)))  # noqa: E731
    mod = tenon.IRModule.from_expr(relay.Function([x], make(x, unknown)))
    typed = relay.transform.InferType()(mod)
    assert typed["main"].body.op.name == f"dyn.{name}"
    mod = relay.transform.DynamicToStatic()(typed)
    assert mod["main"].body.op.name == name
    assert [int(n) for n in mod["main"].body.checked_type.shape] == list(shape)


def var(shape, dtype="float32"):
    return relay.var("x", shape=shape, dtype=dtype)


REFUSED = {
    "size must have 2 numbers, got 3": lambda: relay.image.resize2d(
        var((1, 2, 3, 4)), var((3,), "int64")
    ),
    "must be a vector of whole numbers": lambda: relay.image.resize2d(var((1, 2, 3, 4)), var((2,))),
    "expected a factor, one number": lambda: relay.nn.upsampling(var((1, 2, 3, 4)), var((1,))),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(tenon.TVMError, match=message):
        relay.transform.InferType()(tenon.IRModule.from_expr(REFUSED[message]()))


def test_counts_that_are_floats():
    x = np.arange(6, dtype="float32").reshape(2, 3)
    v, counts = relay.var("x", shape=(2, 3)), relay.var("n", shape=(2,))
    got = evaluate([v, counts], relay.tile(v, counts), x, np.float32([2.0, 1.5]))
    np.testing.assert_array_equal(got, np.tile(x, (2, 1)))
    for bad in (np.nan, -1.0, 3e38):
        with pytest.raises(tenon.TVMError):
            evaluate([v, counts], relay.tile(v, counts), x, np.float32([bad, 1]))
    k = relay.var("k", shape=(1,))
    body = relay.topk(v, k, ret_type="values")
    np.testing.assert_array_equal(evaluate([v, k], body, x, np.float32([2])), x[:, :0:-1])
    with pytest.raises(tenon.TVMError):
        evaluate([v, k], body, x, np.float32([4]))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_one_hot_of_a_depth_at_run_time(axis, kind):
    indices = np.array([[0, 3], [1, 2]], "int32")
    i, depth = relay.var("i", shape=(2, 2), dtype="int32"), relay.var("d", shape=(), dtype="int32")
    body = relay.one_hot(i, relay.const(2.0), relay.const(-1.0), depth, axis, "float32")
    got = evaluate([i, depth], body, indices, np.int32(4), kind=kind)
    want = np.where(np.arange(4) == indices[..., None], np.float32(2), np.float32(-1))
    np.testing.assert_array_equal(got, np.moveaxis(want, -1, axis))
