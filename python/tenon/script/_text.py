"""What TVMScript given as text may ask of Python: values of the names it was given, and no more.

Text may come from anywhere, so nothing of it reaches Python's own evaluation. The expressions that
the parser does not know itself are taken apart here, and each step is one that cannot call code
other than the functions in `extra_vars` and those that build expressions.
"""

import ast
import operator

from .. import _core
from ..error import DiagnosticError

_UNARY = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
    ast.Not: operator.not_,
}
# Not powers and shifts: a few characters of text would fill the memory.
_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
# What can be asked for its elements: a buffer never ends.
_CONTAINERS = (str, bytes, tuple, list, dict, set, frozenset, range, _core.Array, _core.Map)

_COMPARE = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
# Modules whose functions and classes build expressions, and do nothing else.
_BUILDERS = tuple(f"tenon.tir.{m}" for m in "op intrin builtin reduce calls expr".split())
# Python values that are data all through.
_DATA = (bool, int, float, complex, str, bytes, tuple, list, dict, range, type(None))


class Refused(DiagnosticError):
    """An expression that text may not use."""

    def __init__(self, node, why):
        super().__init__(
            f"{ast.unparse(node)}: {why}; text runs no Python of its own: give the value in "
            "extra_vars, or write trusted=True where the text is your own"
        )


def is_builder(function):
    """May text call it behind ``T.``?"""
    return callable(function) and getattr(function, "__module__", None) in _BUILDERS


class TextEvaluator:
    """Evaluates an expression of a text.

    Parameters
    ----------
    names : dict of str
        What the text's names mean: `extra_vars`, and the variables of the script.
    modules : dict of str
        The names of scripts' own module for tensor programs, ``T`` and ``tir``.
    """

    def __init__(self, names, modules):
        self.names = names
        self.modules = modules

    def __call__(self, text):
        """The value of an expression.

        Raises
        ------
        NameError
            A name is not known.
        Refused
            It is of a kind that text may not use.
        """
        return self.value(ast.parse(text.strip(), mode="eval").body)

    def value(self, node):
        """The value of a part of it.

        Parameters
        ----------
        node : ast.expr
            The part.

        Returns
        -------
        Any
        """
        visit = getattr(self, f"_{type(node).__name__}", None)
        if visit is None:
            raise Refused(node, "not a constant, a name, an operator or a call")
        return visit(node)

    def _Constant(self, node):
        return node.value

    def _Name(self, node):
        if node.id not in self.names:
            raise NameError(node.id)
        return self.names[node.id]

    def _Tuple(self, node):
        return tuple(self._items(node.elts))

    def _List(self, node):
        return self._items(node.elts)

    def _Dict(self, node):
        if None in node.keys:
            raise Refused(node, "a dictionary in another")
        return dict(zip(self._items(node.keys), self._items(node.values), strict=True))

    def _items(self, nodes):
        return [self.value(n) for n in nodes]

    def _UnaryOp(self, node):
        return _UNARY[type(node.op)](self.value(node.operand))

    def _BinOp(self, node):
        if type(node.op) not in _BINARY:
            raise Refused(node, "an operator that text may not use here")
        a, b = self.value(node.left), self.value(node.right)
        numbers = all(isinstance(x, int | float | _core.Object) for x in (a, b))
        if not numbers and not isinstance(node.op, ast.Add):
            raise Refused(node, "an operator on values that are not numbers")
        return _BINARY[type(node.op)](a, b)

    def _BoolOp(self, node):
        whole = isinstance(node.op, ast.And)
        found = whole
        for n in node.values:
            found = self.value(n)
            if bool(found) != whole:
                break
        return found

    def _Compare(self, node):
        left = self.value(node.left)
        *more, (last, right) = zip(node.ops, node.comparators, strict=True)
        for op, middle in more:
            middle = self.value(middle)
            if not self._compared(node, op, left, middle):
                return False
            left = middle
        return self._compared(node, last, left, self.value(right))

    def _compared(self, node, op, left, right):
        if isinstance(op, ast.In | ast.NotIn) and not isinstance(right, _CONTAINERS):
            raise Refused(node, f"`in` asks lists and dictionaries, not {type(right).__name__}")
        return _COMPARE[type(op)](left, right)

    def _IfExp(self, node):
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _Slice(self, node):
        return slice(*(n and self.value(n) for n in (node.lower, node.upper, node.step)))

    def _Subscript(self, node):
        return self.value(node.value)[self.value(node.slice)]

    def _Attribute(self, node):
        if node.attr.startswith("_"):
            raise Refused(node, "names that begin with _ are Python's own")
        if isinstance(node.value, ast.Name) and node.value.id in self.modules:
            return self._builder(node)
        of = self.value(node.value)
        if isinstance(of, _DATA) or callable(of) or not _is_value(of):
            raise Refused(node, f"an attribute of {type(of).__name__}")
        return getattr(of, node.attr)

    def _builder(self, node):
        module = self.modules[node.value.id]
        found = getattr(module, node.attr)
        path = getattr(found, "path", None)
        if path is not None and (module.is_type(path) or is_builder(module.function(path))):
            return found
        raise Refused(node, f"T.{node.attr} is not a function that builds an expression")

    def _Call(self, node):
        if any(isinstance(a, ast.Starred) for a in node.args) or not all(
            k.arg for k in node.keywords
        ):
            raise Refused(node, "arguments that are unpacked")
        function = self._function(node.func)
        keywords = {k.arg: self.value(k.value) for k in node.keywords}
        return function(*self._items(node.args), **keywords)

    def _function(self, node):
        """Functions are those of extra_vars, those behind T, and methods of expressions."""
        known = isinstance(node, ast.Name)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            known = node.value.id in self.modules
        if not known and isinstance(node, ast.Attribute):
            of = self.value(node.value)
            known = isinstance(of, _core.Object) and type(of).__module__.startswith(
                ("tenon.tir.expr", "tenon.tir.buffer", "tenon.ir.expr", "tenon.tir.index_map")
            )
        if not known:
            raise Refused(node, "text may call what extra_vars names, and T's functions")
        return self.value(node)


def _is_value(of):
    """Not a module, a frame, a generator or another part of Python itself."""
    kind = type(of)
    return isinstance(of, _core.Object) or kind.__module__ not in ("builtins", "types")
