"""TVMScript from Python: decorators, captured values, printing, errors."""

import numpy as np
import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script import ir as I
from tenon.script import tir as T
from tenon.script.printer import doc

N = 16


def twice(i):
    return i * 2


class Config:
    block = 4


config = Config()


@T.prim_func
def elementwise(A: T.Buffer((N, N), "float32"), b: T.handle):
    B = T.match_buffer(b, (N, N))
    for i, j in T.grid(N, N):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, twice(vj) // config.block] + T.float32(sum([1, 2]))


@I.ir_module
class Module:
    @T.prim_func
    def fill(A: T.Buffer(N, "int32")):
        for i in T.serial(N):
            A[i] = i

    @T.prim_func(private=True)
    def other(x: T.int32) -> T.int32:
        T.ret(x + N)


def test_decorated_function_is_a_program_with_captured_values():
    assert isinstance(elementwise, tir.PrimFunc)
    text = elementwise.script()
    assert "B[vi, vj] = A[vi, vj * 2 // 4] + T.float32(3.0)" in text
    assert "T.reads(A[vi, vj * 2 // 4])" in text
    tenon.ir.assert_structural_equal(from_source(text), elementwise)


def test_module():
    assert sorted(str(v.name_hint) for v in Module.functions.keys()) == ["fill", "other"]
    text = str(tenon.get_global_func("script.Print")(Module, None))
    assert "@I.ir_module\nclass Module:" in text
    tenon.ir.assert_structural_equal(from_source(text), Module)


def test_variables_of_enclosing_functions_are_captured():
    def make(m, dtype):
        @T.prim_func
        def fill(A: T.Buffer((m,), dtype)):
            for i in range(m):
                A[i] = T.cast(i, dtype)

        return fill

    f = make(7, "float16")
    (buffer,) = f.buffer_map.values()
    assert buffer.shape[0] == 7 and buffer.dtype == "float16"


def test_other_names_of_the_script_modules():
    f = from_source(
        "@tt.prim_func\ndef f(A: tt.Buffer((4,), 'int32')):\n    A[0] = tt.max(A[1], 3)\n",
        {"tt": T},
    )
    assert "A[0] = T.max(A[1], 3)" in f.script()


def test_errors_name_file_line_and_place():
    with pytest.raises(tenon.error.DiagnosticError) as caught:

        @T.prim_func
        def bad(A: T.Buffer((4,), "float32")):
            A[0] = undefined_thing + 1.0  # noqa: F821

    message = str(caught.value)
    assert "undefined: undefined_thing" in message
    assert "test_script.py:" in message and "^^^^" in message
    # the message shows the very line of this file
    line = int(message.split("test_script.py:")[1].split(":")[0])
    with open(__file__) as source:
        assert "undefined_thing + 1.0" in source.read().splitlines()[line - 1]


def test_exception_of_a_called_function_comes_through():
    def fail(_):
        raise KeyError("from a helper")

    with pytest.raises(KeyError, match="from a helper"):

        @T.prim_func
        def bad(A: T.Buffer((4,), "float32")):
            for i in range(4):
                A[fail(i)] = 0.0


def test_show_prints_plain_text_to_a_pipe(capsys):
    elementwise.show()
    assert capsys.readouterr().out == elementwise.script() + "\n"


def test_statements_built_in_python_print():
    x = tir.Var("x", "int32")
    loop = tir.For(x, 0, 8, tir.ForKind.PARALLEL, tir.Evaluate(x + 1))
    assert str(loop) == "for x in T.parallel(8):\n    T.evaluate(x + 1)"
    assert str(tir.IfThenElse(x, loop).condition) == "x != 0"
    with pytest.raises(TypeError, match="tir.IfThenElse.condition: expected a bool, got float32"):
        tir.IfThenElse(tir.Var("f", "float32"), loop)
    A = tir.decl_buffer((4, 4), "float32", "A")
    with pytest.raises(ValueError, match="2-dimensional, cannot be indexed with the 1-dimensional"):
        tir.BufferLoad(A, [0])
    assert A.scope() == "global"
    assert str(A.access_ptr("w").op.name) == "tir.tvm_access_ptr"
    assert A.vload([0, 0], "float32x4").dtype == "float32x4"


