"""Where the native libraries and headers are."""

import os

from .base import __version__  # noqa: F401

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ENDINGS = (".so", ".dylib", ".dll")


def _library_folders():
    given = os.environ.get("TENON_LIBRARY_PATH") or os.environ.get("TVM_LIBRARY_PATH")
    folders = given.split(os.pathsep) if given else []
    from .. import _core

    beside = os.path.dirname(os.path.abspath(_core.__file__))
    # a wheel keeps them beside the extension; a build tree, in lib/ above the package
    folders += [beside, os.path.join(beside, "lib")]
    folders += [os.path.join(_PACKAGE, *up, "lib") for up in ((), ("..",), ("..", ".."))]
    return folders


def find_lib_path(name=None, search_path=None, optional=False):
    """Paths of the native libraries, the runtime first.

    Parameters
    ----------
    name : str or list of str, optional
        File names to look for; default the runtime and, where built, the compiler.
    search_path : str or list of str, optional
        Folders to look in before the usual ones.
    optional : bool
        Return None instead of raising when nothing is found.

    Returns
    -------
    list of str

    Raises
    ------
    RuntimeError
        Nothing was found; the text lists the folders.
    """
    if name is None:
        names = [lib + end for lib in ("libtenon_runtime", "libtenon") for end in _ENDINGS]
    else:
        names = [name] if isinstance(name, str) else list(name)
    folders = [search_path] if isinstance(search_path, str) else list(search_path or ())
    folders += _library_folders()
    found = []
    for file in names:
        hits = (os.path.join(folder, file) for folder in folders)
        found += [os.path.realpath(path) for path in hits if os.path.isfile(path)][:1]
    if not found and not optional:
        raise RuntimeError(
            f"cannot find {' or '.join(names)}: looked in\n" + "\n".join(dict.fromkeys(folders))
        )
    return found or None


def find_include_path(name=None, search_path=None, optional=False):
    """Folders with the C headers, for ``-I``.

    Parameters
    ----------
    name : str, optional
        A folder that must exist below an include folder; default ``"tenon"``.
    search_path : str or list of str, optional
        Folders to look in first.
    optional : bool
        Return None instead of raising when nothing is found.

    Returns
    -------
    list of str
    """
    folders = [search_path] if isinstance(search_path, str) else list(search_path or ())
    for up in ((), ("..",), ("..", ".."), ("..", "..", "..")):
        folders.append(os.path.normpath(os.path.join(_PACKAGE, *up, "include")))
    found = [f for f in folders if os.path.isdir(os.path.join(f, name or "tenon"))][:1]
    if not found and not optional:
        raise RuntimeError("cannot find the headers: looked in\n" + "\n".join(folders))
    return found or None
