"""The graph executor: runs a compiled model whose shapes are known."""

import math

import numpy as np

from .. import _core
from .._ffi.base import string_types
from .._ffi.registry import get_global_func
from ..runtime.ndarray import NDArray, empty

_SHOWN = 8  # names of inputs in a message
_RPC_SESS_MASK = 128  # device types of remote sessions are the plain type plus a multiple of this


def create(graph_json_str, libmod, device):
    """An executor for a graph.

    Parameters
    ----------
    graph_json_str : str
        The graph as JSON. Its operators name functions of `libmod`.
    libmod : Module
        The compiled functions.
    device : Device or list of Device
        Where to run, in this process or in one remote session. The first device also takes what
        the graph places on none of the others.

    Returns
    -------
    GraphModule

    Raises
    ------
    ValueError
        The graph is broken, or `device` is not a device.
    TVMError
        A function of the graph is missing in `libmod`.

    See Also
    --------
    GraphModule : made directly from a built or loaded model.
    """
    assert isinstance(graph_json_str, string_types), "graph_json_str must be text"
    dev, num_rpc_dev, device_type_id = get_device(libmod, device)
    fcreate = _creator("tvm.graph_executor.create", dev, num_rpc_dev)
    return GraphModule(fcreate(graph_json_str, libmod, *device_type_id))


def _creator(name, devices, num_rpc_dev):
    """The function that makes executors, of the session that the devices belong to."""
    if num_rpc_dev == len(devices):
        return devices[0]._rpc_sess.get_function(name)
    return get_global_func(name)


def get_device(libmod, device):
    """Check devices and write them as numbers.

    Parameters
    ----------
    libmod : Module
        The module that will run on them.
    device : Device or list of Device
        One or several devices.

    Returns
    -------
    device : list of Device
        All devices.
    num_rpc_dev : int
        How many of them are remote: all or none.
    device_type_id : list of int
        Type and id of each, one after the other; types of remote devices as the remote side says.

    Raises
    ------
    ValueError
        Something else than devices, or some remote and some not.
    """
    devices = [device] if isinstance(device, _core.Device) else device
    if not isinstance(devices, (list, tuple)) or not all(
        isinstance(d, _core.Device) for d in devices
    ):
        raise ValueError("dev has to be the type of Device or a list of Device")
    num_rpc_dev = 0
    device_type_id = []
    for dev in devices:
        device_type = dev.device_type
        if device_type >= _RPC_SESS_MASK:
            assert libmod.type_key == "rpc", "a remote device needs a module of its session"
            assert get_global_func("rpc.SessTableIndex")(libmod) == dev._rpc_sess._tbl_index
            num_rpc_dev += 1
            device_type %= _RPC_SESS_MASK
        device_type_id += [device_type, dev.device_id]
    if 0 < num_rpc_dev < len(devices):
        raise ValueError("Either all or none of the devices should be rpc.")
    return devices, num_rpc_dev, device_type_id


def _size(value):
    """Number of elements, by which parameters are ordered."""
    shape = getattr(value, "shape", None)
    return math.prod(np.shape(value) if shape is None else shape)


