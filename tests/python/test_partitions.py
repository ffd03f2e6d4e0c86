"""Partitions for libraries: what each takes out of a program, and that nothing else changes."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import cutlass
from tenon.relay.op.contrib import get_pattern_table
from tenon.relay.op.contrib.cublas import partition_for_cublas
from tenon.relay.op.contrib.cudnn import partition_for_cudnn
from tenon.relay.op.contrib.cutlass import partition_for_cutlass


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def taken(mod, compiler):
    """Names of the composites that were cut out."""
    found = []

    def visit(e):
        if isinstance(e, relay.Function) and e.attrs and "Composite" in e.attrs.keys():
            found.append(str(e.attrs["Composite"]))

    for function in mod.functions.values():
        if function.attrs and str(function.attrs.get("Compiler", "")) == compiler:
            relay.analysis.post_order_visit(function, visit)
    return sorted(found)


def module(body):
    return tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def conv2d(x, w, layout="NHWC", kernel="OHWI", **attrs):
    return relay.nn.conv2d(
        x, w, kernel_size=(3, 3), data_layout=layout, kernel_layout=kernel, **attrs
    )


X, W = (1, 8, 8, 4), (6, 3, 3, 4)


def biased():
    return relay.nn.bias_add(conv2d(var("x", *X), var("w", *W)), var("b", 6), axis=3)


def dense(dtype="float32"):
    return relay.nn.dense(var("x", 4, 8, dtype=dtype), var("w", 6, 8, dtype=dtype))


def residual(other):
    made = biased()
    return relay.nn.relu(relay.add(made, made if other is None else var("r", *other)))


CUTLASS = [
    (dense(), ["cutlass.dense"]),
    (relay.add(dense(), var("b", 6)), ["cutlass.dense_bias"]),
    (relay.nn.relu(relay.add(dense(), var("b", 6))), ["cutlass.dense_bias_relu"]),
    (dense("float64"), []),
    (relay.nn.batch_matmul(var("x", 2, 3, 4), var("y", 2, 5, 4)), ["cutlass.batch_matmul"]),
    (
        relay.nn.batch_matmul(var("x", 2, 3, 4), var("y", 2, 4, 5), transpose_b=False),
        [],
    ),
    (conv2d(var("x", *X), var("w", *W)), ["cutlass.conv2d"]),
    (conv2d(var("x", 1, 4, 8, 8), var("w", 6, 4, 3, 3), "NCHW", "OIHW"), []),
    (biased(), ["cutlass.conv2d_bias"]),
    (relay.sigmoid(biased()), ["cutlass.conv2d_bias_sigmoid"]),
    (relay.multiply(made := biased(), relay.sigmoid(made)), ["cutlass.conv2d_bias_silu"]),
    (residual((1, 6, 6, 6)), ["cutlass.conv2d_bias_residual_add_relu"]),
    (residual((6,)), ["cutlass.conv2d_bias"]),
]


@pytest.mark.parametrize("body, names", CUTLASS)
def test_cutlass(body, names):
    mod = partition_for_cutlass(module(body))
    assert taken(mod, "cutlass") == names
    assert cutlass.num_cutlass_partitions(mod) == len(names)


def test_batch_norms_are_folded_first():
    x, w = var("x", *X), var("w", *W)
    ones = [var(name, 6) for name in ("gamma", "beta", "mean", "variance")]
    body = relay.nn.relu(relay.nn.batch_norm(conv2d(x, w), *ones, axis=3)[0])
    params = {v.name_hint: np.ones(6, "float32") for v in ones}
    params["w"] = np.random.rand(*W).astype("float32")
    mod = module(body)
    assert taken(partition_for_cutlass(mod), "cutlass") == ["cutlass.conv2d"]
    assert taken(partition_for_cutlass(mod, params), "cutlass") == ["cutlass.conv2d_bias_relu"]
    assert len(mod["main"].params) == 6  # the given program stays


@pytest.mark.parametrize(
    "body, names",
    [
        (dense(), ["cublas.dense"]),
        (dense("float64"), ["cublas.dense"]),
        (relay.nn.matmul(var("x", 4, 8), var("y", 8, 3)), ["cublas.matmul"]),
        (relay.nn.batch_matmul(var("x", 2, 3, 4), var("y", 2, 5, 4)), ["cublas.batch_matmul"]),
        (
            relay.nn.dense(
                var("x", 4, 8, dtype="int8"), var("w", 6, 8, dtype="int8"), out_dtype="int32"
            ),
            ["cublas.dense"],
        ),
        (
            relay.nn.dense(
                var("x", 4, 7, dtype="int8"), var("w", 6, 7, dtype="int8"), out_dtype="int32"
            ),
            [],
        ),
        (dense("int32"), []),
        (relay.exp(var("x", 4)), []),
    ],
)
def test_cublas(body, names):
    assert taken(partition_for_cublas(module(body)), "cublas") == names


NCHW = (1, 4, 8, 8), (6, 4, 3, 3)


@pytest.mark.parametrize(
    "body, names",
    [
        (relay.nn.softmax(var("x", 2, 3)), ["cudnn.softmax"]),
        (relay.nn.log_softmax(var("x", 2, 3)), ["cudnn.log_softmax"]),
        (relay.nn.log_softmax(var("x", 2, 3, 4)), []),
        (conv2d(var("x", *NCHW[0]), var("w", *NCHW[1]), "NCHW", "OIHW"), ["cudnn.conv2d"]),
        (
            conv2d(var("x", *NCHW[0]), var("w", *NCHW[1]), "NCHW", "OIHW", padding=(1, 1, 0, 1)),
            [],
        ),
        (biased(), ["cudnn.conv2d_bias_act"]),
        (relay.nn.relu(biased()), ["cudnn.conv2d_bias_act"]),
        (conv2d(var("x", *X), var("w", *W)), []),
    ],
)
def test_cudnn(body, names):
    assert taken(partition_for_cudnn(module(body)), "cudnn") == names


def test_tables_by_name():
    assert [name for name, *_ in get_pattern_table("cublas")][0] == "cublas.matmul"
    assert len(get_pattern_table("cutlass")) == 33
    assert get_pattern_table("nothing") is None and not cutlass.has_cutlass()
    with pytest.raises(NotImplementedError, match="no code is made for CUTLASS"):
        cutlass.finalize_modules(None)
