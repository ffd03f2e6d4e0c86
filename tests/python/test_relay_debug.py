"""Looking at values and at places: relay.op.debug, relay.SpanCheck; marks that name no device;
quantized constants; programs with a main that others call."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import transform
from tenon.relay.prelude import Prelude

X = relay.var("x", shape=(2,))
ONES = np.ones(2, "float32")


def test_debug_shows_values():
    seen = []
    y = relay.op.debug(relay.add(X, X), lambda value: seen.append(value.numpy()))
    f = relay.Function([X], relay.multiply(y, relay.op.debug(X)))
    made = relay.create_executor("debug").evaluate(f)(ONES)
    np.testing.assert_array_equal(made.numpy(), 2 * ONES)
    np.testing.assert_array_equal(seen, [2 * ONES])
    compiled = relay.create_executor("graph", target="stackvm", mod=tenon.IRModule({"main": f}))
    np.testing.assert_array_equal(compiled.evaluate()(ONES).numpy(), 2 * ONES)
    assert len(seen) == 1


def test_debug_fails_as_its_function_does():
    def refuse(value):
        raise KeyError(str(value.shape))

    with pytest.raises(KeyError, match="2"):
        relay.create_executor().evaluate(relay.Function([X], relay.op.debug(X, refuse)))(ONES)
    call = relay.op._make.debug(X, "tests.nothing")
    with pytest.raises(ValueError, match=r"debug: the global function tests\.nothing is not there"):
        relay.create_executor().evaluate(relay.Function([X], call))(ONES)


def test_places_are_checked():
    text = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2), float32]) {\n  exp(add(%x, 1f))\n}\n'
    mod = relay.parse(text)
    checked = relay.SpanCheck()(mod)
    tenon.ir.assert_structural_equal(checked["main"], mod["main"])
    func = mod["main"]
    inner = relay.Call(func.body.op, [relay.tanh(func.params[0])], span=func.body.span)
    bad = tenon.IRModule({"main": relay.Function(func.params, inner, span=func.span)})
    with pytest.raises(tenon.error.DiagnosticError, match=r"relay\.Call has no span") as error:
        relay.SpanCheck()(bad)
    assert "from_string:3:3" in str(error.value)
    with pytest.raises(tenon.error.DiagnosticError, match=r"relay\.Var x has no span"):
        relay.SpanCheck()(tenon.IRModule.from_expr(relay.Function([X], X)))


def test_a_mark_of_nothing_names_no_device():
    def place(**how):
        return relay.annotation.on_device(X, "cuda", **how).attrs.virtual_device.device_type_int

    assert place(constrain_result=False, constrain_body=False) == -1
    assert place(constrain_body=False, constrain_result=True) == place() == 2


def test_main_can_be_called():
    mod = tenon.IRModule()
    mod["main"] = relay.Function([X], relay.add(X, X))
    executor = relay.create_executor("debug", mod=mod)
    twice = executor.evaluate(mod.get_global_var("main")(relay.const(ONES)))
    np.testing.assert_array_equal(twice.numpy(), 2 * ONES)
    more = executor.evaluate(relay.Function([X], relay.exp(mod.get_global_var("main")(X))))
    np.testing.assert_allclose(more(ONES).numpy(), np.exp(2 * ONES), rtol=1e-6)


def test_lists_that_hand_a_value_on():
    prelude = Prelude(tenon.IRModule())
    _, cons, nil = prelude.mod.get_type("List")
    accumulate = prelude.mod.get_global_var("map_accuml")
    a, b = relay.var("a", shape=(), dtype="int32"), relay.var("b", shape=(), dtype="int32")
    step = relay.Function([a, b], relay.Tuple([relay.add(a, b), relay.multiply(a, b)]))
    items = nil()
    for i in (4, 3, 2):
        items = cons(relay.const(i), items)
    executor = relay.create_executor("debug", mod=prelude.mod)
    total, made = executor.evaluate(accumulate(step, relay.const(1), items))
    found = []
    while made.fields:
        found.append(int(made.fields[0].numpy()))
        made = made.fields[1]
    assert (int(total.numpy()), found) == (10, [6 * 4, 3 * 3, 1 * 2])


@pytest.mark.parametrize("given", [False, True])
def test_quantized_constants(given):
    def const(value, dtype):
        return relay.const(np.array(value, dtype))

    scale, zero = const(0.5, "float32"), const(3, "int32")
    left = relay.var("q", shape=(2,), dtype="uint8") if given else const([5, 9], "uint8")
    total = relay.qnn.op.add(left, const([7, 4], "uint8"), scale, zero, scale, zero, scale, zero)
    mod = tenon.IRModule.from_expr(relay.qnn.op.dequantize(total, scale, zero))
    assert "qnn.add" in transform.FoldConstant()(mod).astext(False)
    folded = transform.FoldConstant(fold_qnn=True)(mod)["main"].body
    if given:
        tenon.ir.assert_structural_equal(folded, transform.InferType()(mod)["main"].body)
    else:
        np.testing.assert_array_equal(folded.data.numpy(), np.float32([3, 3.5]))
