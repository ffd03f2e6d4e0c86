"""The virtual machine: runs Relay programs with control flow, data types and dynamic shapes."""

import numbers

import numpy as np

from .. import _core
from . import _ffi_api
from .container import ADT
from .module import Module
from .ndarray import NDArray, array, cpu
from .object import Object


def _value(arg):
    """An argument as the machine takes it: an array, or an ADT of such for a tuple or list; None
    for an optional value that is missing."""
    if arg is None or isinstance(arg, Object | NDArray):
        return arg
    if isinstance(arg, np.ndarray):
        return array(arg)
    if isinstance(arg, tuple | list):
        return ADT(0, [_value(item) for item in arg])
    if isinstance(arg, bool | np.bool_):
        return array(np.array(arg, "bool"))
    if isinstance(arg, np.generic):
        return array(np.asarray(arg))
    if isinstance(arg, numbers.Integral):
        return array(np.array(arg, "int32"))
    if isinstance(arg, numbers.Real):
        return array(np.array(arg, "float32"))
    if hasattr(arg, "__array__") or hasattr(arg, "__dlpack__"):
        return array(np.asarray(arg))
    raise TypeError(f"Unsupported type: {type(arg)}: expected arrays, numbers or tuples of them")


def _number(arg, dtype):
    """A plain number as one of a parameter's type, where it has one that can hold it."""
    wanted = {int: ("int", "uint", "float"), float: ("float",)}.get(type(arg))
    return np.array(arg, dtype) if wanted and dtype and dtype.startswith(wanted) else arg


def _kind(kind):
    """(shape, type) of a tensor, None for dynamic extents; (None, None) for other values."""
    if kind is None or kind[2]:
        return None, None
    return _shape(kind[0]), str(kind[1])


def _shape(shape):
    """None for dynamic extents; None for any shape."""
    return None if shape is None else tuple(None if n < 0 else int(n) for n in shape)


