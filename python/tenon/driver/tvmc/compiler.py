"""Compiling a model."""

import os
from contextlib import nullcontext

from ..._ffi.files import write_file
from ...target import Target
from .composite_target import get_codegen_by_target
from .model import TVMCException, TVMCPackage
from .pass_config import parse_configs
from .target import target_from_cli
from .transform import apply_graph_transforms


def compile_model(
    tvmc_model,
    target,
    opt_level=3,
    executor=None,
    runtime=None,
    tuning_records=None,
    package_path=None,
    cross=None,
    cross_options=None,
    output_format="so",
    dump_code=None,
    target_host=None,
    desired_layout=None,
    disabled_pass=None,
    pass_context_configs=None,
    additional_target_options=None,
    use_vm=False,
    mod_name="default",
    workspace_pools=None,
    instruments=None,
    desired_layout_ops=None,
    transform_args=None,
):
    """Compile a model.

    Parameters
    ----------
    tvmc_model : TVMCModel
        The model.
    target : str, dict or Target
        What for; the host behind a comma, libraries that take parts of the model before it.
    opt_level : int
        Level of the passes, 0 to 3.
    executor : Executor, optional
        What runs it; the graph executor by default.
    runtime : Runtime, optional
        What that runs on; this library by default.
    tuning_records : str, optional
        A file of records of measurements.
    package_path : str, optional
        Where the result goes; a temporary file by default.
    cross, cross_options : str or callable, str, optional
        A compiler that links for another machine, and options for it.
    output_format : str
        ``so``, ``tar`` or ``mlf``.
    dump_code : str or list of str, optional
        Also write the program (``relay``) or the code (``ll``, ``asm``) beside the package.
    target_host : str or Target, optional
        What the code that launches kernels is for.
    desired_layout : str or list of str, optional
        Convert convolutions to ``NCHW`` or ``NHWC``.
    disabled_pass : list of str, optional
        Passes to leave out.
    pass_context_configs : list of str, optional
        ``name=value``.
    additional_target_options : dict of str to dict, optional
        More options for each kind of target.
    use_vm : bool
        For the virtual machine.
    mod_name : str
        Name of the model.
    workspace_pools : WorkspaceMemoryPools, optional
        Memories of a microcontroller.
    instruments : list of PassInstrument, optional
        Watch the passes.
    desired_layout_ops : list of str, optional
        What `desired_layout` is for; convolutions by default.
    transform_args : dict, optional
        As in `transform.apply_graph_transforms`.

    Returns
    -------
    TVMCPackage
    """
    from ...transform import PassContext

    mod, params = tvmc_model.mod, tvmc_model.params
    target, libraries = target_from_cli(target, additional_target_options)
    if target_host:
        target = Target(target, host=target_host)
    config = parse_configs(pass_context_configs)
    mod = apply_graph_transforms(
        mod, _transforms(transform_args, desired_layout, desired_layout_ops)
    )
    for library in libraries:
        cut = get_codegen_by_target(library["name"])["pass_pipeline"]
        mod = cut(mod, params, mod_name=mod_name, **library["opts"])
    context = PassContext(
        opt_level=opt_level,
        config=config,
        disabled_pass=[name for name in disabled_pass or [] if name],
        instruments=instruments,
    )
    with _records(tuning_records), context:
        built = _build(mod, target, params, executor, runtime, use_vm, mod_name, workspace_pools)
    path = tvmc_model.export_package(built, package_path, cross, cross_options, output_format)
    for kind in [dump_code] if isinstance(dump_code, str) else dump_code or []:
        lib = built.lib if use_vm else built.get_lib()
        write_file(f"{path}.{kind}", str(mod) if kind == "relay" else lib.get_source(kind))
    return TVMCPackage(path)


def _transforms(given, layouts, operators):
    own = dict(given or {})
    if layouts:
        own["desired_layout"] = [layouts] if isinstance(layouts, str) else list(layouts)
        own["desired_layout_ops"] = operators
    return own


def _records(path):
    if not path:
        return nullcontext()
    if not os.path.isfile(path):
        raise TVMCException(f"the tuning records {path} do not exist")
    from ... import autotvm

    return autotvm.apply_history_best(path)


def _build(mod, target, params, executor, runtime, use_vm, name, pools):
    from ... import relay

    if use_vm:
        return relay.vm.compile(mod, target=target, params=params)
    return relay.build(
        mod,
        target=target,
        executor=executor,
        runtime=runtime,
        params=params,
        mod_name=name,
        workspace_memory_pools=pools,
    )
