"""Building statements by running Python: ``ib = ir_builder.create()``.

ib = tenon.tir.ir_builder.create()
A = ib.pointer("float32", name="A")
with ib.for_range(0, n) as i:
    with ib.if_scope(ib.likely(i < m)):
        A[i] = A[i] + 1
stmt = ib.get()
"""

from ..ir.expr import PrimExpr
from ..ir.type import PointerType, PrimType
from ..runtime.object_generic import ObjectGeneric
from .buffer import Buffer, decl_buffer
from .expr import Call, IterVar, StringImm, Var, const, convert
from .op import likely as _likely
from .stmt import (
    Allocate,
    AttrStmt,
    BufferLoad,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    SeqStmt,
    Stmt,
    While,
)

_LOOP_KINDS = {
    "serial": ForKind.SERIAL,
    "parallel": ForKind.PARALLEL,
    "vectorize": ForKind.VECTORIZED,
    "unroll": ForKind.UNROLLED,
}


class WithScope:
    """What a ``with`` statement of the builder opens."""

    def __init__(self, enter_value, exit_cb):
        self._enter_value = enter_value
        self._exit_cb = exit_cb

    def __enter__(self):
        return self._enter_value

    def __exit__(self, kind, value, trace):
        self._exit_cb()


def _base_type(dtype):
    """The element type without lanes."""
    return str(dtype).split("x", 1)[0]


def _unravel(index, shape):
    """Indices of the element at a position of the flat buffer."""
    indices = []
    for extent in reversed(list(shape)):
        indices.append(index % extent)
        index = index // extent
    return indices[::-1]


class BufferVar(ObjectGeneric):
    """Buffer with indexing syntax: ``buf[i]`` loads, ``buf[i] = x`` adds a store to the builder.

    Made by `IRBuilder.allocate`, `IRBuilder.pointer` and `IRBuilder.buffer_ptr`.
    """

    def __init__(self, builder, buffer, content_type):
        self._builder = builder
        self._buffer = buffer
        self._content_type = content_type

    def asobject(self):
        """The buffer. Where a call or a parameter needs a pointer, its data stand for it."""
        return self._buffer

    @property
    def dtype(self):
        """Type of the elements."""
        return self._content_type

    def _indices(self, index):
        index = list(index) if isinstance(index, tuple | list) else [index]
        index = [i.var if isinstance(i, IterVar) else i for i in index]
        # a single index into a buffer of more dimensions counts its elements
        if len(index) == 1 and len(self._buffer.shape) != 1:
            return _unravel(index[0], self._buffer.shape)
        return index

    def __getitem__(self, index):
        return BufferLoad(self._buffer, self._indices(index))

    def __setitem__(self, index, value):
        value = convert(value)
        if _base_type(value.dtype) != _base_type(self._content_type):
            raise ValueError(
                f"data type does not match content type {value.dtype} vs {self._content_type}"
            )
        self._builder.emit(BufferStore(self._buffer, value, self._indices(index)))


def _loop_type(*bounds):
    """int64 where a bound is, else int32."""
    for bound in bounds:
        if isinstance(bound, PrimExpr) and not str(bound.dtype).startswith("int"):
            raise NotImplementedError(
                f"Infer loop_var dtype failed: unsupported dtype in loop begin or end {bound.dtype}"
            )
        if not isinstance(bound, PrimExpr | int):
            raise NotImplementedError(
                f"Infer loop_var dtype failed: unsupported dtype in loop begin or end {type(bound)}"
            )
    wide = any(isinstance(b, PrimExpr) and str(b.dtype) == "int64" for b in bounds)
    return "int64" if wide else "int32"


