"""Names in generated code."""

import re


def _words(name):
    return [part for part in re.split(r"[^0-9A-Za-z]+", name) if part]


def _check(name):
    if not name:
        raise ValueError("Name is empty")


def to_c_function_style(original_name):
    """``TVMGenDefaultMainFunc`` of ``tvmgen_default_main_func``.

    Parameters
    ----------
    original_name : str
        A name that begins with ``TVM``.
    """
    _check(original_name)
    if not original_name.startswith("TVM"):
        raise ValueError("Function not TVM prefixed")
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
    _check(original_name)
    if not original_name.startswith("TVM"):
        raise ValueError("Variable not TVM prefixed")
    return original_name.lower()


def to_c_constant_style(original_name):
    """The same in capitals.

    Parameters
    ----------
    original_name : str
        A name that begins with ``TVM``.
    """
    return to_c_variable_style(original_name).upper()


def _combine(names):
    if not names:
        raise ValueError("Name segments empty")
    return "_".join(_sanitize(name) for name in ([names] if isinstance(names, str) else names))


def _sanitize(name):
    _check(name)
    return re.sub(r"[^0-9A-Za-z_]", "_", name)


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
