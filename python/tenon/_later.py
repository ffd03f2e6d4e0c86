"""Names of the Relay-era interface whose functions Tenon does not have yet.

Programs import more than they use: a file that names ``tvm.rpc`` at its top has to load even where
nothing remote is done. Such names can be imported; calling one says what is missing.
"""

import importlib.machinery
import sys
import types


class _Later(type):
    """Class of placeholders: a call raises, other attributes are placeholders too."""

    def __call__(cls, *args, **kwargs):
        raise NotImplementedError(f"{cls._path} is not there yet: {cls._why}")

    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(f"{cls._path} has no attribute {name!r}")
        return placeholder(f"{cls._path}.{name}", cls._why)

    def __repr__(cls):
        return f"<{cls._path}: not there yet>"


def placeholder(path, why):
    """Make what stands for a class or function that is not there yet.

    Parameters
    ----------
    path : str
        The full name, for messages.
    why : str
        What there is instead, or what to do.

    Returns
    -------
    type
        Can be named, subclassed and asked for attributes; a call of it, of a subclass or of an
        attribute raises NotImplementedError.
    """
    parent, _, name = path.rpartition(".")
    doc = f"Not there yet: {why}."
    return _Later(name, (), {"_path": path, "_why": why, "__module__": parent, "__doc__": doc})


def attach(package, why, modules):
    """Give a package placeholders, and modules of placeholders.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    why : str
        What there is instead, or what to do.
    modules : dict of str to str
        Name of a module below the package, with dots ("" is the package itself) -> the names in
        it, separated by spaces. What is there already stays.
    """
    for below, names in modules.items():
        module = sys.modules[package]
        path = package
        for part in below.split(".") if below else ():
            path = f"{path}.{part}"
            module = _module(module, path, part)
        for name in names.split():
            if name not in vars(module):
                setattr(module, name, placeholder(f"{path}.{name}", why))


def _module(parent, path, name):
    """The module `path`, made where there is none, as an attribute of its parent."""
    module = sys.modules.get(path)
    if module is None:
        module = types.ModuleType(path, f"Names of {path}: their functions are not there yet.")
        module.__spec__ = importlib.machinery.ModuleSpec(path, None, is_package=True)
        module.__path__ = []
        module.__package__ = path
        sys.modules[path] = module
    # a function or class of that name stays what the attribute means
    if name not in vars(parent):
        setattr(parent, name, module)
    return module
