"""Visitors and mutators of expressions, to be derived from.

An expression that occurs twice is visited once, and what a mutator makes of it occurs twice again.
"""

from ..ir.expr import GlobalVar
from ..ir.op import Op
from .adt import Clause, Constructor, Match
from .expr import (
    Call,
    Constant,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    _with_fields,
)
from .function import Function

# Graphs are visited by recursion down to this depth, below it operands come before what uses them.
_DEEPEST = 100
_DATAFLOW = (Call, Tuple, TupleGetItem)


def _operands(expr):
    """What a node of a graph computes with."""
    if isinstance(expr, Call):
        return expr.args
    return expr.fields if isinstance(expr, Tuple) else [expr.tuple_value]


class ExprFunctor:
    """Calls the method of an expression's kind; the base of visitors and mutators.

    Derived classes define ``visit_function``, ``visit_let``, ``visit_call``, ``visit_var``,
    ``visit_type``, ``visit_if``, ``visit_tuple``, ``visit_tuple_getitem``, ``visit_global_var``,
    ``visit_op``, ``visit_constant``, ``visit_ref_create``, ``visit_ref_read``,
    ``visit_ref_write``, ``visit_constructor`` and ``visit_match``.
    """

    _METHODS = {
        Function: "visit_function",
        Call: "visit_call",
        Let: "visit_let",
        Var: "visit_var",
        GlobalVar: "visit_global_var",
        If: "visit_if",
        Tuple: "visit_tuple",
        TupleGetItem: "visit_tuple_getitem",
        Constant: "visit_constant",
        RefCreate: "visit_ref_create",
        RefRead: "visit_ref_read",
        RefWrite: "visit_ref_write",
        Op: "visit_op",
        Constructor: "visit_constructor",
        Match: "visit_match",
    }

    _depth = 0

    def __init__(self):
        self.memo_map = {}

    def visit(self, expr):
        """Visit an expression, unless it was visited before; what its method returned."""
        found = self.memo_map.get(expr, self)
        if found is not self:
            return found
        kind = next((k for k in type(expr).__mro__ if k in self._METHODS), None)
        if kind is None:
            raise Exception(f"warning unhandled case: {type(expr)}")
        self._depth += 1
        try:
            if self._depth > _DEEPEST and kind in _DATAFLOW:
                self._visit_below(expr)
            result = getattr(self, self._METHODS[kind])(expr)
        finally:
            self._depth -= 1
        self.memo_map[expr] = result
        return result

    def _visit_below(self, top):
        """Visit what a node is computed from, operands first, without recursion."""
        depth, self._depth = self._depth, 0
        try:
            todo, seen = [(top, False)], set()
            while todo:
                expr, ready = todo.pop()
                if ready:
                    self.visit(expr)
                elif expr not in seen and expr not in self.memo_map:
                    seen.add(expr)
                    if expr is not top:
                        todo.append((expr, True))
                    below = [e for e in _operands(expr) if isinstance(e, _DATAFLOW)]
                    todo.extend((e, False) for e in reversed(below))
        finally:
            self._depth = depth

    def visit_function(self, _):
        """Visit a Function."""
        raise NotImplementedError()

    def visit_let(self, _):
        """Visit a Let."""
        raise NotImplementedError()

    def visit_call(self, _):
        """Visit a Call."""
        raise NotImplementedError()

    def visit_var(self, _):
        """Visit a Var."""
        raise NotImplementedError()

    def visit_type(self, typ):
        """Types are left alone."""
        return typ

    def visit_if(self, _):
        """Visit an If."""
        raise NotImplementedError()

    def visit_tuple(self, _):
        """Visit a Tuple."""
        raise NotImplementedError()

    def visit_tuple_getitem(self, _):
        """Visit a TupleGetItem."""
        raise NotImplementedError()

    def visit_global_var(self, _):
        """Visit a GlobalVar."""
        raise NotImplementedError()

    def visit_op(self, _):
        """Visit an Op."""
        raise NotImplementedError()

    def visit_constant(self, _):
        """Visit a Constant."""
        raise NotImplementedError()

    def visit_ref_create(self, _):
        """Visit a RefCreate."""
        raise NotImplementedError()

    def visit_ref_write(self, _):
        """Visit a RefWrite."""
        raise NotImplementedError()

    def visit_ref_read(self, _):
        """Visit a RefRead."""
        raise NotImplementedError()

    def visit_constructor(self, _):
        """Visit a Constructor."""
        raise NotImplementedError()

    def visit_match(self, _):
        """Visit a Match."""
        raise NotImplementedError()


