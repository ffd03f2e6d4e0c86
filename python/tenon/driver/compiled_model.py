"""One call from a model to something that can be called."""

import os

import numpy as np

from .. import relay
from .._ffi.runtime_ctypes import Device
from ..contrib import graph_executor
from ..ir import IRModule
from ..ir.transform import PassContext
from ..relay.function import Function
from ..runtime import ndarray


class CompiledModel:
    """A compiled model that is called with numpy arrays and gives numpy arrays.

    Attributes
    ----------
    library : GraphExecutorFactoryModule
        What `relay.build` gave; its ``export_library`` writes a file.
    module : GraphModule
        The executor.
    inputs : dict of str to (tuple of int, str)
        Shape and type of each input, in order.
    """

    def __init__(self, library, device):
        self.library = library
        self.module = graph_executor.GraphModule(library["default"](device))
        weights = library.get_params()
        shapes, dtypes = self.module.get_input_info()
        self.inputs = {
            str(name): (tuple(int(extent) for extent in shape), str(dtypes[name]))
            for name, shape in shapes.items()
            if str(name) not in weights
        }

    def __call__(self, *args, **kwargs):
        """Run the model.

        Parameters
        ----------
        args, kwargs : numpy.ndarray, NDArray or array-like
            The inputs, in order or by name.

        Returns
        -------
        numpy.ndarray or list of numpy.ndarray
            The output; a list where there are several.

        Raises
        ------
        TypeError
            An input is missing, is given twice, or is not known.
        ValueError
            An input has another shape or type.
        """
        for name, value in self._by_name(args, kwargs).items():
            self.module.set_input(name, self._checked(name, value))
        self.module.run()
        outputs = [self.module.get_output(i).numpy() for i in range(self.module.get_num_outputs())]
        return outputs[0] if len(outputs) == 1 else outputs

    def _by_name(self, args, kwargs):
        names = list(self.inputs)
        if len(args) > len(names):
            raise TypeError(f"expected at most {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"input {name} is given twice")
            if name not in self.inputs:
                raise TypeError(f"there is no input {name}; the model has {', '.join(names)}")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"missing inputs: {', '.join(missing)}")
        return given

    def _checked(self, name, value):
        shape, dtype = self.inputs[name]
        if not isinstance(value, ndarray.NDArray | np.ndarray):
            value = np.asarray(value, dtype)
        if tuple(value.shape) != shape or str(value.dtype) != dtype:
            found = f"{value.dtype}{list(value.shape)}"
            raise ValueError(f"input {name}: expected {dtype}{list(shape)}, got {found}")
        return value


def _program(model, shape):
    """The program of a model in any of its forms, and its parameters."""
    if isinstance(model, Function):
        model = IRModule.from_expr(model)
    if isinstance(model, IRModule):
        if shape:
            raise ValueError("compile: shape is for ONNX models; a program says its own shapes")
        return model, {}
    known = (str, os.PathLike, bytes, bytearray)
    if not isinstance(model, known) and not hasattr(model, "SerializeToString"):
        raise TypeError(
            "compile: expected a path, bytes, an onnx.ModelProto, an IRModule or a relay.Function, "
            f"got {type(model).__name__}"
        )
    return relay.frontend.from_onnx(model, shape)


def compile(model, target="llvm", *, shape=None, params=None, opt_level=3, device=None):
    """Compile a model for this process.

    Parameters
    ----------
    model : str, os.PathLike, bytes, onnx.ModelProto, IRModule or relay.Function
        An ONNX model as a file, its content or the message; or a program.
    target : Target, str or dict
        What to compile for.
    shape : dict of str to tuple of int, optional
        Extents of an ONNX model's inputs, where the model leaves them open.
    params : dict of str to NDArray or array-like, optional
        Values of parameters of the program, which become part of it.
    opt_level : int
        How much to optimise, 0 to 4.
    device : Device, optional
        Where to run; default: the first CPU.

    Returns
    -------
    CompiledModel
        ``compiled(x)`` gives the output for an input as numpy arrays.
    """
    mod, weights = _program(model, shape)
    with PassContext(opt_level=opt_level):
        library = relay.build(mod, target=target, params={**weights, **(params or {})})
    return CompiledModel(library, Device(1, 0) if device is None else device)