class GraphModule:
    """An executor: the functions of its module as methods.

    Parameters
    ----------
    module : Module
        What ``lib["default"](dev)`` returns for a model ``lib``, built or loaded.

    Attributes
    ----------
    module : Module
        The same.

    Examples
    --------
    >>> lib = tenon.runtime.load_module("model.so")
    >>> gmod = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    >>> gmod.set_input("x", data)
    >>> gmod.run()
    >>> result = gmod.get_output(0).numpy()
    """

    def __init__(self, module):
        self.module = module
        self._set_input = module["set_input"]
        self._run = module["run"]
        self._get_output = module["get_output"]
        self._get_input = module["get_input"]
        self._get_num_outputs = module["get_num_outputs"]
        self._get_input_index = module["get_input_index"]
        self._get_num_inputs = module["get_num_inputs"]
        self._load_params = module["load_params"]
        self._share_params = module["share_params"]
        self._describe_input = self._optional("_describe_input")
        self._described = {}
        self._run.release_gil = True

    def _optional(self, name):
        """A function that other makes of executors may not have; None then."""
        try:
            return self.module[name]
        except AttributeError:
            return None

    # ---- inputs

    def set_input(self, key=None, value=None, **params):
        """Copy values into inputs.

        Parameters
        ----------
        key : int or str, optional
            Number or name of an input.
        value : NDArray, numpy.ndarray or array-like
            Its value. What is not an NDArray is converted to the input's dtype.
        params : dict of str to such values
            Further inputs by name; names that the graph does not have are a warning.

        Raises
        ------
        RuntimeError
            There is no input called `key`.
        ValueError
            The value does not fit; nothing was overwritten.
        """
        if key is not None and not self._set_one(key, value):
            raise self._no_input(key)
        if params:
            unknown = []
            # large ones first: a remote device needs room for a copy of each
            for name in sorted(params, key=lambda k: -_size(params[k])):
                if not self._set_one(name, params[name]):
                    unknown.append(name)
            self._warn_of(unknown)

    def _warn_of(self, unknown):
        """One warning for all names that no input has."""
        import logging

        if unknown:
            more = f" (nor {len(unknown) - 1} more of those given)" if len(unknown) > 1 else ""
            text = "set_input: %s%s"
            logging.getLogger("tenon.runtime").warning(text, self._no_input(unknown[0]), more)

    def _no_input(self, key):
        """The error for a name that no input has: it tells which there are, the nearest first."""
        import difflib

        names = [str(name) for name in self.get_input_info()[0]]
        near = difflib.get_close_matches(str(key), names, _SHOWN)
        names = near + [name for name in names if name not in near]
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        known = f"it has {', '.join(names[:_SHOWN])}{more}" if names else "it has none"
        return RuntimeError(f"Could not find '{key}' in graph's inputs: {known}")

    def _set_one(self, key, value):
        """Set one input; returns False when there is none of that name."""
        if self._describe_input is None:
            array = self._get_input(key)
            if array is None:
                return False
            array.copyfrom(value)
            return True
        described = self._described.get(key) or self._describe(key)
        if described is None:
            return False
        # an array of numpy of the right type goes as it lies
        as_it_is = isinstance(value, np.ndarray) and value.dtype is described[2]
        if not as_it_is and not isinstance(value, NDArray):
            value = self._converted(key, value, *described)
        self._set_input(key, value)
        return True

    def _describe(self, key):
        """(shape, dtype, numpy's dtype or None) of an input, kept; None when it is not there."""
        found = self._describe_input(key)
        if found is None:
            return None
        shape, dtype = tuple(int(n) for n in found[0]), str(found[1])
        try:
            described = shape, dtype, np.dtype(dtype)
        except TypeError:  # a type that numpy has not
            described = shape, dtype, None
        self._described[key] = described
        return described

    @staticmethod
    def _converted(key, value, shape, dtype, numpy_dtype):
        """The content of `value` in the input's type."""
        value = np.asarray(value)
        if numpy_dtype is not None and value.dtype == numpy_dtype:
            return value  # as it is
        array = empty(shape, dtype)
        lanes = array.dtype.partition("x")[2] if "x" in array.dtype else ""
        expected = (*shape, int(lanes)) if lanes.isdigit() else shape
        if value.shape != expected:
            raise ValueError(f"{key}: expected shape {expected}, got {value.shape}")
        return array.copyfrom(value)

    def set_input_zero_copy(self, key=None, value=None, **params):
        """Let runs read inputs from the caller's arrays, without a copy where that is possible.

        The arrays are kept until `set_input` or another call of this sets the same input.

        Parameters
        ----------
        key : int or str, optional
            Number or name of an input.
        value : NDArray
            Its value: of the input's shape, dtype and device. Memory that the functions cannot use
            as it lies (strided, not aligned to an element, in the way of an output) is copied at
            the start of each run.
        params : dict of str to NDArray
            Further inputs by name; names that the graph does not have are a warning.

        Raises
        ------
        RuntimeError
            There is no input called `key`.
        ValueError
            The array does not fit; nothing was changed.
        """
        bind = self.module["set_input_zero_copy"]
        if key is not None:
            if isinstance(key, str) and self.get_input_index(key) == -1:
                raise self._no_input(key)
            bind(key, value)
        unknown = []
        for name in sorted(params, key=lambda k: -_size(params[k])):
            if self.get_input_index(name) != -1:
                bind(name, params[name])
            else:
                unknown.append(name)
        self._warn_of(unknown)

    def get_num_inputs(self):
        """Number of inputs, parameters included; int."""
        return self._get_num_inputs()

    def get_input(self, index, out=None):
        """The array of an input.

        Parameters
        ----------
        index : int or str
            Number or name.
        out : NDArray, optional
            Where to copy it.

        Returns
        -------
        NDArray
            The array that the next run reads (or `out`); None for an unknown name.
        """
        if out is not None:
            self._get_input(index).copyto(out)
            return out
        return self._get_input(index)

    def get_input_index(self, name):
        """Number of the input of a name, -1 when there is none; int."""
        return self._get_input_index(name)

    def get_input_info(self):
        """Shapes and types of the inputs, without those that `load_params` has set.

        Returns
        -------
        shape : Map of str to ShapeTuple
            Shapes by name.
        dtype : Map of str to str
            Types by name.
        """
        info = self.module["get_input_info"]()
        return info["shape"], info["dtype"]

    # ---- outputs

    def get_num_outputs(self):
        """Number of outputs; int."""
        return self._get_num_outputs()

    def get_output(self, index, out=None):
        """An output of the last run.

        Parameters
        ----------
        index : int or str
            Number, or name of the node that makes it.
        out : NDArray, optional
            Where to copy it.

        Returns
        -------
        NDArray
            The executor's own array, which the next run overwrites; or `out`.
        """
        if out is not None:
            self._get_output(index, out)
            return out
        return self._get_output(index)

    def set_output_zero_copy(self, key, value):
        """Let runs write an output to the caller's array, without a copy where that is possible.

        Parameters
        ----------
        key : int or str
            Number of the output, or name of the node that makes it.
        value : NDArray
            Of the output's shape, dtype and device. Memory that the functions cannot use as it
            lies, or that overlaps that of another input or output, is written at the end of each
            run.
        """
        self.module["set_output_zero_copy"](key, value)

    def get_output_info(self):
        """Shapes and types of the outputs, by the names of the nodes that make them.

        Returns
        -------
        shape : Map of str to ShapeTuple
            Shapes by name.
        dtype : Map of str to str
            Types by name.
        """
        info = self.module["get_output_info"]()
        return info["shape"], info["dtype"]

    def debug_get_output(self, node, out):
        """Only the debug executor can do this."""
        raise NotImplementedError("Please use debugger.debug_executor as graph_executor instead.")

    # ---- running

    def run(self, **input_dict):
        """Run the graph.

        Parameters
        ----------
        input_dict : dict of str to NDArray or array-like
            Inputs to set before, as with `set_input`.
        """
        if input_dict:
            self.set_input(**input_dict)
        self._run()

    def load_params(self, params_bytes):
        """Set inputs from parameters.

        Parameters
        ----------
        params_bytes : bytes or bytearray
            What `tenon.runtime.save_param_dict` made; names that the graph does not have are
            ignored.
        """
        self._load_params(bytearray(params_bytes))

    def share_params(self, other, params_bytes):
        """Use parameters in the memory of another executor.

        Parameters
        ----------
        other : GraphModule
            An executor whose parameters are set.
        params_bytes : bytes or bytearray
            Parameters, of which the names count.
        """
        self._share_params(other.module, bytearray(params_bytes))

    def __getitem__(self, key):
        """The function of the module that is called `key`."""
        return self.module[key]

    def benchmark(
        self,
        device,
        func_name="run",
        repeat=5,
        number=5,
        min_repeat_ms=None,
        limit_zero_time_iterations=100,
        end_to_end=False,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
        **kwargs,
    ):
        """Measure how long a function of the executor takes.

        Parameters
        ----------
        device : Device
            The device that is waited for.
        func_name : str
            Which function; has no meaning when `end_to_end` is set.
        repeat : int
            Repetitions: the number of results.
        number : int
            Calls of which a repetition is the mean.
        min_repeat_ms : int, optional
            Shortest time of a repetition in milliseconds; `number` grows until it is reached.
        limit_zero_time_iterations : int
            Give up growing after so many repetitions that took no time at all.
        end_to_end : bool
            Copy the inputs to the device and the outputs back in each call.
        cooldown_interval_ms : int
            Pause in milliseconds after each group of repetitions.
        repeats_to_cooldown : int
            Repetitions of such a group.
        kwargs : dict of str to NDArray or array-like
            Inputs, set before the measurement.

        Returns
        -------
        BenchmarkResult
            Seconds of a call in each repetition, and statistics over them.
        """
        options = {
            "repeat": repeat,
            "number": number,
            "min_repeat_ms": min_repeat_ms or 0,
            "limit_zero_time_iterations": limit_zero_time_iterations,
        }
        if end_to_end:
            args = []
            for name, value in kwargs.items():
                args += [name, value]
            host_type = device.device_type % _RPC_SESS_MASK
            timer = self.module.time_evaluator("run_from_inputs", device, **options)
            return timer(host_type, device.device_id, *args)
        if kwargs:
            self.set_input(**kwargs)
        return self.module.time_evaluator(
            func_name,
            device,
            cooldown_interval_ms=cooldown_interval_ms,
            repeats_to_cooldown=repeats_to_cooldown,
            **options,
        )()
