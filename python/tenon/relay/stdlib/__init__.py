"""The standard library of Relay: files of text in this folder."""

from pathlib import Path
from string import Template

from ... import parser
from ..._ffi.registry import get_global_func
from ...ir import _ffi_api

_FOLDER = Path(__file__).parent


def import_into(mod, name):
    """Add the functions and types of a file to a module, unless they are there already.

    Parameters
    ----------
    mod : IRModule
        The module; it changes.
    name : str
        Name of the file, such as "prelude.rly".

    Raises
    ------
    ValueError
        There is no such file; the text lists those there are.
    """
    files = {path.name: path for path in sorted(_FOLDER.glob("*.rly"))}
    if name not in files:
        raise ValueError(f"the standard library has no file {name!r}: there are {', '.join(files)}")
    known = mod.source_map.source_map if mod.source_map is not None else {}
    if any(str(source.name) == name for source in known):
        return
    text = files[name].read_text(encoding="utf-8")
    mod.update(parser.parse(text, name, mod))
    _ffi_api.SourceMapAdd(mod, name, text)


def import_text(mod, name, text):
    """Add the functions and types of a text to a module.

    A function that does not fit the values of a template is an error where it is used.

    Parameters
    ----------
    mod : IRModule
        The module; it changes.
    name : str
        What errors call the text.
    text : str
        Relay text.
    """
    mod.update(get_global_func("parser.ParseModuleUntyped")(name, text, mod, None))
    _ffi_api.SourceMapAdd(mod, name, text)


def template(name, **values):
    """A text of this folder with values for its ``$names``.

    Parameters
    ----------
    name : str
        Name of the file, without ``.template``.
    values : str
        What takes the place of each name.

    Returns
    -------
    str
    """
    text = (_FOLDER / f"{name}.template").read_text(encoding="utf-8")
    return Template(text).substitute(values)
