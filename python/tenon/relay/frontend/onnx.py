"""ONNX models."""

import os
import time

from ..._ffi import get_global_func


def _new_file(folder):
    return os.path.join(folder, f"tvm_exported_model_{time.time_ns()}.onnx")


def from_onnx(
    model,
    shape=None,
    dtype="float32",
    opset=None,
    freeze_params=True,
    convert_config=None,
    export_node_renamed_model_path=None,
    strict=False,
):
    """A Relay module of an ONNX model.

    Parameters
    ----------
    model : str, os.PathLike, bytes or onnx.ModelProto
        The model's file, its content, or the message. Weights in further files are found only when
        the path is given, and only below the model's own folder.
    shape : dict of str to tuple of int, optional
        Extents of inputs, where the model leaves them open or others are wanted.
    dtype : str or dict of str to str
        Not used: the model says of which types its inputs are.
    opset : int, optional
        Not used: the model says which operator set it was written for.
    freeze_params : bool
        Make weights constants of the program; otherwise they are parameters of ``main``, after the
        inputs, and are returned.
    convert_config : dict, optional
        Not used.
    export_node_renamed_model_path : str or os.PathLike, optional
        File (``x.onnx``), or folder for a new file, which is made where it is missing, to write the
        model to with a name for each node: nodes without one are called ``Relu_0``, ``Relu_1``, ...
        after their operators. Spans of the program (option ``relay.frontend.fill_span``) name the
        same nodes.
    strict : bool
        Warnings about the model and `shape` (logger ``tenon.import``, see docs/onnx.md) are errors.

    Returns
    -------
    (IRModule, dict of str to NDArray)
        The program, and the weights that are parameters of it.

    Raises
    ------
    OpNotImplemented
        The model has operators that are not known; all of them are named.
    OSError, ValueError, DiagnosticError
        The model cannot be read, or is wrong, or suspicious where `strict`.
    TypeError
        It is none of what is expected.
    """
    renamed = export_node_renamed_model_path
    if renamed and not os.path.splitext(renamed)[1]:
        os.makedirs(renamed, exist_ok=True)
    if renamed and os.path.isdir(renamed):
        renamed = _new_file(renamed)
    shapes = {name: list(extents) for name, extents in shape.items()} if shape else None
    is_path = isinstance(model, str | os.PathLike)
    if is_path:
        model = os.fspath(model)
    elif not isinstance(model, bytes | bytearray):
        if not hasattr(model, "SerializeToString"):
            given = type(model).__name__
            raise TypeError(f"from_onnx: expected a path, bytes or an onnx.ModelProto, got {given}")
        model = model.SerializeToString()
    if not is_path:
        model = bytearray(model)
    module, params = get_global_func("relay.frontend.FromONNX")(
        model, is_path, shapes, freeze_params, renamed and os.fspath(renamed), strict
    )
    return module, {str(name): value for name, value in params.items()}
