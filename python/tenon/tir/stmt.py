"""Statements of tensor programs.

Every class takes the fields of its node, in the order programs know; what is wrong with them is an
error naming the field.
"""

from enum import IntEnum

from .. import _core
from .._ffi.registry import register_object
from ..runtime.object import Object
from ..runtime.script_printer import Scriptable
from .expr import IntImm, PrimExprWithOp, ProducerLoad, convert  # noqa: F401


class ForKind(IntEnum):
    """Kinds of loops."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


def _exprs(values):
    return [convert(v) for v in values]


class _Node(Scriptable, Object):
    __slots__ = ()

    def _make(self, **fields):
        self.__init_handle_by_constructor__(_core.make_node, self._type_key, fields)


@register_object("tir.Stmt")
class Stmt(_Node):
    """Base of statements."""

    __slots__ = ()


@register_object("tir.BufferLoad")
class BufferLoad(PrimExprWithOp):
    """Element of a buffer, or a vector of them where the last index is one."""

    __slots__ = ()

    def __init__(self, buffer, indices, span=None):
        fields = {"buffer": buffer, "indices": _exprs(indices), "span": span, "dtype": buffer.dtype}
        self.__init_handle_by_constructor__(_core.make_node, "tir.BufferLoad", fields)


@register_object("tir.BufferRegion")
class BufferRegion(_Node):
    """Box of a buffer."""

    __slots__ = ()
    _type_key = "tir.BufferRegion"

    def __init__(self, buffer, region):
        self._make(buffer=buffer, region=region)


@register_object("tir.MatchBufferRegion")
class MatchBufferRegion(_Node):
    """Buffer that stands for a region."""

    __slots__ = ()
    _type_key = "tir.MatchBufferRegion"

    def __init__(self, buffer, source):
        self._make(buffer=buffer, source=source)


@register_object("tir.LetStmt")
class LetStmt(Stmt):
    """Binds a variable."""

    __slots__ = ()
    _type_key = "tir.LetStmt"

    def __init__(self, var, value, body, span=None):
        self._make(var=var, value=convert(value), body=body, span=span)


@register_object("tir.AssertStmt")
class AssertStmt(Stmt):
    """Run-time check."""

    __slots__ = ()
    _type_key = "tir.AssertStmt"

    def __init__(self, condition, message, body, span=None):
        self._make(condition=convert(condition), message=convert(message), body=body, span=span)


@register_object("tir.For")
class For(Stmt):
    """Loop.

    Parameters
    ----------
    loop_var : Var
    min_val : PrimExpr
        Its first value; ``min`` in later releases.
    extent : PrimExpr
        How many values it takes.
    kind : ForKind
    body : Stmt
    thread_binding : IterVar, optional
        The thread axis, for kind THREAD_BINDING.
    annotations : dict, optional
    span : Span, optional
    """

    __slots__ = ()
    _type_key = "tir.For"

    def __init__(
        self,
        loop_var,
        min_val=None,
        extent=None,
        kind=None,
        body=None,
        thread_binding=None,
        annotations=None,
        span=None,
        *,
        min=None,
    ):
        first = min if min_val is None else min_val
        if first is None or (min is not None and min_val is not None):
            raise TypeError("For: expected min_val, or min, once")
        if extent is None or kind is None or body is None:
            raise TypeError("For: expected extent, kind and body")
        self._make(
            loop_var=loop_var,
            min=convert(first),
            extent=convert(extent),
            kind=int(kind),
            body=body,
            thread_binding=thread_binding,
            annotations=annotations or {},
            span=span,
        )


@register_object("tir.While")
class While(Stmt):
    """Loop while a condition holds."""

    __slots__ = ()
    _type_key = "tir.While"

    def __init__(self, condition, body, span=None):
        self._make(condition=convert(condition), body=body, span=span)


@register_object("tir.BufferStore")
class BufferStore(Stmt):
    """Writes an element of a buffer."""

    __slots__ = ()
    _type_key = "tir.BufferStore"

    def __init__(self, buffer, value, indices, span=None):
        self._make(buffer=buffer, value=convert(value), indices=_exprs(indices), span=span)


@register_object("tir.BufferRealize")
class BufferRealize(Stmt):
    """Allocates a region of a buffer."""

    __slots__ = ()
    _type_key = "tir.BufferRealize"

    def __init__(self, buffer, bounds, condition, body, span=None):
        cond = convert(condition)
        self._make(buffer=buffer, bounds=bounds, condition=cond, body=body, span=span)


@register_object("tir.ProducerStore")
class ProducerStore(Stmt):
    """Writes an element of a tensor expression."""

    __slots__ = ()
    _type_key = "tir.ProducerStore"

    def __init__(self, producer, value, indices, span=None):
        self._make(producer=producer, value=convert(value), indices=_exprs(indices), span=span)


@register_object("tir.ProducerRealize")
class ProducerRealize(Stmt):
    """Allocates a tensor expression."""

    __slots__ = ()
    _type_key = "tir.ProducerRealize"

    def __init__(self, producer, bounds, condition, body, storage_scope="", span=None):
        self._make(
            producer=producer,
            bounds=bounds,
            condition=convert(condition),
            body=body,
            storage_scope=storage_scope,
            span=span,
        )


@register_object("tir.Allocate")
class Allocate(Stmt):
    """Allocates storage."""

    __slots__ = ()
    _type_key = "tir.Allocate"

    def __init__(self, buffer_var, dtype, extents, condition, body, annotations=None, span=None):
        self._make(
            buffer_var=buffer_var,
            dtype=str(dtype),
            extents=_exprs(extents),
            condition=convert(condition),
            body=body,
            annotations=annotations or {},
            span=span,
        )


@register_object("tir.AllocateConst")
class AllocateConst(Stmt):
    """Constant storage: an NDArray, or an index into the module's constants."""

    __slots__ = ()
    _type_key = "tir.AllocateConst"

    def __init__(self, buffer_var, dtype, extents, data_or_idx, body, annotations=None, span=None):
        is_index = isinstance(data_or_idx, int | IntImm)
        self._make(
            buffer_var=buffer_var,
            dtype=str(dtype),
            extents=_exprs(extents),
            data=None if is_index else data_or_idx,
            irmod_storage_idx=convert(data_or_idx) if is_index else None,
            body=body,
            annotations=annotations or {},
            span=span,
        )


