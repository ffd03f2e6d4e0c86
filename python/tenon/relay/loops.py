"""Loops, made of a function that calls itself."""

from .expr import Let, Tuple, Var, var
from .function import Function
from .scope_builder import ScopeBuilder


def _parameter(value, number, types):
    """A fresh variable for a value of the loop."""
    if isinstance(value, Var):
        return var(value.name_hint, type_annotation=value.type_annotation or types.type_of(value))
    return var(f"arg{number}", type_annotation=types.type_of(value))


def while_loop(cond, loop_vars, loop_bodies):
    """A loop that goes on as long as a condition holds.

    Parameters
    ----------
    cond : Callable
        From the values of a turn (Var each) to the condition, a scalar bool.
    loop_vars : list of Var or RelayExpr
        What the values are named after and typed like: variables with a type, or expressions whose
        types are inferred.
    loop_bodies : Callable
        From the values of a turn to those of the next (sequence of RelayExpr).

    Returns
    -------
    Let
        A function: called with the first values, it returns the last ones as a tuple.

    Examples
    --------
    >>> i = relay.var("i", shape=(), dtype="int32")
    >>> loop = relay.loops.while_loop(
    ...     lambda i: relay.less(i, relay.const(10)), [i], lambda i: [i + relay.const(1)]
    ... )
    >>> main = relay.Function([], relay.TupleGetItem(loop(relay.const(0)), 0))
    """
    sb = ScopeBuilder()
    loop = Var("while_loop")
    params = [_parameter(value, i, sb) for i, value in enumerate(loop_vars)]
    with sb.if_scope(cond(*params)):
        sb.ret(loop(*loop_bodies(*params)))
    with sb.else_scope():
        sb.ret(Tuple(params))
    return Let(loop, Function(params, sb.get()), loop)
