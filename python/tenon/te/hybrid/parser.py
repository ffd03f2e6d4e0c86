"""Hybrid scripts as statements of tensor programs."""

import ast
import inspect
import operator
import textwrap

from ... import ir, tir
from ...runtime.object import Object
from ...tir.ir_builder import IRBuilder
from ..tensor import Tensor
from .runtime import HYBRID_GLOBALS, ceil_div, max_num_threads

_BINARY = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
_LOOPS = {
    "range": "serial",
    "serial": "serial",
    "parallel": "parallel",
    "vectorize": "vectorize",
    "unroll": "unroll",
}
_INTRINSICS = ("sqrt", "rsqrt", "log", "tanh", "power", "exp", "sigmoid", "popcount", "round")
_INTRINSICS += ("floor", "ceil", "trunc", "likely", "sin", "cos", "tan", "atan", "log2", "log10")
_INTRINSICS += ("abs",)


def is_program_value(value):
    """May the value be an argument of an operation: tensor, expression, number, list of them?"""
    if isinstance(value, list | tuple) or type(value).__name__ == "Array":
        return all(is_program_value(v) for v in value)
    return isinstance(value, Tensor | tir.PrimExpr | int | float | str)


def _plain(value):
    return isinstance(value, int | float | str | bool | tuple | list)


def _number(value):
    """Constants of programs as numbers of Python."""
    return value.value if isinstance(value, tir.IntImm | tir.FloatImm) else value


def _divide(a, b):
    a, b = _number(a), _number(b)
    if isinstance(a, int | float) and isinstance(b, int | float):
        return a / b
    return tir.div(a, b)


