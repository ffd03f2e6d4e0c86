"""Testing models built ahead of time: their C is compiled by the machine's compiler and run here.

What a runner says of boards is kept but not used: only the runner of the host runs.
"""

import os
import tarfile
import tempfile
from typing import NamedTuple

import numpy as np

from .. import cpu, ir, micro, relay
from .._later import placeholder
from ..contrib.graph_executor import GraphModule
from ..ir.transform import PassContext
from ..relay.backend import Executor, Runtime
from ..relay.build_module import linked

create_relay_module_and_inputs_from_tflite_file = placeholder(
    "tenon.testing.aot.create_relay_module_and_inputs_from_tflite_file",
    "export the model to ONNX and read it by relay.frontend.from_onnx",
)

_TOLERANCE = 1e-3  # absolute, of floating point results


class AOTTestModel(NamedTuple):
    """A model with what comes out of it.

    Attributes
    ----------
    module : IRModule or Function
        The program.
    inputs : dict of str to numpy.ndarray
        What goes in.
    outputs : dict of str to numpy.ndarray
        What must come out, in the order of the results.
    output_tolerance : int or float, optional
        How far results may be off; nothing for integers, 1e-3 for others.
    name : str
        Name of the model.
    params : dict of str to array, optional
        Values of parameters.
    extra_memory_in_bytes : int
        Memory that a board's program gets beyond what the model needs.
    """

    module: object
    inputs: dict
    outputs: dict
    output_tolerance: object = None
    name: str = "default"
    params: dict = None
    extra_memory_in_bytes: int = 0


class AOTCompiledTestModel(NamedTuple):
    """A test model with what `relay.build` made of it."""

    model: AOTTestModel
    executor_factory: object


class AOTDataLinkage(NamedTuple):
    """Where test data lie on a board: section and alignment."""

    section: str
    alignment: int


class AOTTestRunner(NamedTuple):
    """How compiled models are run.

    Attributes
    ----------
    makefile : str
        ``"default"``: on this machine.
    prologue, epilogue : str
        C before and after a run, of boards.
    includes : list of str
        Headers, of boards.
    parameters : dict of str to str
        Parameters of the makefile, of boards.
    pass_config : dict
        Options that models for the runner are built with.
    """

    makefile: str = "default"
    prologue: str = ""
    epilogue: str = ""
    includes: list = []
    parameters: dict = {}
    pass_config: dict = {}


def _as_list(models):
    # the models themselves are tuples too
    return [models] if isinstance(models, (AOTTestModel, AOTCompiledTestModel)) else list(models)


def _module_of(model):
    module = model.module
    return ir.IRModule.from_expr(module) if isinstance(module, relay.Function) else module


def generate_ref_data(mod, input_data, params=None, target="llvm"):
    """What the graph executor makes of inputs.

    Parameters
    ----------
    mod : IRModule or Function
        The program.
    input_data : dict of str to array
        Its inputs.
    params : dict of str to array, optional
        Values of parameters.
    target : str or Target
        What it is built for.

    Returns
    -------
    dict of str to numpy.ndarray
        Results by name: ``output``, or ``output0`` and so on, or what the attribute
        ``output_tensor_names`` of ``main`` says.
    """
    if isinstance(mod, relay.Function):
        mod = ir.IRModule.from_expr(mod)
    with PassContext(opt_level=3):
        built = linked(relay.build(mod, target, params=params))
    module = GraphModule(built["default"](cpu()))
    module.run(**input_data)
    count = module.get_num_outputs()
    attrs = mod["main"].attrs
    if attrs is not None and "output_tensor_names" in attrs:
        names = [str(name) for name in attrs["output_tensor_names"]]
    else:
        names = ["output"] if count == 1 else [f"output{i}" for i in range(count)]
    return {name: module.get_output(i).numpy() for i, name in enumerate(names)}


def compile_models(
    models,
    interface_api,
    use_unpacked_api,
    workspace_byte_alignment=8,
    constant_byte_alignment=8,
    enable_op_fusion=True,
    pass_config=None,
    use_runtime_executor=True,
    target="c",
    workspace_memory_pools=None,
    constant_memory_pools=None,
    schedule_name=None,
    runtime=None,
):
    """Build models ahead of time for microcontrollers.

    Parameters
    ----------
    models : AOTTestModel or list of AOTTestModel
        The models.
    interface_api : str
        ``"c"`` or ``"packed"``.
    use_unpacked_api : bool
        Do functions take data pointers?
    workspace_byte_alignment, constant_byte_alignment : int
        Bytes.
    enable_op_fusion : bool
        May operators be fused?
    pass_config : dict, optional
        Options of passes.
    use_runtime_executor : bool
        Must be true: targets do not carry these options any more.
    target : str or Target
        What code is made for.
    workspace_memory_pools, constant_memory_pools : optional
        As for `relay.build`.
    schedule_name : str, optional
        Must be None: kernels are scheduled by what they compute.
    runtime : Runtime, optional
        ``Runtime("crt")``, with options of the program's own.

    Returns
    -------
    list of AOTCompiledTestModel
    """
    if not use_runtime_executor or schedule_name is not None:
        raise NotImplementedError("options in targets, or schedules by name")
    runtime = Runtime("crt") if runtime is None else runtime
    if runtime.name != "crt":
        raise ValueError(f"compile_models: expected the runtime crt, got {runtime.name}")
    options = {
        "interface-api": interface_api,
        "unpacked-api": use_unpacked_api,
        "workspace-byte-alignment": workspace_byte_alignment,
        "constant-byte-alignment": constant_byte_alignment,
    }
    config = {"tir.disable_vectorize": True, **(pass_config or {})}
    if not enable_op_fusion:
        config["relay.FuseOps.max_depth"] = 1
    built = []
    for model in _as_list(models):
        with PassContext(opt_level=3, config=config):
            factory = relay.build(
                _module_of(model),
                target,
                executor=Executor("aot", options),
                runtime=runtime,
                workspace_memory_pools=workspace_memory_pools,
                constant_memory_pools=constant_memory_pools,
                params=model.params,
                mod_name=model.name,
            )
        built.append(AOTCompiledTestModel(model, factory))
    return built


