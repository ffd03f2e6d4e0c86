"""What TVMScript given as text may ask of Python: values of the names it was given, and no more.

Text may come from anywhere, so nothing of it reaches Python's own evaluation. The expressions that
the parser does not know itself are taken apart here, and each step is one that cannot call code
other than the functions in `extra_vars` and those that build expressions.

A function has to be named: text never gets one as an attribute or an element of a value, as it
could bind such a function to a name, or give it to another function, and so have it called.
"""

import ast
import operator
import types

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
# Methods that do the same, and the classes of their objects.
_METHODS = tuple(f"tenon.tir.{m}" for m in "_expr_op expr buffer index_map".split())
_METHODS += ("tenon.ir.expr",)
# A call of these makes an expression or a type. The last are macros, which the parser expands.
_MAKERS = ("tenon.tir.", "tenon.te.tensor", "tenon.relay.", "tenon.ir.expr", "tenon.ir.type")
_MACROS = ("BoundMacro", "TIRMacro")
# Python values that are data all through.
_DATA = (bool, int, float, complex, str, bytes, tuple, list, dict, range, type(None))
# Sizes of results: sums of sums, and lists that hold one twice, would grow without end.
_MAX_BITS = 4096
_MAX_ITEMS = 1 << 15
_MAX_LISTS = 1 << 12


class Refused(DiagnosticError):
    """An expression that text may not use."""

    def __init__(self, node, why):
        text = ast.unparse(node)
        if len(text) > 100:
            text = f"{text[:97]}..."
        super().__init__(
            f"{text}: {why}; text cannot run Python: give the value in "
            "extra_vars, or write trusted=True where the text is your own"
        )


def is_builder(function):
    """May text call it behind ``T.``?"""
    return callable(function) and getattr(function, "__module__", None) in _BUILDERS


def runs_code(value):
    """Would a call of the value run more than a constructor of expressions?"""
    if not callable(value):
        return False
    kind = type(value)
    if kind.__module__.startswith("tenon.script."):
        return not (kind.__name__ in _MACROS or _is_name(value))
    return not (isinstance(value, _core.Object) and kind.__module__.startswith(_MAKERS))


def holds_code(value):
    """Is a function among the elements of a container, or of those in it?

    Raises
    ------
    DiagnosticError
        It holds very many others; containers that hold one twice make that easy.
    """
    waiting, seen = [value], 0
    while waiting:
        here = waiting.pop()
        if isinstance(here, dict | _core.Map):
            here = [x for pair in here.items() for x in pair]
        elif not isinstance(here, tuple | list | set | frozenset | _core.Array):
            continue
        if any(map(runs_code, here)):
            return True
        seen += 1
        if seen > _MAX_LISTS:
            raise DiagnosticError(f"a value that holds more than {_MAX_LISTS} lists")
        waiting.extend(here)
    return False


def _is_name(value):
    """Is it ``T.name`` of a type, or of a function that builds expressions?"""
    from . import tir

    return isinstance(value, tir.Name) and (
        tir.is_type(value.path) or is_builder(tir.function(value.path))
    )


class TextEvaluator:
    """Evaluates an expression of a text.

    Parameters
    ----------
    names : dict of str
        What the text's names mean: `extra_vars`.
    variables : dict of str
        Those that the script defines itself.
    modules : dict of str
        The names of scripts' own module for tensor programs, ``T`` and ``tir``.
    """

    def __init__(self, names, variables, modules):
        self.names = names
        self.variables = variables
        self.modules = modules

    def __call__(self, text):
        """The value of an expression.

        Raises
        ------
        NameError
            A name is not known.
        DiagnosticError
            It is of a kind that text may not use, or Python cannot read it.
        """
        try:
            return self.value(ast.parse(text.strip(), mode="eval").body)
        except RecursionError:
            raise DiagnosticError("the expression is nested too deeply") from None
        except SyntaxError as err:
            raise DiagnosticError(f"not an expression of Python: {err.msg}") from None

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
        found = visit(node)
        if runs_code(found) and not self._is_given(node):
            raise Refused(node, "a function that extra_vars does not name itself")
        return found

    def _is_given(self, node):
        """Is it a name of extra_vars?"""
        known = isinstance(node, ast.Name)
        return known and node.id in self.names and node.id not in self.variables

    def _Constant(self, node):
        return node.value

    def _Name(self, node):
        found = self.variables.get(node.id, self.names.get(node.id, self))
        if found is self:
            raise NameError(node.id)
        if isinstance(found, types.ModuleType):
            raise Refused(node, "a module is not a value")
        if node.id in self.variables:
            holds_code(found)  # refuses lists of very many lists, which comparisons would walk
        return found

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
        found = _BINARY[type(node.op)](a, b)
        long = isinstance(found, int) and found.bit_length() > _MAX_BITS
        if long or (isinstance(found, str | bytes | tuple | list) and len(found) > _MAX_ITEMS):
            raise Refused(node, "a value that grows too large")
        return found

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
        if self._is_module(node.value):
            return self._builder(node)
        return self._attribute(node, self.value(node.value))

    def _attribute(self, node, of):
        if node.attr.startswith("_"):
            raise Refused(node, "names that begin with _ are Python's own")
        if isinstance(of, _DATA) or callable(of) or not _is_value(of):
            raise Refused(node, f"an attribute of {type(of).__name__}")
        return getattr(of, node.attr)

    def _is_module(self, node):
        """Is it ``T`` or ``tir``?"""
        known = isinstance(node, ast.Name) and node.id in self.modules
        return known and node.id not in self.variables

    def _builder(self, node):
        if node.attr.startswith("_"):
            raise Refused(node, "names that begin with _ are Python's own")
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
        if isinstance(node, ast.Attribute) and not self._is_module(node.value):
            of = self.value(node.value)
            if _is_method(of, node.attr):
                return self._attribute(node, of)
        elif isinstance(node, ast.Attribute) or self._is_given(node):
            return self.value(node)
        elif isinstance(node, ast.Name) and node.id not in self.variables:
            raise NameError(node.id)
        raise Refused(node, "text may call what extra_vars names, and T's functions")


def _is_method(of, name):
    """Is it a method of an expression, a buffer or an index map that builds another?"""
    kind = type(of)
    if not (isinstance(of, _core.Object) and kind.__module__ in _METHODS):
        return False
    return getattr(getattr(kind, name, None), "__module__", None) in _METHODS


def _is_value(of):
    """Not a module, a frame, a generator or another part of Python itself."""
    kind = type(of)
    if isinstance(of, types.ModuleType):
        return False
    return isinstance(of, _core.Object) or kind.__module__ not in ("builtins", "types")
