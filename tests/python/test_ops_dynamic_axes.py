"""Operators whose axes, or shape, are tensors known at run time only."""

import numpy as np
import pytest
import tenon
from tenon import relay


def run(params, body, *arrays):
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    f = relay.create_executor("vm", mod=mod, device=tenon.cpu(), target="llvm").evaluate()
    return lambda *given: f(*(given or arrays)).numpy()


def test_squeeze():
    for shape, axes in (
        ((1, 3, 1), [0]), ((1, 2, 1, 2, 1), [0, 2]), ((1, 2, 1, 2, 1), [-1, 0, 2]),
        ((2, 1, 3), []), ((1, 1), [1, 0]), ((0, 1, 2), [1]),
    ):  # fmt: skip
        x, axis = relay.var("x", shape=shape), relay.var("a", shape=(len(axes),), dtype="int64")
        opened = relay.var("x", shape=[relay.Any()] * len(shape))
        data = np.arange(np.prod(shape), dtype="float32").reshape(shape)
        for v in (x, opened):
            got = run([v, axis], relay.squeeze(v, axis))(data, np.array(axes, "int64"))
            np.testing.assert_array_equal(got, data.squeeze(tuple(axes)))
    constant = relay.squeeze(x, relay.const(np.array([1])))
    assert constant.op.name == "squeeze" and list(constant.attrs.axis) == [1]
    assert list(relay.squeeze(x, 1).attrs.axis) == [1] and relay.squeeze(x).attrs.axis is None


def test_squeeze_of_what_is_no_axis_of_one():
    x, axis = relay.var("x", shape=(1, 3, 1)), relay.var("a", shape=(2,), dtype="int32")
    f = run([x, axis], relay.squeeze(x, axis))
    data = np.ones((1, 3, 1), "float32")
    assert f(data, np.array([0, 2], "int32")).shape == (3,)
    for axes in ([0, 1], [0, 0], [0, -3], [0, 3], [-4, 0], [2**31 - 1, -(2**31)]):
        with pytest.raises(tenon.TVMError, match="do not fit"):
            f(data, np.array(axes, "int32"))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_expand_dims(dtype):
    x, axis = relay.var("x", shape=(2, relay.Any())), relay.var("a", shape=(), dtype=dtype)
    data = np.arange(6, dtype="float32").reshape(2, 3)
    none = run([x, axis], relay.expand_dims(x, axis, 0))(data, np.array(1, dtype))
    np.testing.assert_array_equal(none, data)
    for n in (1, 3):
        f = run([x, axis], relay.expand_dims(x, axis, n))
        for at in range(-3, 3):
            wanted = list(data.shape)
            place = at + 3 if at < 0 else at
            wanted[place:place] = [1] * n
            got = f(data, np.array(at, dtype))
            np.testing.assert_array_equal(got, data.reshape(wanted))
        for at in (-4, 3, 2**31 - 1):
            with pytest.raises(tenon.TVMError, match="do not fit"):
                f(data, np.array(at, dtype))
    assert relay.expand_dims(x, relay.const(1)).op.name == "expand_dims"


def test_sparse_to_dense():
    i, v = (
        relay.var("i", shape=(relay.Any(), 2), dtype="int64"),
        relay.var("v", shape=(relay.Any(),)),
    )
    shape = relay.var("s", shape=(2,), dtype="int64")
    f = run([i, v, shape], relay.sparse_to_dense(i, shape, v, relay.const(-1.0)))
    at, values = np.array([[0, 1], [2, 0], [9, 9], [-1, 0]]), np.arange(4, dtype="float32")
    for extents in ((3, 2), (1, 2), (0, 4)):
        wanted = np.full(extents, -1, "float32")
        for (a, b), value in zip(at, values, strict=True):
            if 0 <= a < extents[0] and 0 <= b < extents[1]:
                wanted[a, b] = value
        np.testing.assert_array_equal(f(at, values, np.array(extents)), wanted)
    with pytest.raises(ValueError, match="expected 0 or more, got -3"):
        f(at, values, np.array([-3, 2]))
    with pytest.raises(tenon.TVMError):
        f(at, values[:3], np.array([3, 2]))


def typed(body):
    return relay.transform.InferType()(tenon.IRModule.from_expr(body))


def var(shape, dtype="float32"):
    return relay.var("x", shape=shape, dtype=dtype)


REFUSED = {
    "3 axes to drop of": lambda: relay.squeeze(var((1, 1)), var((3,), "int32")),
    "must be a vector of whole numbers": lambda: relay.squeeze(var((1, 1)), var((1,))),
    "axis must be one whole number, got": lambda: relay.expand_dims(var((2,)), var((1,), "int32")),
    "num_newaxis: -1 is out of range": lambda: relay.expand_dims(var((2,)), var((), "int32"), -1),
    "3 coordinates are needed": lambda: relay.sparse_to_dense(
        var((5, 2), "int32"), var((3,), "int32"), var((5,)), relay.const(0.0)
    ),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    with pytest.raises(tenon.TVMError, match=message):
        typed(REFUSED[message]())