class Executable:
    """A program for the virtual machine: bytecode, constants, and the library of its kernels.

    Parameters
    ----------
    mod : Module
        What `relay.vm.compile` has made, or a module loaded from an exported library.
    """

    def __init__(self, mod):
        self.mod = mod
        self._function_params = {}

    # ---- files

    def save(self):
        """The program as bytes, and its library.

        Returns
        -------
        (bytearray, Module)
            Code for `load_exec`, and the library of the kernels, to be exported by itself; None
            where there are no kernels.
        """
        return bytearray(self.mod["save"]()), self.lib

    @staticmethod
    def load_exec(bytecode, lib):
        """The executable that `save` has written.

        Parameters
        ----------
        bytecode : bytes or bytearray
            Code. It is checked before anything runs.
        lib : Module or None
            Library of the kernels.

        Returns
        -------
        Executable

        Raises
        ------
        ValueError
            The code is broken: the message names the section.
        TypeError
            Arguments of other types.
        """
        if isinstance(bytecode, bytes | str):
            bytecode = bytearray(bytecode.encode() if isinstance(bytecode, str) else bytecode)
        elif not isinstance(bytecode, bytearray):
            raise TypeError(
                "bytecode is expected to be the type of bytearray "
                f"or TVMByteArray, but received {type(bytecode)}"
            )
        if lib is not None and not isinstance(lib, Module):
            raise TypeError(
                f"lib is expected to be the type of tvm.runtime.Module, but received {type(lib)}"
            )
        return Executable(_ffi_api.Load_Executable(bytecode, lib))

    # ---- parts

    @property
    def lib(self):
        """The library of the kernels; None where there are none."""
        return self.mod["get_lib"]()

    @property
    def module(self):
        """The executable as a module: it can be exported, and holds the library."""
        return self.mod

    @property
    def stats(self):
        """Constants, functions and kernels in a few lines (str)."""
        return str(self.mod["get_stats"]())

    @property
    def primitive_ops(self):
        """Names of the kernels in the order of their numbers (list of str)."""
        return [str(name) for name in self.mod["get_primitive_names"]()]

    @property
    def bytecode(self):
        """The functions as instructions (str)."""
        return str(self.mod["get_bytecode"]())

    @property
    def constants(self):
        """Types of the constants (str)."""
        return str(self.mod["get_constants"]())

    @property
    def virtual_devices(self):
        """The devices by number (str)."""
        return str(self.mod["get_virtual_devices"]())

    @property
    def primitives(self):
        """The kernels by number (str)."""
        return str(self.mod["get_primitives"]())

    @property
    def globals(self):
        """Names of the functions in the order of their numbers (list of str)."""
        return [str(name) for name in self.mod["get_globals"]()]

    def get_function_params(self, func_name):
        """Names of a function's parameters.

        Parameters
        ----------
        func_name : str
            The function.

        Returns
        -------
        list of str
        """
        if func_name not in self._function_params:
            arity = self.mod["get_function_arity"](func_name)
            if arity < 0:
                raise ValueError(f"Cannot find function {func_name}")
            name = self.mod["get_function_param_name"]
            self._function_params[func_name] = [str(name(func_name, i)) for i in range(arity)]
        return self._function_params[func_name]

    def get_function_types(self, func_name):
        """Types of a function's parameters and results.

        Parameters
        ----------
        func_name : str
            The function.

        Returns
        -------
        (list, list) of (tuple of int, str), or None
            Shape and type of each parameter, and of each result (of a tuple: of its fields). None
            stands for an extent that is known at run time; (None, None) for what is not a tensor.
            None for functions that the compiler has made of others.
        """
        types = self.mod["get_function_types"](func_name)
        return types and tuple([_kind(kind) for kind in part] for part in types)

    def get_function_forms(self, func_name):
        """Of which form a function's parameters are.

        Parameters
        ----------
        func_name : str
            The function.

        Returns
        -------
        list
            For each parameter None (a value of a data type, a tuple, or not known), or the shape
            (None: any), the type of elements (str) and the form of tensors: 0 a tensor, 1 a
            sequence of such, 2 a tensor that may be missing, 3 a sequence that may be missing.
        """
        types = self.mod["get_function_types"](func_name)
        if types is None:
            return [None] * len(self.get_function_params(func_name))
        return [kind and (_shape(kind[0]), str(kind[1]), int(kind[2]) & 3) for kind in types[0]]

    # ---- late-bound constants

    def move_late_bound_consts(self, path, byte_limit):
        """Write large constants to a file; the executable needs them back before it runs.

        Parameters
        ----------
        path : str
            The file, in the format of `save_param_dict`.
        byte_limit : int
            Constants of more bytes are moved.
        """
        return self.mod["move_late_bound_consts"](path, byte_limit)

    def get_late_bound_consts(self, byte_limit):
        """Large constants by name (Map of str to NDArray).

        Parameters
        ----------
        byte_limit : int
            Those of more bytes.
        """
        return self.mod["get_late_bound_consts"](byte_limit)

    def load_late_bound_consts(self, path):
        """Read constants that were moved.

        Parameters
        ----------
        path : str
            The file.

        Raises
        ------
        ValueError
            One of them is not in the file.
        """
        return self.mod["load_late_bound_consts"](path)

    def load_late_bound_consts_from_map(self, consts):
        """The same from a dictionary of str to NDArray."""
        return self.mod["load_late_bound_consts_from_map"](consts)