class _Hybrid(ast.NodeVisitor):
    """Visits the definition of a script and emits its statements.

    Parameters
    ----------
    builder : IRBuilder
        Takes the statements.
    buffers : dict of Tensor to Buffer
        Buffers of the arguments, shared by all scripts that one calls.
    names : dict
        What names outside of the function mean.
    """

    def __init__(self, builder, buffers, names):
        self.ib = builder
        self.buffers = buffers
        self.names = names
        self.vars = {}
        self.outputs = []
        self.returned = None
        self.allocated = []

    def fail(self, node, message):
        """ValueError with the line."""
        raise ValueError(f"line {getattr(node, 'lineno', '?')}: {message}")

    # ---- the function ----

    def run(self, definition, args):
        """Emit the body with the parameters bound; returns what the function returns."""
        params = definition.args.args
        if len(params) != len(args):
            self.fail(
                definition, "The number of arguments passed to the function should be the same"
            )
        for param, arg in zip(params, args, strict=True):
            self.vars[param.arg] = self.buffers.get(arg, arg) if isinstance(arg, Tensor) else arg
        self.assigned = {}
        for node in ast.walk(definition):
            if isinstance(node, ast.Assign | ast.AugAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target] * 2
                for target in targets:
                    if isinstance(target, ast.Name):
                        self.assigned[target.id] = self.assigned.get(target.id, 0) + 1
        self.body(definition.body)
        if self.returned is None:
            self.fail(definition, "It is required to return something in the function")
        return self.returned

    def body(self, statements):
        """Statements in order."""
        for statement in statements:
            if self.returned is not None:
                self.fail(statement, "Return should be the last statement of the function")
            self.visit(statement)

    def generic_visit(self, node):
        self.fail(node, f"{type(node).__name__} is not supported in hybrid scripts")

    def visit_Pass(self, node):
        pass

    def visit_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return
        value = self.visit(node.value)
        if isinstance(value, tir.Call):
            self.ib.emit(value)

    def visit_Return(self, node):
        nodes = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
        self.returned = [self.visit(n) for n in nodes]
        if not all(isinstance(v, tir.Buffer) for v in self.returned):
            self.fail(node, "You should return output tensors")

    # ---- names and numbers ----

    def visit_Constant(self, node):
        return node.value

    def visit_Name(self, node):
        name = node.id
        if name in self.vars:
            value = self.vars[name]
            # a number that changes lives in memory
            return value[1][0] if isinstance(value, tuple) and value[0] == "scalar" else value
        if name in self.names:
            return self.names[name]
        self.fail(node, f"This is an undefined symbol {name}")

    def visit_Tuple(self, node):
        return tuple(self.visit(e) for e in node.elts)

    visit_List = visit_Tuple

    def visit_Attribute(self, node):
        if isinstance(node.value, ast.Name) and node.value.id in self.vars:
            base = self.vars[node.value.id]
            if isinstance(base, tir.Buffer) and node.attr == "shape":
                return tuple(_number(e) for e in base.shape)
            if isinstance(base, tir.Buffer) and node.attr == "dtype":
                return str(base.dtype)
        return getattr(self.visit(node.value), node.attr)

    def _indices(self, node):
        indices = self.visit(node.slice)
        return list(indices) if isinstance(indices, tuple) else [indices]

    def visit_Subscript(self, node):
        base = self.visit(node.value)
        indices = self._indices(node)
        if isinstance(base, tir.Buffer):
            return self.ib.buffer_ptr(base)[indices]
        for index in indices:
            index = _number(index)
            if not isinstance(index, int):
                self.fail(node, "The indices of shapes and lists should be constant")
            if not -len(base) <= index < len(base):
                self.fail(node, "Array access out of bound!")
            base = base[index]
        return _number(base)

    # ---- operators ----

    def visit_BinOp(self, node):
        left, right = self.visit(node.left), self.visit(node.right)
        return self._apply(node, type(node.op), left, right)

    def _apply(self, node, op, left, right):
        if op is ast.Div:
            return _divide(left, right)
        if op is ast.Pow:
            return left**right if _plain(left) and _plain(right) else tir.power(left, right)
        if op not in _BINARY:
            self.fail(node, f"the operator {op.__name__} is not supported")
        return _BINARY[op](left, right)

    def visit_UnaryOp(self, node):
        value = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return not value if _plain(value) else tir.Not(value)
        return {ast.USub: operator.neg, ast.UAdd: lambda x: x, ast.Invert: operator.invert}[
            type(node.op)
        ](value)

    def visit_BoolOp(self, node):
        values = [self.visit(v) for v in node.values]
        if all(_plain(v) for v in values):
            return all(values) if isinstance(node.op, ast.And) else any(values)
        return (tir.all if isinstance(node.op, ast.And) else tir.any)(*values)

    def visit_Compare(self, node):
        values = [self.visit(v) for v in [node.left, *node.comparators]]
        found = []
        for op, left, right in zip(node.ops, values, values[1:], strict=False):
            found.append(self._apply(node, type(op), left, right))
        return found[0] if len(found) == 1 else tir.all(*found)

    def visit_IfExp(self, node):
        cond = _number(self.visit(node.test))
        if _plain(cond):
            return self.visit(node.body if cond else node.orelse)
        return tir.if_then_else(cond, self.visit(node.body), self.visit(node.orelse))

    # ---- calls ----

    def visit_Call(self, node):
        args = [self.visit(a) for a in node.args]
        kwargs = {k.arg: self.visit(k.value) for k in node.keywords}
        name = node.func.id if isinstance(node.func, ast.Name) else None
        found = self.names.get(name) if name else self.visit(node.func)
        if hasattr(found, "hybrid_source"):
            return self._call_script(node, found, args)
        if name in ("output_tensor", "allocate"):
            return self._memory(node, name, *args, **kwargs)
        if name == "len":
            first = args[0]
            return _number(first.shape[0]) if isinstance(first, tir.Buffer) else len(first)
        if name in ("min", "max"):
            return self._extreme(name, args)
        if name in _INTRINSICS:
            return getattr(tir, name)(*args)
        if name == "ceil_div":
            return ceil_div(*args)
        if name == "max_num_threads":
            return max_num_threads(*args)
        if name in HYBRID_GLOBALS and name[-1].isdigit():
            if not _plain(args[0]):
                return tir.Cast(name, tir.convert(args[0]))
            return tir.const(float(args[0]) if isinstance(args[0], str) else args[0], name)
        if callable(found):
            return found(*args, **kwargs)
        self.fail(node, f"Function {ast.unparse(node.func)} is not supported yet")

    def _extreme(self, name, args):
        if all(_plain(a) for a in args):
            return min(*args) if name == "min" else max(*args)
        value = args[0]
        for other in args[1:]:
            value = (tir.min if name == "min" else tir.max)(value, other)
        return value

    def _call_script(self, node, function, args):
        inner = _Hybrid(self.ib, self.buffers, function.hybrid_names)
        inner.allocated = self.allocated
        inner.inlined = True
        results = inner.run(definition_of(function.hybrid_source), args)
        return results[0] if len(results) == 1 else tuple(results)

    inlined = False

    def _memory(self, node, kind, shape, dtype="float32", scope="global"):
        shape = list(shape) if isinstance(shape, tuple | list) else [shape]
        name = getattr(self, "target_name", kind)
        if kind == "output_tensor" and not self.inlined:
            buffer = tir.decl_buffer(shape, str(dtype), name)
            self.outputs.append(buffer)
            return buffer
        return self._allocate(name, shape, str(dtype), scope)

    def _allocate(self, name, shape, dtype, scope="global"):
        """Memory over the whole script: what a loop writes is read behind it."""
        data = tir.Var(name, ir.PointerType(ir.PrimType(dtype), scope))
        buffer = tir.decl_buffer(shape, dtype, name, data)
        self.allocated.append((data, dtype, shape))
        return buffer

    # ---- statements ----

    def visit_Assign(self, node):
        if len(node.targets) != 1:
            self.fail(node, "Only one-valued assignment is supported")
        target = node.targets[0]
        self.target_name = target.id if isinstance(target, ast.Name) else "v"
        value = self.visit(node.value)
        if isinstance(target, ast.Tuple):
            for part, one in zip(target.elts, value, strict=True):
                self._bind(node, part, one)
        else:
            self._bind(node, target, value)

    def _bind(self, node, target, value):
        if isinstance(target, ast.Subscript):
            base = self.visit(target.value)
            if not isinstance(base, tir.Buffer):
                self.fail(node, "only elements of tensors can be assigned")
            self.ib.buffer_ptr(base)[self._indices(target)] = _as_type(value, base.dtype)
            return
        if not isinstance(target, ast.Name):
            self.fail(node, "You should bind a pure name to the tensors")
        constant = _plain(value) and self.assigned.get(target.id, 0) <= 1
        if (
            constant
            or isinstance(value, tir.Buffer)
            or not isinstance(value, int | float | tir.PrimExpr)
        ):
            self.vars[target.id] = value
            return
        self._store_scalar(target.id, value)

    def _store_scalar(self, name, value):
        known = self.vars.get(name)
        if not (isinstance(known, tuple) and known[0] == "scalar"):
            value = tir.convert(value)
            buffer = self._allocate(name, [1], str(value.dtype), "local")
            self.vars[name] = known = ("scalar", self.ib.buffer_ptr(buffer))
        known[1][0] = _as_type(value, known[1].dtype)

    def visit_AugAssign(self, node):
        load = ast.parse(ast.unparse(node.target), mode="eval").body
        value = self._apply(node, type(node.op), self.visit(load), self.visit(node.value))
        self._bind(node, node.target, value)

    def visit_If(self, node):
        cond = _number(self.visit(node.test))
        if _plain(cond):
            self.body(node.body if cond else node.orelse)
            return
        with self.ib.if_scope(cond):
            self.body(node.body)
        if node.orelse:
            with self.ib.else_scope():
                self.body(node.orelse)

    def visit_Assert(self, node):
        cond = self.visit(node.test)
        text = node.msg.value if isinstance(node.msg, ast.Constant) else ast.unparse(node.test)
        self.ib.emit(lambda body: tir.AssertStmt(cond, tir.StringImm(str(text)), body))

    def visit_For(self, node):
        if not isinstance(node.target, ast.Name):
            self.fail(node, "The loop iterator should be a variable!")
        if not isinstance(node.iter, ast.Call) or not isinstance(node.iter.func, ast.Name):
            self.fail(node, "Only range-like loops are supported")
        kind, name = node.iter.func.id, node.target.id
        args = [_number(self.visit(a)) for a in node.iter.args]
        before = self.vars.get(name)
        if kind == "const_range":
            self._unrolled(node, name, args)
        elif kind == "bind":
            self._threads(node, name, args)
        elif kind in _LOOPS:
            begin, end = (0, args[0]) if len(args) == 1 else (args[0], args[1])
            with self.ib.for_range(begin, end, name=f"{name}", kind=_LOOPS[kind]) as var:
                self.vars[name] = var
                self.body(node.body)
        else:
            self.fail(node, f"Only range-like loops are supported, got {kind}")
        self.vars.pop(name, None)
        if before is not None:
            self.vars[name] = before

    def _unrolled(self, node, name, args):
        if not all(isinstance(a, int) for a in args):
            self.fail(node, "Only constant bounds can be used in const_range")
        for i in range(*args):
            self.vars[name] = i
            self.body(node.body)

    def _threads(self, node, name, args):
        if len(args) != 2 or not isinstance(args[0], str):
            self.fail(node, "A loop bind should have 2 arguments: thread tag and extent")
        var = tir.Var(name, "int32")
        axis = tir.IterVar((0, args[1]), var, tir.IterVar.ThreadIndex, args[0])
        with self.ib.new_scope():
            self.ib.scope_attr(axis, "thread_extent", args[1])
            self.vars[name] = var
            self.body(node.body)


