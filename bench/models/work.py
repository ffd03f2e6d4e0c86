"""Multiply-adds of an ONNX graph: those of convolutions, matrix products and recurrent layers."""

import math

import onnx
from onnx import numpy_helper


def _shapes(model, inputs):
    """Extents of all values whose extents are known."""
    for value in model.graph.input:
        if value.name in inputs:
            shape = value.type.tensor_type.shape
            del shape.dim[:]
            for extent in inputs[value.name]:
                shape.dim.add().dim_value = extent
    graph = onnx.shape_inference.infer_shapes(model, data_prop=True).graph
    found = {t.name: tuple(t.dims) for t in graph.initializer}
    for value in [*graph.input, *graph.value_info, *graph.output]:
        kind = value.type.tensor_type
        if kind.HasField("shape") and all(d.HasField("dim_value") for d in kind.shape.dim):
            found[value.name] = tuple(d.dim_value for d in kind.shape.dim)
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute[0].name == "value":
            found[node.output[0]] = numpy_helper.to_array(node.attribute[0].t).shape
    return found


def _recurrent(node, shapes):
    """Both products of every gate in every step."""
    steps, batch, _ = shapes[node.input[0]]
    return steps * batch * (math.prod(shapes[node.input[1]]) + math.prod(shapes[node.input[2]]))


def _node(node, shapes):
    kind = node.op_type
    if kind == "Conv":  # of every output: all inputs of its group and filter
        return math.prod(shapes[node.output[0]]) * math.prod(shapes[node.input[1]][1:])
    if kind == "ConvTranspose":
        return math.prod(shapes[node.input[0]]) * math.prod(shapes[node.input[1]][1:])
    if kind == "MatMul":
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][-1]
    if kind == "Gemm":
        by_columns = any(a.name == "transA" and a.i for a in node.attribute)
        return math.prod(shapes[node.output[0]]) * shapes[node.input[0]][0 if by_columns else 1]
    return _recurrent(node, shapes) if kind in ("LSTM", "GRU", "RNN") else 0


def multiply_adds(path, inputs=None):
    """Multiply-adds of one run of a model, and the bytes of its weights.

    Parameters
    ----------
    path : str
        An ONNX file.
    inputs : dict
        Extents of inputs, by name, where the model leaves them open.

    Returns
    -------
    (int, int)
        Nodes whose extents are not known count nothing.
    """
    model = onnx.load(path)
    shapes, total = _shapes(model, inputs or {}), 0
    for node in model.graph.node:
        try:
            total += _node(node, shapes)
        except KeyError:
            continue
    weights = sum(numpy_helper.to_array(t).nbytes for t in model.graph.initializer)
    return total, weights
