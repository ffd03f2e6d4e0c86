"""Small questions about programs: who calls whom, what flows into external functions, types for
importers, single functions as tensor programs."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend import te_compiler
from tenon.relay.frontend.common import StrAttrsDict, infer_shape, infer_type, set_span


def calls():
    """@even and @odd call each other, @main calls both, @alone itself."""
    mod = tenon.IRModule()
    names = ("even", "odd", "alone", "main")
    even, odd, alone, main = (relay.GlobalVar(n) for n in names)
    kind = relay.TensorType((), "int32")

    x = relay.var("x", kind)
    for var in (even, odd, alone, main):
        mod[var] = relay.Function([x], x, kind)
    for var, body in [
        (even, odd(odd(x))),
        (odd, even(x)),
        (alone, alone(x)),
        (main, even(x) + odd(x) + alone(x)),
    ]:
        mod[var] = relay.Function([x], relay.If(relay.const(True), x, body), kind)
    return mod


def test_call_graph():
    mod = calls()
    graph = relay.analysis.CallGraph(mod)
    assert graph.module.same_as(mod)
    assert {n: graph.ref_count(n) for n in ("even", "odd", "alone", "main")} == {
        "even": 2,
        "odd": 2,
        "alone": 2,
        "main": 0,
    }
    assert graph.global_call_count("main") == 3 and graph.global_call_count("even") == 1
    assert graph.is_recursive("alone") and not graph.is_recursive(mod.get_global_var("even"))
    assert "#refs = 0" in graph.print_var("main") and "calls @alone" in str(graph)
    with pytest.raises(ValueError, match="no function @other"):
        graph.ref_count("other")


def test_calibration_data():
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
    p, q = relay.var("p", shape=(2, 3)), relay.var("q", shape=(2, 3))
    pair = relay.Function([p, q], relay.Tuple([p + q, p * q])).with_attr("Compiler", "other")
    one = relay.Function([p], relay.exp(p)).with_attr("Compiler", "other")
    mod = tenon.IRModule()
    g0, g1 = relay.GlobalVar("g0"), relay.GlobalVar("g1")
    mod[g0], mod[g1] = pair, one
    mod = relay.transform.InferType()(mod)
    t = relay.Call(mod.get_global_var("g0"), [x, y])
    z = relay.Call(mod.get_global_var("g1"), [relay.TupleGetItem(t, 0) - relay.TupleGetItem(t, 1)])
    mod["main"] = relay.Function([x, y], z)
    a, b = (np.random.default_rng(i).random((2, 3), "float32") for i in range(2))
    data = relay.analysis.get_calibration_data(mod, {"x": a, "y": b})
    found = {v.name_hint: value for v, value in data.items()}
    for values, want in [
        (found["g0"]["inputs"], [a, b]),
        (found["g0"]["outputs"], [a + b, a * b]),
        (found["g1"]["inputs"], [a + b - a * b]),
        (found["g1"]["outputs"], [np.exp(a + b - a * b)]),
    ]:
        for value, w in zip(values, want, strict=True):
            np.testing.assert_allclose(value.numpy(), w, rtol=1e-5)


def test_operators_between_dequantize_and_quantize():
    q = relay.qnn.op
    x, w = relay.var("x", shape=(1, 8), dtype="int8"), relay.var("w", shape=(4, 8), dtype="int8")
    zero, one = relay.const(0), relay.const(1.0)
    a, b = q.dequantize(x, one, zero), q.dequantize(w, one, zero)
    y = q.quantize(relay.nn.relu(relay.nn.dense(a, b)), one, zero, out_dtype="int8")
    freqs = relay.analysis.list_fake_quantized_op_freqs
    assert freqs(y) == {"nn.dense": 1, "nn.relu": 1}
    # what a float flows into is none
    z = q.quantize(relay.tanh(a + relay.var("f", shape=(1, 8))), one, zero, out_dtype="int8")
    assert freqs(tenon.IRModule.from_expr(relay.Tuple([y, z]))) == {"nn.dense": 1, "nn.relu": 1}


def test_types_for_importers():
    x = relay.var("x", shape=(2, relay.Any(), 4))
    assert infer_type(relay.exp(x)).checked_type.dtype == "float32"
    shape = infer_shape(relay.transpose(x))
    assert shape[0] == 4 and isinstance(shape[1], relay.Any) and shape[2] == 2
    assert isinstance(infer_type(relay.Function([x], x)).checked_type, relay.FuncType)
    with pytest.raises(TypeError, match="expected a tensor"):
        infer_shape(relay.Tuple([x, x]))


def test_places():
    x = relay.var("x", shape=(2,))
    inner = set_span(relay.exp(x), "first")
    outer = set_span([relay.nn.relu(inner), relay.split(inner, 2)], "second")
    relu, parts = outer
    assert [relu.span.source_name.name, relu.args[0].span.source_name.name] == ["second", "first"]
    assert parts.tuple_value.span.source_name.name == "second" and len(parts) == 2
    assert relu.op.same_as(relay.op.get("nn.relu"))
    with tenon.transform.PassContext(config={"relay.frontend.fill_span": False}):
        assert set_span(relay.exp(x), "none").span is None


def test_attributes_that_are_text():
    attrs = StrAttrsDict(
        {"f": "1.5", "i": "3", "n": "None", "t": "(1, None)", "one": "7", "b": "True", "z": "0",
         "p": "((1, 2), (3, 4))", "s": "text"}
    )  # fmt: skip
    assert attrs.get_float("f") == 1.5 and attrs.get_int("i") == 3 and attrs.get_int("n") is None
    assert attrs.get_int_tuple("t") == (1, None) and attrs.get_int_list("one") == [7]
    assert attrs.get_bool("b") and not attrs.get_bool("z") and attrs.get_str("s") == "text"
    assert attrs.get_tuple_tuple_int("p") == ((1, 2), (3, 4))
    assert attrs.has_attr("f") and attrs.get_float_tuple("missing", (0.5,)) == (0.5,)
    with pytest.raises(AttributeError, match="Required attribute missing not found"):
        attrs.get_int("missing")
    with pytest.raises(ValueError, match="'s': cannot read 'text'"):
        attrs.get_int("s")


def test_single_functions():
    x = relay.var("x", shape=(2, 3))
    func = relay.Function([x], relay.exp(x) + relay.const(1.0))
    prim = te_compiler.lower_to_primfunc(func, "llvm")
    assert isinstance(prim, tenon.tir.PrimFunc) and len(prim.params) == 2
    run = te_compiler.get().jit(func, "stackvm")
    a, out = tenon.nd.array(np.ones((2, 3), "float32")), tenon.nd.empty((2, 3))
    run(a, out)
    np.testing.assert_allclose(out.numpy(), np.e + 1, rtol=1e-6)
    lowered = te_compiler.get().lower(func, "llvm")
    assert [v.name_hint for v in lowered.get_global_vars()] == ["tvmgen_default_fused"]
    te_compiler.get().clear()
    built = relay.backend._backend.build(lowered, "stackvm")
    built["tvmgen_default_fused"](a, out)
    assert relay.base.Span is tenon.ir.Span


def test_values_of_expressions():
    value = relay.testing.run_as_python(relay.add(relay.const(1), relay.const(2)), target="stackvm")
    assert int(value.numpy()) == 3
    x = relay.var("x", shape=())
    double = relay.testing.run_as_python(relay.Function([x], x + x), target="stackvm")
    assert float(double(np.float32(2)).numpy()) == 4