@register_object("tir.DeclBuffer")
class DeclBuffer(Stmt):
    """Declares a buffer over existing storage."""

    __slots__ = ()
    _type_key = "tir.DeclBuffer"

    def __init__(self, buffer, body, span=None):
        self._make(buffer=buffer, body=body, span=span)


@register_object("tir.AttrStmt")
class AttrStmt(Stmt):
    """Attribute over a body."""

    __slots__ = ()
    _type_key = "tir.AttrStmt"

    def __init__(self, node, attr_key, value, body, span=None):
        self._make(node=node, attr_key=attr_key, value=convert(value), body=body, span=span)


@register_object("tir.SeqStmt")
class SeqStmt(Stmt):
    """Statements in order."""

    __slots__ = ()
    _type_key = "tir.SeqStmt"

    def __init__(self, seq, span=None):
        self._make(seq=seq, span=span)

    def __getitem__(self, i):
        return self.seq[i]

    def __len__(self):
        return len(self.seq)


@register_object("tir.IfThenElse")
class IfThenElse(Stmt):
    """Conditional. A condition that is an integer holds where it is not 0."""

    __slots__ = ()
    _type_key = "tir.IfThenElse"

    def __init__(self, condition, then_case, else_case=None, span=None):
        cond = convert(condition)
        if str(getattr(cond, "dtype", "")).startswith(("int", "uint")):
            cond = cond != 0
        self._make(condition=cond, then_case=then_case, else_case=else_case, span=span)


@register_object("tir.Evaluate")
class Evaluate(Stmt):
    """Evaluates an expression for its effect."""

    __slots__ = ()
    _type_key = "tir.Evaluate"

    def __init__(self, value, span=None):
        self._make(value=convert(value), span=span)


@register_object("tir.Prefetch")
class Prefetch(Stmt):
    """Prefetch hint."""

    __slots__ = ()
    _type_key = "tir.Prefetch"

    def __init__(self, buffer, bounds, span=None):
        self._make(buffer=buffer, bounds=bounds, span=span)


@register_object("tir.Block")
class Block(Stmt):
    """Unit of scheduling: iterators, regions, body."""

    __slots__ = ()
    _type_key = "tir.Block"

    def __init__(
        self,
        iter_vars,
        reads,
        writes,
        name_hint,
        body,
        init=None,
        alloc_buffers=None,
        match_buffers=None,
        annotations=None,
        span=None,
    ):
        self._make(
            iter_vars=iter_vars,
            reads=reads,
            writes=writes,
            name_hint=name_hint,
            body=body,
            init=init,
            alloc_buffers=alloc_buffers or [],
            match_buffers=match_buffers or [],
            annotations=annotations or {},
            span=span,
        )


@register_object("tir.BlockRealize")
class BlockRealize(Stmt):
    """Execution of a block at iterator values."""

    __slots__ = ()
    _type_key = "tir.BlockRealize"

    def __init__(self, iter_values, predicate, block, span=None):
        values, cond = _exprs(iter_values), convert(predicate)
        self._make(iter_values=values, predicate=cond, block=block, span=span)


def stmt_seq(*args):
    """Statements in order; expressions are evaluated."""
    from ..ir.expr import PrimExpr

    stmts = []
    for arg in args:
        items = arg if isinstance(arg, list | tuple) else [arg]
        stmts += [Evaluate(i) if isinstance(i, PrimExpr) else i for i in items]
    return stmts[0] if len(stmts) == 1 else SeqStmt(stmts)


def stmt_list(stmt):
    """The statements of a sequence as a flat list."""
    if isinstance(stmt, SeqStmt):
        return [inner for part in stmt.seq for inner in stmt_list(part)]
    return [stmt]
