"""One call from a model to something that can be called."""

import functools
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
from ..runtime.module import load_module
from ..runtime.vm import Executable, VirtualMachine
from ..target import Target
from ..tir import PrimFunc
from .build_module import build


def _described(shape, dtype):
    """A type as text: float32[1, 3, ?]."""
    if shape is None:
        return "?" if dtype is None else dtype
    return f"{dtype}[{', '.join('?' if n is None else str(n) for n in shape)}]"


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
        Shape and type of each input, in order; None for extents that the model leaves open, and
        (None, None) for what is not a tensor: a sequence, which is given as a list of arrays, or an
        optional value, which may be None or left out.
    outputs : list of (tuple of int, str)
        Shape and type of each output.
    executor : str
        ``"graph"``; ``"vm"`` where the model needs the virtual machine; ``"function"`` for tensor
        programs.
    reason : str or None
        What it needs the virtual machine for.
    """

    executor = "graph"
    reason = None

    def __init__(self, library, device):
        self.library = library
        devices = device if isinstance(device, list | tuple) else [device]
        self.module = graph_executor.GraphModule(library["default"](*devices))
        weights = library["get_graph_params"]()
        self.inputs = {
            name: kind
            for name, kind in self._kinds(*self.module.get_input_info()).items()
            if name not in weights
        }
        self.outputs = list(self._kinds(*self.module.get_output_info()).values())

    @staticmethod
    def _kinds(shapes, dtypes):
        return {
            str(name): (tuple(int(extent) for extent in shape), str(dtypes[name]))
            for name, shape in shapes.items()
        }

    @classmethod
    def load(cls, path, device=None):
        """A model that `save`, `export_library` or the command ``tenon compile`` has written.

        Parameters
        ----------
        path : str or os.PathLike
            The library. Only load what you would run: it is code.
        device : Device or list of Device, optional
            Where to run; default: the first CPU.

        Returns
        -------
        CompiledModel
        """
        module = load_module(os.fspath(path))
        device = Device(1, 0) if device is None else device
        if module.type_key == "VMExecutable":
            return _CompiledProgram(Executable(module), device, None)
        return CompiledModel(module, device)

    @property
    def shapes(self):
        """Shape of each input by name (dict of str to tuple)."""
        return {name: shape for name, (shape, _) in self.inputs.items()}

    @property
    def dtypes(self):
        """Type of each input by name (dict of str to str)."""
        return {name: dtype for name, (_, dtype) in self.inputs.items()}

    def __repr__(self):
        inputs = ", ".join(f"{name}: {_described(*kind)}" for name, kind in self.inputs.items())
        outputs = ", ".join(_described(*kind) for kind in self.outputs)
        if len(self.outputs) != 1:
            outputs = f"({outputs})"
        why = f", for {self.reason}" if self.reason else ""
        return f"CompiledModel(({inputs}) -> {outputs}, executor {self.executor}{why})"

    def __call__(self, *args, **kwargs):
        """Run the model.

        Parameters
        ----------
        args, kwargs : numpy.ndarray, NDArray or array-like
            The inputs, in order or by name.

        Returns
        -------
        numpy.ndarray, list or None
            The output; a list where there are several. A sequence is a list of arrays, an optional
            value that is missing None.

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
        module = getattr(self.library, "module", self.library)
        return module.export_library(os.fspath(file_name), **kwargs)

    save = export = export_library

    def _by_name(self, args, kwargs):
        names = list(self.inputs)
        if len(args) > len(names):
            raise TypeError(f"expected at most {len(names)} inputs, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"input {name} is given twice")
            if name not in self.inputs:
                raise TypeError(f"unknown input {name}; the model has {', '.join(names)}")
            given[name] = value
        missing = [name for name in names if name not in given]
        if missing:
            raise TypeError(f"missing inputs: {', '.join(missing)}")
        return given

    def _checked(self, name, value):
        return self._array(name, value, *self.inputs[name])

    @staticmethod
    def _array(name, value, shape, dtype):
        """The value as an array of this shape (None: any) and type."""
        if value is None:
            raise ValueError(f"input {name}: expected {_described(shape, dtype)}, got None")
        if not isinstance(value, ndarray.NDArray | np.ndarray):
            value = np.asarray(value, dtype)
        if _name_of(value.dtype) != dtype or not (shape is None or _fits(value.shape, shape)):
            found = _described(value.shape, value.dtype)
            raise ValueError(f"input {name}: expected {_described(shape, dtype)}, got {found}")
        return value


# numpy makes the name of a type anew each time, which takes longer than a small kernel
_name_of = functools.cache(str)


def _fits(found, shape):
    """Is it such a shape? None stands for any extent."""
    if len(found) != len(shape):
        return False
    for extent, wanted in zip(found, shape, strict=True):
        if wanted is not None and wanted != extent:
            return False
    return True


def _numbers(value):
    """A result of the virtual machine as numpy arrays."""
    if value is None or isinstance(value, ndarray.NDArray):
        return None if value is None else value.numpy()
    return [_numbers(v) for v in value]


_SEQUENCE, _OPTIONAL = 1, 2  # forms of a type, see Executable.get_function_forms


class _CompiledProgram(CompiledModel):
    """The same on the virtual machine."""

    executor = "vm"

    def __init__(self, library, device, reason):
        self.library = library
        self.module = VirtualMachine(library, device)
        self.reason = reason
        taken = [str(name) for name in library.get_function_params("main")]
        params, self.outputs = library.get_function_types("main")
        self.inputs = dict(zip(taken, params, strict=True))
        self._forms = dict(zip(taken, library.get_function_forms("main"), strict=True))
        forms = enumerate(self._forms.items())
        self._optional = [(i, name) for i, (name, form) in forms if form and form[2] & _OPTIONAL]

    def __call__(self, *args, **kwargs):
        given = self._by_name(args, kwargs)
        values = [self._checked(name, given[name]) for name in self.inputs]
        return _numbers(self.module.invoke("main", *values))

    def _by_name(self, args, kwargs):
        for i, name in self._optional:
            if i >= len(args):
                kwargs.setdefault(name, None)
        return super()._by_name(args, kwargs)

    def _checked(self, name, value):
        """Lists for sequences, None for what may be missing; other data types as they are."""
        if self._forms[name] is None:
            return value
        shape, dtype, form = self._forms[name]
        if value is None and form & _OPTIONAL:
            return None
        if not form & _SEQUENCE:
            return self._array(name, value, shape, dtype)
        if not isinstance(value, list | tuple):
            raise ValueError(f"input {name}: expected a list of arrays, got {type(value).__name__}")
        return [self._array(f"{name}[{i}]", v, shape, dtype) for i, v in enumerate(value)]


class _CompiledFunction(CompiledModel):
    """A tensor program: it is called with an array for each parameter and writes into them."""

    executor = "function"

    def __init__(self, library, func):
        self.library = library
        self.module = library.entry_func
        self.outputs = []
        self.inputs = {}
        for param in func.params:
            buffer = func.buffer_map[param] if param in func.buffer_map else None
            kind = ((), str(param.dtype)) if buffer is None else self._kind(buffer)
            name = own = str((param if buffer is None else buffer).name)
            for i in range(1, len(self.inputs) + 1):  # buffers may share a name
                name = f"{own}_{i}" if name in self.inputs else name
            self.inputs[name] = kind

    @staticmethod
    def _kind(buffer):
        extents = tuple(int(n) if hasattr(n, "value") else None for n in buffer.shape)
        return extents, str(buffer.dtype)

    def __call__(self, *args, **kwargs):
        given = self._by_name(args, kwargs)
        values = [
            self._checked(name, given[name]) if kind[0] else given[name]
            for name, kind in self.inputs.items()
        ]
        return self.module(*values)


# ---- models in their forms


def _is_text(model):
    return isinstance(model, str) and ("def @" in model or model.startswith("#[version"))


def _text_of(model):
    """The Relay text that a model is, or that its file holds; else None."""
    if _is_text(model):
        return model
    if isinstance(model, str | os.PathLike) and os.path.isfile(model):
        with open(model, "rb") as file:
            if file.read(9) == b"#[version":
                return (file.seek(0), file.read().decode())[1]
    return None


def _program(model, shape, strict):
    """The program of a model in any of its forms, and its parameters."""
    text = _text_of(model)
    if text is not None:
        model = relay.parse(text)
    if isinstance(model, Function):
        model = IRModule.from_expr(model)
    if isinstance(model, PrimFunc):
        model = IRModule({"main": model})
    if isinstance(model, IRModule):
        if shape:
            raise ValueError("compile: shape is for ONNX models; a program says its own shapes")
        return model, {}
    known = (str, os.PathLike, bytes, bytearray)
    if not isinstance(model, known) and not hasattr(model, "SerializeToString"):
        raise TypeError(
            "compile: expected a path, bytes, an onnx.ModelProto, Relay text, an IRModule, a "
            f"relay.Function or a PrimFunc, got {type(model).__name__}"
        )
    return relay.frontend.from_onnx(model, shape, strict=strict)


def _compile_tensor_program(mod, target, params, opt_level):
    """One of the functions is the entry: main, or the only one."""
    if params:
        raise ValueError("compile: params are for Relay programs; this one is a tensor program")
    names = [str(v.name_hint) for v in mod.get_global_vars()]
    if "main" not in names and len(names) > 1:
        raise ValueError(f"compile: expected a function main, got {', '.join(sorted(names))}")
    entry = mod["main" if "main" in names else names[0]]
    with PassContext(opt_level=opt_level):
        return _CompiledFunction(build(mod, target=target), entry)


def _devices(target):
    """The first device of each target, in order."""
    kinds = {t.get_target_device_type() for t in Target.canon_multi_target(target)}
    return [Device(kind, 0) for kind in sorted(kinds)]


def compile(
    model, target="llvm", *, shape=None, params=None, opt_level=3, device=None, strict=False
):
    """Compile a model for this process.

    Parameters
    ----------
    model : str, os.PathLike, bytes, onnx.ModelProto, IRModule, relay.Function or PrimFunc
        An ONNX model as a file, its content or the message; Relay text, itself or the path of a
        file; or a program.
    target : Target, str, dict or list
        What to compile for; several targets where the program names several devices.
    shape : dict of str to tuple of int, optional
        Extents of an ONNX model's inputs, where the model leaves them open.
    params : dict of str to NDArray or array-like, optional
        Values of parameters of the program, which become part of it.
    opt_level : int
        How much to optimise, 0 to 4.
    device : Device or list of Device, optional
        Where to run; default: the first device of each target.
    strict : bool
        Warnings about the model, `shape` and `params` are errors.

    Returns
    -------
    CompiledModel
        ``compiled(x)`` gives the output for an input as numpy arrays. Models with control flow, or
        with dynamic extents, run on the virtual machine: its ``executor`` is then ``"vm"``.
        A tensor program (``"function"``) is called with an array for each of its parameters,
        NDArray or numpy array, and writes its results into them.
    """
    mod, weights = _program(model, shape, strict)
    if mod.functions and all(isinstance(f, PrimFunc) for f in mod.functions.values()):
        return _compile_tensor_program(mod, target, params, opt_level)
    params = {**weights, **(params or {})}
    device = _devices(target) if device is None else device
    reason = get_global_func("driver.needs_vm")(mod)
    with PassContext(opt_level=opt_level):
        if reason is not None:
            library = relay.vm.compile(mod, target=target, params=params, strict=strict)
            return _CompiledProgram(library, device, str(reason))
        built = relay.build(mod, target=target, params=params, strict=strict)
        return CompiledModel(built, device)
