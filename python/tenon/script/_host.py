"""Python's side of the script parser: source texts of functions and classes, and the evaluation of
what a script does not define itself."""

import builtins
import contextlib
import inspect
import linecache
import textwrap
import threading

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object

# what the parser takes for the names of its own modules
_T, _I = "\x01script.T", "\x01script.I"
_UNDEFINED = "\x01undefined"


def _marker(value):
    from . import ir, tir

    if value is tir or isinstance(value, tir.Name):
        path = value.path if isinstance(value, tir.Name) else ""
        return f"{_T}.{path}" if path else _T
    if value is ir:
        return _I
    return None


@register_object("script.HostValue")
class HostValue(Object):
    """Stands for a value that scripts have no form for; see `hold`."""

    __slots__ = ()


class _Held(threading.local):
    """Values that scripts have no form for, by number, while a script is read."""

    values = None


_held = _Held()


@contextlib.contextmanager
def _holding():
    outside, _held.values = _held.values, {}
    try:
        yield
    finally:
        _held.values = outside


def hold(value):
    """An object that stands for any value while the script is read."""
    key = len(_held.values)
    _held.values[key] = value
    return _core.make_node("script.HostValue", {"key": key})


def held(stands_for):
    """What `hold` was given."""
    try:
        return _held.values[stands_for.key]
    except KeyError:
        raise ValueError("a script.HostValue in a text's metadata stands for nothing") from None


def _is_plain(value):
    """May the value itself be handed to the parser?"""
    if inspect.isroutine(value) or inspect.isclass(value):
        return True
    if callable(value) and not isinstance(value, _core.Object):
        return False
    try:
        _core.convert_to_object(value)
    except TypeError:
        return False
    return True


class BoundMacro:
    """A macro as the method of an object, which is its first argument.

    Parameters
    ----------
    macro : TIRMacro
        The macro.
    receiver : object
        The object.
    """

    def __init__(self, macro, receiver):
        self.macro = macro
        self.receiver = receiver

    def __call__(self, *args, **kwargs):
        return self.macro(*args, **kwargs)

    def node(self):
        """The macro with its receiver, for the script that is being read."""
        names = ("name", "source", "file", "first_line", "first_col", "hygienic", "host")
        fields = {name: getattr(self.macro, name) for name in names}
        plain = _is_plain(self.receiver)
        value = _core.convert_to_object(self.receiver) if plain else hold(self.receiver)
        return _core.make_node("script.Macro", fields | {"receiver": value})


class Environment:
    """Evaluates expressions of a script over the names it was written among, as Python.

    Parameters
    ----------
    names : dict
        The names.
    """

    def __init__(self, names):
        self.names = names

    def __call__(self, text, variables):
        text = str(text)
        if text.startswith("?"):
            return self.lookup(text[1:])
        scope = {}
        for name, value in variables.items():
            scope[str(name)] = held(value) if isinstance(value, HostValue) else value
        try:
            value = self.evaluate(text, scope)
        except NameError:
            return _UNDEFINED
        marker = _marker(value)
        if marker is not None:
            return marker
        if isinstance(value, BoundMacro):
            return value.node()
        return value if self.is_plain(value) else hold(value)

    def is_plain(self, value):
        """May the value itself be handed to the parser? It holds the others by number."""
        return _is_plain(value)

    def evaluate(self, text, scope):
        """The value of an expression; `scope` holds the script's own variables."""
        # as globals: comprehensions and lambdas see no locals of eval
        return eval(text, dict(self.names, __builtins__=builtins) | scope)  # noqa: S307 (the user's)

    def lookup(self, name):
        """What kind of name it is: a module of the script, undefined, or (None) any other value.

        ``T.name`` asks for a function that Python has and scripts do not.
        """
        if name.startswith("T."):
            return None if self.has_function(name[2:]) else _UNDEFINED
        if name not in self.names:
            return None if self.has_builtin(name) else _UNDEFINED
        return _marker(self.names[name])

    def has_function(self, path):
        """Is ``T.path`` a function of Python's?"""
        from . import tir

        return callable(tir.function(path))

    def has_builtin(self, name):
        """Is it a name that Python defines?"""
        return hasattr(builtins, name)


class TextEnvironment(Environment):
    """The same for text: its names are those it was given, and it runs no Python (_text.py)."""

    def evaluate(self, text, scope):
        from . import tir
        from ._text import TextEvaluator

        modules = {name: value for name, value in self.names.items() if value is tir}
        return TextEvaluator(self.names, scope, modules)(text)

    def is_plain(self, value):
        """The same; the parser takes containers apart, and would come to functions in them."""
        from ._text import holds_code

        return not holds_code(value) and super().is_plain(value)

    def has_function(self, path):
        from . import tir
        from ._text import is_builder

        return is_builder(tir.function(path))

    def has_builtin(self, name):
        return False


