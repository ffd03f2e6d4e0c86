"""Names in generated code."""

import re

from ..._ffi.base import TVMError


def _words(name):
    return [part for part in re.split(r"[^0-9A-Za-z]+", name) if part]


def _check(name, what, prefixed=True):
    if not name:
        raise TVMError(f"{what} is empty")
    if prefixed and not name.startswith("TVM"):
        raise TVMError(f"{what.split()[0]} not TVM prefixed: {name!r}")


def to_c_function_style(original_name):
    """``TVMGenDefaultMainFunc`` of ``tvmgen_default_main_func``.

    Parameters
    ----------
    original_name : str
        A name that begins with ``TVM``.
    """
    _check(original_name, "Function name")
    rest = original_name[len("TVMGen") :] if original_name.startswith("TVMGen") else ""
    head = "TVMGen" if rest else "TVM"
    tail = rest or original_name[len("TVM") :]
    return head + "".join(word[:1].upper() + word[1:] for word in _words(tail.replace("_", " ")))


def to_c_variable_style(original_name):
    """``tvmgen_my_var`` of ``TVMGen_my_Var``: lower case throughout.

    Parameters
    ----------
    original_name : str
        A name that begins with ``TVM``.
    """
    _check(original_name, "Variable name")
    return original_name.lower()


def to_c_constant_style(original_name):
    """The same in capitals.

    Parameters
    ----------
    original_name : str
        A name that begins with ``TVM``.
    """
    _check(original_name, "Constant name")
    return original_name.upper()


def _combine(names):
    if isinstance(names, str):
        _check(names, "Name", prefixed=False)
        names = [names]
    if not names:
        raise TVMError("Name segments empty")
    for name in names:
        _check(name, "Name segment", prefixed=False)
    return "_".join(re.sub(r"[^0-9A-Za-z_]", "_", name) for name in names)


def prefix_name(names):
    """``TVM_a_b`` of ``["a", "b"]``.

    Parameters
    ----------
    names : list of str
        Parts of the name.
    """
    return "TVM_" + _combine(names)


def prefix_generated_name(names):
    """``TVMGen_a_b`` of ``["a", "b"]``.

    Parameters
    ----------
    names : list of str
        Parts of the name.
    """
    return "TVMGen_" + _combine(names)
