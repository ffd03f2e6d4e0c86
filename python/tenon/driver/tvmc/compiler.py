"""Compiling a model."""

import os
from contextlib import nullcontext

from ..._ffi.files import write_file
from ...target import Target
from ...target.target import TargetKind
from .model import TVMCException, TVMCPackage


def targets_from(text, options=None):
    """Targets from text.

    Parameters
    ----------
    text : str, dict, Target or list
        One target, or several with commas between: ``cuda, llvm -mcpu=skylake``.
    options : dict of str to dict, optional
        More options for each kind.

    Returns
    -------
    list of Target
    """
    if not isinstance(text, str):
        return list(text) if isinstance(text, (list, tuple)) else [Target(text)]
    if text.lstrip().startswith("{"):
        return [Target(text)]
    words = [_with_options(word.strip(), options or {}) for word in _split(text)]
    if not all(words):
        raise TVMCException(f"target {text!r}: a part is empty")
    return [Target(word) for word in words]


def _split(text):
    """Parts of a list of targets. A comma inside of an option's value (``-mattr=+a,+b``) stays."""
    parts = []
    for part in text.split(","):
        words = part.split()
        starts = bool(words) and words[0] in Target.list_kinds()
        if parts and not starts:
            if not words:
                raise TVMCException(f"target {text!r}: a part is empty")
            parts[-1] += "," + part
        else:
            parts.append(part)
    return parts


def _with_options(word, options):
    kind = word.split()[0] if word.split() else ""
    more = options.get(kind, {})
    return " ".join([word, *(f"-{name}={value}" for name, value in more.items())])


def parse_configs(given):
    """Options of a pass context from text.

    Parameters
    ----------
    given : list of str or None
        ``name=value`` each.

    Returns
    -------
    dict
    """
    from ...transform import PassContext

    known, out = PassContext.list_configs(), {}
    for item in given or ():
        name, equals, value = item.partition("=")
        if not equals or not value:
            raise TVMCException(f"pass configuration {item!r}: expected name=value")
        if name not in known:
            raise TVMCException(f"{name!r} is no pass configuration")
        out[name] = _config_value(name, value, known[name]["type"])
    return out


def _config_value(name, value, kind):
    if kind == "runtime.String":
        return value
    if kind == "IntImm":
        words = {"true": True, "false": False}
        if value.lower() in words:
            return words[value.lower()]
        try:
            return int(value)
        except ValueError:
            raise TVMCException(
                f"pass configuration {name}: expected a number or true or false, got {value!r}"
            ) from None
    raise TVMCException(f"pass configuration {name} is of type {kind}: give it in Python")


def convert_graph_layout(mod, desired_layout):
    """Convert convolutions to a layout of data.

    Parameters
    ----------
    mod : IRModule
        The program.
    desired_layout : str
        ``NCHW`` or ``NHWC``.

    Returns
    -------
    IRModule
    """
    from ...relay import transform
    from ...transform import PassContext, Sequential

    layouts = {op: [desired_layout, "default"] for op in ("nn.conv2d", "qnn.conv2d")}
    layouts["nn.conv2d_transpose"] = [desired_layout, "default"]
    passes = [transform.RemoveUnusedFunctions(), transform.ConvertLayout(layouts)]
    with PassContext(opt_level=3):
        return Sequential(passes)(mod)


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
):
    """Compile a model.

    Parameters
    ----------
    tvmc_model : TVMCModel
        The model.
    target : str, dict, Target or list
        What for; several with commas between.
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
    desired_layout : str, optional
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

    Returns
    -------
    TVMCPackage
    """
    from ...transform import PassContext

    mod, targets = tvmc_model.mod, targets_from(target, additional_target_options)
    if target_host:
        targets = [Target(t, host=target_host) for t in targets]
    if desired_layout:
        mod = convert_graph_layout(mod, desired_layout)
    context = PassContext(
        opt_level=opt_level,
        config=parse_configs(pass_context_configs),
        disabled_pass=list(disabled_pass or []),
    )
    given = targets if len(targets) > 1 else targets[0]
    with _records(tuning_records), context:
        built = _build(
            mod, given, tvmc_model.params, executor, runtime, use_vm, mod_name, workspace_pools
        )
    path = tvmc_model.export_package(built, package_path, cross, cross_options, output_format)
    for kind in [dump_code] if isinstance(dump_code, str) else dump_code or []:
        lib = built.lib if use_vm else built.get_lib()
        write_file(f"{path}.{kind}", str(mod) if kind == "relay" else lib.get_source(kind))
    return TVMCPackage(path)


def _records(path):
    if not path:
        return nullcontext()
    if not os.path.isfile(path):
        raise TVMCException(f"there is no file of records {path}")
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


def target_options():
    """Options that each kind of target has; dict of str to dict of str to str."""
    return {kind: TargetKind.options_from_name(kind) for kind in Target.list_kinds()}
