"""Finds the Python class of a native type in parts of the package that are not imported yet."""

import importlib

from . import _core

# modules by the key's text before the last dot, where that is not the module's own name
_MODULE_OF = {
    "": "ir._classes",
    "ir": "ir._classes",
    "transform": "ir._classes",
    "instrument": "ir._classes",
    "relay": "relay._classes",
}


def find(type_key):
    """Import what defines the class of a type; nothing happens where no class exists."""
    prefix = type_key.rpartition(".")[0]
    name = "tenon." + _MODULE_OF.get(prefix, prefix)
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as err:
        # "relay.attrs.X" has no module of its own; anything else is a broken installation
        if not name.startswith(err.name or " "):
            raise


_core.set_class_finder(find)
