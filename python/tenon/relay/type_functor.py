"""Visitors and mutators of types, to be derived from."""

from .adt import TypeData
from .ty import (
    FuncType,
    GlobalTypeVar,
    IncompleteType,
    RefType,
    TensorType,
    TupleType,
    TypeCall,
    TypeRelation,
    TypeVar,
)


class TypeFunctor:
    """Calls the method of a type's kind; the base of visitors and mutators."""

    _METHODS = {
        TypeVar: "visit_type_var",
        IncompleteType: "visit_incomplete_type",
        TensorType: "visit_tensor_type",
        FuncType: "visit_func_type",
        TupleType: "visit_tuple_type",
        TypeRelation: "visit_type_relation",
        RefType: "visit_ref_type",
        GlobalTypeVar: "visit_global_type_var",
        TypeCall: "visit_type_call",
        TypeData: "visit_type_data",
    }

    def __init__(self):
        # kept for programs that look at it
        self.memo_map = {}

    def visit(self, typ):
        """Visit a type; what the method of its kind returned."""
        kind = next((k for k in type(typ).__mro__ if k in self._METHODS), None)
        if kind is None:
            raise Exception(f"unhandled case: {type(typ)}")
        return getattr(self, self._METHODS[kind])(typ)

    def visit_type_var(self, _):
        """Visit a TypeVar."""
        raise NotImplementedError()

    def visit_incomplete_type(self, _):
        """Visit an IncompleteType."""
        raise NotImplementedError()

    def visit_tensor_type(self, _):
        """Visit a TensorType."""
        raise NotImplementedError()

    def visit_func_type(self, _):
        """Visit a FuncType."""
        raise NotImplementedError()

    def visit_tuple_type(self, _):
        """Visit a TupleType."""
        raise NotImplementedError()

    def visit_type_relation(self, _):
        """Visit a TypeRelation."""
        raise NotImplementedError()

    def visit_ref_type(self, _):
        """Visit a RefType."""
        raise NotImplementedError()

    def visit_global_type_var(self, _):
        """Visit a GlobalTypeVar."""
        raise NotImplementedError()

    def visit_type_call(self, _):
        """Visit a TypeCall."""
        raise NotImplementedError()

    def visit_type_data(self, _):
        """Visit a TypeData."""
        raise NotImplementedError()


class TypeVisitor(TypeFunctor):
    """Visits every type below one."""

    def visit_type_var(self, tv):
        pass

    def visit_incomplete_type(self, it):
        pass

    def visit_tensor_type(self, tt):
        pass

    def visit_func_type(self, ft):
        for arg in ft.arg_types:
            self.visit(arg)
        self.visit(ft.ret_type)
        for param in getattr(ft, "type_params", []):
            self.visit(param)
        for constraint in getattr(ft, "type_constraints", []):
            self.visit(constraint)

    def visit_tuple_type(self, tt):
        for field in tt.fields:
            self.visit(field)

    def visit_type_relation(self, tr):
        for arg in tr.args:
            self.visit(arg)

    def visit_ref_type(self, rt):
        self.visit(rt.value)

    def visit_global_type_var(self, gtv):
        pass

    def visit_type_call(self, tc):
        self.visit(tc.func)
        for arg in tc.args:
            self.visit(arg)

    def visit_type_data(self, td):
        self.visit(td.header)
        for var in td.type_vars:
            self.visit(var)


def _same(old, new):
    return len(old) == len(new) and all(a.same_as(b) for a, b in zip(old, new, strict=True))


class TypeMutator(TypeFunctor):
    """Rebuilds a type; what does not change stays the same object."""

    def visit_type_var(self, tv):
        return tv

    def visit_incomplete_type(self, it):
        return it

    def visit_tensor_type(self, tt):
        return tt

    def _all(self, types):
        return [self.visit(t) for t in types]

    def visit_func_type(self, ft):
        old = (ft.arg_types, ft.type_params, ft.type_constraints)
        new = tuple(self._all(part) for part in old)
        result = self.visit(ft.ret_type)
        if result.same_as(ft.ret_type) and all(map(_same, old, new)):
            return ft
        return FuncType(new[0], result, new[1], new[2])

    def visit_tuple_type(self, tt):
        fields = self._all(tt.fields)
        return tt if _same(tt.fields, fields) else TupleType(fields)

    def visit_type_relation(self, tr):
        args = self._all(tr.args)
        if _same(tr.args, args):
            return tr
        return TypeRelation(tr.func, args, tr.num_inputs, tr.attrs)

    def visit_ref_type(self, rt):
        value = self.visit(rt.value)
        return rt if value.same_as(rt.value) else RefType(value)

    def visit_type_data(self, td):
        header, type_vars = self.visit(td.header), self._all(td.type_vars)
        if header.same_as(td.header) and _same(td.type_vars, type_vars):
            return td
        return TypeData(header, type_vars, td.constructors)

    def visit_type_call(self, tc):
        func, args = self.visit(tc.func), self._all(tc.args)
        if func.same_as(tc.func) and _same(tc.args, args):
            return tc
        return TypeCall(func, args)

    def visit_global_type_var(self, gtv):
        return gtv
