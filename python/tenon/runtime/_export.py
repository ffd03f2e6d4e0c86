"""Making one file of a module and its imports, and linking files that are not libraries yet."""

import os
import tarfile

from .._ffi.files import write_file
from ..contrib import cc as _cc
from ..contrib import tar as _tar
from ..contrib import utils as _utils
from . import _ffi_api


def export_library(mod, file_name, fcompile, fpack_imports, addons, workspace_dir, kwargs):
    """Body of `Module.export_library`; see there."""
    file_name = os.fspath(file_name)
    if mod.type_key == "stackvm":
        if not file_name.endswith(".stackvm"):
            raise ValueError(f"Module[{mod.type_key}]: can only be saved as stackvm format")
        mod.save(file_name)
        return None
    temp = None
    if workspace_dir is None:
        temp = _utils.tempdir()
        workspace_dir = temp.path
    fcompile = fcompile or None  # old programs pass False
    job = _Job(mod, fcompile, workspace_dir)
    if fcompile is None and file_name.endswith((".ll", ".s", ".bc")):
        job.object_format = os.path.splitext(file_name)[1][1:]
    files = list(addons or ())
    files += job.save_host_modules(kwargs)
    if fcompile is None:
        fcompile = _function_for(file_name)
    if getattr(fcompile, "need_system_lib", False) and not job.is_system_lib:
        raise ValueError(f"{fcompile} need --system-lib option")
    if mod.imported_modules:
        files += job.pack_imports(fcompile, fpack_imports)
    if job.has_source and not file_name.endswith(".tar"):
        kwargs = {**kwargs, "options": _options(kwargs) + job.include_options()}
    try:
        return fcompile(file_name, files, **kwargs)
    finally:
        if temp is not None:
            temp.remove()


def _function_for(file_name):
    """What makes a file, by its ending."""
    ending = os.path.splitext(file_name)[1]
    if ending in (".c", ".cc", ".ll", ".s", ".bc"):
        return _one_file
    return {".tar": _tar.tar, ".o": _one_object}.get(ending, _cc.create_shared)


def _one_object(output, files, options=None, **kwargs):
    """An object file of several; the only one as it is."""
    if len(files) == 1 and files[0].endswith(".o"):
        _one_file(output, files)
    else:
        _cc.create_object(output, files, options, **kwargs)


def _one_file(output, files, options=None, **kwargs):
    """Source text: all files must be of the ending asked for."""
    ending = os.path.splitext(output)[1]
    other = [f for f in files if os.path.splitext(f)[1] != ending]
    if other or (len(files) > 1 and ending in (".bc", ".ll")):
        names = ", ".join(os.path.basename(f) for f in other or files)
        raise ValueError(f"export_library: {names} cannot be part of one {ending} file")
    parts = []
    for path in files:
        with open(path, "rb") as part:
            parts.append(part.read())
    write_file(output, b"".join(parts))


def _options(kwargs):
    given = kwargs.get("options") or []
    return [given] if isinstance(given, str) else list(given)


class _Job:
    """One export: what has been found out about the modules on the way."""

    def __init__(self, mod, fcompile, folder):
        self.mod = mod
        self.folder = folder
        self.object_format = getattr(fcompile, "object_format", None)
        self.is_system_lib = False
        self.prefix = ""
        self.target = None
        self.has_source = False

    def save_host_modules(self, kwargs):
        """Save each module of host code as libN.FORMAT; returns the paths."""
        for module in self.mod._collect_from_import_tree(
            lambda m: not (m.is_dso_exportable or m.is_binary_serializable)
        ):
            raise ValueError(
                f"export_library: a module of kind {module.type_key!r} can be neither compiled "
                "into a library nor saved in one"
            )
        paths = []
        for i, module in enumerate(self.mod._collect_dso_modules()):
            path = os.path.join(self.folder, f"lib{i}.{self._format_of(module, kwargs)}")
            module.save(path)
            paths.append(path)
            if module.type_key == "llvm":
                self._ask_llvm(module)
        return paths

    def _format_of(self, module, kwargs):
        if module.type_key == "c":
            self.has_source = True
            default = "cu" if kwargs.get("cc") == "nvcc" and not self.object_format else "c"
            return module.format or default
        return self.object_format or "o"

    def _ask_llvm(self, module):
        for attribute, name in (
            ("is_system_lib", "__tvm_is_system_module"),
            ("target", "_get_target_string"),
            ("prefix", "__tvm_get_system_lib_prefix"),
        ):
            if module.implements_function(name):
                value = module.get_function(name)()
                setattr(
                    self, attribute, str(value or "") if attribute != "is_system_lib" else value
                )

    def pack_imports(self, fcompile, fpack_imports):
        """Write the modules that are not host code, as a blob, into one file; returns its path."""
        arguments = (self.mod, bool(self.is_system_lib), self.prefix)
        if fpack_imports is not None:
            return [fpack_imports(*arguments, self.folder)]
        target = self.target or self._target_of(fcompile)
        pack_llvm = _core_function("runtime.ModulePackImportsToLLVM")
        if target and pack_llvm is not None:
            path = os.path.join(self.folder, f"{self.prefix}devc.{self.object_format or 'o'}")
            pack_llvm(self.mod, bool(self.is_system_lib), target, self.prefix).save(path)
        else:
            path = os.path.join(self.folder, f"{self.prefix}devc.c")
            write_file(path, str(_ffi_api.ModulePackImportsToC(*arguments)))
            self.has_source = True
        return [path]

    @staticmethod
    def _target_of(fcompile):
        ask = getattr(fcompile, "get_target_triple", None)
        triple = ask() if ask else None
        return f"llvm -mtriple {triple}" if triple else None

    @staticmethod
    def include_options():
        from .._ffi.libinfo import find_include_path

        return ["-I" + path for path in find_include_path()]


def _core_function(name):
    from .._ffi import get_global_func

    return get_global_func(name, allow_missing=True)


def _has_source(path):
    if not path.endswith(".tar"):
        return False
    with tarfile.open(path) as archive:
        return any(name.endswith((".c", ".cc", ".cpp")) for name in archive.getnames())


def linked(path):
    """The library to load for a path: objects and archives are linked into ``PATH.so`` first."""
    if not os.path.isfile(path):
        raise ValueError(f"cannot find file {path}")
    path = os.path.realpath(path)
    if path.endswith((".o", ".tar")):
        # archives are unpacked by the linker function; objects need no options, and no compiler
        _cc.create_shared(
            path + ".so", [path], _Job.include_options() if _has_source(path) else None
        )
        path += ".so"
    return path
