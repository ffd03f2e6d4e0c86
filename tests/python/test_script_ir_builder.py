"""Programs built by running Python with the names of scripts."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script.ir_builder import IRBuilder
from tenon.script.ir_builder import ir as I
from tenon.script.ir_builder import tir as T


def built(frame):
    with IRBuilder() as ib, frame():
        T.evaluate(0)
    return ib.get()


def equal(actual, expected):
    tenon.ir.assert_structural_equal(actual, expected, map_free_vars=True)


def test_empty_function():
    equal(built(T.prim_func), tir.PrimFunc([], tir.Evaluate(0)))


def test_parts_of_a_function():
    with IRBuilder() as ib:
        with T.prim_func():
            T.func_name("f")
            T.arg("a", T.handle())
            T.arg("b", T.int64())
            T.arg("c", T.Buffer((128, 128), "float32"))
            d = T.arg("d", T.handle())
            T.func_attr({"key": "value"})
            T.func_ret(tenon.ir.PrimType("int64"))
            D = T.match_buffer(d, (64, 64), "int64")
            IRBuilder.name("D", D)
            T.evaluate(0)
    expected = from_source(
        """
@T.prim_func
def f(a: T.handle, b: T.int64, c: T.Buffer((128, 128), "float32"), d: T.handle) -> T.int64:
    T.func_attr({"key": "value"})
    D = T.match_buffer(d, (64, 64), "int64")
    T.evaluate(0)
"""
    )
    equal(ib.get(), expected)
    assert "def f(a: T.handle, b: T.int64, c: T.Buffer((128, 128)" in ib.get().script()


def test_matmul():
    with IRBuilder() as ib:
        with T.prim_func():
            T.func_name("main")
            A = T.arg("A", T.Buffer((16, 16), "float32"))
            B = T.arg("B", T.Buffer((16, 16), "float32"))
            C = T.arg("C", T.Buffer((16, 16), "float32"))
            with T.grid(16, 16, 16) as (i, j, k):
                with T.block("C"):
                    vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                    with T.init():
                        T.buffer_store(C, T.float32(0), [vi, vj])
                    T.buffer_store(C, C[vi, vj] + A[vi, vk] * B[vk, vj], [vi, vj])
    expected = from_source(
        """
