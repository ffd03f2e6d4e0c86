"""Tensors of four-bit integers as operands of programs: read where they lie, never written."""

import numpy as np
import pytest
import tenon
from tenon import relay

VALUES = {"int4": np.arange(15) % 16 - 8, "uint4": 15 - np.arange(15)}


def packed(dtype):
    array = tenon.nd.empty((3, 5), dtype)
    array.copyfrom(VALUES[dtype].reshape(3, 5))
    return array


@pytest.mark.parametrize("dtype", VALUES)
@pytest.mark.parametrize("target", ["llvm", "stackvm"])
def test_are_read(dtype, target):
    x = relay.var("x", shape=(3, 5), dtype=dtype)
    doubled = relay.cast(x, "float32") * relay.const(2.0)
    library = relay.build(tenon.IRModule.from_expr(relay.Function([x], doubled)), target)
    executor = tenon.contrib.graph_executor.GraphModule(library["default"](tenon.cpu()))
    executor.run(x=packed(dtype))
    assert (executor.get_output(0).numpy() == 2 * VALUES[dtype].reshape(3, 5)).all()


@pytest.mark.parametrize("dtype", VALUES)
def test_constants_are_folded(dtype):
    mod = tenon.IRModule.from_expr(relay.cast(relay.const(packed(dtype)), "int32"))
    folded = relay.transform.FoldConstant()(mod)["main"].body
    assert (folded.data.numpy() == VALUES[dtype].reshape(3, 5)).all()


def test_are_not_written():
    x = relay.var("x", shape=(3,))
    with pytest.raises(NotImplementedError, match="elements of int4 share bytes"):
        relay.build(tenon.IRModule.from_expr(relay.Function([x], relay.cast(x, "int4"))), "llvm")
