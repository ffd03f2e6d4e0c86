"""What follows parallel layers becomes one with them, or stays; the numbers are the same."""

import numpy as np
import pytest
import tenon
from tenon import relay

RNG = np.random.default_rng(5)
T = relay.transform


def value(mod, arrays):
    with tenon.transform.PassContext(opt_level=0):
        f = relay.create_executor("graph", mod=mod, device=tenon.cpu(), target="stackvm").evaluate()
    return [a.numpy() for a in f(*arrays)]


def combined(branches, params, which):
    """How many calls of each operator are left, after a check that nothing else has changed."""
    mod = T.InferType()(tenon.IRModule.from_expr(relay.Function(params, relay.Tuple(branches))))
    with tenon.transform.PassContext(opt_level=4):
        after = T.InferType()(which(mod))
    shapes = [p.type_annotation.concrete_shape for p in params]
    arrays = [RNG.normal(size=s).astype("float32") for s in shapes]
    for a, b in zip(value(after, arrays), value(mod, arrays), strict=True):
        assert a.shape == b.shape
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-4)
    return {str(k): int(v) for k, v in relay.analysis.list_op_freqs(after).items()}


def var(name, *shape):
    return relay.var(name, shape=shape)


X = var("x", 3, 4)
W = [var("w0", 5, 4), var("w1", 5, 4), var("w2", 10, 4)]
FLAT, BATCH = T.CombineParallelDense(2, False), T.CombineParallelDense(2, True)


# shapes of what is added to results of 5 and of 10 channels
@pytest.mark.parametrize(
    "shapes",
    [
        [(), ()],
        [(1,), (1,)],
        [(5,), (1,)],
        [(1,), (10,)],
        [(3, 1), (3, 10)],
        [(1, 5), (1, 1)],
        [(2, 3, 5), (2, 3, 10)],
        [(2, 3, 1), (2, 3, 1)],
    ],
)
def test_operands_are_repeated(shapes):
    operands = [var(f"b{i}", *s) for i, s in enumerate(shapes)]
    layers = [relay.nn.dense(X, w) for w in (W[0], W[2])]
    branches = [relay.nn.relu(relay.add(y, b)) for y, b in zip(layers, operands, strict=True)]
    ops = combined(branches, [X, W[0], W[2], *operands], FLAT)
    assert (ops["nn.dense"], ops["add"], ops["nn.relu"]) == (1, 1, 1)


@pytest.mark.parametrize("shapes", [[(5,), (3, 10)], [(3, 5), (1, 10)], [(), (10,)]])
def test_operands_of_other_shapes_stay(shapes):
    operands = [var(f"b{i}", *s) for i, s in enumerate(shapes)]
    layers = [relay.nn.dense(X, w) for w in (W[0], W[2])]
    branches = [relay.add(y, b) for y, b in zip(layers, operands, strict=True)]
    ops = combined(branches, [X, W[0], W[2], *operands], FLAT)
    assert (ops["nn.dense"], ops["add"]) == (1, 2)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2])
def test_new_axes(axis):
    branches = [relay.expand_dims(relay.nn.dense(X, w), axis, 2) for w in (W[0], W[2])]
    ops = combined([relay.exp(b) for b in branches], [X, W[0], W[2]], FLAT)
    assert (ops["nn.dense"], ops["expand_dims"], ops["exp"]) == (1, 1, 1)


FOLLOWED = {
    "broadcast_to": (lambda y: relay.broadcast_to(y, (3, 5)), 2),
    "repeat": (lambda y: relay.repeat(y, 2, 0), 2),
    "prelu": (lambda y: relay.nn.prelu(y, relay.const(np.full(5, 0.5, "float32"))), 1),
    "prelu of rows": (lambda y: relay.nn.prelu(y, relay.const(np.ones(3, "float32")), axis=0), 2),
    "the same scalar": (lambda y: relay.multiply(relay.const(2.0), y), 1),
    "cast": (lambda y: relay.cast(y, "float64"), 1),
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_operators_that_follow(name):
    follow, calls = FOLLOWED[name]
    branches = [follow(relay.nn.dense(X, w)) for w in W[:2]]
    ops = combined(branches, [X, *W[:2]], FLAT)
    op = {"the same scalar": "multiply"}.get(name, name.split()[0])
    left = ops.get(op, ops.get(f"nn.{op}"))
    assert (ops["nn.dense"], left) == (1, calls)


@pytest.mark.parametrize("shape", [(5,), (1,), (), (3, 5), (3, 1)])
def test_batch(shape):
    operands = [var(f"b{i}", *shape) for i in range(2)]
    layers = [relay.nn.dense(X, w) for w in W[:2]]
    branches = [relay.nn.relu(relay.add(b, y)) for y, b in zip(layers, operands, strict=True)]
    ops = combined(branches, [X, *W[:2], *operands], BATCH)
    assert (ops["nn.batch_matmul"], ops["add"], ops["nn.relu"]) == (1, 1, 1)
    assert "nn.dense" not in ops


BATCHED = {
    "more axes": lambda y, i: relay.add(y, relay.const(np.full((2, 3, 5), i, "float32"))),
    "bias_add": lambda y, i: relay.nn.bias_add(y, relay.const(np.full(5, i, "float32"))),
    "expand_dims": lambda y, _: relay.expand_dims(y, 0),
    "cast": lambda y, i: relay.cast(y, ["float64", "float16"][i]),
}


@pytest.mark.parametrize("name", BATCHED)
def test_batch_ends_before(name):
    branches = [BATCHED[name](relay.nn.dense(X, w), i) for i, w in enumerate(W[:2])]
    ops = combined(branches, [X, *W[:2]], BATCH)
    op = {"more axes": "add", "bias_add": "nn.bias_add"}.get(name, name)
    assert (ops["nn.batch_matmul"], ops[op]) == (1, 2)


def test_convolutions_with_scalars_of_their_own():
    x = var("x", 1, 4, 6, 6)
    w = [var(f"w{i}", n, 4, 3, 3) for i, n in enumerate((2, 3))]
    s = [var("s0", 2, 1, 1), var("s1", 1, 1, 1)]
    layers = [relay.nn.conv2d(x, a) for a in w]
    branches = [relay.multiply(y, b) for y, b in zip(layers, s, strict=True)]
    ops = combined(branches, [x, *w, *s], T.CombineParallelConv2D(2))
    assert (ops["nn.conv2d"], ops["multiply"], ops["repeat"]) == (1, 1, 1)


def test_products_of_matrices_with_bias():
    x = var("x", 2, 3, 4)
    w = [var(f"w{i}", 2, n, 4) for i, n in enumerate((5, 6))]
    b = [var("b0", 5), var("b1", 6)]
    layers = [relay.nn.batch_matmul(x, a) for a in w]
    branches = [relay.add(y, a) for y, a in zip(layers, b, strict=True)]
    ops = combined(branches, [x, *w, *b], T.CombineParallelBatchMatmul(2))
    assert (ops["nn.batch_matmul"], ops["add"]) == (1, 1)


@pytest.mark.parametrize("args", [("three", True), (3, "yes")])
def test_arguments(args):
    mod = tenon.IRModule.from_expr(relay.Function([X], X))
    with pytest.raises(TypeError, match="expected"):
        T.CombineParallelDense(*args)(mod)
