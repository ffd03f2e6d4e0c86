"""Building nested expressions line by line."""

from . import ty
from .expr import Expr, If, Let, Tuple, Var


class WithScope:
    """What ``with`` enters; `on_exit` runs when it is left."""

    def __init__(self, enter_value, exit_cb):
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self):
        return self._enter_value

    def __exit__(self, ptype, value, trace):
        if value is None:
            self._exit_cb()


def _make_lets(bindings, ret_value):
    """The bindings around a result; the first binding is outermost."""
    for var, value in reversed(bindings):
        ret_value = Let(var, value, ret_value)
    return ret_value


class ScopeBuilder:
    """Collects bindings and a result, and makes an expression of them.

    Examples
    --------
    >>> sb = relay.ScopeBuilder()
    >>> cond = relay.var("cond", "bool")
    >>> x = relay.var("x")
    >>> with sb.if_scope(cond):
    ...     one = relay.const(1, "float32")
    ...     sb.ret(sb.let("t1", relay.add(x, one)))
    >>> with sb.else_scope():
    ...     sb.ret(x)
    >>> expr = sb.get()
    """

    def __init__(self):
        self._bindings = [[]]
        self._ret_values = [None]

    def _enter_scope(self):
        self._bindings.append([])
        self._ret_values.append(None)

    def _exit_scope(self):
        return self._bindings.pop(), self._ret_values.pop()

    def let(self, var, value):
        """Bind a variable.

        Parameters
        ----------
        var : str, (str, Type) or Var
            The variable, or what to make one of.
        value : RelayExpr or tuple
            Its value.

        Returns
        -------
        Var
        """
        if isinstance(var, tuple | list):
            if len(var) > 2:
                raise ValueError("Expect var to be Tuple[name, type]")
            var = Var(*var)
        elif isinstance(var, str):
            var = Var(var)
        if isinstance(value, tuple | list):
            value = Tuple(value)
        self._bindings[-1].append((var, value))
        return var

    def if_scope(self, cond):
        """What happens where `cond` holds; `else_scope` must follow.

        Parameters
        ----------
        cond : RelayExpr
            The condition.

        Returns
        -------
        WithScope
        """
        self._enter_scope()

        def leave():
            bindings, ret_value = self._exit_scope()
            if self._ret_values[-1] is not None:
                raise RuntimeError("result already returned before if scope")
            true_branch = _make_lets(bindings, ret_value)
            self._ret_values[-1] = (cond, true_branch)

        return WithScope(None, leave)

    def else_scope(self):
        """What happens where the condition of the `if_scope` before does not hold.

        Returns
        -------
        WithScope
        """
        pending = self._ret_values[-1]
        if not isinstance(pending, tuple):
            raise RuntimeError("else scope must follow if scope")
        self._enter_scope()

        def leave():
            bindings, ret_value = self._exit_scope()
            cond, true_branch = self._ret_values[-1]
            self._ret_values[-1] = If(cond, true_branch, _make_lets(bindings, ret_value))

        return WithScope(None, leave)

    def type_of(self, expr):
        """The type of an expression, as far as it is known already.

        Parameters
        ----------
        expr : RelayExpr
            The expression.

        Returns
        -------
        Type
        """
        if isinstance(expr, Var):
            return expr.type_annotation
        inferred = ty.IncompleteType(ty.TypeKind.Type)
        return expr._checked_type_ or inferred

    def ret(self, value):
        """Set the result of the scope.

        Parameters
        ----------
        value : RelayExpr or tuple
            The result.
        """
        if self._ret_values[-1] is not None:
            raise RuntimeError("ret value is already set in this scope.")
        if isinstance(value, tuple | list):
            value = Tuple(value)
        self._ret_values[-1] = value

    def get(self):
        """The expression.

        Returns
        -------
        RelayExpr

        Raises
        ------
        RuntimeError
            No result was set, or a scope is open.
        """
        if len(self._bindings) != 1:
            raise RuntimeError("can only call get at the outmost scope")
        bindings, ret_value = self._bindings[-1], self._ret_values[-1]
        if isinstance(ret_value, tuple):
            raise RuntimeError("creating dangling if: else_scope is missing")
        if ret_value is None:
            raise RuntimeError("no return value set")
        return _make_lets(bindings, ret_value)


__all__ = ["Expr", "ScopeBuilder", "WithScope"]
