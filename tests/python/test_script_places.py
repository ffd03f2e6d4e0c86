"""Programs know where in a script they were written, and errors in them show the line."""

import pytest
import tenon
from tenon import tir
from tenon.script import from_source
from tenon.script import tir as T


def place(error):
    """What the notes of an error say of its place."""
    notes = [n for n in getattr(error, "__notes__", []) if n.startswith(" --> ")]
    assert len(notes) == 1, notes
    return notes[0]


def failure(call, *args, **kwargs):
    with pytest.raises(Exception) as info:
        call(*args, **kwargs)
    return info.value


UNDEFINED = """
@T.prim_func
def main(A: T.Buffer((8,), "float32")):
    for i in range(8):
        A[i] = T.float32(1)
    i = T.int32()
    A[i] = T.float32(2)
"""


def test_statements_and_expressions_know_their_place():
    func = from_source(UNDEFINED)
    loop, store = func.body.seq
    assert (loop.span.line, loop.span.column, loop.span.end_line) == (4, 5, 5)
    assert (loop.body.span.line, loop.body.span.column, loop.body.span.end_column) == (5, 9, 28)
    assert str(store.span.source_name.name) == "<string>"
    text = "@T.prim_func\ndef f(n: T.int32):\n    T.evaluate(n + 1 < T.max(n, 3))"
    value = from_source(text).body.value
    assert (value.span.line, value.span.column, value.span.end_column) == (3, 16, 35)
    assert (value.a.span.column, value.b.span.column) == (16, 24)


def test_grids_and_bindings_have_places():
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((8, 8), "float32")):
    for i, j in T.grid(8, 8):
        x: T.int32 = i + j
        with T.attr(0, "pragma_x", 1):
            A[i, j] = T.Cast("float32", x)
"""
    )
    kinds = []

    def look(stmt):
        if isinstance(stmt, tir.Stmt):
            kinds.append((type(stmt).__name__, stmt.span.line))

    tir.stmt_functor.post_order_visit(func.body, look)
    assert kinds == [("BufferStore", 7), ("AttrStmt", 6), ("LetStmt", 5), ("For", 4), ("For", 4)]


def test_places_are_not_compared_but_kept_in_files():
    func = from_source(UNDEFINED)
    shifted = from_source("\n\n" + UNDEFINED)
    tenon.ir.assert_structural_equal(func, shifted, map_free_vars=True)
    again = tenon.ir.load_json(tenon.ir.save_json(func))
    assert again.body.seq[0].span.line == 4
    assert str(again.body.seq[0].span.source_name.name) == "<string>"


def test_undefined_variable():
    error = failure(tir.analysis.verify_well_formed, from_source(UNDEFINED))
    assert "undefined variable i" in str(error)
    assert place(error) == (
        " --> <string>:7:5\n  |\n7 |     A[i] = T.float32(2)\n  |     ^^^^^^^^^^^^^^^^^^^"
    )


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_undefined_variable_in_code(target):
    with tenon.transform.PassContext(config={"ir.verify": 0}):
        error = failure(tenon.build, from_source(UNDEFINED), target=target)
    assert "variable i is used where it is not defined" in str(error)
    assert place(error).startswith(" --> <string>:7:5\n")


@T.prim_func
def intrinsic(A: T.Buffer((8,), "float32")):
    for i in range(8):
        if i < 4:
            A[i] = T.Cast("float32", T.tvm_warp_activemask()) * A[i]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_intrinsic_without_code(target):
    """After all of lowering; the file is this one, and the function stands further down."""
    error = failure(tenon.build, intrinsic, target=target)
    assert "tvm_warp_activemask" in str(error)
    first, _, line, marks = place(error).split("\n")
    assert first.startswith(f" --> {__file__}:")
    assert line.endswith('A[i] = T.Cast("float32", T.tvm_warp_activemask()) * A[i]')
    at = marks.index("^") - len(line) + len(line.lstrip())
    assert line[marks.index("^") :].startswith("T.tvm_warp_activemask()"), at


@T.prim_func
def threads(A: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        A[tx] = T.float32(1)


def test_threads_on_a_cpu():
    mod = tenon.IRModule({"kernel": threads.with_attr("global_symbol", "kernel")})
    error = failure(tenon.build, mod, target="llvm")
    assert "kernel: thread axis threadIdx.x of extent 8" in str(error)
    assert 'for tx in T.thread_binding(8, thread="threadIdx.x"):' in place(error)


def test_places_stay_through_lowering():
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
    for i in T.parallel(16):
        for j in T.vectorized(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
"""
    )
    lowered = tenon.lower(func)["main"]
    found = {}

    def look(stmt):
        if isinstance(stmt, tir.Stmt) and stmt.span:
            found[type(stmt).__name__] = stmt.span.line

    tir.stmt_functor.post_order_visit(lowered.body, look)
    assert found["For"] == 4
    assert found["BufferStore"] in (5, 6, 8)


def test_a_pass_says_where_it_failed():
    func = from_source(
        """
@T.prim_func
def main(A: T.Buffer((4,), "float32"), n: T.int32):
    for i in range(4):
        for j in T.vectorized(n):
            A[j] = 1.0
"""
    )
    error = failure(tenon.build, func, target="llvm")
    assert place(error).startswith(" --> <string>:5:9\n")


def test_a_renderer_gets_the_error_of_a_script():
    from tenon.ir import diagnostics

    seen = []
    text = "@T.prim_func\ndef f(A: T.Buffer((8,))):\n    for i in range(8):\n        A[i] = B[i]\n"
    diagnostics.override_renderer(lambda context: seen.extend(context.diagnostics))
    try:
        with pytest.raises(tenon.error.DiagnosticError, match="check diagnostic render"):
            from_source(text)
        # only what stops the parser is shown, once, and nothing of a text that is right
        from_source(text.replace("B[i]", "1.0"))
    finally:
        diagnostics.override_renderer(None)
    assert len(seen) == 1
    span = seen[0].span
    assert "B" in seen[0].message
    assert (span.source_name.name, span.line, span.column, span.end_column) == (
        "<string>",
        4,
        16,
        17,
    )
    with pytest.raises(tenon.error.DiagnosticError, match="--> <string>:4:16"):
        from_source(text)
