"""Statements of scripts: what they read back as, what they mark, what they refuse."""

import pytest
import tenon
from tenon import tir
from tenon.ir import assert_structural_equal
from tenon.script import from_source
from tenon.script import tir as T
from tenon.script.highlight import cprint
from tenon.script.ir_builder import IRBuilder
from tenon.script.ir_builder import tir as B


def parse(body, params="A: T.Buffer((8, 8), 'float32')"):
    lines = "\n".join("    " + line for line in body.strip("\n").split("\n"))
    return from_source(f"@T.prim_func\ndef main({params}):\n{lines}\n")


def again(func):
    text = func.script()
    assert_structural_equal(from_source(text), func)
    return text


def test_marks_cover_the_head_of_a_statement():
    func = parse(
        "for i in range(8):\n    if i < 4:\n        A[i, 0] = 1.0\n"
        "    while i < 2:\n        A[i, 1] = 2.0"
    )
    loop = func.body
    text = func.script(obj_to_underline=[loop, *loop.body], obj_to_annotate={loop: "outer"})
    lines = text.split("\n")[4:]
    assert lines == [
        "    # outer",
        "    for i in range(8):",
        "    ^^^^^^^^^^^^^^^^^^",
        "        if i < 4:",
        "        ^^^^^^^^^",
        "            A[i, 0] = T.float32(1.0)",
        "        while i < 2:",
        "        ^^^^^^^^^^^^",
        "            A[i, 1] = T.float32(2.0)",
    ]


def test_a_block_and_its_realization_are_marked_as_one():
    func = parse("for i in range(8):\n    with T.block('b'):\n        A[0, 0] = 1.0")
    realize = func.body.block.body.body
    for marked in ([realize], [realize.block], [realize, realize.block]):
        lines = func.script(obj_to_underline=marked).split("\n")
        at = lines.index('        with T.block("b"):')
        assert lines[at + 1] == "        ^^^^^^^^^^^^^^^^^^" and "^" not in "".join(lines[at + 2 :])


def test_errors_of_loops_name_the_statements_between():
    func = parse(
        "for i in range(8):\n    for j in range(8):\n        with T.block('a'):\n"
        "            A[i, j] = 1.0\n    for k in range(8):\n        with T.block('b'):\n"
        "            A[i, k] = 2.0"
    )
    sch = tir.Schedule(func)
    i, k = sch.get_loops(sch.get_block("b"))
    with pytest.raises(tir.ScheduleError) as info:
        sch.reorder(k, i)
    text = str(info.value)
    marked = ["# tir.For#0", "for i in range(8):", "^^^^^^^^^^^^^^^^^^"]
    assert "\n".join(" " * 12 + line for line in marked) in text
    assert "tir.For#1 is one of several statements in the body of tir.For#0" in text


def test_memory_of_a_realization():
    func = parse('with T.realize(A[0:4, 0:8], "shared"):\n    A[0, 0] = 1.0')
    assert func.body.attr_key == "realize_scope" and func.body.value.value == "shared"
    assert 'T.realize(A[0:4, 0:8], "shared")' in again(func)
    for scope in ("", "global"):
        func = parse(f'with T.realize(A[0:4, 0:8], "{scope}", A[0, 0] < 1.0):\n    A[0, 0] = 1.0')
        assert isinstance(func.body, tir.BufferRealize)
        assert 'T.realize(A[0:4, 0:8], "global", A[0, 0] < T.float32(1.0))' in again(func)


def test_allocation_of_a_whole_buffer():
    func = parse(
        'p = T.allocate([4], "float32", "shared")\n'
        'b = T.decl_buffer([4], "float32", data=p, scope="shared")\n'
        'b[0] = A[0, 0]\nT.call_extern("int32", "f", p)'
    )
    text = again(func)
    assert 'b = T.decl_buffer((4,), scope="shared")\n' in text and "b.data" in text
    assert "T.allocate" not in text
    assert "T.allocate" in func.script(syntax_sugar=False)


@pytest.mark.parametrize(
    "allocate, declare",
    [
        ('T.allocate([4], "float32", "global")', 'T.decl_buffer([2], "float32", data=p)'),
        ('T.allocate([4], "float32", "global")', 'T.decl_buffer([4], "int32", data=p)'),
        ('T.allocate([4], "float32", "global", i < 2)', 'T.decl_buffer([4], "float32", data=p)'),
        (
            'T.allocate([4], "float32", "global", annotations={"a": 1})',
            'T.decl_buffer([4], "float32", data=p)',
        ),
    ],
)
def test_other_allocations_stay_two_statements(allocate, declare):
    func = parse(f"for i in range(4):\n    p = {allocate}\n    b = {declare}\n    T.evaluate(b[0])")
    assert "T.allocate" in again(func)


def test_two_declarations_of_one_allocation():
    func = parse(
        'p = T.allocate([4], "float32", "global")\nb = T.decl_buffer([4], "float32", data=p)\n'
        'c = T.decl_buffer([2, 2], "float32", data=p)\nb[0] = c[1, 1]'
    )
    assert "c = T.decl_buffer((2, 2), data=b.data)" in again(func)


