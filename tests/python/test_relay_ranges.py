"""SimplifyExpr by ranges of integers: fewer calls, the same numbers."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.transform import InferType, SimplifyExpr

BYTES = np.arange(-128, 128).astype("int8")


def operators(func):
    found = []

    def visit(e):
        if isinstance(e, relay.Call):
            found.append(str(e.op.name))

    relay.analysis.post_order_visit(func, visit)
    return found


def simplified(body, *arrays):
    """The operators that are left; the values are those of before."""
    func = relay.Function(relay.analysis.free_vars(body), body)
    mod = InferType()(tenon.IRModule.from_expr(func))
    now = InferType()(SimplifyExpr()(mod))
    assert now["main"].checked_type == mod["main"].checked_type
    run = [relay.create_executor("debug", mod=m).evaluate()(*arrays).numpy() for m in (mod, now)]
    np.testing.assert_array_equal(*run)
    return operators(now["main"].body)


@pytest.mark.parametrize("op", ["argmax", "argmin", "argsort"])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16"])
def test_order_of_quantized_numbers(op, dtype):
    x = relay.var("x", shape=(16, 16), dtype=dtype)
    y = relay.qnn.op.dequantize(x, relay.const(0.037), relay.const(-7))
    data = np.random.default_rng(0).permutation(BYTES).reshape(16, 16).astype(dtype)
    assert simplified(getattr(relay, op)(y, axis=1), data) == [op]


@pytest.mark.parametrize(
    ("scale", "zero", "dtype"),
    [
        (-0.5, 0, "int8"),
        (0.0, 0, "int8"),
        (1e-44, 0, "int8"),
        (0.5, 0, "int32"),
        (1.0, 2**30, "int8"),
    ],
)
def test_order_that_changes(scale, zero, dtype):
    x = relay.var("x", shape=(16, 16), dtype=dtype)
    y = relay.qnn.op.dequantize(x, relay.const(scale), relay.const(zero))
    left = simplified(relay.argmax(y, axis=1), BYTES.reshape(16, 16).astype(dtype))
    assert "qnn.dequantize" in left


@pytest.mark.parametrize(
    ("dtype", "low", "high", "gone"),
    [
        ("uint8", 0, 255, True),
        ("uint8", -3, 300, True),
        ("int8", -128, 127, True),
        ("int16", -40000, 40000, True),
        ("uint8", 0, 254, False),
        ("int8", 0, 255, False),
        ("int8", 5, -5, False),
        ("int32", -(2.0**31), 2.0**31 - 1, False),
    ],
)
def test_clips_to_everything(dtype, low, high, gone):
    x = relay.var("x", shape=(256,), dtype=dtype)
    left = simplified(relay.nn.relu(relay.clip(x, low, high)), BYTES.astype(dtype))
    assert left == (["nn.relu"] if gone else ["clip", "nn.relu"])


@pytest.mark.parametrize(
    ("dtype", "low", "high", "via", "to", "left"),
    [
        ("int32", 0, 255, "uint8", "int32", ["clip"]),
        ("int32", 0, 255, "uint8", "int16", ["clip", "cast"]),
        ("int32", -128, 127, "int8", "float32", ["clip", "cast"]),
        ("int32", 0, 255, "int8", "int32", ["clip", "cast", "cast"]),
        ("int32", -1, 255, "uint8", "int32", ["clip", "cast", "cast"]),
        ("float32", 0, 255, "uint8", "int32", ["clip", "cast", "cast"]),
    ],
)
def test_casts_of_clipped_numbers(dtype, low, high, via, to, left):
    x = relay.var("x", shape=(256,), dtype=dtype)
    body = relay.cast(relay.cast(relay.clip(x, low, high), via), to)
    data = (np.arange(256) * 3 - 300).astype(dtype)
    if dtype == "float32":
        data[0] = np.nan
    assert simplified(body, data) == left


def test_targets_say_how_many_arguments():
    assert tenon.target.Target("cuda").max_function_args == 0
    assert tenon.target.Target("metal").max_function_args == 31