def parse(text, environment, *, file="<string>", line=1, column=0):
    """Parse a source text.

    Parameters
    ----------
    text : str
        A function or class.
    environment : Environment
        Evaluates what the text does not define itself.
    file, line, column
        Where the text is from, for messages: its first line, and columns cut off on the left.

    Returns
    -------
    PrimFunc or IRModule
    """
    with _holding():
        return _core.get_global_func("script.Parse")(text, file, line, column, environment)


def from_source(program, extra_vars=None, check_well_formed=True, *, trusted=False):
    """Parse TVMScript.

    Text runs no Python: what it does not define itself are the names of `extra_vars`, their
    elements, attributes and calls, and arithmetic of them. A function or class is a part of the
    program that defines it, and may use all of Python.

    Parameters
    ----------
    program : str, function or class
        Source text, or an object whose source text is meant.
    extra_vars : dict of str, optional
        Names the text may use. ``T``, ``tir``, ``I`` and ``ir`` are known. Text may call the
        functions among them and read attributes of the values: give no modules.
    check_well_formed : bool
        Kept for old programs.
    trusted : bool
        The text is the caller's own: it is evaluated as Python where it has to be, and can do
        whatever this process can.

    Returns
    -------
    PrimFunc or IRModule

    Raises
    ------
    tenon.error.DiagnosticError
        With file, line and a caret under what is wrong; also where text asks for Python.

    Examples
    --------
    >>> tenon.script.from_source("@T.prim_func\\ndef f(A: T.Buffer((n,), 'int8')):\\n    A[0] = 1",
    ...                          {"n": 8})
    """
    if isinstance(program, str):
        environment = Environment if trusted else TextEnvironment
        names = _default_names() | dict(extra_vars or {})
        return parse(textwrap.dedent(program), environment(names))
    names = captured(program) | dict(extra_vars or {})
    return parse_object(program, names)


def _default_names():
    from . import ir, tir

    return {"T": tir, "tir": tir, "I": ir, "ir": ir}


def captured(program, frame=None):
    """Names a function or class can see: those of the module, and of the functions around it."""
    names = {}
    functions = [program] if inspect.isfunction(program) else vars(program).values()
    for function in functions:
        if inspect.isfunction(function):
            names.update(function.__globals__)
    if frame is not None:
        # locals of the function that defines the program are visible although it closes over none
        names = {**frame.f_globals, **names}
        if frame.f_locals is not frame.f_globals:
            names.update(frame.f_locals)
    for function in functions:
        if inspect.isfunction(function):
            names.update(_closed_over(function))
    return names


def _closed_over(function):
    """Variables of outer functions by name; without those that have no value yet, as the name of
    the class that is just being made."""
    values = {}
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    for name, cell in cells:
        with contextlib.suppress(ValueError):
            values[name] = cell.cell_contents
    return values


def source_of(program):
    """Source text of a function or class without its indentation, file, first line and columns
    that were cut off."""
    try:
        lines, first = _source_lines(program)
    except (OSError, TypeError) as err:
        raise ValueError(
            f"the source text of {getattr(program, '__name__', program)!r} is not at hand: "
            "put it into a file, or pass the text to tenon.script.from_source"
        ) from err
    column = len(lines[0]) - len(lines[0].lstrip())
    file = inspect.getsourcefile(program) or "<string>"
    return textwrap.dedent("".join(lines)), file, first, column


def parse_object(program, names):
    """Parse the source text of a function or class."""
    text, file, line, column = source_of(program)
    return parse(text, Environment(names), file=file, line=line, column=column)


def _source_lines(program):
    if inspect.isclass(program):
        # the class statement whose decorators are being applied: more than one may have the name
        first = getattr(program, "__firstlineno__", None)
        member = next((m for m in vars(program).values() if inspect.isfunction(m)), None)
        if first is None and member is not None:
            return _class_lines(program, member)
    return inspect.getsourcelines(program)


def _class_lines(program, member):
    """Lines of the class around a function of it, decorators included."""
    lines = linecache.getlines(member.__code__.co_filename)
    at = member.__code__.co_firstlineno - 1
    head = f"class {program.__name__}"
    while at >= 0 and not lines[at].lstrip().startswith(head):
        at -= 1
    if at < 0:
        return inspect.getsourcelines(program)
    while at > 0 and lines[at - 1].lstrip().startswith("@"):
        at -= 1
    return inspect.getblock(lines[at:]), at + 1
