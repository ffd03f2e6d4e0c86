"""Options of a pass context from text."""

import importlib

from .model import TVMCException


def load_function(full_name):
    """A function by name: a registered one, or one of a Python module.

    Parameters
    ----------
    full_name : str
        ``tir.transform.UnrollLoop``, ``my.module.function``.

    Returns
    -------
    callable

    Raises
    ------
    TVMCException
        The module has no such function.
    """
    from ..._ffi.registry import get_global_func

    function = get_global_func(full_name, allow_missing=True)
    if function is not None:
        return function
    module_name, _, name = full_name.rpartition(".")
    module = importlib.import_module(_real(module_name))
    if not hasattr(module, name):
        raise TVMCException(f"module {module_name!r} has no function {name!r}")
    return getattr(module, name)


def _real(module_name):
    """``tvm`` means this package, also where no alias is installed."""
    first, dot, rest = module_name.partition(".")
    if first in ("tir", "relay"):
        return f"tenon.{module_name}"
    return f"tenon{dot}{rest}" if first == "tvm" else module_name


def get_pass_config_value(name, value, config_type):
    """A value of an option.

    Parameters
    ----------
    name : str
        The option.
    value : str
        What is given.
    config_type : str
        Its type: ``IntImm``, ``runtime.String`` or ``Array``.

    Returns
    -------
    bool, int, str or list
    """
    if config_type == "runtime.String":
        return value
    if config_type == "Array" and name == "tir.add_lower_pass":
        return _lower_passes(value)
    if config_type != "IntImm":
        raise TVMCException(f"pass configuration {name} is of type {config_type}: set it in Python")
    words = {"true": True, "false": False}
    if value.lower() in words:
        return words[value.lower()]
    try:
        return int(value)
    except ValueError:
        raise TVMCException(
            f"pass configuration {name}: expected a number or true or false, got {value!r}"
        ) from None


def _lower_passes(value):
    """Phases and passes, alternating."""
    words = [word.strip() for word in value.split(",")]
    if len(words) % 2 or not all(word.isdigit() for word in words[::2]):
        raise TVMCException(f"tir.add_lower_pass={value}: expected level,pass,level,pass")
    return [(int(n), load_function(p)()) for n, p in zip(words[::2], words[1::2], strict=True)]


def parse_configs(input_configs):
    """Options of a pass context from text.

    Parameters
    ----------
    input_configs : list of str or None
        ``name=value`` each; passes of ``tir.add_lower_pass`` add up.

    Returns
    -------
    dict

    Raises
    ------
    TVMCException
        There is no such option, or its value is of another type.
    """
    from ...transform import PassContext

    known, out = PassContext.list_configs(), {}
    for item in input_configs or ():
        name, equals, value = item.partition("=")
        if not equals or not value:
            raise TVMCException(f"pass configuration {item!r}: expected name=value")
        if name not in known:
            raise TVMCException(f"unknown pass configuration {name!r}")
        made = get_pass_config_value(name, value, known[name]["type"])
        out[name] = out.get(name, []) + made if isinstance(made, list) else made
    return out