def _compare(model, got):
    for (name, right), one in zip(model.outputs.items(), got, strict=True):
        right = np.asarray(right)
        floating = right.dtype.kind == "f"
        tolerance = model.output_tolerance
        if tolerance is None:
            tolerance = _TOLERANCE if floating else 0
        np.testing.assert_allclose(
            one.astype("float64") if not floating else one,
            right.astype("float64") if not floating else right,
            rtol=0,
            atol=tolerance,
            err_msg=f"{model.name}: {name}",
        )


def run_and_check(
    models,
    runner,
    interface_api,
    debug_calculated_workspaces=False,
    workspace_byte_alignment=8,
    constant_byte_alignment=8,
    data_linkage=None,
    test_dir=None,
    verbose=False,
    use_workspace_io=False,
    debug_last_error=False,
    checker=None,
    print_output_on_mismatch=False,
):
    """Compile the C of built models, run them and compare results.

    Parameters
    ----------
    models : AOTCompiledTestModel or list of AOTCompiledTestModel
        What `compile_models` returned.
    runner : AOTTestRunner
        How to run them: the default one.
    interface_api, debug_calculated_workspaces, workspace_byte_alignment, \
    constant_byte_alignment, verbose, use_workspace_io, debug_last_error, \
    print_output_on_mismatch : optional
        Not used: models say what they were built with, and errors show the outputs.
    data_linkage : AOTDataLinkage, optional
        Not used: where test data lie is a matter of boards.
    test_dir : str, optional
        Folder for the archive; by default one that goes.
    checker : callable, optional
        Takes the path of a folder with what is in the archive (``codegen/host/src`` and so on),
        and says whether it is as it should be.

    Returns
    -------
    bool
        True; False when the checker says so.

    Raises
    ------
    AssertionError
        A result is not what it must be.
    NotImplementedError
        Another runner.
    """
    if runner.makefile != "default":
        raise NotImplementedError(f"runner {runner.makefile}: only models on the host run")
    models = _as_list(models)
    with tempfile.TemporaryDirectory() as own:
        path = os.path.join(test_dir or own, "models.tar")
        micro.export_model_library_format([m.executor_factory for m in models], path)
        if checker is not None:
            with tarfile.open(path) as archive:
                archive.extractall(own, filter="data")
            if not checker(own):
                return False
        for compiled in models:
            model = compiled.model
            factory = micro.load_model_library_format(path, model.name)
            module = GraphModule(factory["default"](cpu()))
            module.run(**{name: np.asarray(value) for name, value in model.inputs.items()})
            _compare(model, [module.get_output(i).numpy() for i in range(len(model.outputs))])
    return True


def compile_and_run(
    models,
    runner,
    interface_api,
    use_unpacked_api,
    debug_calculated_workspaces=False,
    workspace_byte_alignment=8,
    constant_byte_alignment=8,
    enable_op_fusion=True,
    data_linkage=None,
    use_runtime_executor=True,
    target="c",
    target_opts=None,
    test_dir=None,
    verbose=False,
    schedule_name=None,
    debug_last_error=False,
    checker=None,
    print_output_on_mismatch=False,
    runtime=None,
):
    """`compile_models`, then `run_and_check`; see there.

    Parameters
    ----------
    target_opts : dict of str to str, optional
        Further options of the target.
    runtime : Runtime, optional
        As for `compile_models`.
    """
    for key, value in (target_opts or {}).items():
        target = f"{target} {key}={value}"
    built = compile_models(
        models,
        interface_api,
        use_unpacked_api,
        workspace_byte_alignment,
        constant_byte_alignment,
        enable_op_fusion,
        runner.pass_config,
        use_runtime_executor,
        target,
        schedule_name=schedule_name,
        runtime=runtime,
    )
    return run_and_check(
        built, runner, interface_api, data_linkage=data_linkage, test_dir=test_dir, checker=checker
    )


def get_dtype_range(dtype):
    """Range of values for test data: all of an integer type, 0 to 1 of others.

    Parameters
    ----------
    dtype : str

    Returns
    -------
    (int, int)
    """
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return int(info.min), int(info.max)
    return 0, 1
