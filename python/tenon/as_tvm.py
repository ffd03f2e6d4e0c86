"""``import tenon.as_tvm``: from then on ``tvm`` means ``tenon`` in this process.

``import tvm``, ``import tvm.x.y`` and ``from tvm.x import y`` give the very modules of tenon, also
those that are imported later. Nothing changes for an installed tvm outside the process; one that
was imported before is set aside with a warning.

As a program it runs a script or module that way::

    python -m tenon.as_tvm script.py arguments...
    python -m tenon.as_tvm -m package.module arguments...
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import warnings

import tenon

_OLD, _NEW = "tvm", "tenon"


def _real_name(name):
    return _NEW + name[len(_OLD) :]


class _Loader(importlib.abc.InspectLoader):
    """Hands out the tenon module of a tvm name."""

    def create_module(self, spec):
        module = importlib.import_module(_real_name(spec.name))
        self._spec = module.__spec__
        return module

    def exec_module(self, module):
        # the import system has just written the alias's spec into the module: put its own back
        module.__spec__ = self._spec

    # for runpy (python -m, run_module)
    def _real_spec(self, fullname):
        return importlib.util.find_spec(_real_name(fullname))

    def get_code(self, fullname):
        spec = self._real_spec(fullname)
        return spec.loader.get_code(spec.name)

    def get_source(self, fullname):
        spec = self._real_spec(fullname)
        return spec.loader.get_source(spec.name)

    def is_package(self, fullname):
        return self._real_spec(fullname).submodule_search_locations is not None


class _Finder(importlib.abc.MetaPathFinder):
    """Answers for ``tvm`` and everything below it."""

    def find_spec(self, fullname, path=None, target=None):
        if fullname != _OLD and not fullname.startswith(_OLD + "."):
            return None
        real = importlib.util.find_spec(_real_name(fullname))
        if real is None:
            return None  # the import system's error names what was asked for
        spec = importlib.machinery.ModuleSpec(
            fullname,
            _Loader(),
            origin=real.origin,
            is_package=real.submodule_search_locations is not None,
        )
        spec.submodule_search_locations = real.submodule_search_locations
        spec.has_location = real.has_location
        return spec


def _install():
    if any(isinstance(finder, _Finder) for finder in sys.meta_path):
        return
    foreign = [n for n in sys.modules if n == _OLD or n.startswith(_OLD + ".")]
    if foreign:
        warnings.warn(
            "tvm was imported before tenon.as_tvm: its modules are set aside, names imported from "
            "them keep their old meaning",
            stacklevel=3,
        )
        for name in foreign:
            del sys.modules[name]
    sys.meta_path.insert(0, _Finder())
    sys.modules[_OLD] = tenon


def _main(arguments):
    import runpy

    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return 0 if arguments else 2
    # this file runs as __main__: the finder must be that of the imported module
    importlib.import_module("tenon.as_tvm")
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = str(__import__("pathlib").Path(arguments[0]).resolve().parent)
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
else:
    _install()
