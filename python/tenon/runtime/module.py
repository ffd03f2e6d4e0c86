"""Modules: compiled functions, their imports, export to and loading from files."""

import enum
import os
import struct

from .. import _core
from .._ffi.registry import register_object
from . import _ffi_api
from .object import Object


class BenchmarkResult:
    """Times of a function, in seconds.

    Parameters
    ----------
    results : sequence of float
        Time of one call in each repetition.

    Attributes
    ----------
    min, max, mean, median, std : float
        Statistics over the repetitions; std is that of the population.
    results : sequence of float
        The times themselves.
    """

    def __init__(self, results):
        self.results = results
        ordered, n = sorted(results), len(results)
        self.mean = sum(results) / n
        self.median = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
        self.min, self.max = ordered[0], ordered[-1]
        self.std = (sum((x - self.mean) ** 2 for x in results) / n) ** 0.5

    def __repr__(self):
        return (
            f"BenchmarkResult(min={self.min}, mean={self.mean}, median={self.median}, "
            f"max={self.max}, std={self.std}, results={self.results})"
        )

    def __str__(self):
        names = ("mean", "median", "max", "min", "std")
        heads = " ".join(f"{name + ' (ms)':^12}" for name in names)
        times = " ".join(f"{getattr(self, name) * 1000:^12.4f}" for name in names)
        return f"Execution time summary:\n{heads}\n{times}" + " " * 15


class ModulePropertyMask(enum.IntEnum):
    """What can be done with a module: bits of `Module.get_property_mask`."""

    BINARY_SERIALIZABLE = 1
    RUNNABLE = 2
    DSO_EXPORTABLE = 4


