"""The passes of the package under the name of a module that programs import."""

import importlib


def __getattr__(name):
    package = importlib.import_module(__package__)
    if name.startswith("__") or not hasattr(package, name):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(package, name)
