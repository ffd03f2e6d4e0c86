"""Classes of documents, see `to_python_script`."""

from enum import IntEnum

from ... import _core
from ..._ffi.registry import register_object
from ...runtime.object import Object


class _Doc(Object):
    __slots__ = ()

    def _make(self, **fields):
        fields.setdefault("source_paths", [])
        self.__init_handle_by_constructor__(_core.make_node, self._type_key, fields)

    def __setattr__(self, name, value):
        setter = _SETTERS.get(name)
        if setter is None or not hasattr(self, name):
            super().__setattr__(name, value)
        else:
            _core.get_global_func(setter)(self, value)


# what may change after a document is made: the rest is its structure
_SETTERS = {
    "source_paths": "script.printer.DocSetSourcePaths",
    "comment": "script.printer.StmtDocSetComment",
}


def _register(name):
    def decorate(cls):
        cls._type_key = f"script.printer.{name}"
        return register_object(cls._type_key)(cls)

    return decorate


@_register("Doc")
class Doc(_Doc):
    """A piece of Python text."""

    __slots__ = ()


@_register("ExprDoc")
class ExprDoc(Doc):
    """An expression; attributes, calls and indices build larger ones."""

    __slots__ = ()

    def attr(self, name):
        """``self.name``"""
        return AttrAccessDoc(self, name)

    def call(self, *args, **kwargs):
        """``self(*args, **kwargs)``"""
        return CallDoc(self, *args, **kwargs)

    def __getitem__(self, indices):
        indices = indices if isinstance(indices, tuple) else (indices,)
        parts = [SliceDoc(i.start, i.stop, i.step) if isinstance(i, slice) else i for i in indices]
        return IndexDoc(self, parts)

    def __iter__(self):
        raise RuntimeError(f"{type(self).__name__} cannot be iterated over")


@_register("StmtDoc")
class StmtDoc(Doc):
    """A statement."""

    __slots__ = ()


@_register("StmtBlockDoc")
class StmtBlockDoc(Doc):
    """Statements one after the other."""

    __slots__ = ()

    def __init__(self, stmts):
        self._make(stmts=stmts)


@_register("LiteralDoc")
class LiteralDoc(ExprDoc):
    """None, a number or text; `path` is where the printed object is (ObjectPath)."""

    __slots__ = ()

    def __init__(self, value, path=None):
        if isinstance(value, float):
            from ...tir import FloatImm

            value = FloatImm("float64", value)
        elif isinstance(value, int) and not isinstance(value, bool):
            from ...tir import IntImm

            value = IntImm("int64", value)
        self._make(value=value, source_paths=[] if path is None else [path])


@_register("IdDoc")
class IdDoc(ExprDoc):
    """A name."""

    __slots__ = ()

    def __init__(self, name):
        self._make(name=name)


@_register("AttrAccessDoc")
class AttrAccessDoc(ExprDoc):
    """``value.name``"""

    __slots__ = ()

    def __init__(self, value, name):
        self._make(value=value, name=name)


@_register("IndexDoc")
class IndexDoc(ExprDoc):
    """``value[indices]``"""

    __slots__ = ()

    def __init__(self, value, indices):
        self._make(value=value, indices=list(indices))


@_register("CallDoc")
class CallDoc(ExprDoc):
    """``callee(*args, **kwargs)``"""

    __slots__ = ()

    def __init__(self, callee, *args, **kwargs):
        self._make(
            callee=callee,
            args=list(args),
            kwargs_keys=list(kwargs.keys()),
            kwargs_values=list(kwargs.values()),
        )


class OperationKind(IntEnum):
    """Operators. Those that begin with ``_`` are the ends of their groups."""

    _UnaryStart = 0
    UnaryStart = 0
    USub = 1
    Invert = 2
    Not = 3
    _UnaryEnd = 4
    UnaryEnd = 4
    _BinaryStart = 5
    BinaryStart = 5
    Add = 6
    Sub = 7
    Mult = 8
    Div = 9
    FloorDiv = 10
    Mod = 11
    Pow = 12
    LShift = 13
    RShift = 14
    BitAnd = 15
    BitOr = 16
    BitXor = 17
    Lt = 18
    LtE = 19
    Eq = 20
    NotEq = 21
    Gt = 22
    GtE = 23
    And = 24
    Or = 25
    _BinaryEnd = 26
    BinaryEnd = 26
    _SpecialStart = 27
    SpecialStart = 27
    IfThenElse = 28
    _SpecialEnd = 29
    SpecialEnd = 29


@_register("OperationDoc")
class OperationDoc(ExprDoc):
    """An operator over operands."""

    __slots__ = ()

    def __init__(self, kind, operands):
        self._make(kind=int(kind), operands=list(operands))


