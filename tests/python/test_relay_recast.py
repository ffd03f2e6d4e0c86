"""relay.transform.recast: operators in another type, between casts."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.transform import InferType, recast

RNG = np.random.default_rng(1)


def network():
    x, w = relay.var("x", shape=(1, 4, 6, 6)), relay.var("w", shape=(4, 4, 3, 3))
    index = relay.var("i", shape=(2,), dtype="int32")
    y = relay.nn.conv2d(x, w, padding=(1, 1))
    y = relay.nn.conv2d(relay.nn.relu(y), w, padding=(1, 1))
    parts = relay.split(relay.concatenate([y, x], axis=1), 2, axis=1)
    return relay.Function([x, w, index], relay.take(parts[0] + parts[1], index, axis=1))


def types_of(func, name):
    """Types of first operand and result of each call of an operator."""
    found = []

    def visit(e):
        if isinstance(e, relay.Call) and getattr(e.op, "name", "") == name:
            kind, result = e.args[0].checked_type, e.checked_type
            tensors = [k.fields[0] if hasattr(k, "fields") else k for k in (kind, result)]
            found.append(tuple(t.dtype for t in tensors))

    relay.analysis.post_order_visit(InferType()(tenon.IRModule.from_expr(func))["main"], visit)
    return found


def value(func, *data):
    mod = tenon.IRModule.from_expr(func)
    return relay.create_executor("graph", mod=mod, target="llvm").evaluate()(*data).numpy()


@pytest.mark.parametrize("ops", [None, ["nn.conv2d", "nn.relu", "split", "concatenate", "take"]])
def test_a_larger_type_changes_no_number(ops):
    func = network()
    now = recast(func, "float64", "float64", ops)
    assert types_of(now, "nn.conv2d") == [("float64", "float64")] * 2
    for name in ("concatenate", "split", "take", "nn.relu"):
        wide = "float64" if ops else "float32"
        assert types_of(now, name) == [(wide, wide)]
    typed = InferType()(tenon.IRModule.from_expr(now))["main"]
    assert typed.checked_type == InferType()(tenon.IRModule.from_expr(func))["main"].checked_type
    data = [RNG.uniform(-1, 1, s).astype("float32") for s in ((1, 4, 6, 6), (4, 4, 3, 3))]
    data.append(np.int32([2, 0]))
    np.testing.assert_allclose(value(now, *data), value(func, *data), rtol=1e-5, atol=1e-5)


def test_calls_that_stay():
    func = network()
    small, same = ("int8", "int32"), ("float32", "float32")
    for skip, want in (([0], [same, small]), ([-1], [small, same]), ([0, 1], [same, same])):
        assert types_of(recast(func, "int8", "int32", skip_layers=skip), "nn.conv2d") == want
    untouched = recast(func, "int8", "int32", ops=["nn.dense"])
    assert tenon.ir.structural_equal(untouched, func)


def test_modules_and_expressions():
    x = relay.var("x", shape=(3,))
    f = relay.GlobalVar("f")
    mod = tenon.IRModule({f: relay.Function([x], relay.exp(x))})
    y = relay.var("y", shape=(3,))
    mod["main"] = relay.Function([y], relay.nn.relu(relay.Call(f, [y])))
    now = recast(mod, "float16", "float16", ops=["nn.relu"])
    assert now["main"].body.op == relay.op.get("cast")
    assert tenon.ir.structural_equal(mod["main"].body.op, relay.op.get("nn.relu"))
    data = np.float32([-1, 0, 1])
    run = [relay.create_executor("vm", mod=m, target="llvm").evaluate()(data) for m in (mod, now)]
    np.testing.assert_allclose(run[1].numpy(), run[0].numpy(), rtol=1e-3)
    e = recast(relay.nn.relu(y), "float64", "float64", ops=["nn.relu"])
    assert str(e.args[0].args[0].attrs.dtype) == "float64"


def test_errors():
    func = network()
    with pytest.raises((AttributeError, ValueError, tenon.TVMError), match="nn.conv9d"):
        recast(func, "int8", "int32", ops=["nn.conv9d"])
    with pytest.raises((TypeError, ValueError), match="int9000000"):
        recast(func, "int9000000", "int32")
    with pytest.raises(TypeError):
        recast(func, "int8", "int32", skip_layers=["first"])
    with pytest.raises(tenon.error.DiagnosticError):
        recast(relay.nn.relu(relay.nn.dense(*network().params[:2])), "int8", "int32")
