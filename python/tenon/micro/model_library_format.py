"""Model Library Format: a built model as an archive that firmware is made from."""

import json
import os

from .._ffi import get_global_func
from .._ffi.files import write_file
from ..driver.build_module import OperatorModule
from ..error import register_error
from ..relay.backend.executor_factory import AOTExecutorFactoryModule, GraphRuntimeFactoryModule
from ..target import Target

#: the version of archives that hold several models and ahead-of-time programs
_GENERATED_VERSION = 7


@register_error
class UnsupportedInModelLibraryFormatError(Exception):
    """The model has code of a kind that an archive cannot hold."""


@register_error
class NonStaticShapeError(Exception):
    """A parameter of an operator has a shape that is not constant."""


def _populate_codegen_dir(mod, codegen_dir):
    """Write the code of a module and its imports as files.

    Parameters
    ----------
    mod : Module
        Modules of kinds ``"c"`` and ``"llvm"``.
    codegen_dir : str or path
        Folder to write to: ``host/src/libN.c``, ``host/lib/libN.o``.

    Raises
    ------
    UnsupportedInModelLibraryFormatError
        There are modules of other kinds; nothing was written.
    """
    get_global_func("export.ModelLibraryFormatCode")(mod, os.fspath(codegen_dir))


def _build_memory_map(graph_json):
    """The memory that a graph needs.

    Parameters
    ----------
    graph_json : str
        The graph.

    Returns
    -------
    list of dict
        For each storage ``storage_id``, ``size_bytes`` and, where an argument of the graph is in
        it, ``input_binding``.
    """
    return json.loads(str(get_global_func("export.ModelLibraryFormatMemory")(graph_json)))


def _build_function_memory_map(function_metadata):
    """What the functions of a built model need.

    Parameters
    ----------
    function_metadata : Map of str to FunctionInfo
        Of a model that `tenon.relay.build` returned.

    Returns
    -------
    dict
        ``operator_functions`` and ``main``, as in archives of version 7 (``main`` without the names
        of its inputs and outputs).
    """

    def entries(info, *kinds):
        found = {}
        for key, sizes in kinds:
            for target, size in sizes.items():
                device = int(target.get_target_device_type())
                found.setdefault(device, {"device": device})[key] = int(size)
        return list(found.values())

    infos = {str(name): info for name, info in function_metadata.items()}
    main = infos.pop("__tvm_main__")
    return {
        "operator_functions": [
            {
                "function_name": name,
                "workspace": entries(info, ("workspace_size_bytes", info.workspace_sizes)),
            }
            for name, info in infos.items()
        ],
        "main": entries(
            main,
            ("workspace_size_bytes", main.workspace_sizes),
            ("constants_size_bytes", main.constant_sizes),
            ("io_size_bytes", main.io_sizes),
        ),
    }


def generate_c_interface_header(
    module_name,
    inputs,
    outputs,
    pools,
    io_pool_allocations,
    devices,
    workspace_size,
    include_path,
    input_sizes,
    output_sizes,
):
    """Write the header of the C interface of an ahead-of-time model.

    Parameters
    ----------
    module_name : str
        Name of the model.
    inputs, outputs : list of str
        Names of the tensors.
    pools : dict of str to AllocatedPoolInfo, or list of AllocatedPoolInfo
        Memory that the model takes.
    io_pool_allocations : dict of str to PoolAllocation
        Where inputs and outputs lie in the pools, by name; empty where they are the caller's.
    devices : list of str
        Devices that the model is given.
    workspace_size : int
        Bytes that ``TVMBackendAllocWorkspace`` must be able to give.
    include_path : str or path
        Folder of the header, which is made when it is not there.
    input_sizes, output_sizes : dict of str to int, or list of int
        Bytes of the tensors.

    Returns
    -------
    str
        Path of the header: ``tvmgen_NAME.h``.

    Raises
    ------
    ValueError
        Two names are one as C identifiers.
    """

    def sizes(names, given):
        return [int(given[name]) for name in names] if isinstance(given, dict) else list(given)

    inputs, outputs = [str(name) for name in inputs], [str(name) for name in outputs]
    text = get_global_func("driver.aot_header")(
        module_name,
        inputs,
        sizes(inputs, input_sizes),
        outputs,
        sizes(outputs, output_sizes),
        list(pools.values() if isinstance(pools, dict) else pools),
        [str(name) for name in devices],
        int(workspace_size),
        dict(io_pool_allocations or {}),
    )
    os.makedirs(include_path, exist_ok=True)
    path = os.path.join(include_path, f"tvmgen_{module_name}.h")
    write_file(path, str(text))
    return path


def _is_later(mod):
    """Was the model built with the options of later releases?"""
    return isinstance(mod, AOTExecutorFactoryModule) or mod.runtime is not None


