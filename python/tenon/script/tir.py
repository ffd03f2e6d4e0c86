"""The names scripts use for tensor programs: ``from tenon.script import tir as T``.

Inside ``@T.prim_func`` they are the parser's. Outside, where Python evaluates them (annotations,
helpers that build expressions), the names of types make variables and constants, ``T.Buffer`` a
buffer, and the names of functions are those of `tenon.tir`.
"""

import inspect
import re
import sys

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object
from ._host import BoundMacro, Environment, captured, parse_object, source_of

_TYPE = re.compile(
    r"(int|uint|float|bfloat)\d+(_e\dm\d(fn)?)?(x\d+)?$|bool(x\d+)?$|boolean$|handle$|void$"
)

_OLD_NAMES = {"broadcast": "Broadcast", "ramp": "Ramp"}


class Name:
    """A dotted name behind ``T.``."""

    def __init__(self, path):
        self.path = path

    def __repr__(self):
        return f"T.{self.path}"

    @property
    def __name__(self):
        return self.path.rpartition(".")[2]

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(f"{self.path}.{name}")

    def __getitem__(self, items):
        items = items if isinstance(items, tuple) else (items,)
        return self(*items)

    def __call__(self, *args, **kwargs):
        if _TYPE.match(self.path):
            return _typed(self.path, *args, **kwargs)
        if self.path == "Buffer":
            return _buffer(*args, **kwargs)
        if self.path in ("Ptr", "ptr"):
            return _typed("handle", *args, **kwargs)
        made = function(self.path)
        if made is None and self.path == "alloc_buffer":
            return _alloc_buffer(*args, **kwargs)
        if made is None:
            raise AttributeError(f"T.{self.path} means something inside @T.prim_func only")
        return made(*args, **kwargs)


def _frame_function(path):
    """The function of that name that builds statements, while an IRBuilder is at work."""
    base = sys.modules.get("tenon.script.ir_builder.base")
    if base is None or not base.IRBuilder.is_in_scope():
        return None
    from .ir_builder import tir as frames

    found = frames
    for part in path.split("."):
        found = vars(found).get(part)
        if isinstance(found, staticmethod):
            found = found.__func__
        if found is None:
            return None
    return found


def function(path):
    """The function of Python's that ``T.path`` is, or None."""
    from .. import tir

    path = path.removeprefix("op.")
    built = _frame_function(path)
    if built is not None:
        return built
    path = _OLD_NAMES.get(path, path)
    return getattr(tir, path, None) or getattr(tir.op, path, None)


def is_type(path):
    """Does ``T.path`` make values of a type, as ``T.int8`` does?"""
    return _TYPE.match(path) is not None


def _typed(name, value=None, storage_scope="global", *, is_size_var=False):
    from .. import tir
    from ..ir import PointerType, PrimType

    name = "bool" if name == "boolean" else name
    if name == "handle" and value is not None:
        value = value.path if isinstance(value, Name) else str(value)
        return tir.Var("v", PointerType(PrimType(value), storage_scope))
    if value is None:
        return (tir.SizeVar if is_size_var else tir.Var)("v", name)
    if isinstance(value, str):
        return tir.FloatImm(name, float(value))
    return value.astype(name) if hasattr(value, "astype") else tir.const(value, name)


def _buffer(
    shape,
    dtype="float32",
    data=None,
    strides=None,
    elem_offset=None,
    scope="global",
    align=0,
    offset_factor=0,
    buffer_type="",
    axis_separators=None,
):
    from ..tir.buffer import decl_buffer

    dtype = dtype.path if isinstance(dtype, Name) else dtype
    return decl_buffer(
        shape,
        dtype,
        "buffer",
        data,
        strides,
        elem_offset,
        scope,
        align or -1,
        offset_factor,
        buffer_type,
        axis_separators,
    )


def _alloc_buffer(*args, **kwargs):
    """T.alloc_buffer in a function that a script calls: the block of the call allocates it."""
    buffer = _buffer(*args, **kwargs)
    if not _core.get_global_func("script.HostAlloc")(buffer):
        raise AttributeError("T.alloc_buffer means something inside @T.prim_func only")
    return buffer


def _in_script_module(frame):
    """Is the decorated function part of a class that I.ir_module is going to parse?"""
    if "__qualname__" not in frame.f_locals or frame.f_locals is frame.f_globals:
        return False
    import linecache

    line = frame.f_code.co_firstlineno
    for at in range(line, line + 20):
        text = linecache.getline(frame.f_code.co_filename, at).strip()
        if "ir_module" in text and text.startswith("@"):
            return True
        if text.startswith("class "):
            return False
    return False


def prim_func(func=None, private=False, check_well_formed=True):
    """Decorator: the function becomes a PrimFunc.

    Parameters
    ----------
    func : function
        The function.
    private : bool
        Give it no global symbol.
    check_well_formed : bool
        Kept for old programs.

    Returns
    -------
    PrimFunc
    """
    frame = inspect.currentframe().f_back

    def decorate(function):
        if not inspect.isfunction(function):
            raise TypeError(f"Expect a function, but got: {function}")
        if _in_script_module(frame):
            return function
        return parse_object(function, captured(function, frame))

    return decorate if func is None else decorate(func)


@register_object("script.Macro")
class TIRMacro(Object):
    """Function whose statements stand for its calls; made by `macro`."""

    __slots__ = ()

    def __get__(self, instance, owner=None):
        """The macro as a method: its first parameter is the object."""
        if instance is None:
            return self
        return BoundMacro(self, instance)

    def __call__(self, *args, **kwargs):
        raise ValueError(f"the macro {self.name} is called inside @T.prim_func only")


def macro(*args, hygienic=True):
    """Decorator: calls of the function in scripts stand for its statements.

    Parameters
    ----------
    args : function
        The function, when the decorator is written without brackets.
    hygienic : bool
        Names that are not parameters mean what they mean where the macro is defined. When false,
        what they mean where it is called.

    Returns
    -------
    TIRMacro
    """
    frame = inspect.currentframe().f_back

    def decorate(function):
        text, file, line, column = source_of(function)
        fields = {
            "name": function.__name__,
            "source": text,
            "file": file,
            "first_line": line,
            "first_col": column,
            "hygienic": hygienic,
            "host": _core.convert_to_object(Environment(captured(function, frame))),
        }
        return _core.make_node("script.Macro", fields)

    if len(args) == 1 and inspect.isfunction(args[0]):
        return decorate(args[0])
    if args:
        raise ValueError("T.macro: expected a function, or hygienic=True or False")
    return decorate


def meta_var(value):
    """The value itself: in a script it is not bound to a variable of the program."""
    return value


def index_map(mapping, *, inverse_index_map=None):
    """An IndexMap from a function."""
    from ..tir import IndexMap

    return IndexMap.from_func(mapping, inverse_index_map=inverse_index_map)


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = Name(name)
    setattr(sys.modules[__name__], name, value)
    return value
