"""Running a compiled model."""

from .model import TVMCException, TVMCPackage, TVMCResult

DEVICES = ("cpu", "cuda", "cl", "metal", "vulkan", "rocm")
FILLS = ("zeros", "ones", "random")


def generate_tensor_data(shape, dtype, fill_mode):
    """An input.

    Parameters
    ----------
    shape : tuple of int
        Extents.
    dtype : str
        Type of the elements.
    fill_mode : str
        ``zeros``, ``ones`` or ``random`` (-1 to 1; integers of 8 bits: 0 to 127).

    Returns
    -------
    numpy.ndarray
    """
    import numpy as np

    if fill_mode not in FILLS:
        raise TVMCException(f"fill mode {fill_mode}: expected one of {', '.join(FILLS)}")
    if fill_mode != "random":
        return np.full(shape, fill_mode == "ones", dtype=dtype)
    if "int8" in dtype:
        return np.random.randint(128, size=shape, dtype=dtype)
    return np.random.uniform(-1, 1, size=shape).astype(dtype)


def make_inputs_dict(shape_dict, dtype_dict, inputs=None, fill_mode="random"):
    """All inputs of a model: those that are given, the others made.

    Parameters
    ----------
    shape_dict : dict of str to tuple
        Extents of every input.
    dtype_dict : dict of str to str
        Types of their elements.
    inputs : dict of str to numpy.ndarray, optional
        What is given.
    fill_mode : str
        How the others are made.

    Returns
    -------
    dict of str to numpy.ndarray
    """
    shapes = {str(name): shape for name, shape in shape_dict.items()}
    out = dict(inputs or {})
    for name in out:
        if name not in shapes:
            raise TVMCException(f"unknown input {name!r}: the model has {list(shapes)}")
    for name, shape in shapes.items():
        if name in out:
            continue
        if shape is None or None in list(shape):
            raise TVMCException(f"input {name!r} has extents of any size: give it a value")
        extents = tuple(int(x) for x in shape)
        out[name] = generate_tensor_data(extents, str(dtype_dict[name]), fill_mode)
    return out


def run_module(
    tvmc_package,
    device,
    hostname=None,
    port=9090,
    rpc_key=None,
    inputs=None,
    fill_mode="random",
    benchmark=False,
    repeat=10,
    number=10,
    profile=False,
    end_to_end=False,
    options=None,
):
    """Run a compiled model once.

    Parameters
    ----------
    tvmc_package : TVMCPackage
        The model.
    device : str
        ``cpu``, ``cuda``, ``cl``, ...
    hostname, port, rpc_key : optional
        Another machine: not there yet.
    inputs : dict of str to numpy.ndarray, optional
        Inputs by name.
    fill_mode : str
        How other inputs are made: ``zeros``, ``ones`` or ``random``.
    benchmark : bool
        Measure times: `repeat` times the mean of `number` runs.
    repeat, number : int
        See `benchmark`.
    profile : bool
        Print the time of each kernel.
    end_to_end : bool
        Times have the copies of inputs and outputs in them.
    options : dict, optional
        Of microcontrollers.

    Returns
    -------
    TVMCResult

    Raises
    ------
    TVMCException
        What is given is not a package, or one for a microcontroller.
    """
    if not isinstance(tvmc_package, TVMCPackage):
        raise TVMCException(f"expected a compiled model, got {type(tvmc_package).__name__}")
    if device not in DEVICES:
        raise TVMCException(f"device {device}: expected one of {', '.join(DEVICES)}")
    if tvmc_package.type == "mlf":
        raise TVMCException(
            f"{tvmc_package.package_path} is source for a microcontroller: firmware is made of it"
        )
    session = _session(hostname, port, rpc_key)
    session.upload(tvmc_package.lib_path)
    lib = session.load_module(tvmc_package.lib_name)
    dev = session.device({"cl": "opencl"}.get(device, device))
    timing = {"number": number, "repeat": repeat, "end_to_end": end_to_end} if benchmark else None
    execute = _run_vm if tvmc_package.type == "vm" else _run_graph
    values, times = execute(tvmc_package, lib, dev, inputs, fill_mode, timing, profile)
    return TVMCResult({f"output_{i}": value.numpy() for i, value in enumerate(values)}, times)


def _session(hostname, port, key):
    from ... import rpc

    if not hostname:
        return rpc.LocalSession()
    return rpc.connect(hostname, int(port)) if not key else rpc.connect_tracker(hostname, int(port))


def _executor(package, lib, dev, profile):
    from ...contrib import graph_executor
    from ...contrib.debugger import debug_executor
    from ...runtime.executor import AotModule

    if package.graph is None:
        if profile:
            raise TVMCException("models compiled ahead of time have no profile of their kernels")
        if not lib.implements_function("default"):
            raise TVMCException("the model has another name than default: compile it without one")
        return AotModule(lib["default"](dev))
    create = debug_executor.create if profile else graph_executor.create
    module = create(package.graph, lib, dev)
    module.load_params(package.params)
    return module


def _run_graph(package, lib, dev, inputs, fill_mode, timing, profile):
    module = _executor(package, lib, dev, profile)
    made = make_inputs_dict(*module.get_input_info(), inputs, fill_mode)
    for name, value in made.items():
        module.set_input(name, value)
    if profile:
        print(module.profile())
    else:
        module.run()
    times = module.benchmark(dev, **timing) if timing else []
    return [module.get_output(i) for i in range(module.get_num_outputs())], times


def _run_vm(package, lib, dev, inputs, fill_mode, timing, profile):
    from ... import nd
    from ...runtime import profiler_vm, vm

    executable = vm.Executable(lib)
    shapes, types = _vm_inputs(executable)
    made = make_inputs_dict(shapes, types, inputs, fill_mode)
    arrays = {name: nd.array(value, dev) for name, value in made.items()}
    if profile:
        machine = profiler_vm.VirtualMachineProfiler(executable, dev)
        print(machine.profile(func_name="main", **arrays))
    machine = vm.VirtualMachine(executable, dev)
    out = machine.invoke("main", **arrays)
    times = machine.benchmark(dev, func_name="main", **timing, **arrays) if timing else []
    return ([out] if hasattr(out, "numpy") else list(out)), times


def _vm_inputs(executable):
    """Extents and element types of the inputs of ``main``; None: known when it runs."""
    names = [str(name) for name in executable.get_function_params("main")]
    kinds = (executable.get_function_types("main") or ([(None, None)] * len(names), ()))[0]
    shapes = {name: shape for name, (shape, _) in zip(names, kinds, strict=True)}
    return shapes, {name: dtype for name, (_, dtype) in zip(names, kinds, strict=True)}
