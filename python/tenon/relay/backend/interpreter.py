"""Executors: what runs expressions of a module; the interpreter and its values."""

from ..._ffi import get_global_func
from ..._ffi.registry import register_object
from ...ir.expr import GlobalVar
from ...runtime.object import Object
from ..expr import Constant, Expr, Tuple, bind, const
from ..function import Function


class Executor:
    """Base of what runs expressions; a kind gives `_make_executor`."""

    mod = None

    def _convert_args(self, expr, args, kwargs):
        """Arguments in the order of a function's parameters.

        Raises
        ------
        ValueError
            Arguments are missing, given twice or not known.
        """
        if expr is None:
            assert self.mod is not None
            expr = self.mod["main"]
        from ..build_module import _arguments

        return _arguments(expr, args, kwargs)

    def _make_executor(self, expr=None):
        raise NotImplementedError

    def evaluate(self, expr=None, binds=None):
        """A function that runs an expression, or its value.

        Parameters
        ----------
        expr : RelayExpr, optional
            A function or global variable gives a callable that takes its arguments by position or
            name; anything else is computed at once. By default ``main`` of the module.
        binds : dict of Var to array-like or RelayExpr, optional
            Values of free variables.

        Returns
        -------
        callable, NDArray or ADT
        """
        if binds:
            values = {v: x if isinstance(x, Expr) else const(x) for v, x in binds.items()}
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


@register_object("relay.ConstructorValue")
class ConstructorValue(Object):
    """A value of an algebraic data type: ``tag``, ``fields`` and the ``constructor``."""

    __slots__ = ()

    def __init__(self, tag, fields, constructor):
        create = get_global_func("relay.backend.ConstructorValue")
        self.__init_handle_by_constructor__(create, tag, list(fields), constructor)


@register_object("relay.RefValue")
class RefValue(Object):
    """A reference; ``value`` is what it holds."""

    __slots__ = ()

    def __init__(self, value):
        create = get_global_func("relay.backend.RefValue")
        self.__init_handle_by_constructor__(create, value)


class Interpreter(Executor):
    """Evaluates expressions one by one: what programs mean, at any speed.

    Parameters
    ----------
    mod : IRModule
        The module.
    device : Device
        Where operators run: the host.
    target : str or Target
        What operators are compiled for.
    """

    def __init__(self, mod, device, target):
        self.mod = mod
        self.device = device
        self.target = target

    def _make_executor(self, expr=None):
        from ...runtime.vm import _value

        mod, name = self.mod, "main"
        if expr is not None:
            mod = self.mod.clone()
            while name in {var.name_hint for var in mod.get_global_vars()}:
                name += "_"
            mod[name] = expr
        main = mod[name]
        interpret = get_global_func("eval.interpret")

        def run(*args, **kwargs):
            given = self._convert_args(main, args, kwargs)
            values = [_value(arg.data if isinstance(arg, Constant) else arg) for arg in given]
            return interpret(mod, name, self.target, *values)

        return run
