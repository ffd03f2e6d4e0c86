"""Model Library Format: a built model as an archive that firmware is made from."""

import json
import os

from .._ffi import get_global_func
from ..error import register_error
from ..relay.backend.executor_factory import GraphRuntimeFactoryModule
from ..target import Target


@register_error
class UnsupportedInModelLibraryFormatError(Exception):
    """The model has code of a kind that an archive cannot hold."""


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


def export_model_library_format(mod, file_name):
    """Write a built model as an archive in Model Library Format, version 1.

    The archive is an uncompressed ``.tar`` of C source or object files, parameters, graph,
    program text and a description. With ``SOURCE_DATE_EPOCH`` in the environment (seconds since
    1970) equal models give equal bytes.

    Parameters
    ----------
    mod : GraphExecutorFactoryModule
        What `tenon.relay.build` returned for a target of kind ``c`` or ``llvm``.
    file_name : str or path
        The archive.

    Returns
    -------
    str
        The path of the archive.

    Raises
    ------
    UnsupportedInModelLibraryFormatError
        The model has code of another kind; no file is written.
    NotImplementedError
        `mod` is no built model.
    OSError
        The file cannot be written.
    """
    if not isinstance(mod, GraphRuntimeFactoryModule):
        raise NotImplementedError(f"Don't know how to export module of type {type(mod)}")
    file_name = os.fspath(file_name)
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