class IRBuilder:
    """Collects statements. ``with`` statements open loops, conditions and scopes."""

    def __init__(self):
        self._seq_stack = [[]]
        self.nidx = 0

    def _pop_seq(self):
        """The innermost sequence as one statement; functions in it enclose what follows them."""
        seq = self._seq_stack.pop()
        if not seq or callable(seq[-1]):
            seq.append(Evaluate(0))

        def as_one(last_first):
            return last_first[0] if len(last_first) == 1 else SeqStmt(last_first[::-1])

        after = [seq[-1]]
        for item in reversed(seq[:-1]):
            if callable(item):
                after = [item(as_one(after))]
            else:
                after.append(item)
        return as_one(after)

    def emit(self, stmt):
        """Add a statement.

        Parameters
        ----------
        stmt : Stmt, Call or callable
            A function gets what follows as one statement and gives the one around it.
        """
        if isinstance(stmt, Call):
            stmt = Evaluate(stmt)
        if not isinstance(stmt, Stmt) and not callable(stmt):
            raise TypeError(f"emit: expected a statement or a call, got {type(stmt).__name__}")
        self._seq_stack[-1].append(stmt)

    def scope_attr(self, node, attr_key, value):
        """Attribute over all statements that follow in this scope.

        Parameters
        ----------
        node : Object
            What it is about.
        attr_key : str
            Name.
        value : PrimExpr or str
            Value.
        """
        node = StringImm(node) if isinstance(node, str) else node
        node = node.asobject() if isinstance(node, ObjectGeneric) else node
        if isinstance(node, Buffer) and attr_key != "buffer_dim_align":
            node = node.data  # passes look for the memory, which views share
        value = StringImm(value) if isinstance(value, str) else convert(value)
        if attr_key == "thread_extent":
            # the extent of a thread axis may be zero where shapes are not known
            from .reduce import max as larger

            value = larger(1, value)
        self.emit(lambda body: AttrStmt(node, attr_key, value, body))

    def for_range(self, begin, end, name="i", dtype=None, kind="serial"):
        """Loop from begin to before end.

        Parameters
        ----------
        begin, end : PrimExpr or int
            Bounds.
        name : str
            Name of the variable; ``i``, ``j``, ``k``, ... in turn by default.
        dtype : str, optional
            Its type; that of the bounds by default.
        kind : str
            "serial", "parallel", "vectorize" or "unroll".

        Returns
        -------
        WithScope
            Of the loop variable.
        """
        if kind not in _LOOP_KINDS:
            raise ValueError(f"Unknown kind {kind!r}: expected one of {', '.join(_LOOP_KINDS)}")
        if name == "i":
            name = chr(ord(name) + self.nidx) if self.nidx < 3 else f"{name}_{self.nidx - 3}"
            self.nidx += 1
        loop_var = Var(name, dtype or _loop_type(begin, end))
        extent = end if isinstance(begin, int) and begin == 0 else end - begin
        self._seq_stack.append([])

        def close():
            self.emit(For(loop_var, begin, extent, _LOOP_KINDS[kind], self._pop_seq()))

        return WithScope(loop_var, close)

    def while_loop(self, condition):
        """Loop while the condition holds; a with-scope."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(While(condition, self._pop_seq())))

    def if_scope(self, cond):
        """Statements for when cond holds; a with-scope."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(IfThenElse(convert(cond), self._pop_seq(), None)))

    def else_scope(self):
        """Statements for when the condition of the if_scope just before does not hold."""
        before = self._seq_stack[-1]
        if not before:
            raise RuntimeError("else_scope can only follow an if_scope")
        prev = before[-1]
        if not isinstance(prev, IfThenElse) or prev.else_case:
            raise RuntimeError("else_scope can only follow an if_scope")
        before.pop()
        self._seq_stack.append([])
        return WithScope(
            None,
            lambda: self.emit(IfThenElse(prev.condition, prev.then_case, self._pop_seq())),
        )

    def new_scope(self):
        """Statements of their own; a with-scope."""
        self._seq_stack.append([])
        return WithScope(None, lambda: self.emit(self._pop_seq()))

    def let(self, var_name, value):
        """A variable bound to a value over what follows."""
        value = convert(value)
        var = Var(var_name, value.dtype)
        self.emit(lambda body: LetStmt(var, value, body))
        return var

    def allocate(self, dtype, shape, name="buf", axis_separators=None, scope=""):
        """Memory for what follows.

        Parameters
        ----------
        dtype : str
            Type of the elements.
        shape : int, PrimExpr or tuple of them
            Extents.
        name : str
            Name of the pointer.
        axis_separators : list of int, optional
            Where flattening separates the axes.
        scope : str
            Kind of memory.

        Returns
        -------
        BufferVar
        """
        shape = list(shape) if hasattr(shape, "__len__") else [shape]
        dtype = str(dtype)
        data = Var(name, PointerType(PrimType(dtype), scope))
        buffer = decl_buffer(shape, dtype, name, data, axis_separators=axis_separators)
        self.emit(lambda body: Allocate(data, dtype, shape, const(1, "uint1"), body))
        return BufferVar(self, buffer, dtype)

    def pointer(self, content_type, name="ptr", scope=""):
        """A pointer that comes from outside, with indexing syntax.

        Parameters
        ----------
        content_type : str
            Type of what it points to.
        name : str
            Its name.
        scope : str
            Kind of memory.

        Returns
        -------
        BufferVar
        """
        data = Var(name, PointerType(PrimType(content_type), scope))
        return BufferVar(self, decl_buffer([1], content_type, name, data), content_type)

    def buffer_ptr(self, buf):
        """A buffer with indexing syntax: a `BufferVar`."""
        return BufferVar(self, buf, buf.dtype)

    def likely(self, expr):
        """Hint that a condition mostly holds."""
        return _likely(expr)

    def get(self):
        """The statements as one; the builder is empty afterwards."""
        seq = self._pop_seq()
        if self._seq_stack:
            raise RuntimeError("cannot call get inside construction scope")
        self._seq_stack = [[]]
        return seq


def create():
    """A new `IRBuilder`."""
    return IRBuilder()