class ExprVisitor(ExprFunctor):
    """Visits every expression below one; derived classes say what is to be done with which."""

    def visit_tuple(self, tup):
        for field in tup.fields:
            self.visit(field)

    def visit_call(self, call):
        self.visit(call.op)
        for arg in call.args:
            self.visit(arg)

    def visit_var(self, var):
        pass

    def visit_let(self, let):
        self.visit(let.var)
        self.visit(let.value)
        self.visit(let.body)

    def visit_function(self, fn):
        for param in fn.params:
            self.visit(param)
        self.visit(fn.body)

    def visit_if(self, i):
        self.visit(i.cond)
        self.visit(i.true_branch)
        self.visit(i.false_branch)

    def visit_global_var(self, gv):
        pass

    def visit_constructor(self, c):
        pass

    def visit_op(self, op):
        pass

    def visit_constant(self, const):
        pass

    def visit_ref_create(self, r):
        self.visit(r.value)

    def visit_ref_read(self, r):
        self.visit(r.ref)

    def visit_ref_write(self, r):
        self.visit(r.ref)
        self.visit(r.value)

    def visit_tuple_getitem(self, t):
        self.visit(t.tuple_value)

    def visit_match(self, m):
        self.visit(m.data)
        for clause in m.clauses:
            self.visit(clause.rhs)


def _same(old, new):
    return len(old) == len(new) and all(a.same_as(b) for a, b in zip(old, new, strict=True))


class ExprMutator(ExprFunctor):
    """Rebuilds an expression; what does not change stays the same object.

    Derived classes return replacements from the methods of the kinds they care about.
    """

    def visit_function(self, fn):
        params = [self.visit(param) for param in fn.params]
        body = self.visit(fn.body)
        if _same(fn.params, params) and body.same_as(fn.body):
            return fn
        return _with_fields(fn, params=params, body=body)

    def visit_let(self, let):
        var, value, body = (self.visit(part) for part in (let.var, let.value, let.body))
        if _same((let.var, let.value, let.body), (var, value, body)):
            return let
        return _with_fields(let, var=var, value=value, body=body)

    def visit_call(self, call):
        op = self.visit(call.op)
        args = [self.visit(arg) for arg in call.args]
        if op.same_as(call.op) and _same(call.args, args):
            return call
        return _with_fields(call, op=op, args=args)

    def visit_var(self, var):
        return var

    def visit_global_id(self, global_var):
        """Names of functions stay as they are."""
        return global_var

    def visit_if(self, ite):
        old = (ite.cond, ite.true_branch, ite.false_branch)
        new = tuple(self.visit(part) for part in old)
        if _same(old, new):
            return ite
        return _with_fields(ite, cond=new[0], true_branch=new[1], false_branch=new[2])

    def visit_tuple(self, tup):
        fields = [self.visit(field) for field in tup.fields]
        return tup if _same(tup.fields, fields) else _with_fields(tup, fields=fields)

    def visit_tuple_getitem(self, op):
        value = self.visit(op.tuple_value)
        if value.same_as(op.tuple_value):
            return op
        return _with_fields(op, tuple_value=value)

    def visit_global_var(self, gvar):
        return gvar

    def visit_op(self, op):
        return op

    def visit_constant(self, const):
        return const

    def visit_constructor(self, con):
        return con

    def visit_match(self, m):
        data = self.visit(m.data)
        results = [self.visit(clause.rhs) for clause in m.clauses]
        if data.same_as(m.data) and _same([clause.rhs for clause in m.clauses], results):
            return m
        clauses = [Clause(c.lhs, rhs) for c, rhs in zip(m.clauses, results, strict=True)]
        return _with_fields(m, data=data, clauses=clauses)

    def visit_ref_create(self, r):
        value = self.visit(r.value)
        return r if value.same_as(r.value) else _with_fields(r, value=value)

    def visit_ref_write(self, r):
        ref, value = self.visit(r.ref), self.visit(r.value)
        if _same((r.ref, r.value), (ref, value)):
            return r
        return _with_fields(r, ref=ref, value=value)

    def visit_ref_read(self, r):
        ref = self.visit(r.ref)
        return r if ref.same_as(r.ref) else _with_fields(r, ref=ref)
