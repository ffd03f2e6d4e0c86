"""A model before compiling, after it, and what a run gave."""

import io
import json
import tarfile
import tempfile
from pathlib import Path

from ..._ffi.files import write_file
from ...contrib.utils import tempdir

# the file with the compiled functions -> the kind of package
_LIBRARIES = {"mod.so": "classic", "mod.tar": "classic", "lib.so": "vm", "lib.tar": "vm"}
_LARGEST = 1 << 34  # bytes of a member of an archive


class TVMCException(Exception):
    """Something that the user of `tvmc` can mend."""


class TVMCImportError(TVMCException):
    """A package that reading a model needs is not installed."""


def _member(archive, name):
    """What a file of an archive holds; None where there is none."""
    for given in (name, f"./{name}"):
        try:
            info = archive.getmember(given)
        except KeyError:
            continue
        # by name, into memory: paths of an archive are not trusted
        if not info.isfile() or info.size > _LARGEST:
            raise TVMCException(f"{given} is not a file of a package")
        return archive.extractfile(info).read()
    return None


def _write_archive(path, files):
    """An archive of files; `files` maps names to bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(content), 0o644
            archive.addfile(info, io.BytesIO(content))
    write_file(path, buffer.getvalue())


class TVMCModel:
    """A model that was read.

    Parameters
    ----------
    mod : IRModule, optional
        The program.
    params : dict of str to NDArray, optional
        Values of its parameters.
    model_path : str, optional
        A file that `save` wrote, instead of the two.

    Raises
    ------
    TVMCException
        Neither is given.
    """

    def __init__(self, mod=None, params=None, model_path=None):
        if model_path is None and (mod is None or params is None):
            raise TVMCException("give a module and its parameters, or the path of a saved model")
        self._folder = tempdir()
        self.mod, self.params = mod, params or {}
        if model_path is not None:
            self.load(model_path)

    def save(self, model_path):
        """Write the program and its parameters.

        Parameters
        ----------
        model_path : str
            The archive, usually ``.tar``.
        """
        from ... import ir
        from ...runtime import save_param_dict

        program = ir.save_json(self.mod).encode()
        files = {"model.json": program, "model.params": bytes(save_param_dict(self.params))}
        _write_archive(model_path, files)

    def load(self, model_path):
        """Read what `save` wrote.

        Parameters
        ----------
        model_path : str
            The archive.
        """
        from ... import ir
        from ...runtime import load_param_dict

        with tarfile.open(model_path) as archive:
            program, params = (_member(archive, f"model.{end}") for end in ("json", "params"))
        if program is None or params is None:
            raise TVMCException(
                f"{model_path} is not a saved model: expected model.json and model.params"
            )
        self.mod, self.params = ir.load_json(program.decode()), load_param_dict(params)

    def default_tuning_records_path(self):
        """Where records of tuning go unless told otherwise; str."""
        return self._folder.relpath("tuning_records.json")

    def default_package_path(self):
        """Where the compiled model goes unless told otherwise; str."""
        return self._folder.relpath("model_package.tar")

    def summary(self, file=None):
        """Print the program.

        Parameters
        ----------
        file : file object, optional
            Where to; standard output by default.
        """
        print(self.mod, file=file)

    def export_package(
        self,
        executor_factory,
        package_path=None,
        cross=None,
        cross_options=None,
        output_format="so",
    ):
        """Write a compiled model.

        Parameters
        ----------
        executor_factory : GraphExecutorFactoryModule or vm.Executable
            What `relay.build` or `relay.vm.compile` gave.
        package_path : str, optional
            The archive.
        cross : str or callable, optional
            Compiler for another machine, which links the library.
        cross_options : str, optional
            Options for it.
        output_format : str
            ``so``, ``tar`` (object files) or ``mlf`` (source for a microcontroller).

        Returns
        -------
        str
            The archive.
        """
        from ...runtime.vm import Executable

        path = str(package_path or self.default_package_path())
        if output_format not in ("so", "tar", "mlf"):
            raise TVMCException(f"output format {output_format}: expected so, tar or mlf")
        if output_format == "mlf":
            if cross:
                raise TVMCException("format mlf is source: it takes no cross compiler")
            from ...micro import export_model_library_format

            return str(export_model_library_format(executor_factory, path))
        is_vm = isinstance(executor_factory, Executable)
        has_graph = hasattr(executor_factory, "get_graph_json")
        # a model compiled ahead of time is one module
        lib = executor_factory.get_lib() if has_graph else executor_factory
        lib = executor_factory.mod if is_vm else lib
        name = f"{'lib' if is_vm else 'mod'}.{output_format}"
        files = {name: _library(lib, name, cross, cross_options)}
        if has_graph:
            from ...runtime import save_param_dict

            files["mod.json"] = executor_factory.get_graph_json().encode()
            files["mod.params"] = bytes(save_param_dict(executor_factory.get_params()))
        _write_archive(path, files)
        return path


def _library(lib, name, cross, cross_options):
    """The bytes of a library, linked for this machine or by a cross compiler."""
    from ...contrib import cc

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        if not cross:
            lib.export_library(str(path))
        else:
            options = cross_options.split() if cross_options else None
            lib.export_library(str(path), fcompile=cc.cross_compiler(cross, options=options))
        return path.read_bytes()


class TVMCPackage:
    """A compiled model in a file.

    Parameters
    ----------
    package_path : str
        The archive.
    project_dir : str or Path, optional
        Of source for a microcontroller: the project that it is part of.

    Attributes
    ----------
    type : str
        ``classic`` (graph executor), ``vm`` or ``mlf``.
    lib_name, lib_path : str or None
        The library in the archive, and where it lies outside of it.
    graph : str or None
        What the graph executor runs; None for the other executors.
    params : bytearray or None
        Parameters as `save_param_dict` wrote them.
    """

    def __init__(self, package_path, project_dir=None):
        self._folder = tempdir()
        self.package_path = package_path
        self.import_package(package_path)
        if project_dir and self.type != "mlf":
            raise TVMCException("project_dir: only source for microcontrollers has a project")
        self.project_dir = project_dir

    def import_package(self, package_path):
        """Read an archive.

        Parameters
        ----------
        package_path : str
            The archive.
        """
        self.lib_name = self.lib_path = graph = params = None
        with tarfile.open(package_path) as archive:
            metadata = _member(archive, "metadata.json")
            if metadata is not None:
                self.type = "mlf"
                graph, params = _archive_parts(archive, json.loads(metadata))
            else:
                self._import_library(archive)
                if self.type == "classic":
                    graph, params = _member(archive, "mod.json"), _member(archive, "mod.params")
        self.graph = None if graph is None else graph.decode()
        self.params = None if params is None else bytearray(params)

    def _import_library(self, archive):
        for name, kind in _LIBRARIES.items():
            content = _member(archive, name)
            if content is not None:
                self.type, self.lib_name = kind, name
                self.lib_path = self._folder.relpath(name)
                write_file(self.lib_path, content)
                return
        raise TVMCException(f"{self.package_path} has no library: expected {', '.join(_LIBRARIES)}")


def _archive_parts(archive, metadata):
    """Graph and parameters of an archive of source."""
    names = list(metadata.get("modules", {"default": {}}))
    if len(names) != 1:
        raise TVMCException(f"the archive has {len(names)} models: expected one")
    graph = _member(archive, f"executor-config/graph/{names[0]}.graph")
    return graph, _member(archive, f"parameters/{names[0]}.params")


class TVMCResult:
    """What a run gave.

    Parameters
    ----------
    outputs : dict of str to numpy.ndarray
        ``output_0`` and so on.
    times : BenchmarkResult or list
        Times, where they were measured.
    """

    def __init__(self, outputs, times):
        self.outputs, self.times = outputs, times

    def format_times(self):
        """The times as a small table; str."""
        return str(self.times)

    def get_output(self, name):
        """An output by name; numpy.ndarray."""
        return self.outputs[name]

    def save(self, output_path):
        """Write the outputs.

        Parameters
        ----------
        output_path : str
            The archive, ``.npz``.
        """
        import numpy as np

        np.savez(output_path, **self.outputs)

    def __str__(self):
        return f"{self.format_times()}\nOutput Names:\n {list(self.outputs)}"
