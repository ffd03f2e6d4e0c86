"""FoldConstant of large constants: what waits for its reader is computed all the same."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.analysis import post_order_visit

W = np.random.default_rng(0).standard_normal((600, 1024)).astype("float32")  # more than 2 MiB


def folded(body, *params):
    mod = tenon.IRModule.from_expr(relay.Function(list(params), body))
    return relay.transform.FoldConstant()(mod)["main"].body


def scaled(factor=2.0):
    return relay.multiply(relay.const(W), relay.const(np.float32(factor)))


def test_a_chain():
    e = scaled()
    for k in range(20):  # deeper than what waits
        e = relay.add(e, relay.const(np.float32(k)))
    e = folded(relay.transpose(e))
    np.testing.assert_allclose(e.data.numpy(), (2 * W + sum(range(20))).T, rtol=1e-4, atol=1e-4)


def test_a_reader_that_is_not_computed():
    x = relay.var("x", shape=(3, 1024))
    call = folded(relay.nn.dense(x, scaled()), x)
    np.testing.assert_array_equal(call.args[1].data.numpy(), 2 * W)
    y = relay.Var("f", relay.FuncType([relay.TensorType(W.shape)], relay.TensorType(W.shape)))
    call = folded(relay.Call(y, [scaled()]), y)
    np.testing.assert_array_equal(call.args[0].data.numpy(), 2 * W)


def test_several_readers():
    twice = scaled()
    a, b = folded(relay.Tuple([relay.transpose(twice), relay.negative(twice)])).fields
    np.testing.assert_array_equal(a.data.numpy(), 2 * W.T)
    np.testing.assert_array_equal(b.data.numpy(), -2 * W)
    both = scaled()
    kept, moved = folded(relay.Tuple([both, relay.transpose(both)])).fields
    np.testing.assert_array_equal(kept.data.numpy(), 2 * W)
    np.testing.assert_array_equal(moved.data.numpy(), 2 * W.T)
    same = scaled()
    np.testing.assert_array_equal(folded(relay.add(same, same)).data.numpy(), 4 * W)


def test_in_a_let_and_a_tuple():
    v = relay.var("v")
    pair = relay.Tuple([scaled(), relay.const(1.0)])
    e = folded(relay.Let(v, relay.transpose(scaled()), relay.TupleGetItem(pair, 0)))
    np.testing.assert_array_equal(e.value.data.numpy(), 2 * W.T)
    np.testing.assert_array_equal(e.body.data.numpy(), 2 * W)


@pytest.mark.parametrize("required", [[], ["FoldScaleAxis"]])
def test_scaled_weights_of_a_model_are_computed_once_at_the_end(required):
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((192, 192, 3, 3)).astype("float32")  # 1.3 MiB
    factor = rng.uniform(1, 2, (192, 1, 1)).astype("float32")
    x = relay.var("x", shape=(1, 192, 8, 8))
    y = relay.nn.conv2d(x, relay.const(weight), padding=(1, 1))
    y = relay.nn.relu(relay.add(relay.multiply(y, relay.const(factor)), relay.const(factor)))
    mod = tenon.IRModule.from_expr(relay.Function([x], y))
    with tenon.transform.PassContext(opt_level=3 if required else 2, required_pass=required):
        optimized, _ = relay.optimize(mod, target="llvm")
    calls = []
    post_order_visit(
        optimized["main"], lambda e: calls.append(e) if isinstance(e, relay.Call) else None
    )
    for call in calls:
        assert not call.args or not all(isinstance(a, relay.Constant) for a in call.args)
    data = rng.standard_normal((1, 192, 8, 8)).astype("float32")
    got = [tenon.compile(mod, opt_level=level)(data) for level in (0, 3)]
    np.testing.assert_allclose(got[0], got[1], rtol=1e-3, atol=1e-2)


def test_large_weights_are_transposed_with_their_layout():
    """Builds leave the transpose until the dense layer has its layout; the result is the same."""
    x = relay.var("x", shape=(3, 600))
    by = relay.transpose(relay.const(W))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, by)))
    data = np.random.default_rng(1).standard_normal((3, 600)).astype("float32")
    found = [tenon.compile(mod, opt_level=level)(data) for level in (0, 2, 3)]
    for value in found:
        np.testing.assert_allclose(value, data @ W, rtol=1e-4, atol=1e-3)
    both = relay.Tuple([relay.nn.dense(x, by), relay.sum(by), by])
    parts = tenon.compile(tenon.IRModule.from_expr(relay.Function([x], both)))(data)
    np.testing.assert_allclose(parts[0], data @ W, rtol=1e-4, atol=1e-3)
    np.testing.assert_allclose(parts[1], W.sum(), rtol=1e-3)
    np.testing.assert_array_equal(parts[2], W.T)
