"""Python functions of operators, made from the rows that describe them in C.

A row tells the names of an operator's arguments and its attributes with their defaults; the
function takes them in this order, by position or name. What needs more than that (several forms of
an argument, say) is written out beside this module.
"""

import importlib
import inspect
import sys

from ... import _core
from ..._ffi.registry import get_global_func
from ...ir.op import Op
from ...runtime.object_generic import ObjectGeneric
from ..expr import Constant, Expr


def _argument(value):
    """Lists of expressions as they are: C makes tuples of them."""
    if isinstance(value, ObjectGeneric):
        return value.asobject()
    if isinstance(value, list | tuple):
        return [_argument(item) for item in value]
    return value


def _parameters(op):
    parameters = [
        inspect.Parameter(str(a.name), inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for a in op.arguments
    ]
    if not op.attrs_type_key:
        return parameters
    for field in _core.type_info(str(op.attrs_type_key))["fields"]:
        default = field[-1] if len(field) > 5 else None
        parameters.append(_parameter(field, default))
    return parameters


def _parameter(field, default):
    name, flags = field[0], field[3]
    if default is not None:
        value = _literal(default)
    elif flags & 1:  # may be None
        value = None
    else:
        value = inspect.Parameter.empty
    return inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=value)


def _literal(text):
    import ast

    return ast.literal_eval(text)


def maker_name(op_name):
    """Name of the native function that makes calls of an operator."""
    space, _, name = op_name.rpartition(".")
    if op_name.startswith("qnn."):
        return f"relay.qnn.op._make.{name}"
    return f"relay.op.{space}._make.{name}" if space else f"relay.op._make.{name}"


def is_open(value):
    """Is an argument an expression whose value is known at run time only?"""
    return isinstance(value, Expr) and not isinstance(value, Constant)


def dynamic(name):
    """Native function of the form of an operator that takes its attributes as tensors."""
    return get_global_func(maker_name(f"dyn.{name}"))


def wrapper(op_name, order=(), defaults=None, forms=None, finish=None, hidden=()):
    """The Python function of an operator; None if there is no such operator in the library.

    Parameters
    ----------
    op_name : str
        The operator.
    order : tuple of str
        The parameters that come first, where the order is not that of the row.
    defaults : dict, optional
        Defaults that differ from those of the attributes, by parameter.
    forms : dict, optional
        What is done with an argument before it is given on, by parameter.
    finish : function, optional
        Makes the result from the call.
    hidden : tuple of str
        Attributes at the end of the row that passes set and callers do not.
    """
    make = get_global_func(maker_name(op_name), allow_missing=True)
    if make is None:
        return None
    op = Op.get(op_name)
    given = [p for p in _parameters(op) if p.name not in hidden]
    defaults, forms = defaults or {}, forms or {}
    empty = {p.name: p.default for p in given if p.default is False or p.default == ""}
    changed = {p.name: p.replace(default=defaults.get(p.name, p.default)) for p in given}
    signature = _ordered([*(changed.pop(name) for name in order), *changed.values()])

    def call(*args, **kwargs):
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        for name, default in empty.items():  # None says the same as an empty default
            if values[name] is None:
                values[name] = default
        for name, form in forms.items():
            values[name] = form(values[name])
        result = make(*(_argument(values[p.name]) for p in given))
        return finish(result) if finish else result

    call.__name__ = call.__qualname__ = op_name.rpartition(".")[2]
    call.__doc__ = f"{op.description}."
    call.__signature__ = signature
    return call


def _ordered(parameters):
    """A signature; once one has a default, those after it have one too."""
    seen = False
    out = []
    for parameter in parameters:
        if seen and parameter.default is inspect.Parameter.empty:
            parameter = parameter.replace(default=None)
        seen = seen or parameter.default is not inspect.Parameter.empty
        out.append(parameter)
    return inspect.Signature(out)


def attach(package, prefix="", modules=()):
    """``__getattr__`` and ``__dir__`` of a package of operators.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    prefix : str
        What its operators' names begin with: ``"nn."``.
    modules : tuple of str
        Modules of the package in which functions are written out; they come first.
    """

    def names():
        found = set()
        for op in Op.list_op_names():
            rest = op[len(prefix) :]
            if op.startswith(prefix) and "." not in rest and get_global_func(maker_name(op), True):
                found.add(rest)
        return found

    def fetch(name):
        if not name.startswith("__"):
            for module in modules:
                part = importlib.import_module(module, package)
                if name in part.__all__:
                    return _keep(package, name, getattr(part, name))
            function = wrapper(prefix + name)
            if function is not None:
                function.__module__ = package
                return _keep(package, name, function)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def listing():
        written = {n for m in modules for n in importlib.import_module(m, package).__all__}
        return sorted({*vars(sys.modules[package]), *written, *names()})

    return fetch, listing


def _keep(package, name, value):
    setattr(sys.modules[package], name, value)
    return value
