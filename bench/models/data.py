"""Inputs and references of models: what lies beside them, or random numbers."""

import importlib.util
import os

import numpy as np
import onnx


def input_shapes(path):
    """Extents of the inputs in a file of data, by name."""
    arrays = np.load(path)
    return {key[3:]: arrays[key].shape for key in arrays.files if key.startswith("in:")}


def _inputs(model):
    graph = onnx.load(model, load_external_data=False).graph
    weights = {t.name for t in graph.initializer}
    return [value for value in graph.input if value.name not in weights]


def input_names(model):
    """Names of the inputs of an ONNX file."""
    return [value.name for value in _inputs(model)]


def _input(value, shapes, rng):
    """Random numbers for an input; integers may be indices: zeros and ones."""
    kind = value.type.tensor_type
    extents = [d.dim_value if d.HasField("dim_value") else 1 for d in kind.shape.dim]
    extents = shapes.get(value.name, extents)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
    if np.issubdtype(dtype, np.floating):
        return rng.standard_normal(extents).astype(dtype)
    return rng.integers(0, 2, extents).astype(dtype)


def _reference(path, inputs):
    """What onnxruntime gives, with its own rules of optimisation; nothing where it is missing."""
    if not importlib.util.find_spec("onnxruntime"):
        return []
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def data_of(model, shapes, folder):
    """The file of a model's data: the one beside it, or one that is made in `folder`.

    Parameters
    ----------
    model : pathlib.Path
        An ONNX file.
    shapes : dict
        Extents of inputs, by name, where those of the model are dynamic (1 otherwise).
    folder : str
        Where files are made.
    """
    beside = model.with_suffix(".npz")
    if beside.exists() and not shapes:
        return beside
    rng = np.random.default_rng(0)
    inputs = {value.name: _input(value, shapes, rng) for value in _inputs(model)}
    made = {f"in:{name}": value for name, value in inputs.items()}
    made |= {f"out:{i}": value for i, value in enumerate(_reference(str(model), inputs))}
    path = os.path.join(folder, f"{model.stem}-data.npz")
    np.savez(path, **made)
    return path
