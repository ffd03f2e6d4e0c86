"""Executors: what runs expressions of a module."""

from ...ir.expr import GlobalVar
from ..expr import Tuple, bind, const
from ..function import Function


class Executor:
    """Base of what runs expressions; a kind gives `_make_executor`."""

    mod = None

    def _convert_args(self, expr, args, kwargs):
        """Arguments in the order of a function's parameters.

        Raises
        ------
        Exception
            Arguments are missing, given twice or not known.
        """
        if expr is None:
            assert self.mod is not None
            expr = self.mod["main"]
        if not kwargs:
            return args
        names = [str(param.name_hint) for param in expr.params]
        for name in kwargs:
            if name not in names:
                raise TypeError(f"got an unexpected keyword argument '{name}'")
        values = dict(kwargs)
        position = 0
        for name in names:
            if name in values:
                continue
            if position == len(args):
                raise ValueError(f"Argument binding failed: the argument {name} is missing")
            values[name] = args[position]
            position += 1
        if position != len(args):
            raise ValueError("Argument binding failed: too many arguments by position")
        return tuple(values[name] for name in names)

    def _make_executor(self, expr=None):
        raise NotImplementedError

    def evaluate(self, expr=None, binds=None):
        """A function that runs an expression, or its value.

        Parameters
        ----------
        expr : RelayExpr, optional
            A function or global variable gives a callable that takes its arguments by position or
            name; anything else is computed at once. By default ``main`` of the module.
        binds : dict of Var to array-like, optional
            Values of free variables.

        Returns
        -------
        callable, NDArray or ADT
        """
        if binds:
            values = {var: const(value) for var, value in binds.items()}
            expr = bind(expr, values)
        if expr is None:
            return self._make_executor()
        if isinstance(expr, Tuple) and not list(expr.fields):
            expr = Function([], expr)
            return self._make_executor(expr)()
        if isinstance(expr, Function):
            return self._make_executor(expr)
        if isinstance(expr, GlobalVar):
            return self._make_executor(self.mod[expr])
        return self._make_executor(Function([], expr))()
