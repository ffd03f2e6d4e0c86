"""What a script says and the parser does not understand is an error, not passed over."""

import logging

import numpy as np
import pytest
import tenon
from tenon.script import from_source

HEAD = """@T.prim_func
def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
"""


def parse(body):
    return from_source(HEAD + "".join(f"    {line}\n" for line in body.splitlines()))


def refused(body, *texts):
    with pytest.raises(tenon.error.DiagnosticError) as e:
        parse(body)
    assert all(text in str(e.value) for text in texts), e.value


LOOPS = ["range", "T.serial", "T.parallel", "T.vectorized", "T.unroll"]


@pytest.mark.parametrize("loop", LOOPS)
def test_arguments_of_loops(loop):
    refused(f"for i in {loop}(0, 8, 2):\n    A[i] = 1", f"{loop}: argument 3 is one too many")
    refused(f"for i in {loop}(8, step=2):\n    A[i] = 1", f"{loop}: unexpected argument 'step'")
    refused(f"for i in {loop}():\n    A[i] = 1", "the loop has no extent")
    assert parse(f"for i in {loop}(2, stop=8):\n    A[i] = 1").body.extent == 6


@pytest.mark.parametrize(
    "loop",
    [
        "T.thread_binding(0, 8, 'threadIdx.x', 3)",
        "T.thread_binding(8, thread='threadIdx.x', name='i')",
        "T.grid(8, step=2)",
    ],
)
def test_arguments_of_other_loops(loop):
    refused(f"for i in {loop}:\n    A[i] = 1")


@pytest.mark.parametrize(
    "body, text",
    [
        ("with T.block('x', axes=1):\n    A[0] = 1", "T.block: unexpected argument 'axes'"),
        ("with T.block('x'):\n    T.where(A[0] > 1, 3)\n    A[0] = 1", "one too many"),
        ("with T.block('x'):\n    v = T.axis.spatial(8, 0, 3)\n    A[v] = 1", "one too many"),
        ("with T.block('x'):\n    T.reads(A[0], B[0], to=1)\n    A[0] = 1", "expected an expr"),
        ("C = T.alloc_buffer((8,), 'int32', fill=1)\nC[0] = 1", "'fill'"),
        ("T.evaluate(1, 2)", "argument 2"),
        ("B[0] = T.exp(B[0], round=True)", "T.exp: unexpected argument 'round'"),
        ("B[0] = T.cast(B[0], 'float32', 3)", "argument 3"),
        ("B[0] = T.float32(1, 2)", "argument 2"),
        ("B[0] = T.exp(T.exp(B[0], round=True))", "'round'"),
        ("if T.likely(A[0] > 1, hint=2):\n    A[0] = 1", "'hint'"),
    ],
)
def test_arguments_of_functions(body, text):
    refused(body, text)


def test_arguments_of_macros_bodies():
    @tenon.script.tir.macro
    def fill(buf):
        for i in T.serial(0, 8, 2):  # noqa: F821
            buf[i] = 1

    with pytest.raises(tenon.error.DiagnosticError, match="argument 3 is one too many"):
        from_source(HEAD + "    fill(A)\n", {"fill": fill})


@pytest.mark.parametrize("test", ["i in (1, 3)", "i not in [1, 3]", "i is 3", "3 in (i, 1)"])
def test_membership_of_numbers_of_the_program(test):
    refused(f"for i in range(8):\n    if {test}:\n        A[i] = 1", "is asked while the script is")


def test_membership_of_values():
    assert parse("A[0] = 1 if 3 in (1, 3) else 2").body.value == 1
    assert parse("A[0] = 1 if A is not None else 2").body.value == 1


@pytest.mark.parametrize("index", [-1, 8])
def test_indices_outside_are_told(index, caplog):
    """They may stand where a condition that is false keeps them from being read."""
    with caplog.at_level(logging.WARNING):
        parse(f"A[0] = 1\nA[{index}] = 1")
    assert f"<string>:4: index {index} is outside of axis 0 of buffer A: expected 0 to 7" in (
        caplog.text
    )
    caplog.clear()
    parse("A[0] = 1\nA[7] = 1")
    assert not caplog.text


@pytest.mark.parametrize("keyword", ["dtype='float32'", "span=None"])
def test_arguments_that_older_scripts_give(keyword):
    assert parse(f"B[0] = T.exp(B[0], {keyword})").body.value.dtype == "float32"


def test_default_values_of_parameters():
    text = "@T.prim_func\ndef f(n: T.int32 = 5):\n    T.evaluate(n)\n"
    with pytest.raises(tenon.error.DiagnosticError, match="parameter n: .* no default values"):
        from_source(text)


def test_vload_without_place():
    refused("T.evaluate(B.vload())", "vload: begin, the first element, is missing")


def test_none_where_a_value_is_needed():
    call = "T.reduce(None, [1], [1], [1], True, 0)"
    refused(f"A[0] = {call}", "expected a value, got None")


def test_match_buffer_of_a_number():
    text = """@T.prim_func
def f(n: T.int32):
    A = T.match_buffer(n, (4,))
    A[0] = T.float32(0)
"""
    with pytest.raises(tenon.error.DiagnosticError, match="expected a handle or a region, got n"):
        from_source(text)


@pytest.mark.parametrize("value", ["B[0]", "A[0] > 1", "T.Ramp(0, 1, 4)"])
def test_iterators_are_integers(value):
    body = f"with T.block('b'):\n    v = T.axis.spatial(8, {value})\n    A[v] = 1"
    refused(body, "T.axis.spatial: expected an integer for the iterator, got")


