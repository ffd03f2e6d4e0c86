"""Types that are there already: shared where they hold, found again where something has changed."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import FuncType, TensorType
from tenon.relay.transform import InferType


def infer(expr):
    return tenon.get_global_func("relay.analysis.InferExpr")(expr, None)


def bind(expr, var, dtype, shape):
    """A variable replaced by a constant: what reads it is copied, with the type it had."""
    return relay.bind(expr, {var: relay.const(np.ones(shape, dtype))})


def test_what_holds_is_shared():
    x = relay.var("x", shape=(2, 3))
    deep = relay.nn.relu(relay.exp(x))
    typed = infer(relay.Function([x], relay.Tuple([deep, relay.nn.softmax(deep)])))
    assert infer(typed).same_as(typed)
    again = infer(relay.Function(typed.params, relay.negative(typed.body.fields[1])))
    assert again.body.args[0].same_as(typed.body.fields[1])
    assert again.params[0].same_as(typed.params[0])
    assert again.checked_type == FuncType([x.type_annotation], x.type_annotation)
    mod = InferType()(tenon.IRModule.from_expr(typed))
    assert InferType()(mod).same_as(mod)


CHANGES = [("float16", (2, 3)), ("float32", (5, 7)), ("float64", ())]


@pytest.mark.parametrize("dtype, shape", CHANGES)
@pytest.mark.parametrize(
    "make",
    [
        relay.exp,
        lambda x: relay.negative(relay.exp(x)),
        lambda x: relay.Tuple([relay.exp(x), x]),
        lambda x: relay.TupleGetItem(relay.Tuple([relay.exp(x), x]), 0),
        lambda x: relay.If(relay.const(True), relay.exp(x), x),
        lambda x: relay.split(relay.concatenate([x, x], 0), 2)[1],
        lambda x: relay.add(relay.exp(x), relay.exp(x)),
    ],
    ids=["call", "chain", "tuple", "field", "if", "split", "shared"],
)
def test_changed_inputs(make, dtype, shape):
    x = relay.var("x", shape=(2, 3))
    try:
        want = infer(make(relay.const(np.ones(shape, dtype)))).checked_type
    except tenon.error.DiagnosticError:
        want = None
    typed = infer(make(x))
    (free,) = relay.analysis.free_vars(typed)
    changed = bind(typed, free, dtype, shape)
    assert changed.checked_type == typed.checked_type, "the copy keeps what is wrong now"
    if want is None:
        with pytest.raises(tenon.error.DiagnosticError):
            infer(changed)
    else:
        assert infer(changed).checked_type == want != typed.checked_type
    assert infer(typed).same_as(typed)


def test_a_change_that_does_not_fit():
    """An error of the program is found although everything has a type."""
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    typed = infer(relay.Function([y], relay.Let(relay.var("v"), x, relay.add(x, y))))
    (free,) = relay.analysis.free_vars(typed)
    with pytest.raises(tenon.error.DiagnosticError):
        infer(bind(typed, free, "float32", (5, 7)))


def test_functions_of_the_module():
    """A call of a function of the module has the type that the function has now."""
    x, y, z = (relay.var(name, shape=(2,)) for name in "xyz")
    g = relay.GlobalVar("g")
    mod = tenon.IRModule({"main": relay.Function([x], relay.negative(relay.Call(g, [x])))})
    mod[g] = relay.Function([y], relay.exp(y))
    mod = InferType()(mod)
    assert InferType()(mod).same_as(mod)
    changed = tenon.IRModule({g: relay.Function([z], relay.sum(z))})
    main = mod["main"]
    changed["main"] = relay.Function(main.params, main.body)
    changed = InferType()(changed)
    assert changed["main"].body.checked_type == TensorType((), "float32")


def test_closures():
    """A function inside that is given another argument, and one that is itself another."""
    x, y = relay.var("x", shape=(2,)), relay.var("y")
    call = relay.Call(relay.Function([y], relay.exp(y)), [x])
    typed = infer(call)
    assert typed.op.checked_type == FuncType([x.type_annotation], x.type_annotation)
    (free,) = relay.analysis.free_vars(typed)
    with pytest.raises(tenon.error.DiagnosticError):
        infer(bind(typed, free, "float32", (3,)))  # its parameter is annotated by now
    other = relay.Call(relay.Function(typed.op.params, relay.sum(typed.op.body)), typed.args)
    assert infer(other).checked_type == TensorType((), "float32")


def test_passes_over_typed_programs():
    """Mixed precision changes the types of most of a program; what comes out is well typed."""
    x = relay.var("x", shape=(4, 8))
    w = relay.const(np.ones((8, 8), "float32"))
    body = relay.nn.softmax(relay.nn.dense(relay.nn.relu(relay.nn.dense(x, w)), w))
    mod = InferType()(tenon.IRModule.from_expr(relay.Function([x], body)))
    half = InferType()(relay.transform.ToMixedPrecision("float16")(mod))
    fresh = InferType()(relay.fromtext(half.astext()))
    tenon.ir.assert_structural_equal(half, fresh)
    types = []
    relay.analysis.post_order_visit(half["main"], lambda e: types.append(e._checked_type_))
    assert TensorType((4, 8), "float16") in types