@T.prim_func
def main(A: T.Buffer((16, 16)), B: T.Buffer((16, 16)), C: T.Buffer((16, 16))):
    for i, j, k in T.grid(16, 16, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
"""
    )
    equal(ib.get(), expected)


def test_block_by_itself():
    realize = built(lambda: T.block("b"))
    block = realize.block
    assert block.name_hint == "b"
    assert int(block.annotations["tir.script_parsing_detect_access"]) == 3
    with IRBuilder() as ib:
        with T.block("b"):
            A = T.alloc_buffer((8,), "float32")
            B = T.alloc_buffer((8,), "float32")
            v = T.axis.spatial(8, T.int32())
            T.where(v < 4)
            T.reads(A[v : v + 1])
            T.writes(B[v])
            T.block_attr({"k": 1})
            T.buffer_store(B, A[v], [v])
    block = ib.get().block
    assert len(block.alloc_buffers) == 2 and int(block.annotations["k"]) == 1
    assert isinstance(ib.get().predicate, tir.LT)
    assert [r.buffer.same_as(A) for r in block.reads] == [True]
    assert len(block.annotations) == 1


@pytest.mark.parametrize("kind", ["SERIAL", "PARALLEL", "VECTORIZED", "UNROLLED", "THREAD_BINDING"])
def test_loops(kind):
    make = {
        "SERIAL": lambda: T.serial(128),
        "PARALLEL": lambda: T.parallel(0, 128),
        "VECTORIZED": lambda: T.vectorized(128),
        "UNROLLED": lambda: T.unroll(128, annotations={"x": 1}),
        "THREAD_BINDING": lambda: T.thread_binding(128, thread="threadIdx.x"),
    }[kind]
    loop = built(make)
    assert loop.kind == getattr(tir.ForKind, kind)
    assert (int(loop.min), int(loop.extent)) == (0, 128)
    if kind == "THREAD_BINDING":
        assert loop.thread_binding.thread_tag == "threadIdx.x"


def test_bindings():
    assert isinstance(built(lambda: T.Assert(T.bool(True), "message")), tir.AssertStmt)
    with IRBuilder() as ib:
        with T.LetStmt(T.int32(2)) as v:
            T.evaluate(v)
    equal(ib.get(), tir.LetStmt(v, 2, tir.Evaluate(v)))
    with IRBuilder() as ib:
        with T.allocate([10], "float32", scope="local") as p:
            T.evaluate(p)
    assert ib.get().buffer_var.type_annotation.storage_scope == "local"
    with IRBuilder() as ib:
        with T.launch_thread("threadIdx.x", 32) as tx:
            T.evaluate(tx)
    assert ib.get().node.thread_tag == "threadIdx.x" and int(ib.get().value) == 32
    with IRBuilder() as ib:
        with T.decl_buffer((16,), "float32") as buffer:
            T.buffer_store(buffer, 1, [3])
    assert isinstance(ib.get(), tir.Allocate) and isinstance(ib.get().body, tir.DeclBuffer)
    with IRBuilder() as ib:
        with T.allocate_const([1, 2], "int32", [2]) as c:
            T.evaluate(c)
    assert list(ib.get().data.numpy()) == [1, 2]
    realize = built(lambda: T.realize(tir.decl_buffer([8])[0:8], "shared"))
    assert realize.attr_key == "realize_scope" and isinstance(realize.body, tir.BufferRealize)
    assert isinstance(built(lambda: T.attr("node", "key", 1)), tir.AttrStmt)


def test_conditions():
    with IRBuilder() as ib:
        with T.If(T.int32() < 3):
            with T.Then():
                T.evaluate(1)
            with T.Else():
                T.evaluate(2)
    assert int(ib.get().then_case.value) == 1 and int(ib.get().else_case.value) == 2
    assert isinstance(built(lambda: T.While(T.int32() < 3)), tir.While)
    with pytest.raises(ValueError, match="at least one then branch"), IRBuilder():
        with T.If(T.int32() < 3):
            pass


def test_modules():
    with IRBuilder() as ib:
        with I.ir_module():
            for name in ("foo", "bar"):
                with T.prim_func():
                    T.func_name(name)
                    T.evaluate(0)
    module = ib.get()
    assert sorted(v.name_hint for v in module.functions) == ["bar", "foo"]
    assert module["foo"].attrs["global_symbol"] == "foo"


def test_names_of_the_parser_work_too():
    from tenon.script import tir as P

    with IRBuilder() as ib:
        with T.prim_func():
            P.func_name("f")
            with P.serial(4) as i:
                with P.block("b"):
                    v = P.axis.spatial(4, i)
                    P.evaluate(v)
    assert 'with T.block("b"):' in ib.get().script()


def test_misuse():
    with pytest.raises(ValueError, match="No builder in current scope"):
        IRBuilder.current()
    assert not IRBuilder.is_in_scope()
    with pytest.raises(ValueError, match="belongs inside of"), IRBuilder():
        T.where(T.int32() < 3)
    with pytest.raises(ValueError, match="No result"):
        IRBuilder().get()


def square(a, b):
    return a * b


def test_sources_and_evaluation():
    import inspect

    from tenon.script.parser.core import doc_core as doc
    from tenon.script.parser.core.diagnostics import Source
    from tenon.script.parser.core.evaluator import ExprEvaluator

    source = Source(square)
    assert source.source_name == inspect.getsourcefile(square)
    assert source.start_line == inspect.getsourcelines(square)[1]
    assert source.start_column == 0
    assert source.source == inspect.getsource(square)
    assert source.full_source == inspect.getsource(inspect.getmodule(square))
    tree = source.as_ast()
    assert isinstance(tree, doc.Module) and isinstance(tree.body[0], doc.FunctionDef)
    assert tree.body[0].name == "square"

    def value(text, **names):
        return ExprEvaluator.eval(None, names, Source(text).as_ast().body[0].value)

    assert value("3, 4") == (3, 4)
    assert value("[1, 2, *y]", y=[3, 4]) == [1, 2, 3, 4]
    assert value("x if a > b else y", a=1, b=2, x=3, y=4) == 4
    assert value("A[1:][0]", A=[0, 5]) == 5


def test_parser_by_its_older_names():
    from tenon.script import parser
    from tenon.script.parser.core import parse

    text = "@T.prim_func\ndef f():\n    T.evaluate(0)\n"
    equal(parse(text), from_source(text))
    equal(parser.parse(text), from_source(text))
    assert parser.tir.prim_func and parser.ir_module