def test_unrolling_without_end():
    body = "for i in T.unroll(2147483647):\n    A[i % 8] = 1"
    with pytest.raises(ValueError, match="the loop over i is unrolled 2147483647 times"):
        tenon.lower(parse(body))


@pytest.mark.parametrize("dtype", ["", "void"])
def test_a_buffer_has_a_data_type(dtype):
    """The parser divided by the lanes of void, which are 0, and the process died."""
    text = f"""
@T.prim_func
def main(A: T.Buffer((2, 1), "{dtype}")):
    T.evaluate(A.vload([0, 0], "int8"))
"""
    with pytest.raises(tenon.TVMError, match="expected a data type for its elements, got void"):
        tenon.script.from_source(text)
    with pytest.raises(ValueError, match="buffer B: expected a data type for its elements"):
        tenon.tir.decl_buffer((2,), dtype, name="B")


REDUCER = "T.comm_reducer(lambda a, b: a + b, [T.float32(0)])"


@pytest.mark.parametrize(
    "statement, message",
    {
        "x = T.let(C, C, 1.5)": "LetStmt.var: expected tir.Var, got FloatImm",
        "T.LetStmt(1.0, var=1.5)": "LetStmt.var: expected tir.Var, got FloatImm",
        "T.evaluate(T.reduce(1, [C], [C], [], True, 0))": "combiner: expected tir.CommReducer",
        f"T.evaluate(T.reduce({REDUCER}, C, [C], [], True, 0))": "source: expected Array",
        f"T.evaluate(T.reduce({REDUCER}, [C], [], ['x'], True, 0))": "axis: element 0",
        "T.evaluate(T.iter_var(1.5, T.Range(0, 3), 'CommReduce', ''))": "var: expected tir.Var",
        "T.evaluate(T.iter_var(T.var('int32'), 3, 'CommReduce', ''))": "dom: expected Range",
    }.items(),
)
def test_parts_of_other_classes(statement, message):
    """They were taken for what is expected there, and the process died when they were read."""
    text = f"@T.prim_func\ndef main(C: T.float32):\n    {statement}\n"
    with pytest.raises(tenon.error.DiagnosticError) as e:
        from_source(text)
    assert message in str(e.value)


def test_comparisons_of_comparisons_have_brackets():
    text = """
@T.prim_func
def main(A: T.Buffer((3,), "bool"), x: T.int32):
    A[0] = (x < 3) == A[1]
    A[1] = A[2] == (x < 3)
    A[2] = ((x < 3) == A[0]) != A[1]
"""
    f = from_source(text)
    assert "A[0] = (x < 3) == A[1]" in f.script()
    tenon.ir.assert_structural_equal(from_source(f.script()), f)


def test_none_is_not_an_argument():
    with pytest.raises(TypeError, match="element 0: expected PrimExpr, got None"):
        tenon.tir.call_intrin("handle", "tir.tvm_tuple", None, 1)


@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_loops_that_end_before_they_begin(kind):
    f = from_source(f"""
@T.prim_func
def main(A: T.Buffer((4,), "int32")):
    for i in T.{kind}(4, 2):
        A[i] = i
""")
    given = tenon.nd.array(np.arange(4, dtype="int32"))
    tenon.build(f, target="llvm")(given)
    assert given.numpy().tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "statement",
    [
        'A[T.EQ("a", "a"), 0] = 1',
        'A[0, T.NE(A.scope(), "b")] = 1',
        "A[0, T.Ramp(True, True, 7)] = T.Broadcast(1, 7)",
        "A[0, T.Ramp(T.uint8(250), T.uint8(1), 7)] = T.Broadcast(1, 7)",
        "A[1, T.bool(x)] = 1",
        "A[1, A[x, T.uint8(3)]] = 1",
    ],
)
@pytest.mark.parametrize("blocks", [0, 1, 2])
def test_odd_indices_are_read_back(statement, blocks):
    """The regions of blocks around them are."""
    lines = ["@T.prim_func", "def main(A: T.Buffer((300, 300), 'int32'), x: T.int32):"]
    lines += ["    " * (i + 1) + "with T.block('b'):" for i in range(blocks)]
    lines += ["    " * (blocks + 1) + s for s in ("for i in range(9):", f"    {statement}")]
    f = from_source("\n".join(lines) + "\n")
    tenon.ir.assert_structural_equal(from_source(f.script()), f)


def test_constants_are_numbers():
    text = "@T.prim_func\ndef main(x: T.int32):\n    y = T.allocate_const([1], 'handle', [1])\n"
    with pytest.raises(tenon.error.DiagnosticError) as e:
        from_source(text)
    assert "expected a data type of numbers, got handle" in str(e.value)


def test_small_indices_wrap_around_within_the_region_of_a_block():
    """The region of C was [200, 44): bounds of 8 bits had wrapped around."""
    text = """
@T.prim_func
def main(A: T.Buffer((100,), "float32"), B: T.Buffer((100,), "float32")):
    for o in range(1):
        with T.block("o"):
            C = T.alloc_buffer((256,), "float32")
            with T.block("c"):
                for i in range(100):
                    C[T.uint8(i) + T.uint8(200)] = A[i]
            with T.block("b"):
                for i in range(100):
                    B[i] = C[T.uint8(i) + T.uint8(200)]
"""
    f = from_source(text)
    assert "T.writes(C[0:256])" in f.script()
    a, b = np.random.default_rng(0).random(100, "float32"), tenon.nd.empty((100,))
    tenon.build(f, target="llvm")(tenon.nd.array(a), b)
    np.testing.assert_array_equal(b.numpy(), a)