def test_underline_and_line_numbers():
    store = elementwise.body.block.body.body.body.block.body
    text = elementwise.script(obj_to_underline=[store])
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.strip().startswith("B[vi, vj] ="))
    assert lines[at + 1].strip() == "^" * len(lines[at].strip())
    numbered = elementwise.script(
        print_line_numbers=True, obj_to_underline=[store], num_context_lines=0
    )
    assert "lines skipped ...)" in numbered
    annotated = elementwise.script(obj_to_annotate={store: "here"})
    assert "# here" in annotated


@pytest.mark.parametrize(
    "document, text",
    [
        (doc.LiteralDoc(None), "None"),
        (doc.LiteralDoc(-1), "-1"),
        (doc.LiteralDoc(0.1), "0.1"),
        (doc.LiteralDoc(True), "True"),
        (doc.LiteralDoc('a "b"\n'), '"a \\"b\\"\\n"'),
        (doc.IdDoc("a").attr("b").call(doc.IdDoc("c"), d=doc.LiteralDoc(1)), "a.b(c, d=1)"),
        (doc.IdDoc("a")[doc.IdDoc("i"), slice(None, doc.LiteralDoc(2))], "a[i, :2]"),
        (doc.TupleDoc([doc.IdDoc("a")]), "(a,)"),
        (doc.DictDoc({doc.IdDoc("a"): doc.LiteralDoc(1)}), "{a: 1}"),
        (doc.LambdaDoc([doc.IdDoc("x")], doc.IdDoc("x")), "lambda x: x"),
    ],
)
def test_documents(document, text):
    assert doc.to_python_script(document) == text


def test_brackets_follow_precedence():
    a, b, c = (doc.IdDoc(n) for n in "abc")
    kinds = doc.OperationKind

    def op(kind, *operands):
        return doc.OperationDoc(kind, operands)

    def text(document):
        return doc.to_python_script(document)

    assert text(op(kinds.Mult, op(kinds.Add, a, b), c)) == "(a + b) * c"
    assert text(op(kinds.Sub, a, op(kinds.Sub, b, c))) == "a - (b - c)"
    assert text(op(kinds.Sub, op(kinds.Sub, a, b), c)) == "a - b - c"
    assert text(op(kinds.Pow, op(kinds.Pow, a, b), c)) == "(a ** b) ** c"
    assert text(op(kinds.Not, op(kinds.And, a, b))) == "not (a and b)"
    assert text(op(kinds.USub, op(kinds.USub, a))) == "--a"
    assert text(op(kinds.IfThenElse, a, b, c)) == "b if a else c"


def test_integers_beyond_int64():
    @T.prim_func
    def func(A: T.Buffer((3,), "uint64")):
        B = T.allocate_const([2**64 - 1, 5, 0xFFFFFFFFFFFFFFFF], "uint64", [3])
        C = T.Buffer((3,), "uint64", data=B)
        for i in range(3):
            A[i] = C[i] - T.uint64(2**63 + 2**62 * 1 - 1)

    assert "A[i] = C[i] - T.uint64(13835058055282163711)" in func.script()
    tenon.ir.assert_structural_equal(from_source(func.script()), func)
    out = tenon.nd.array(np.zeros(3, "uint64"))
    tenon.build(func, target="stackvm")(out)
    want = np.array([2**64 - 1, 5, 2**64 - 1], "uint64") - np.uint64(2**63 + 2**62 - 1)
    np.testing.assert_array_equal(out.numpy(), want)
    for text in ("2 ** 64", "18446744073709551616", "-(2 ** 64)"):
        with pytest.raises(tenon.error.DiagnosticError, match="does not fit 64 bits"):
            from_source(f"@T.prim_func\ndef f(A: T.Buffer((1,), 'uint64')):\n    A[0] = {text}\n")


def test_reads_of_what_a_block_writes():
    """A reduction does not read what it has so far; any other block that uses it does."""
    func = from_source("""
from tvm.script import tir as T
@T.prim_func
def f(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.block("update"):
            vi, vk = T.axis.remap("SR", [i, k])
            B[vi] = B[vi] + A[vi, vk]
    for i, k in T.grid(8, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            B[vi] = B[vi] + A[vi, vk]
""")
    text = func.script()
    assert text.count("T.reads(B[vi], A[vi, vk])") == 1 and text.count("T.reads(A[vi, vk])") == 1