class VirtualMachine:
    """A machine that runs an executable.

    Parameters
    ----------
    exe : Executable or Module
        What to run.
    device : Device or list of Device
        Where; the host is added to them.
    memory_cfg : str or dict of Device to str, optional
        ``"pooled"`` keeps memory for later calls (the default), ``"naive"`` gives it back at once.

    Raises
    ------
    TypeError
        An argument of another type.
    """

    NAIVE_ALLOCATOR = 1
    POOLED_ALLOCATOR = 2

    def __init__(self, exe, device, memory_cfg=None):
        if not isinstance(exe, Executable | Module):
            raise TypeError(
                f"exe is expected to be the type of Executable, but received {type(exe)}"
            )
        self._exec = exe if isinstance(exe, Executable) else Executable(exe)
        self.module = self._exec.mod["vm_load_executable"]()
        self._init = self.module["init"]
        self._invoke = self.module["invoke"]
        self._invoke_stateful = self.module["invoke_stateful"]
        self._get_output = self.module["get_output"]
        self._get_num_outputs = self.module["get_num_outputs"]
        self._get_input_index = self.module["get_input_index"]
        self._set_input = self.module["set_input"]
        self._set_one_input = self.module["set_one_input"]
        self._set_outputs = self.module["set_outputs"]
        self._invoke.release_gil = True
        self._invoke_stateful.release_gil = True
        self._setup_device(device, memory_cfg)

    def _setup_device(self, device, memory_cfg):
        devices = device
        if not isinstance(device, list | tuple):
            if not isinstance(device, _core.Device):
                raise TypeError("dev is expected to be Device or List[Device]")
            devices = [device]
        if not all(isinstance(d, _core.Device) for d in devices):
            raise TypeError("dev is expected to be Device or List[Device]")
        if not any(d.device_type % 128 == 1 for d in devices):
            devices = [*devices, cpu()]
        default = self.POOLED_ALLOCATOR
        by_device = {}
        if isinstance(memory_cfg, str):
            if memory_cfg not in ("naive", "pooled"):
                raise ValueError(f'memory_cfg: expected "naive" or "pooled", got {memory_cfg!r}')
            default = self._kind(memory_cfg)
        elif isinstance(memory_cfg, dict):
            by_device = memory_cfg
        elif memory_cfg is not None:
            raise TypeError(
                f"memory_cfg is expected be string or dictionary, but received {type(memory_cfg)}"
            )
        args = []
        for d in devices:
            kind = self._kind(by_device[d]) if d in by_device else default
            args += [d.device_type % 128, d.device_id, kind]
        self._init(*args)

    def _kind(self, name):
        return self.NAIVE_ALLOCATOR if name == "naive" else self.POOLED_ALLOCATOR

    # ---- inputs

    def set_input(self, func_name, *args, **kwargs):
        """Set the arguments of the calls of a function to come.

        Parameters
        ----------
        func_name : str
            The function.
        args, kwargs : array-like
            All of its arguments, by position or name.

        Raises
        ------
        ValueError
            More or fewer arguments than parameters, a tensor of another shape (`ShapeError`), no
            such function.
        TypeError
            No parameter has that name, no tensor, or one of another type (`DTypeError`).
        """
        self._set_input(func_name, *self._arguments(func_name, args, kwargs))

    def _arguments(self, func_name, args, kwargs):
        """Arguments in the order of the parameters."""
        if not kwargs:
            return self._values(func_name, args)
        names = self._exec.get_function_params(func_name)
        missing = object()
        values = [missing] * len(names)
        for name, value in kwargs.items():
            if name not in names:
                raise TypeError(f"{func_name}() got an unexpected keyword argument '{name}'")
            if names.count(name) > 1:
                raise TypeError(
                    f"{func_name}() has several parameters '{name}': give them by position"
                )
            values[names.index(name)] = value
        rest = iter(args)
        values = [next(rest, missing) if value is missing else value for value in values]
        given = len(args) + len(kwargs)
        if given != len(names) or any(value is missing for value in values):
            raise TypeError(
                f"{func_name}() takes {len(names)} arguments ({', '.join(names)}), got {given}"
            )
        return self._values(func_name, values)

    def _values(self, func_name, args):
        """Arguments as the machine takes them: plain numbers have the types of the parameters."""
        if not any(type(arg) in (int, float) for arg in args):
            return [_value(arg) for arg in args]
        kinds, _ = self._exec.get_function_types(func_name) or ((), ())
        kinds = [*kinds, *[(None, None)] * len(args)]
        return [_value(_number(arg, kind[1])) for arg, kind in zip(args, kinds, strict=False)]

    def set_one_input(self, func_name, *args, **kwargs):
        """Set one argument of the calls of a function to come.

        Parameters
        ----------
        func_name : str
            The function.
        args : (int or str, array-like)
            Number or name of a parameter, and its value.
        kwargs : array-like
            The same as ``name=value``.
        """
        if len(args) == 2 and not kwargs:
            key, value = args
        elif len(kwargs) == 1 and not args:
            ((key, value),) = kwargs.items()
        else:
            raise TypeError("set_one_input: expected a parameter and its value, or one name=value")
        self._set_one_input(func_name, key, _value(value))

    def get_input_index(self, input_name, func_name="main"):
        """Number of a parameter by name, -1 when there is none; int."""
        return self._get_input_index(input_name, func_name)

    # ---- calls

    def invoke(self, func_name, *args, **kwargs):
        """Call a function.

        Parameters
        ----------
        func_name : str
            The function.
        args, kwargs : array-like, list or tuple of such, or None
            Its arguments; none: those set before. A list is a tuple or a sequence, None an optional
            value that is missing.

        Returns
        -------
        NDArray, ADT, Object or None
            Tuples, sequences and values of data types are ADTs; None is an optional value that is
            missing.

        Raises
        ------
        ValueError
            No such function, other than its number of arguments, inputs that were not set, or a
            tensor of another shape (`ShapeError`).
        TypeError
            An argument that is not a tensor, or one of another type (`DTypeError`).
        RuntimeError
            Calls nested too deeply.
        TVMError
            No clause of a match fits; what kernels say of their arguments.
        """
        return self._invoke(func_name, *self._arguments(func_name, args, kwargs))

    def run(self, *args, **kwargs):
        """Call ``main``, see `invoke`."""
        return self.invoke("main", *args, **kwargs)

    def invoke_stateful(self, func_name, *args, **kwargs):
        """Call a function and keep the result for `get_outputs`."""
        self._invoke_stateful(func_name, *self._arguments(func_name, args, kwargs))

    def invoke_with_outputs(self, func_name, input_args, output_args):
        """Call a function whose results go to arrays.

        Parameters
        ----------
        func_name : str
            The function.
        input_args : dict of str to array-like
            Its arguments by name.
        output_args : list of NDArray
            Where the results go: an array of the shape and type of each.

        Raises
        ------
        ValueError
            An array does not fit.
        """
        if input_args:
            self.set_input(func_name, **input_args)
        self._set_outputs(func_name, *output_args)
        self._invoke(func_name)

    def get_outputs(self):
        """Results of the last `invoke_stateful` (list of NDArray)."""
        return [self._get_output(i) for i in range(self._get_num_outputs())]

    def benchmark(
        self,
        device,
        *args,
        func_name="main",
        repeat=5,
        number=5,
        min_repeat_ms=None,
        limit_zero_time_iterations=100,
        end_to_end=False,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
        **kwargs,
    ):
        """Measure how long a call takes.

        Parameters
        ----------
        device : Device
            The device that it runs on.
        args, kwargs : array-like
            Arguments of the function; none: those set before.
        func_name : str
            The function.
        repeat, number : int
            Repetitions, and calls in each.
        min_repeat_ms : int, optional
            Shortest time of a repetition in milliseconds; 0, with `end_to_end` 0 too.
        end_to_end : bool
            Measure setting the inputs as well.
        limit_zero_time_iterations, cooldown_interval_ms, repeats_to_cooldown : int
            See `Module.time_evaluator`.

        Returns
        -------
        BenchmarkResult
            Seconds of a call.
        """
        values = self._arguments(func_name, args, kwargs)
        name = "invoke"
        call = [func_name, *values] if end_to_end else [func_name]
        if values and not end_to_end:
            self._set_input(func_name, *values)
        return self.module.time_evaluator(
            name,
            device,
            repeat=repeat,
            number=number,
            min_repeat_ms=min_repeat_ms or 0,
            limit_zero_time_iterations=limit_zero_time_iterations,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
        )(*call)

    # ---- limits and memory

    def set_max_depth(self, depth):
        """Most calls that may be nested (100,000 at first); more are a RuntimeError."""
        self.module["set_max_depth"](depth)

    def set_max_calls(self, calls):
        """Most calls in the place of one another, as loops are (200 million at first)."""
        self.module["set_max_calls"](calls)

    def set_memory_limit(self, nbytes):
        """Most bytes of a device that the machine may reserve, 0: all; more are a MemoryError."""
        self.module["set_memory_limit"](nbytes)

    def trim(self):
        """Give memory that is kept for later calls back to the devices."""
        self.module["trim"]()

    def memory_stats(self):
        """Bytes ``used`` by tensors, ``reserved`` with what is kept, their ``peak``, and how many
        ``allocations`` the devices were asked for (dict of str to int)."""
        return {str(key): int(value) for key, value in self.module["memory_stats"]().items()}
