"""Submodules and names of a package that are imported when first asked for.

``import tenon`` has to stay quick, so a package lists what it offers and ``attach`` makes the
``__getattr__`` and ``__dir__`` that fetch it.
"""

import importlib
import sys


def attach(package, submodules=(), names=(), fallback=None):
    """Make ``__getattr__`` and ``__dir__`` for a package.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    submodules : iterable of str
        Submodules importable as attributes.
    names : dict of str to str
        Attribute -> module (absolute, or relative with leading dots) that defines it; the target
        may be written ``module:attribute`` where the two names differ.
    fallback : str, optional
        Module (relative, with a leading dot) that has the names which are not listed.

    Returns
    -------
    getattr, dir : tuple of functions
        To be bound to ``__getattr__`` and ``__dir__`` in the package.
    """
    submodules = frozenset(submodules)
    names = dict(names)

    def fetch(name):
        if name in names:
            target, _, attribute = names[name].partition(":")
            value = getattr(importlib.import_module(target, package), attribute or name)
            setattr(sys.modules[package], name, value)
            return value
        if name in submodules:
            try:
                return importlib.import_module(f"{package}.{name}")
            except ModuleNotFoundError as err:
                if err.name != f"{package}.{name}":
                    raise
        found = None
        if fallback and not name.startswith("__"):
            found = getattr(importlib.import_module(fallback, package), name, None)
        if found is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return found

    def listing():
        more = dir(importlib.import_module(fallback, package)) if fallback else ()
        return sorted({*vars(sys.modules[package]), *submodules, *names, *more})

    return fetch, listing
