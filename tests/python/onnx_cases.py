"""Single operators of ONNX as models, run and compared with what numpy gives."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor

onnx = pytest.importorskip("onnx")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402


def model(op, inputs, outputs=1, constants=(), opset=17, shapes=None, domain="", **attrs):
    """A model of one node.

    inputs: arrays by position, None where one is left out; those whose places are in
        `constants` become weights
    outputs: how many results, or the names of the results ("" for one left out)
    shapes: what the model says of the results' extents
    """
    names = ["" if a is None else f"x{i}" for i, a in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)] if isinstance(outputs, int) else outputs
    node = helper.make_node(op, names, results, domain=domain, **attrs)
    values, weights = [], []
    for i, array in enumerate(inputs):
        if array is None:
            continue
        kind = helper.np_dtype_to_tensor_dtype(array.dtype)
        if i in constants:
            weights.append(numpy_helper.from_array(array, names[i]))
        else:
            values.append(helper.make_tensor_value_info(names[i], kind, array.shape))
    outs = [
        helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in results if name
    ]
    for i, shape in enumerate(shapes or []):
        outs[i].type.tensor_type.elem_type = TensorProto.FLOAT
        outs[i].type.tensor_type.shape.SetInParent()
        for extent in shape:
            outs[i].type.tensor_type.shape.dim.add().dim_value = extent
    graph = helper.make_graph([node], "case", values, outs, weights)
    imports = [helper.make_opsetid("", opset)]
    if domain:
        imports.append(helper.make_opsetid(domain, 1))
    return helper.make_model(graph, opset_imports=imports, ir_version=8)


def run(m, feed, target="llvm"):
    """The results of the graph executor."""
    mod, params = relay.frontend.from_onnx(m)
    lib = relay.build(mod, target=target, params=params)
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    module.run(**feed)
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def check(op, inputs, wanted, constants=(), rtol=1e-4, atol=1e-5, **how):
    """`wanted`: the results, as numpy computes them."""
    m = model(op, inputs, constants=constants, **how)
    feed = {f"x{i}": a for i, a in enumerate(inputs) if a is not None and i not in constants}
    got = run(m, feed)
    assert len(got) == len(wanted)
    for a, b in zip(got, wanted, strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype, (a.shape, a.dtype, b.shape, b.dtype)
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol)
