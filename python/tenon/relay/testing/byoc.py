"""Programs with marked regions, for tests of code generators of their own."""

from ..expr import Call, Var
from ..expr_functor import ExprMutator
from ..op.annotation import compiler_begin, compiler_end


class CcompilerAnnotator(ExprMutator):
    """Marks regions for "ccompiler" in sums, differences and products.

    A region ends at a multiply and begins at the operands of the nearest add above it; variables
    that are read on the way begin it, too.
    """

    def __init__(self):
        super().__init__()
        self.in_compiler = 0  # 0: outside, 1: below a multiply, 2: an add has begun the region

    def visit_call(self, call):
        """Mark the operands of a region's add and the result of its multiply."""
        name = getattr(call.op, "name", None)
        if name == "multiply":
            return self._end(call)
        if self.in_compiler == 1 and name == "add":
            operands = [compiler_begin(self.visit(a), "ccompiler") for a in call.args]
            self.in_compiler = 2
            return Call(call.op, operands, call.attrs)
        if self.in_compiler == 1 and name == "subtract":
            return Call(call.op, self._operands(call), call.attrs)
        return super().visit_call(call)

    def _operands(self, call):
        visited = [self.visit(a) for a in call.args]
        return [compiler_begin(a, "ccompiler") if isinstance(a, Var) else a for a in visited]

    def _end(self, call):
        self.in_compiler = 1
        product = Call(call.op, self._operands(call), call.attrs)
        begun = self.in_compiler == 2
        self.in_compiler = 0
        return compiler_end(product, "ccompiler") if begun else product
