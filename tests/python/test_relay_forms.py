"""Normal forms of Relay programs and shapes that become static: what the results compute."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.analysis import check_basic_block_normal_form

BRANCHES = """#[version = "0.0.5"]
def @main(%a: Tensor[(2), float32], %c: bool) {
  %0 = add(%a, 1f);
  %1 = if (%c) { multiply(%0, %0) } else { %0 };
  let %y = exp(%1);
  (%y, add(%y, %0))
}
"""


@pytest.mark.parametrize("name", ["ToBasicBlockNormalForm", "ToANormalForm", "ToGraphNormalForm"])
def test_forms_compute_the_same(name):
    mod = relay.transform.InferType()(relay.parse(BRANCHES))
    assert not check_basic_block_normal_form(mod["main"])
    made = getattr(relay.transform, name)()(mod)
    assert check_basic_block_normal_form(made["main"]) == (name != "ToGraphNormalForm")
    a = np.float32([0.5, -2])
    for c in (True, False):
        want = relay.create_executor("debug", mod=mod).evaluate()(a, c)
        got = relay.create_executor("debug", mod=made).evaluate()(a, c)
        for g, w in zip(got, want, strict=True):
            np.testing.assert_allclose(g.numpy(), w.numpy(), rtol=1e-6)


def test_an_expression_is_a_block_too():
    x = relay.var("x", shape=(2,))
    assert check_basic_block_normal_form(relay.add(x, x))


def test_long_chains_of_lets():
    x = relay.var("x", shape=(2,))
    lets, e = [], x
    for _ in range(50_000):
        v = relay.var("v")
        lets.append((v, relay.negative(e)))
        e = v
    for v, value in reversed(lets):
        e = relay.Let(v, value, e)
    mod = tenon.IRModule.from_expr(relay.Function([x], e))
    made = relay.transform.ToGraphNormalForm()(mod)
    assert relay.analysis.list_op_freqs(made) == {"negative": 50_000}
    assert isinstance(made["main"].body, relay.Call)


def test_dynamic_operators_become_static_ones():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(6,))
    shape = relay.shape_of(y, "int64")
    flat = relay.reshape(x, shape)
    wide = relay.broadcast_to(relay.const(3.0), relay.shape_of(flat))
    begin, end = (relay.const(np.array(v, "int64")) for v in ([1], [2**62]))
    one = relay.const(np.array([1], "int64"))
    cut = relay.strided_slice(flat + wide, begin, end, one)
    width = relay.const(np.array([[1, 2]], "int64"))
    pad = relay.nn.pad(cut, width, relay.const(7.0))
    mod = relay.transform.InferType()(tenon.IRModule.from_expr(relay.Function([x, y], pad)))
    assert tenon.compile(mod).executor == "vm"
    made = relay.transform.DynamicToStatic()(mod)
    assert not any(str(n).startswith("dyn.") for n in relay.analysis.list_op_freqs(made))
    compiled = tenon.compile(made)
    assert compiled.executor == "graph" and compiled.outputs == [((8,), "float32")]
    value = np.arange(6, dtype="float32").reshape(2, 3)
    want = np.pad(value.ravel()[1:] + 3, (1, 2), constant_values=7)
    np.testing.assert_array_equal(compiled(value, np.zeros(6, "float32")), want)