def test_documents_refuse_what_python_does():
    x, y = doc.IdDoc("x"), doc.IdDoc("y")
    with pytest.raises(ValueError, match="AssignDoc: neither a value nor an annotation"):
        doc.AssignDoc(x)
    with pytest.raises(ValueError, match="AssignDoc: several targets cannot be annotated"):
        doc.AssignDoc(doc.TupleDoc([x, y]), x, y)
    with pytest.raises(ValueError, match="IfDoc: at least one of the branches"):
        doc.IfDoc(x, [], [])
    beside = doc.ReturnDoc(x)
    beside.comment = "two\nlines"
    with pytest.raises(ValueError, match="cannot have newlines"):
        doc.to_python_script(beside)


def test_operators_as_operands_are_valid_python():
    a, b, c = (doc.IdDoc(n) for n in "abc")
    kinds = doc.OperationKind
    minus = doc.OperationDoc(kinds.USub, [b])
    power = doc.OperationDoc(kinds.Pow, [doc.OperationDoc(kinds.USub, [a]), minus])
    assert doc.to_python_script(power) == "(-a) ** -b"
    inner = doc.OperationDoc(kinds.IfThenElse, [a, b, c])
    outer = doc.OperationDoc(kinds.IfThenElse, [a, b, inner])
    assert doc.to_python_script(outer) == "b if a else (b if a else c)"


def test_documentation_strings_have_no_trailing_spaces():
    made = doc.ClassDoc(doc.IdDoc("C"), [], [])
    made.comment = "one\n\nthree\n"
    text = doc.to_python_script(made)
    assert text == 'class C:\n    """\n    one\n\n    three\n\n    """\n    pass'


def test_lines_around_marks():
    from tenon.runtime import ObjectPath

    lines = []
    for i in range(8):
        name = doc.IdDoc(f"x{i}")
        name.source_paths = [ObjectPath.root().attr(str(i))]
        lines.append(doc.ExprStmtDoc(name))
    block = doc.StmtBlockDoc(lines)

    def text(*marked, **settings):
        paths = [ObjectPath.root().attr(str(i)) for i in marked]
        return doc.to_python_script(block, path_to_underline=paths, **settings)

    # a line that alone would be skipped is shown
    assert text(2, num_context_lines=1) == "x0\nx1\nx2\n^^\nx3\n(... 4 lines skipped ...)"
    numbered = text(6, num_context_lines=0, print_line_numbers=True)
    assert numbered == "(... 6 lines skipped ...)\n7 x6\n  ^^\n8 x7"


def test_a_statement_alone_shows_where_its_binding_ends():
    i, x = tir.Var("i", "int32"), tir.Var("x", "int32")
    inner = tir.AttrStmt(tir.StringImm("a"), "b", x, tir.Evaluate(x))
    let = tir.LetStmt(x, i + 1, inner)
    text = '{}with T.LetStmt(i + 1) as x:\n    T.attr("a", "b", x)\n    T.evaluate(x)'
    assert let.script() == text.format("i = T.int32()\n")
    A = tir.decl_buffer((16,), "int8", "A")
    B = tir.decl_buffer((4,), "int8", "B")
    region = tir.BufferRegion(A, [tenon.ir.Range(4, 8)])
    matched = tir.MatchBufferRegion(B, region).script()
    assert matched == ('A = T.Buffer((16,), "int8")\nB = T.match_buffer(A[4:8], (4,), "int8")')
    assert tir.Any().script() == "T.Any()"


def test_free_values_of_a_block_are_declared_outside_of_it():
    i, v = tir.Var("i", "int32"), tir.Var("v", "int32")
    axis = tir.IterVar((0, 8), v, tir.IterVar.DataPar)
    block = tir.Block([axis], [], [], "b", tir.Evaluate(v))
    text = tir.BlockRealize([i], True, block).script()
    assert text.startswith('i = T.int32()\nwith T.block("b"):\n    v = T.axis.spatial(8, i)\n')