@_register("LambdaDoc")
class LambdaDoc(ExprDoc):
    """``lambda args: body``"""

    __slots__ = ()

    def __init__(self, args, body):
        self._make(args=list(args), body=body)


@_register("TupleDoc")
class TupleDoc(ExprDoc):
    """``(a, b)``"""

    __slots__ = ()

    def __init__(self, elements):
        self._make(elements=list(elements))


@_register("ListDoc")
class ListDoc(ExprDoc):
    """``[a, b]``"""

    __slots__ = ()

    def __init__(self, elements):
        self._make(elements=list(elements))


@_register("DictDoc")
class DictDoc(ExprDoc):
    """``{k: v}``"""

    __slots__ = ()

    def __init__(self, content):
        self._make(keys=list(content.keys()), values=list(content.values()))


@_register("SliceDoc")
class SliceDoc(_Doc):
    """``start:stop:step``"""

    __slots__ = ()

    def __init__(self, start=None, stop=None, step=None):
        self._make(start=start, stop=stop, step=step)


@_register("AssignDoc")
class AssignDoc(StmtDoc):
    """``lhs: annotation = rhs``"""

    __slots__ = ()

    def __init__(self, lhs, rhs=None, annotation=None):
        if rhs is None and annotation is None:
            raise ValueError("AssignDoc: neither a value nor an annotation is given")
        if annotation is not None and isinstance(lhs, TupleDoc | ListDoc):
            raise ValueError("AssignDoc: several targets cannot be annotated")
        self._make(lhs=lhs, rhs=rhs, annotation=annotation)


@_register("IfDoc")
class IfDoc(StmtDoc):
    """``if``"""

    __slots__ = ()

    def __init__(self, predicate, then_branch=None, else_branch=None):
        if not then_branch and not else_branch:
            raise ValueError("IfDoc: at least one of the branches must have statements")
        self._make(
            predicate=predicate, then_branch=then_branch or [], else_branch=else_branch or []
        )


@_register("WhileDoc")
class WhileDoc(StmtDoc):
    """``while``"""

    __slots__ = ()

    def __init__(self, predicate, body):
        self._make(predicate=predicate, body=body)


@_register("ForDoc")
class ForDoc(StmtDoc):
    """``for``"""

    __slots__ = ()

    def __init__(self, lhs, rhs, body):
        self._make(lhs=lhs, rhs=rhs, body=body)


@_register("ScopeDoc")
class ScopeDoc(StmtDoc):
    """``with``"""

    __slots__ = ()

    def __init__(self, lhs, rhs, body):
        self._make(lhs=lhs, rhs=rhs, body=body)


@_register("ExprStmtDoc")
class ExprStmtDoc(StmtDoc):
    """An expression as a statement."""

    __slots__ = ()

    def __init__(self, expr):
        self._make(expr=expr)


@_register("AssertDoc")
class AssertDoc(StmtDoc):
    """``assert``"""

    __slots__ = ()

    def __init__(self, test, msg=None):
        self._make(test=test, msg=msg)


@_register("ReturnDoc")
class ReturnDoc(StmtDoc):
    """``return``"""

    __slots__ = ()

    def __init__(self, value):
        self._make(value=value)


@_register("FunctionDoc")
class FunctionDoc(StmtDoc):
    """``def``"""

    __slots__ = ()

    def __init__(self, name, args, decorators, return_type, body):
        self._make(name=name, args=args, decorators=decorators, return_type=return_type, body=body)


@_register("ClassDoc")
class ClassDoc(StmtDoc):
    """``class``"""

    __slots__ = ()

    def __init__(self, name, decorators, body):
        self._make(name=name, decorators=decorators, body=body)


@_register("CommentDoc")
class CommentDoc(StmtDoc):
    """A comment."""

    __slots__ = ()

    def __init__(self, comment):
        self._make(comment=comment)


@_register("DocStringDoc")
class DocStringDoc(StmtDoc):
    """A documentation string."""

    __slots__ = ()

    def __init__(self, docs):
        self._make(comment=docs)


def to_python_script(
    doc,
    indent_spaces=4,
    print_line_numbers=False,
    num_context_lines=None,
    path_to_underline=None,
):
    """Text of a document.

    Parameters
    ----------
    doc : Doc
        The document.
    indent_spaces : int
        Spaces of a level.
    print_line_numbers : bool
        Number the lines.
    num_context_lines : int, optional
        Lines to keep around what is underlined; all by default.
    path_to_underline : list of ObjectPath, optional
        Places to underline.

    Returns
    -------
    str
    """
    context = -1 if num_context_lines is None else num_context_lines
    text = _core.get_global_func("script.printer.DocToPythonScript")
    return str(text(doc, indent_spaces, print_line_numbers, context, path_to_underline))