@register_object("runtime.Module")
class Module(Object):
    """Functions that were compiled or loaded together, and the modules that they import.

    Modules come from `tenon.build`, `load_module` and the like. Calling a module calls its entry
    function.
    """

    __slots__ = ("_entry", "_entry_name")

    def __init__(self, handle):
        """Take over the module of a native handle, or that of another Module.

        Parameters
        ----------
        handle : Module
            The module; afterwards both objects stand for it.
        """
        self.__init_handle_by_constructor__(_core.Function(lambda: handle))

    @property
    def entry_name(self):
        """Name of the entry function, ``__tvm_main__`` unless set; str."""
        return getattr(self, "_entry_name", "__tvm_main__")

    @entry_name.setter
    def entry_name(self, name):
        self._entry_name = name
        self._entry = None

    @property
    def entry_func(self):
        """The function called `entry_name`."""
        entry = getattr(self, "_entry", None)
        if entry is None:
            entry = self._entry = self.get_function(self.entry_name)
        return entry

    def implements_function(self, name, query_imports=False):
        """Is there a function of this name?

        Parameters
        ----------
        name : str
            The name.
        query_imports : bool
            Look in imported modules too.
        """
        return bool(_ffi_api.ModuleImplementsFunction(self, name, query_imports))

    def get_function(self, name, query_imports=False):
        """The function of a name.

        Parameters
        ----------
        name : str
            The name.
        query_imports : bool
            Look in imported modules too.

        Returns
        -------
        PackedFunc

        Raises
        ------
        AttributeError
            There is no such function.
        """
        function = _ffi_api.ModuleGetFunction(self, name, query_imports)
        if function is None:
            raise AttributeError(f"Module has no function '{name}'")
        return function

    def import_module(self, module):
        """Let functions of this module use those of another one.

        Parameters
        ----------
        module : Module
            The module to import.

        Raises
        ------
        ValueError
            This module would import itself.
        """
        _ffi_api.ModuleImport(self, module)

    def __getitem__(self, name):
        if not isinstance(name, str):
            raise ValueError("Can only take string as function name")
        return self.get_function(name)

    def __eq__(self, other):
        return isinstance(other, Module) and self.same_as(other)

    __hash__ = Object.__hash__

    def __call__(self, *args):
        return self.entry_func(*args)

    def __repr__(self):
        return f"Module({self.type_key}, {hash(self) & 0xFFFFFFFFFFFFFFFF:x})"

    @property
    def type_key(self):
        """Kind of the module: ``"library"``, ``"llvm"``, ``"c"``, ..."""
        return str(_ffi_api.ModuleGetTypeKey(self))

    @property
    def format(self):
        """Format of its source or code: ``"c"``, ``"so"``, ..."""
        return str(_ffi_api.ModuleGetFormat(self))

    def get_source(self, fmt=""):
        """Source text.

        Parameters
        ----------
        fmt : str
            Which form, for kinds that have several (``"ll"``, ``"asm"``).

        Returns
        -------
        str

        Raises
        ------
        TVMError
            The module has no source in that form.
        """
        return str(_ffi_api.ModuleGetSource(self, fmt))

    @property
    def imported_modules(self):
        """Modules that this one imports; list of Module."""
        return list(_ffi_api.ModuleImports(self))

    def get_property_mask(self):
        """Bits of `ModulePropertyMask`; int."""
        return _ffi_api.ModuleGetPropertyMask(self)

    def _has_property(self, bit):
        return bool(self.get_property_mask() & bit)

    @property
    def is_binary_serializable(self):
        """Can it be saved as bytes inside a library?"""
        return self._has_property(ModulePropertyMask.BINARY_SERIALIZABLE)

    @property
    def is_runnable(self):
        """Can its functions be called?"""
        return self._has_property(ModulePropertyMask.RUNNABLE)

    @property
    def is_dso_exportable(self):
        """Can it be part of a shared library (host code)?"""
        return self._has_property(ModulePropertyMask.DSO_EXPORTABLE)

    @property
    def is_device_module(self):
        """Is it code of a device other than the CPU?"""
        return self.type_key in (
            "cuda",
            "opencl",
            "metal",
            "hip",
            "rocm",
            "vulkan",
            "webgpu",
            "hexagon",
            "sdaccel",
            "aocl",
        )

    def _clear_imports(self):
        _ffi_api.ModuleClearImports(self)

    def save(self, file_name, fmt=""):
        """Write the module (not its imports) to a file.

        Parameters
        ----------
        file_name : str
            The file.
        fmt : str
            Format; default: by the file's ending.

        See Also
        --------
        Module.export_library : makes one file of a module and its imports.
        """
        _ffi_api.ModuleSaveToFile(self, os.fspath(file_name), fmt)

    def time_evaluator(
        self,
        func_name,
        dev,
        number=10,
        repeat=1,
        min_repeat_ms=0,
        limit_zero_time_iterations=100,
        cooldown_interval_ms=0,
        repeats_to_cooldown=1,
        cache_flush_bytes=0,
        f_preproc="",
    ):
        """A function that measures how long a function of the module takes.

        Parameters
        ----------
        func_name : str
            Which function; None or ``""`` for the entry function.
        dev : Device
            Device that the function runs on; it is waited for.
        number : int
            Calls that are measured together in a repetition.
        repeat : int
            Repetitions; there is one call before the first that is not measured.
        min_repeat_ms : int
            Shortest time of a repetition in milliseconds; `number` grows until it is reached.
        limit_zero_time_iterations : int
            Give up growing after so many repetitions that took no time at all.
        cooldown_interval_ms : int
            Pause in milliseconds after each group of repetitions.
        repeats_to_cooldown : int
            Repetitions of such a group.
        cache_flush_bytes : int
            Bytes to write before each repetition, so that caches hold nothing of the last one.
        f_preproc : str
            Global function called with the arguments before each repetition.

        Returns
        -------
        function (*args) -> BenchmarkResult
        """
        measure = _ffi_api.TimeEvaluator(
            self,
            func_name or "__tvm_main__",
            dev.device_type,
            dev.device_id,
            number,
            repeat,
            min_repeat_ms,
            limit_zero_time_iterations,
            cooldown_interval_ms,
            repeats_to_cooldown,
            cache_flush_bytes,
            f_preproc,
        )
        measure.release_gil = True

        def evaluator(*args):
            """Call the function as asked for; returns a BenchmarkResult."""
            blob = measure(*args)
            return BenchmarkResult(struct.unpack(f"<{len(blob) // 8}d", blob))

        return evaluator

    def _collect_from_import_tree(self, filter_func):
        """Modules of the import tree that a function accepts, each once, this module first."""
        found, stack, seen = [], [self], {self}
        while stack:
            module = stack.pop()
            if filter_func(module):
                found.append(module)
            for imported in module.imported_modules:
                if imported not in seen:
                    seen.add(imported)
                    stack.append(imported)
        return found

    def _collect_dso_modules(self):
        """Modules of the import tree that become host code."""
        return self._collect_from_import_tree(lambda m: m.is_dso_exportable)

    def export_library(
        self,
        file_name,
        *,
        fcompile=None,
        fpack_imports=None,
        addons=None,
        workspace_dir=None,
        **kwargs,
    ):
        """Write the module with all its imports to one file that `load_module` reads.

        Parameters
        ----------
        file_name : str or path
            The file. ``.tar`` archives the object files, ``.o`` is one object file of all,
            ``.c``, ``.ll``, ``.s`` and ``.bc`` are the module's text or bitcode; anything else is a
            shared library, linked with the C compiler, or without one by
            `tenon.contrib.cc.link_objects`.
        fcompile : function (file, files, **kwargs), optional
            Makes the file instead, for example `tenon.contrib.cc.create_shared`. Its attribute
            ``object_format`` (``"o"``, ``"tar"``, ``"cu"``) says what the objects are saved as.
        fpack_imports : function (mod, is_system_lib, symbol_prefix, workspace_dir) -> str, optional
            Packs the imports that are not host code into a file, whose path it returns.
        addons : list of str, optional
            Files to link in addition.
        workspace_dir : str, optional
            Where to leave the object files (``lib0.o``, ``devc.o``); default: a folder that is
            removed.
        kwargs
            Passed on to `fcompile`: ``options``, ``cc``, ``cwd``, ...

        Returns
        -------
        Any
            What `fcompile` returned.

        Raises
        ------
        ValueError
            A module of the tree cannot be exported.
        RuntimeError
            The compiler is missing or failed.
        """
        from . import _export

        return _export.export_library(
            self, file_name, fcompile, fpack_imports, addons, workspace_dir, kwargs
        )