def _model_of(mod, compiler):
    """What the compiler writes of a model into an archive of version 7."""
    aot = isinstance(mod, AOTExecutorFactoryModule)
    runtime = mod.runtime
    return [
        str(mod.libmod_name),
        None if aot else mod.graph_json,
        mod.lib,
        mod.params,
        Target.canon_multi_target(mod.target),
        str(mod.ir_mod),
        mod.function_metadata,
        mod.executor_codegen_metadata if aot else None,
        runtime is not None and runtime.name == "crt",
        compiler,
    ]


def _export_operator(mods, file_name, version):
    if len(mods) != 1:
        raise RuntimeError("Multiple operator is not supported.")
    if version not in (None, _GENERATED_VERSION):
        raise ValueError(f"archives of operators are of version {_GENERATED_VERSION}")
    mod = mods[0]
    write = get_global_func("export.ModelLibraryFormatOperator")
    write(file_name, mod.name or "default", mod, mod.ir_module_by_target or {})
    return file_name


def export_model_library_format(mods, file_name, version=None, compiler=None):
    """Write built models as an archive in Model Library Format.

    The archive is an uncompressed ``.tar`` of C source or object files, parameters, graph,
    program text and a description. With ``SOURCE_DATE_EPOCH`` in the environment (seconds since
    1970) equal models give equal bytes.

    Parameters
    ----------
    mods : GraphExecutorFactoryModule, AOTExecutorFactoryModule, or list of them; OperatorModule
        What `tenon.relay.build`, or `tenon.build`, returned for targets of kind ``c`` or ``llvm``.
    file_name : str or path
        The archive.
    version : int, optional
        1 or 7. By default 7 for what was built with an executor or runtime that was named, for
        ahead-of-time programs and for several models, else 1.
    compiler : str, optional
        A command, such as ``"arm-none-eabi-gcc -Os -mthumb -mcpu=cortex-m4"`` (gcc from version 10
        on): ``metadata.json`` then tells what the code of each ahead-of-time model takes when this
        makes it, as ``tenon.measured``: ``flash_bytes``, ``memory_bytes`` (static variables),
        ``stack_bytes`` (frames of the deepest chain of calls), and ``calls``, the functions of
        other libraries that are in none of these.

    Returns
    -------
    str
        The path of the archive.

    Raises
    ------
    UnsupportedInModelLibraryFormatError
        A model has code of another kind; no file is written.
    ValueError
        Another version, one that cannot hold the models or figures of a compiler, two models of
        one name, or code that the compiler refuses.
    NonStaticShapeError
        A parameter of an operator has a shape that is not constant; no file is written.
    RuntimeError
        There is more than one module of operators.
    NotImplementedError
        One of `mods` is not a built model.
    OSError
        The file cannot be written.
    """
    several = isinstance(mods, (list, tuple))
    models = list(mods) if several else [mods]
    if models and all(isinstance(mod, OperatorModule) for mod in models):
        return _export_operator(models, os.fspath(file_name), version)
    for mod in models:
        if not isinstance(mod, (GraphRuntimeFactoryModule, AOTExecutorFactoryModule)):
            raise NotImplementedError(f"Don't know how to export module of type {type(mod)}")
    later = several or any(_is_later(mod) for mod in models)
    version = (_GENERATED_VERSION if later else 1) if version is None else version
    if version not in (1, _GENERATED_VERSION):
        raise ValueError(f"archives are of version 1 or {_GENERATED_VERSION}, not {version}")
    file_name = os.fspath(file_name)
    if compiler is not None and version != _GENERATED_VERSION:
        raise ValueError(f"only archives of version {_GENERATED_VERSION} have figures of compilers")
    if version == _GENERATED_VERSION:
        write = get_global_func("export.ModelLibraryFormat7")
        write(file_name, *(_model_of(mod, compiler) for mod in models))
        return file_name
    if len(models) != 1 or isinstance(models[0], AOTExecutorFactoryModule):
        raise ValueError("archives of version 1 hold one model for the graph executor")
    mod = models[0]
    get_global_func("export.ModelLibraryFormat")(
        str(mod.libmod_name),
        mod.graph_json,
        mod.lib,
        mod.params,
        Target.canon_multi_target(mod.target),
        str(mod.ir_mod),
        file_name,
    )
    return file_name


def load_model_library_format(file_name, model=None):
    """Compile a model of an archive for this machine, to be run here.

    Its C is compiled with ``$CC``, else ``cc``; run only what you trust.

    Parameters
    ----------
    file_name : str or path
        An archive of version 1 to 7.
    model : str, optional
        Which model; by default the only one.

    Returns
    -------
    Module
        ``module["default"](device)`` makes executors, for
        `tenon.contrib.graph_executor.GraphModule`.

    Raises
    ------
    ValueError
        The file is not such an archive, or its code does not compile.
    OSError
        The file cannot be read, or there is no compiler.
    """
    load = get_global_func("export.ModelLibraryFormatLoad")
    load.release_gil = True
    return load(os.fspath(file_name), model)