def test_a_region_gives_a_matched_buffer_its_shape_and_type():
    @T.prim_func
    def said(A: T.Buffer((16, 64), "int8")):
        with T.block():
            B = T.match_buffer(A[8:16, 32:64], (8, 32), "int8")
            B[0, 0] = T.int8(1)

    @T.prim_func
    def found(A: T.Buffer((16, 64), "int8")):
        with T.block():
            B = T.match_buffer(A[8:16, 32:64])
            B[0, 0] = T.int8(1)

    tenon.ir.assert_structural_equal(
        found.with_attr("global_symbol", ""), said.with_attr("global_symbol", "")
    )
    head = "@T.prim_func\ndef f(a: T.handle):\n"
    with pytest.raises(tenon.error.DiagnosticError, match="the shape of the buffer is missing"):
        from_source(f"{head}    A = T.match_buffer(a)\n    T.evaluate(0)\n")
    with pytest.raises(tenon.error.DiagnosticError, match="of a region belongs inside a block"):
        from_source(f"{head}    A = T.match_buffer(a, (4,))\n    B = T.match_buffer(A[0:2])\n")
    with pytest.raises(tenon.error.DiagnosticError, match="expected a region of a buffer"):
        from_source(f"{head}    with T.block():\n        B = T.match_buffer(1)\n")


def test_a_second_name_is_a_second_variable():
    @T.prim_func
    def func(i: T.int32):
        j = i
        T.evaluate(j)

    assert func.params[0].name == "i"
    assert isinstance(func.body, tir.LetStmt) and func.body.value.same_as(func.params[0])
    tenon.ir.assert_structural_equal(from_source(func.script()), func)


_BLOCK = """@T.prim_func
def f(x: T.int32, A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        with T.block("b"):
            vi, vj = T.axis.remap("SS", [i, j])
            {}
            {}
"""


@pytest.mark.parametrize(
    "first, second, message",
    [
        ("T.reads(A[vi, 0])", "T.reads(A[vi, 1])", "says already what it accesses"),
        ("T.writes(A[vi, 0])", "T.writes(A[vi, 1])", "says already what it accesses"),
        ("T.where(i < 4)", "T.where(j < 4)", "has a condition already"),
        ("T.block_attr({})", 'T.block_attr({"a": 1})', "has attributes already"),
        ("vi = T.axis.S(8, j)", "pass", "has an iterator vi already"),
        ("vk, vk = T.axis.remap('SS', [i, j])", "pass", "has an iterator vk already"),
        ("vk = T.axis.S(8)", "pass", "expected an extent and the value of the iterator"),
        ("B = T.alloc_buffer((8,))", "B = T.alloc_buffer((4,))", "B is allocated here already"),
        ("A[vi, vj] = x[0]", "pass", "x is a variable of int32 and has no elements"),
        ("x[0] = 1", "pass", "expected a buffer"),
    ],
)
def test_what_a_block_says_twice_or_not_at_all(first, second, message):
    with pytest.raises(tenon.error.DiagnosticError, match=message):
        from_source(_BLOCK.format(first, second))


def test_a_block_binds_no_name():
    text = "@T.prim_func\ndef f():\n    with T.block('b') as x:\n        T.evaluate(0)\n"
    with pytest.raises(tenon.error.DiagnosticError, match="T.block binds no name: write its iter"):
        from_source(text)


def test_a_thread_is_an_operand_and_the_same_type_is_no_reinterpretation():
    @T.prim_func
    def func(A: T.Buffer((8,), "float32")):
        tx = T.env_thread("threadIdx.x")
        T.launch_thread(tx, 8)
        A[tx] = T.reinterpret("float32", A[tx])
        T.evaluate(T.call_extern("f", tx, dtype="int32"))

    body = func.body.body
    assert isinstance(body[0].value, tir.BufferLoad)
    assert isinstance(body[1].value.args[1], tir.Var)
    kept = tir.Call("float32", "tir.reinterpret", [tir.Var("x", "float32")])
    text = tir.PrimFunc([kept.args[0]], tir.Evaluate(kept)).script()
    assert 'T.call_intrin("float32", "tir.reinterpret", x)' in text
    assert from_source(text).script() == text