def system_lib(symbol_prefix=""):
    """The module of the functions that are linked into this process.

    Parameters
    ----------
    symbol_prefix : str
        Only symbols that begin with this; it is left out of the names.

    Returns
    -------
    Module
    """
    return _ffi_api.SystemLib(symbol_prefix)


def load_module(path, fmt=""):
    """Load a module from a file.

    Parameters
    ----------
    path : str or path
        A shared library, a ``.o`` or ``.tar`` of object files, which is linked first, or text or
        bitcode of LLVM (``.ll``, ``.bc``).
    fmt : str
        Format; default: by the file's ending.

    Returns
    -------
    Module

    Raises
    ------
    ValueError
        There is no such file, or no loader for its format.
    """
    from . import _export

    return _ffi_api.ModuleLoadFromFile(_export.linked(os.fspath(path)), fmt)


def load_static_library(path, func_names):
    """A module that stands for a static library; it can be imported and exported, not run.

    Parameters
    ----------
    path : str
        The library (``.o``, ``.a``).
    func_names : list of str
        Functions that it defines.

    Returns
    -------
    Module
    """
    return _ffi_api.ModuleLoadStaticLibrary(os.fspath(path), list(func_names))


def enabled(target):
    """Can code for a target be compiled and run?

    Parameters
    ----------
    target : str
        Kind of target: ``"llvm"``, ``"c"``, ``"cuda"``, ``"rpc"``, ...

    Returns
    -------
    bool
    """
    return bool(_ffi_api.RuntimeEnabled(target))


def num_threads():
    """Threads that a parallel loop uses; int."""
    return _ffi_api.NumThreads()


_core.set_value_class("Module", Module)
