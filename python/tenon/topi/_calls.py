"""Operators applied to te tensors: the operator's row is asked for its type and its compute.

The function of the operator in `tenon.relay` makes the expression, so that arguments and attributes
take the forms they take there.
"""

import importlib
import sys
from numbers import Number

from .. import _core, te, tir
from ..ir.expr import PrimExpr
from ..relay.expr import Call, Constant, Tuple, TupleGetItem, TupleWrapper, Var
from ..relay.op import get
from ..relay.ty import TensorType, TupleType
from ..te.tensor import Tensor

_MAX_NUMBERS = 32  # of a constant; the choice between them is made for each element that reads it


def _enumerate(numbers):
    import numpy as np

    return np.ndenumerate(numbers)


def _api(name):
    return _core.get_global_func(f"relay.op.{name}")


def scalar(value, dtype):
    """A tensor without axes that holds a number or an expression."""
    lossy = _is_whole(dtype) and not (
        _is_whole(value.dtype) if _is_expr(value) else float(value).is_integer()
    )
    if lossy:
        raise TypeError(f"topi: {value} is not {dtype}: cast the tensor it is computed with")
    return te.compute(
        (), lambda: tir.Cast(dtype, value) if _is_expr(value) else tir.const(value, dtype), "scalar"
    )


def _constant(numbers):
    """A tensor of a few numbers: each is an arm of a choice."""
    if numbers.size > _MAX_NUMBERS:
        raise ValueError(
            f"topi: a constant of {numbers.size} numbers is too large: make it a te.placeholder"
        )
    dtype = str(numbers.dtype)
    arms = [(place, tir.const(x.item(), dtype)) for place, x in _enumerate(numbers)]

    def element(*at):
        value = tir.const(0, dtype)
        for place, number in reversed(arms):
            here = tir.all(*(i == k for i, k in zip(at, place, strict=True)))
            value = tir.Select(here, number, value)
        return value

    return te.compute(numbers.shape, element, "constant", "injective")


def _is_whole(dtype):
    return str(dtype).startswith(("int", "uint", "bool"))


def _is_expr(value):
    return isinstance(value, PrimExpr)


def _type(value):
    if isinstance(value, list):
        return TupleType([_type(item) for item in value])
    return TensorType(value.shape, value.dtype)


def _flat(values):
    return [x for v in values for x in (_flat(v) if isinstance(v, list) else [v])]


class _Evaluation:
    """Tensors for the variables and calls of an expression."""

    def __init__(self, known):
        self.known = known  # list of (expression, value)

    def value(self, expr):
        """A tensor, or a list of them for a tuple."""
        for seen, value in self.known:
            if seen.same_as(expr):
                return value
        value = self._new_value(expr)
        self.known.append((expr, value))
        return value

    def _new_value(self, expr):
        if isinstance(expr, Tuple):
            return [self.value(field) for field in expr.fields]
        if isinstance(expr, TupleGetItem):
            return self.value(expr.tuple_value)[expr.index]
        if isinstance(expr, Constant):
            number = expr.data.numpy()
            return _constant(number) if number.ndim else scalar(number.item(), str(number.dtype))
        if not isinstance(expr, Call):
            raise TypeError(f"topi: cannot compute {type(expr).__name__}")
        args = [self.value(arg) for arg in expr.args]
        result = _api("ResultType")(expr.op, expr.attrs, [_type(arg) for arg in args])
        tensors = list(_api("Compute")(expr.op, expr.attrs, _flat(args), result))
        return tensors if isinstance(result, TupleType) else tensors[0]


def apply(function, *args, **kwargs):
    """The tensors that a function of `tenon.relay` computes.

    Parameters
    ----------
    function : function
        Makes a Relay expression; te tensors among the arguments reach it as variables.

    Returns
    -------
    Tensor or list of Tensor
    """
    known = []

    def variable(value):
        if isinstance(value, Tensor):
            v = Var(f"p{len(known)}", TensorType(value.shape, value.dtype))
            known.append((v, value))
            return v
        if isinstance(value, list | tuple) and any(isinstance(x, Tensor) for x in value):
            return [variable(item) for item in value]
        return value

    args = [variable(value) for value in args]
    expr = function(*args, **{key: variable(value) for key, value in kwargs.items()})
    if isinstance(expr, TupleWrapper):
        expr = expr.tuple_value
    return _Evaluation(known).value(expr)


def _arithmetic(name, args):
    """Two numbers or expressions, of which one is an expression: its operator; None if there is a
    tensor."""
    if any(isinstance(a, Tensor) for a in args) or not any(_is_expr(a) for a in args):
        return None
    node = {
        "add": "Add",
        "subtract": "Sub",
        "multiply": "Mul",
        "maximum": "Max",
        "minimum": "Min",
        "floor_divide": "FloorDiv",
        "floor_mod": "FloorMod",
        "equal": "EQ",
        "not_equal": "NE",
        "less": "LT",
        "less_equal": "LE",
        "greater": "GT",
        "greater_equal": "GE",
        "logical_and": "And",
        "logical_or": "Or",
    }.get(name)
    if node is None:
        function = {
            "divide": tir.div,
            "mod": tir.truncmod,
            "power": tir.power,
            "bitwise_and": tir.bitwise_and,
            "bitwise_or": tir.bitwise_or,
            "bitwise_xor": tir.bitwise_xor,
            "left_shift": tir.shift_left,
            "right_shift": tir.shift_right,
            "logical_xor": tir.NE,
        }.get(name)
        return function(*args) if function else None
    a, b = (x if _is_expr(x) else tir.const(x) for x in args)
    return getattr(tir, node)(a, b)


def operator(package, prefix, name):
    """The function of an operator for tensors; None if there is no such operator."""
    relay = importlib.import_module("...relay", __name__)
    place = getattr(relay, prefix[:-1]) if prefix else relay
    try:
        op = get(prefix + name)
        function = getattr(place, name)
    except AttributeError:
        return None
    inputs = len(op.arguments)

    def call(*args, **kwargs):
        if inputs == 2 and len(args) == 2 and not kwargs:
            value = _arithmetic(name, args)
            if value is not None:
                return value
        dtype = next((a.dtype for a in args[:inputs] if isinstance(a, Tensor)), "float32")
        given = [
            scalar(a, dtype) if i < inputs and isinstance(a, Number | PrimExpr) else a
            for i, a in enumerate(args)
        ]
        return apply(function, *given, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = package
    call.__doc__ = f"{op.description}. As `tenon.relay.{prefix}{name}`, of te tensors."
    return call


def attach(package, prefix, modules):
    """``__getattr__`` of a package whose functions are the computes of operators.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    prefix : str
        What its operators' names begin with.
    modules : tuple of str
        Modules of the package in which functions are written out; they come first.
    """

    def fetch(name):
        if not name.startswith("__"):
            for module in modules:
                part = importlib.import_module(module, package)
                if name in part.__all__:
                    return _keep(package, name, getattr(part, name))
            function = operator(package, prefix, name)
            if function is not None:
                return _keep(package, name, function)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return fetch


def _keep(package, name, value):
    setattr(sys.modules[package], name, value)
    return value
