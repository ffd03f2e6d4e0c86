"""Frames of statements, functions and blocks."""

from ... import tir as _tir
from ...ir import Range
from . import _ffi_api
from .base import IRBuilder, IRBuilderFrame, set_result
from .ir import IRModuleFrame


def as_stmt(stmts):
    """Statements in order as one."""
    if not stmts:
        return _tir.Evaluate(0)
    return stmts[0] if len(stmts) == 1 else _tir.SeqStmt(stmts)


def add_stmt(stmt):
    """A statement goes to the innermost open frame."""
    builder = IRBuilder.current()
    frame = builder.find(TIRFrame)
    if frame is None:
        set_result(stmt)
    else:
        frame.stmts.append(stmt)


class TIRFrame(IRBuilderFrame):
    """Collects statements; ``make`` turns them into one."""

    def __init__(self, make=None, value=None):
        super().__init__()
        self.stmts = []
        self._make = make
        self._value = value

    def value(self):
        """What ``as`` binds."""
        return self._value

    def body(self):
        """The collected statements as one."""
        return as_stmt(self.stmts)

    def finish(self):
        """The statement goes to the frame around."""
        add_stmt(self._make(self.body()))


def open_frame(kind, needed):
    """The innermost open frame of a kind; ValueError without one."""
    frame = IRBuilder.current().find(kind)
    if frame is None:
        raise ValueError(f"this belongs inside of `with {needed}`")
    return frame


class PrimFuncFrame(TIRFrame):
    """A function."""

    def __init__(self, is_private):
        super().__init__()
        self.is_private = is_private
        self.name = None
        self.args = []
        self.buffer_map = {}
        self.attrs = {}
        self.ret_type = None
        self.root_alloc = []

    def finish(self):
        """The function is the result, or one of the module."""
        attrs = dict(self.attrs)
        if self.name is not None and not self.is_private:
            attrs.setdefault("global_symbol", self.name)
        body = _ffi_api.WithRootBlock(self.body(), self.root_alloc)
        func = _tir.PrimFunc(self.args, body, self.ret_type, self.buffer_map)
        for key, value in attrs.items():
            func = func.with_attr(key, value)
        module = IRBuilder.current().find(IRModuleFrame)
        if module is None:
            set_result(func)
        elif self.name is None:
            raise ValueError("a function of a module needs a name: T.func_name(...)")
        else:
            module.functions[self.name] = func


class BlockFrame(TIRFrame):
    """A block."""

    def __init__(self, name, no_realize):
        super().__init__()
        self.name = name
        self.no_realize = no_realize
        self.iter_vars = []
        self.iter_values = []
        self.reads = None
        self.writes = None
        self.init = None
        self.alloc_buffers = []
        self.match_buffers = []
        self.annotations = {}
        self.predicate = None

    def _block(self):
        annotations = dict(self.annotations)
        missing = (self.reads is None) + 2 * (self.writes is None)
        complete = IRBuilder.current().find(PrimFuncFrame) is not None
        if missing and not complete:
            annotations["tir.script_parsing_detect_access"] = _tir.IntImm("int64", missing)
        block = _tir.Block(
            self.iter_vars,
            self.reads or [],
            self.writes or [],
            self.name,
            self.body(),
            self.init,
            self.alloc_buffers,
            self.match_buffers,
            annotations,
        )
        if missing and complete:
            block = _ffi_api.CompleteBlock(block, self.reads is None, self.writes is None)
        return block

    def finish(self):
        """The block goes to the frame around."""
        block = self._block()
        if self.no_realize:
            if self.iter_values or self.predicate is not None:
                raise ValueError("a block that is not realized has no values and no predicate")
            add_stmt(block)
            return
        predicate = _tir.const(True, "bool") if self.predicate is None else self.predicate
        add_stmt(_tir.BlockRealize(self.iter_values, predicate, block))


def region_of(obj):
    """A BufferRegion from a buffer, an element or a slice."""
    if isinstance(obj, _tir.BufferRegion):
        return obj
    if isinstance(obj, _tir.Buffer):
        return _tir.BufferRegion(obj, [Range(0, extent) for extent in obj.shape])
    if isinstance(obj, _tir.BufferLoad):
        return _tir.BufferRegion(obj.buffer, [_index_range(i) for i in obj.indices])
    raise TypeError(f"expected a region of a buffer, got {type(obj).__name__}")


def _index_range(index):
    if isinstance(index, _tir.Ramp):
        return Range.from_min_extent(index.base, index.lanes)
    return Range.from_min_extent(index, _tir.const(1, index.dtype))