def _as_type(value, dtype):
    value = tir.convert(value)
    if str(value.dtype) == str(dtype):
        return value
    if isinstance(value, tir.IntImm | tir.FloatImm):
        return tir.const(value.value, str(dtype))
    return tir.Cast(str(dtype), value)


def definition_of(function):
    """Syntax tree of a function."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    return tree.body[0]


def _tensors(args):
    for arg in args:
        if isinstance(arg, Tensor):
            yield arg
        elif isinstance(arg, list | tuple) or (
            isinstance(arg, Object) and type(arg).__name__ == "Array"
        ):
            yield from _tensors(arg)


def build_op(function, args, names):
    """The operation that a script is for some arguments.

    Parameters
    ----------
    function : function
        The script.
    args : tuple
        Tensors, expressions, numbers, or lists of them.
    names : dict
        What names outside of the function mean.

    Returns
    -------
    Tensor or list of Tensor
    """
    from ..compute import extern

    inputs = list(dict.fromkeys(_tensors(args)))
    buffers = {t: tir.decl_buffer(t.shape, str(t.dtype), t.name) for t in inputs}
    builder = IRBuilder()
    parser = _Hybrid(builder, buffers, names)
    with_buffers = [_with_buffers(a, buffers) for a in args]
    returned = parser.run(definition_of(function), with_buffers)
    if not all(any(b.same_as(o) for o in parser.outputs) for b in returned):
        raise ValueError("You should return output tensors")
    if len(returned) != len(parser.outputs):
        raise ValueError("All output tensors should be returned")
    body = builder.get()
    for data, dtype, shape in reversed(parser.allocated):
        body = tir.Allocate(data, dtype, shape, tir.const(True, "bool"), body)
    return extern(
        [b.shape for b in returned],
        inputs,
        lambda _ins, _outs: body,
        name=function.__name__,
        dtype=[str(b.dtype) for b in returned],
        in_buffers=list(buffers.values()),
        out_buffers=returned,
        tag="hybrid",
    )


def _with_buffers(arg, buffers):
    if isinstance(arg, Tensor):
        return buffers[arg]
    if isinstance(arg, list | tuple) or type(arg).__name__ == "Array":
        return [_with_buffers(a, buffers) for a in arg]
    return arg
