"""Scripts that lean on Python: macros that are methods, values that scripts have no form for."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script import ir as I
from tenon.script import tir as T


def same(f, g):
    """Equal, and still so when printed and read."""
    tenon.ir.assert_structural_equal(f, g)
    tenon.ir.assert_structural_equal(from_source(f.script()), f)


class Cache:
    """A buffer beside another, and what fills it."""

    def __init__(self, x, factor=1):
        self.buffer = T.alloc_buffer(x.shape, x.dtype)
        self.factor = factor

    @T.macro
    def load(self, x):
        n, m = T.meta_var(self.buffer.shape)
        for i, j in T.grid(n, m):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                self.buffer[vi, vj] = x[vi, vj] * T.float32(self.factor)

    @T.macro(hygienic=False)
    def add(self, y, i):
        y[i, 0] = self.buffer[i, 0] + y[i, 0]


def test_methods_of_an_object_that_allocates():
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        one = T.meta_var(Cache(A))
        one.load(A)
        two = T.meta_var(Cache(A, factor=3))
        two.load(one.buffer)
        for i in range(4):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                two.add(B, vi)

    @T.prim_func
    def expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        C = T.alloc_buffer((4, 8))
        D = T.alloc_buffer((4, 8))
        for i, j in T.grid(4, 8):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * T.float32(1)
        for i, j in T.grid(4, 8):
            with T.block("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] * T.float32(3)
        for i in range(4):
            with T.block("add"):
                vi = T.axis.spatial(4, i)
                B[vi, 0] = D[vi, 0] + B[vi, 0]

    same(main, expected.with_attr("global_symbol", "main"))


class Counter:
    def __init__(self, step):
        self.step = step

    @T.macro
    def inc(self, a, i):
        a[i] = a[i] + self.step


def test_methods_of_an_object_from_outside():
    counters = [Counter(2), Counter(5)]
    inc = counters[1].inc

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            counters[0].inc(A, i)
            inc(A, i)

    @T.prim_func
    def expected(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = A[i] + 2
            A[i] = A[i] + 5

    same(main, expected.with_attr("global_symbol", "main"))


def test_lists_of_objects():
    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        all_of_them = T.meta_var([Counter(k) for k in (1, 2)])
        for i in range(8):
            all_of_them[1].inc(A, i)
            A[i] = A[i] * all_of_them[0].step

    @T.prim_func
    def expected(A: T.Buffer((8,), "int32")):
        for i in range(8):
            A[i] = A[i] + 2
            A[i] = A[i] * 1

    same(main, expected.with_attr("global_symbol", "main"))


def test_functions_that_allocate():
    def scratch(n):
        return T.alloc_buffer((n,), "int32", scope="shared")

    @T.prim_func
    def main(A: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                s = T.meta_var(scratch(4))
                s[0] = A[vi]
                A[vi] = s[0]

    @T.prim_func
    def expected(A: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block("b"):
                vi = T.axis.spatial(8, i)
                s = T.alloc_buffer((4,), "int32", scope="shared")
                s[0] = A[vi]
                A[vi] = s[0]

    same(main, expected.with_attr("global_symbol", "main"))


def test_outside_of_scripts():
    with pytest.raises(AttributeError, match=r"inside @T.prim_func only"):
        T.alloc_buffer((4,))
    with pytest.raises(ValueError, match="the macro inc is called inside"):
        Counter(1).inc(None, 0)
    with pytest.raises(AttributeError, match=r"inside @T.prim_func only"):
        T.where(True)


def test_objects_are_no_values():
    with pytest.raises(tenon.error.DiagnosticError, match="script.HostValue"):

        @T.prim_func
        def main(A: T.Buffer((8,), "int32")):
            c = T.meta_var(Counter(1))
            A[0] = c


def test_attributes_of_a_module():
    @I.ir_module
    class Module:
        I.module_attrs({"a": 1})

        @T.prim_func
        def main(A: T.Buffer((4,), "int32")):
            A[0] = 1

    assert int(Module.attrs["a"]) == 1
    same(Module, Module)


def test_ends_of_loops():
    """Extents of loops that begin above 0 are read as they were."""

    @T.prim_func
    def main(A: T.Buffer((64,), "int32"), n: T.int32, m: T.int32):
        for i in range(1, n):
            A[i] = 1
        for i in T.serial(n, n * 2):
            A[i] = 1
        for i in T.parallel(m, n + m):
            A[i] = 1
        for i in T.unroll(n, m):
            A[i] = 1

    text = main.script()
    for head in ("range(1, n)", "range(n, n * 2)", "parallel(m, m + n)", "unroll(n, m)"):
        assert head in text
    same(main, main)
    loops = [s for s in main.body.seq]
    tenon.ir.assert_structural_equal(loops[0].extent, main.params[1] - 1)
    n, i = tir.Var("n", "int32"), tir.Var("i", "int32")
    odd = tir.For(i, n, (n + 1) * 2 - n * 2, tir.ForKind.SERIAL, tir.Evaluate(i))
    func = tir.PrimFunc([n], odd)
    same(func, func)


def test_buffers_in_memory_of_one_part():
    """A buffer of memory that a `with` allocates is declared inside of it."""

    @T.prim_func
    def main(A: T.Buffer((16,), "float32")):
        with T.allocate([4], "float32", "local") as c:
            d = T.Buffer((4,), data=c, scope="local")
            d[0] = A[1]
            A[2] = d[0]
        with T.LetStmt(T.address_of(A[0])) as p:
            T.evaluate(T.call_extern("int32", "f", p))
        A[0] = T.float32(1)

    same(main, main)


def test_pointers_as_annotations():
    @T.prim_func
    def main(p: T.Ptr(T.float32, "shared"), q: T.ptr("int32"), r: T.Ptr[T.int8]):
        T.evaluate(T.call_extern("int32", "f", p, q, r))

    found = [p.type_annotation for p in main.params]
    assert [str(t.element_type.dtype) for t in found] == ["float32", "int32", "int8"]
    assert found[0].storage_scope == "shared"


def test_types_of_calls():
    """A type that is not the usual one is part of the text."""
    x = tir.Var("x", "float32")
    for call in (
        tir.Call("handle", "tir.tvm_call_packed", ["f", x]),
        tir.Call("int64", "tir.tvm_storage_sync", ["shared"]),
        tir.Call("float64", "tir.pow", [x, x]),
    ):
        func = tir.PrimFunc([x], tir.Evaluate(call))
        assert f'dtype="{call.dtype}"' in func.script()
        same(func, func)
    plain = tir.PrimFunc([x], tir.Evaluate(tir.if_then_else(x > 0, x, -x) + tir.exp(x)))
    assert "dtype" not in plain.script()
    same(plain, plain)


def test_literals_know_their_place():
    from tenon.runtime import ObjectPath
    from tenon.script.printer.doc import LiteralDoc

    path = ObjectPath.root().attr("x")
    assert list(LiteralDoc(3, path).source_paths) == [path]
    assert list(LiteralDoc("text").source_paths) == []


def test_expressions_ranges_and_types_have_scripts():
    i = tir.Var("i", "int32")
    assert (i + 1).script() == "i + 1"
    assert tenon.ir.Range(0, 8).script() == "T.Range(0, 8)"
    assert tenon.ir.PrimType("int8").script() == "T.int8"
    pointer = tenon.ir.PointerType(tenon.ir.PrimType("int32"), "global")
    assert pointer.script(tir_prefix="X") == 'X.handle("int32", "global")'
    assert tir.IterVar((0, 8), i, 0).script() == 'T.iter_var(i, T.Range(0, 8), "DataPar", "")'


def test_places_and_comments_of_documents_can_be_set():
    from tenon.runtime.object_path import ObjectPath
    from tenon.script.printer import to_python_script
    from tenon.script.printer.doc import AssignDoc, IdDoc

    target, root = IdDoc("x"), ObjectPath.root()
    statement = AssignDoc(target, IdDoc("y"), None)
    target.source_paths = [root, root.attr("a")]
    # the statement holds the document itself
    assert list(statement.lhs.source_paths) == [root, root.attr("a")]
    assert to_python_script(statement, path_to_underline=[root.attr("a")]) == "x = y\n^"
    target.source_paths = []
    assert list(target.source_paths) == []
    statement.comment = "why"
    assert statement.comment == "why"
    assert to_python_script(statement) == "x = y  # why"
    statement.comment = None
    assert to_python_script(statement) == "x = y"
    with pytest.raises(TypeError, match="source_paths"):
        target.source_paths = ["a"]
    with pytest.raises(AttributeError, match="cannot be set"):
        target.name = "z"
    with pytest.raises(AttributeError):
        target.comment = "expressions have none"