def test_a_slice_of_one_element_is_an_index():
    func = parse("for i in range(8):\n    A[0, i:i + 1:1] = T.float32(i)")
    assert again(func).endswith('A[0, i] = T.Cast("float32", i)')


def test_a_variable_of_an_expression_is_declared():
    x = tir.Var("x", "int32")
    let = tir.Let(x, 1, x + 1)
    assert let.script(verbose_expr=True) == "x = T.int32()\nT.Let(x + 1, where={x: 1})"
    assert str(let) == "T.Let(x + 1, where={x: 1})"
    assert "x = T.int32()" not in parse("T.evaluate(T.Let(x + 1, where={x: 1}))").script()


def test_the_block_that_is_the_function_accesses_nothing_itself():
    inner = "    for i in range(8):\n        with T.block('b'):\n            A[0, 0] = 1.0"
    root = parse("with T.block('root'):\n" + inner).body.block
    assert not root.reads and not root.writes
    told = parse("with T.block('root'):\n    T.writes(A[0, 0])\n" + inner).body.block
    assert len(told.writes) == 1
    below = parse("for k in range(2):\n    with T.block('r'):\n        A[k, 0] = 1.0").body.block
    assert len(below.body.body.block.writes) == 1


USES = 'for i in range(4):\n    with T.block("b"):\n%s        T.evaluate(%s)'


def test_a_block_that_uses_a_pointer_says_what_it_accesses():
    call = 'T.call_extern("int32", "f", A.data)'
    with pytest.raises(tenon.error.DiagnosticError, match="uses the pointer of A"):
        parse(USES % ("", call))
    with pytest.raises(tenon.error.DiagnosticError, match=r"T\.reads\(\.\.\.\) and T\.writes"):
        parse(USES % ("        T.reads()\n", call))
    parse(USES % ("        T.reads()\n        T.writes(A[0, 0])\n", call))
    pointer = 'T.tvm_access_ptr(T.type_annotation("float32"), A.data, 0, 4, %d)'
    block = parse(USES % ("", pointer % 1)).body.block.body.body.block
    assert len(block.reads) == 1 and not block.writes
    with pytest.raises(tenon.error.DiagnosticError, match="uses the pointer of A"):
        parse(USES % ("", pointer % 3))
    parse('with T.block("b"):\n    T.attr(A.data, "volatile_scope", 1)\n    A[0, 0] = 1.0')


@pytest.mark.parametrize(
    "source, shape, message",
    [
        ("A[0, 0:4]", "(5,)", "expected extent 5 for dimension 1 of the region of A, got 4"),
        ("A[0:2, 0:4]", "(4,)", "expected extent 1 for dimension 0 of the region of A, got 2"),
        ("A[0, 0:4]", "(1, 1, 4)", "at most 2 dimensions, those of the region, got 3"),
    ],
)
def test_regions_that_do_not_match(source, shape, message):
    body = (
        "with T.block('b'):\n    T.reads()\n    T.writes(A[0:8, 0:8])\n"
        "    b = T.match_buffer(%s, %s)\n    b%s = 1.0"
    )
    index = "[0]" if shape.count(",") == 1 else "[0, 0, 0]"
    with pytest.raises(tenon.error.DiagnosticError, match=message):
        parse(body % (source, shape, index))
    parse(body % ("A[0, 0:4]", "(4,)", "[0]"))


def test_refused():
    with pytest.raises(tenon.error.DiagnosticError, match=r"expected a region such as A\[0:16\]"):
        parse('T.realize(A, "")\nA[0, 0] = 1.0')
    with pytest.raises(tenon.error.DiagnosticError, match="cannot have a global_symbol"):
        from_source(
            '@T.prim_func(private=True)\ndef main():\n    T.func_attr({"global_symbol": "main"})\n'
        )
    with pytest.raises(TypeError, match="cprint: expected a text"):
        cprint(3)


def test_builder_values():
    with IRBuilder() as builder:
        one = B.meta_var(1)
        two, three = B.meta_var([2, 3])
        B.evaluate(one.value + two.value + three.value)
    assert builder.get().value == 6
    for made in (T.ptr("float32"), T.handle("float32")):
        assert made.type_annotation.storage_scope == "global"
    with IRBuilder() as builder, B.allocate_const([1, 2], "int32", [2]):
        B.evaluate(1)
    assert builder.get().buffer_var.type_annotation.storage_scope == ""


def test_a_comment_beside_a_statement_has_one_line():
    from tenon.script.printer.doc import AssignDoc, IdDoc
    from tenon.script.printer.doc_printer import to_python_script

    doc = AssignDoc(IdDoc("x"), IdDoc("y"), None)
    doc.comment = "1"
    assert to_python_script(doc) == "x = y  # 1"
    doc.comment = "1\n2"
    with pytest.raises(ValueError, match="cannot have newline"):
        to_python_script(doc)
