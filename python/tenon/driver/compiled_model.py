"""One call from a model to something that can be called."""

import os

import numpy as np

from .. import relay
from .._ffi import get_global_func
from .._ffi.runtime_ctypes import Device
from ..contrib import graph_executor
from ..ir import IRModule
from ..ir.transform import PassContext
from ..relay.function import Function
from ..runtime import ndarray
from ..runtime.vm import VirtualMachine


class CompiledModel:
    """A compiled model that is called with numpy arrays and gives numpy arrays.

    Attributes
    ----------
    library : GraphExecutorFactoryModule or Executable
        What `relay.build` or `relay.vm.compile` gave; ``export_library`` (of its ``module``) writes
        a file.
    module : GraphModule or VirtualMachine
        The executor.
    inputs : dict of str to (tuple of int, str)
        Shape and type of each input, in order; None for extents that the model leaves open.
    executor : str
        ``"graph"``, or ``"vm"`` where the model needs the virtual machine.
    reason : str or None
        What it needs it for.
    """

    executor = "graph"
    reason = None

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

    def export_library(self, file_name, **kwargs):
        """Write a library that needs no compiler to run; see `Module.export_library`."""
        return self.library.module.export_library(file_name, **kwargs)

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
        fits = len(value.shape) == len(shape) and all(
            wanted is None or wanted == extent
            for wanted, extent in zip(shape, value.shape, strict=True)
        )
        if not fits or str(value.dtype) != dtype:
            found = f"{value.dtype}{list(value.shape)}"
            raise ValueError(f"input {name}: expected {dtype}{list(shape)}, got {found}")
        return value


def _numbers(value):
    """A result of the virtual machine as numpy arrays."""
    return value.numpy() if isinstance(value, ndarray.NDArray) else [_numbers(v) for v in value]


class _CompiledProgram(CompiledModel):
    """The same on the virtual machine."""

    executor = "vm"

    def __init__(self, library, main, device, reason):
        self.library = library
        self.module = VirtualMachine(library, device)
        self.reason = reason
        taken = set(library.get_function_params("main"))
        self.inputs = {
            str(param.name_hint): self._described(param.type_annotation)
            for param in main.params
            if str(param.name_hint) in taken
        }

    @staticmethod
    def _described(kind):
        if not isinstance(kind, relay.TensorType):
            return None, None  # a tuple, or a value of a data type
        extents = tuple(int(n) if hasattr(n, "value") else None for n in kind.shape)
        return extents, str(kind.dtype)

    def __call__(self, *args, **kwargs):
        given = self._by_name(args, kwargs)
        values = [self._checked(name, given[name]) for name in self.inputs]
        return _numbers(self.module.invoke("main", *values))

    def _checked(self, name, value):
        return value if self.inputs[name][1] is None else super()._checked(name, value)


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
        ``compiled(x)`` gives the output for an input as numpy arrays. Models with control flow, or
        with extents left open, run on the virtual machine: its ``executor`` is then ``"vm"``.
    """
    mod, weights = _program(model, shape)
    params = {**weights, **(params or {})}
    device = Device(1, 0) if device is None else device
    reason = get_global_func("driver.needs_vm")(mod)
    with PassContext(opt_level=opt_level):
        if reason is not None:
            library = relay.vm.compile(mod, target=target, params=params)
            return _CompiledProgram(library, mod["main"], device, str(reason))
        return CompiledModel(relay.build(mod, target=target, params=params), device)
