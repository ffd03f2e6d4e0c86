"""Operators refuse elements that they do not compute, with a message that names both."""

import numpy as np
import pytest
import tenon
from operator_calls import REAL
from tenon import relay

FLOATS = [*REAL, "nn.softmax", "nn.log_softmax", "nn.fast_softmax"]
NUMBERS = ["prod", "mean", "cumsum", "cumprod"]
BOOLS = ["all", "any", "logical_not"]


def infer(name, dtype, n=1):
    f = relay
    for part in name.split("."):
        f = getattr(f, part)
    x = [relay.var(f"x{i}", shape=(2, 3), dtype=dtype) for i in range(n)]
    mod = tenon.IRModule.from_expr(relay.Function(x, f(*x)))
    return relay.transform.InferType()(mod)["main"].ret_type


@pytest.mark.parametrize(
    "names, n, refused, taken",
    [
        (FLOATS, 1, ["int32", "int8", "uint64", "bool"], ["float32", "float16", "bfloat16"]),
        (NUMBERS, 1, ["bool"], ["int32", "uint8", "float32"]),
        (BOOLS, 1, ["int32", "float32"], ["bool"]),
        (["logical_and", "logical_or", "logical_xor"], 2, ["int8", "float32"], ["bool"]),
    ],
)
def test_elements(names, n, refused, taken):
    for name in names:
        for dtype in refused:
            with pytest.raises(tenon.error.DiagnosticError, match=f"{name}: expected .*{dtype}"):
                infer(name, dtype, n)
        for dtype in taken:
            infer(name, dtype, n)


def test_pool_gradient_of_bool():
    g, x = (relay.var("x", shape=(1, 1, n, n), dtype="bool") for n in (2, 4))
    call = relay.nn.max_pool2d_grad(g, x, (2, 2), (2, 2))
    mod = tenon.IRModule.from_expr(relay.Function([g, x], call))
    with pytest.raises(tenon.error.DiagnosticError, match="max_pool2d_grad: expected numbers"):
        relay.transform.InferType()(mod)


def test_running_sum_of_bool_has_another_type():
    x = np.array([[True, False, True]])
    v = relay.var("x", shape=x.shape, dtype="bool")
    mod = tenon.IRModule.from_expr(relay.Function([v], relay.cumsum(v, 1, dtype="int32")))
    got = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(x).numpy()
    np.testing.assert_array_equal(got, np.cumsum(x, 1))


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("op", ["ReduceL2", "ReduceLogSum"])
def test_onnx_functions_of_integers(op, dtype):
    onnx = pytest.importorskip("onnx")
    from onnx import TensorProto, helper

    x = np.arange(1, 13).reshape(3, 4).astype(dtype)
    kind = getattr(TensorProto, dtype.upper())
    graph = helper.make_graph(
        [helper.make_node(op, ["x"], ["y"], axes=[1], keepdims=0)],
        "g",
        [helper.make_tensor_value_info("x", kind, [3, 4])],
        [helper.make_tensor_value_info("y", kind, [3])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    onnx.checker.check_model(model)
    mod, params = relay.frontend.from_onnx(model)
    f = relay.create_executor("graph", mod=mod, target="llvm", params=params).evaluate()
    square, wide = op == "ReduceL2", x.astype("float64")
    want = np.sqrt((wide**2).sum(1)) if square else np.log(wide.sum(1))
    np.testing.assert_array_equal(f(x).numpy(), want.astype(dtype))
