"""Relay's text form: exact output, texts that read back, errors with their places."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.error import DiagnosticError

VERSION = '#[version = "0.0.5"]\n'


def text_of(expr, **how):
    return relay.astext(expr, **how)


def round_trip(source):
    mod = relay.parse(source)
    again = relay.parse(mod.astext())
    tenon.ir.assert_structural_equal(again, mod)
    return mod


def test_arguments_come_before_the_function():
    x, y = relay.var("x"), relay.var("y")
    program = relay.Call(
        relay.Function([x], x), [relay.Call(relay.Function([y], y), [relay.const(1)])]
    )
    assert text_of(program) == VERSION + (
        "%0 = fn (%y) {\n  %y\n};\n%1 = %0(1);\n%2 = fn (%x) {\n  %x\n};\n%2(%1)"
    )


def test_a_value_used_once_stays_in_its_let():
    pair = relay.Tuple([relay.const(0), relay.const(0)])
    x = relay.var("x")
    assert text_of(relay.Let(x, pair, x)) == VERSION + "let %x = (0, 0);\n%x"
    assert text_of(relay.Let(x, pair, pair)) == VERSION + "%0 = (0, 0);\nlet %x = %0;\n%0"


def test_names_are_unique_and_begin_with_a_letter():
    a, b, c = relay.var("x"), relay.var("x"), relay.var("0")
    assert text_of(relay.Function([a, b, c], relay.Tuple([a, b, c]))) == VERSION + (
        "fn (%x, %x1, %v0) {\n  (%x, %x1, %v0)\n}"
    )
    dotted = relay.var("input.1")
    assert "%input_1" in text_of(dotted)


def test_free_variables_are_declared():
    x = relay.var("x", shape=(2, relay.Any()), dtype="int8")
    assert str(x) == "free_var %x: Tensor[(2, ?), int8];\n%x"
    assert (
        relay.parse_expr("free_var %x: Tensor[(2, ?), int8];\n%x").type_annotation
        == relay.var("y", shape=(2, relay.Any()), dtype="int8").type_annotation
    )


@pytest.mark.parametrize(
    "value, text",
    [
        (np.int32(3), "3"),
        (np.int64(-3), "-3i64"),
        (np.int16(3), "3i16"),
        (np.float32(0.1), "0.1f"),
        (np.float32(1 / 3), "0.33333334f"),
        (np.float64(0.1), "0.1f64"),
        (np.float16(0.5), "0.5f16"),
        (np.bool_(True), "True"),
        (np.float32(1e20), "1e+20f"),
    ],
)
def test_scalars_have_a_notation(value, text):
    constant = relay.Constant(tenon.nd.array(np.asarray(value)))
    assert str(constant) == text
    tenon.ir.assert_structural_equal(relay.parse_expr(text), constant)


def test_other_constants_are_in_the_metadata():
    constant = relay.const([1, 2, 3])
    text = text_of(relay.Tuple([constant, constant]))
    assert "(meta[relay.Constant][0], meta[relay.Constant][0])" in text and "#[metadata]" in text
    tenon.ir.assert_structural_equal(relay.parse_expr(text), relay.Tuple([constant, constant]))
    short = str(constant)
    assert short.startswith("meta[relay.Constant][0]") and "type_key" not in short
    given = tenon.get_global_func("parser.ParseModuleInContext")(
        "text", "def @main() { meta[relay.Constant][0] }", None, {"relay.Constant": [constant]}
    )
    assert given["main"].body.data.same_as(constant.data)  # typed, and not copied


def test_all_constructs_read_back():
    mod = round_trip(
        """
        // every construct
        type List[A] { Cons(A, List[A]), Nil, }
        type Pair[A, B] { P(A, B) }
        extern type Foreign
        def @len[A](%l: List[A]) -> int32 {
          match (%l) { Cons(_, %t) => @len(%t), Nil => 0 }
        }
        def @main(%x: Tensor[(4, ?), float32], %y: int32, %f: fn (int32) -> (int32,), %r: ref(bool),
                  hash="a\\"b", Primitive=1, list=[1, 2i64, [3f]], none=None) -> (int32, float32) {
          /* nested /* comment */ here */
          let %g = fn (%z: int32) { if (True) { %z } else { %g(%z) } };
          %0 = (1, 2f, -3i64, 2.5e3f64, 3i16);
          %1 = %0.0;
          ref_write(ref(1), 2);
          let %p: Pair[int32, bool] = P(1, False);
          match? (%p) { P(%a, %b: bool) => { let %c = %a; (%c, %b,) } , _ => (0, True) };
          match ((1, %p)) { (%u, P(_, _)) => 2 };
          ref_read(%r);
          %f(%1);
          @len(Cons(1, Nil));
          (%0.0, %0.1)
        }
        """
    )
    assert [str(v.name_hint) for v in mod.get_global_vars()] == ["len", "main"]
    assert mod["main"].attrs["hash"] == 'a"b' and int(mod["main"].attrs["Primitive"]) == 1
    assert isinstance(mod["main"].body, relay.Let)


def test_programs_are_typed_and_expressions_are_not():
    mod = relay.parse("def @f(%x: Tensor[(?, 3), float32]) { nn.relu(%x) } def @main() { 1 }")
    assert str(mod["f"].body.checked_type) == "TensorType([?, 3], float32)"
    assert str(mod["main"].ret_type) == "TensorType([], int32)"
    with pytest.raises(tenon.error.DiagnosticError, match="type of the variable %x"):
        relay.parse("fn (%x) { %x }")
    with pytest.raises(ValueError, match="has not populated the checked_type"):
        _ = relay.parse_expr("fn (%x) { %x }").checked_type


def test_a_shared_expression_inside_branches_is_repeated():
    x, c = relay.var("x"), relay.var("c")
    shared = relay.Tuple([x])
    both = relay.If(c, relay.TupleGetItem(shared, 0), relay.TupleGetItem(shared, 0))
    relay.parse_expr(text_of(relay.Function([x, c], both)))  # each branch knows its own names


def test_a_shared_let_stands_in_parentheses():
    x, t = relay.var("x", shape=(8,)), relay.var("t")
    e = relay.Let(t, relay.exp(x), relay.exp(t))
    text = str(relay.Function([x], relay.add(relay.tanh(e), relay.exp(e))))
    assert text.count("let %t = exp(%x);") == 1 and "%0 = (" in text


def test_an_expression_becomes_main():
    assert int(relay.parse("(1, 2).1")["main"].body.index) == 1
    assert relay.parse("fn (%x: int32) { %x }")["main"].params[0].name_hint == "x"
    assert float(relay.parse_expr("-inf").data.numpy()) == -np.inf
    assert int(relay.parse_expr("--10").data.numpy()) == 10
    assert relay.parse_expr("2147483648").data.dtype == "int64"


@pytest.mark.parametrize(
    "source, line, column, message",
    [
        ("def @main() { %x }", 1, 15, "this local variable has not been previously declared"),
        ("def @m() {\n  foo.bar(1) }", 2, 3, "operator `foo.bar` not found, perhaps you forgot"),
        ("def @m() { if (True) { let %a = 1; %a } else { %a } }", 1, 48, "previously declared"),
        ("def @m() { %0 = 1; %1 }", 1, 20, "this temporary has not been previously defined"),
        ("def @m() { let @x = 1; 2 }", 1, 16, "expected a local variable"),
        ("def @m() { 1 } def @m() { 2 }", 1, 20, "a function @m was already defined"),
        ("type A { B } type A { C }", 1, 19, "a type definition with the name `A` already exists"),
        ("type A { B, B }", 1, 13, "a constructor `B` was already defined"),
        ("extern type A { B }", 1, 15, "an extern type cannot have constructors"),
        ("def @m() { 2147483648i32 }", 1, 12, "unrepresentable in width 32"),
        ("def @m() { 32768i16 }", 1, 12, "unrepresentable in width 16"),
        ("def @m() { 65505f16 }", 1, 12, "unrepresentable in width 16"),
        ("def @m() { 3.40283e+38f32 }", 1, 12, "unrepresentable in width 32"),
        ("def @m() { 99999999999999999999 }", 1, 12, "invalid integer number"),
        ("def @m() { 1i7 }", 1, 12, "invalid numeric suffix"),
        ('#[version = "0.0.4"]\n1', 1, 13, "invalid semantic version"),
        ("meta[relay.Constant][7]", 1, 1, "the metadata section has no meta[relay.Constant][7]"),
        ('def @m() { "open }', 1, 12, "this text does not end"),
        ("1 /* open", 1, 3, "this comment does not end"),
        ("def @m(%x: Tensor[(2, 3, float32]) { %x }", 1, 26, "expected an extent"),
        ("def @m(%x: Unknown) { %x }", 1, 12, "the type `Unknown` is not defined"),
        ("def @m() { match (1) { Nope => 1 } }", 1, 24, "the constructor `Nope` is not defined"),
        ("def @m() { 1 } junk", 1, 16, "expected a definition"),
        ("(1, 2", 1, 6, "expected `)`, got the end of the text"),
    ],
)
def test_errors_show_the_place(source, line, column, message):
    with pytest.raises(DiagnosticError) as caught:
        relay.parse(source, "name.txt")
    assert message in str(caught.value) and f"name.txt:{line}:{column}" in str(caught.value)


def test_all_errors_are_shown_together():
    with pytest.raises(DiagnosticError) as caught:
        relay.parse("def @a() { %x }\ndef @b() { 1 }\ndef @c() { foo(1) }")
    assert "1:12" in str(caught.value) and "3:12" in str(caught.value)


def test_deep_programs_do_not_overflow():
    x = relay.var("x")
    e = x
    for _ in range(90_000):
        e = relay.Tuple([e, x])
    text = text_of(relay.Function([x], e))
    assert "%89998 = " in text
    tenon.ir.assert_structural_equal(relay.parse_expr(text), relay.Function([x], e))
    lets = "".join(f"let %x{i} = 1;\n" for i in range(50_000)) + "%x49999"
    assert text_of(relay.parse_expr(lets)).count("let ") == 50_000
    with pytest.raises((DiagnosticError, RuntimeError), match="nested too deeply"):
        relay.parse_expr("(" * 200_000)


def test_annotations_take_the_place_of_types():
    text = text_of(relay.const(1), annotate=lambda e: " /* here */")
    assert text == VERSION + "1 /* here */"


def test_modules_keep_what_they_were_given():
    first = relay.parse("type T { A }\ndef @f() { A }")
    second = relay.parse("def @g() { (A, @f()) }", init_module=first)
    assert {str(v.name_hint) for v in second.get_global_vars()} == {"f", "g"}
    assert [str(v.name_hint) for v in first.get_global_vars()] == ["f"]


def test_all_errors_of_a_text_are_told_at_once():
    text = """#[version = "0.0.5"]
def @f(%x: Tensor[(2), flot32]) {
  let %a = %q;
  let %b = nn.foo(%x, axis=2);
  let %c = nn.softmax(%q, axsi=1) + meta[relay.Constant][0] + 300i8;
  %a + %w
}
def @f(%y: Lsit[int32]) { %y + }
def @g() { "open }
"""
    with pytest.raises(tenon.error.DiagnosticError) as caught:
        relay.parse(text)
    wanted = [
        (2, "expected a data type such as float32, got `flot32`"),
        (3, "this local variable has not been previously declared"),
        (4, "operator `nn.foo` not found, perhaps you forgot to register it?"),
        (5, "relay.attrs.SoftmaxAttrs has no field 'axsi'; known: axis"),
        (5, "the metadata section has no meta[relay.Constant][0]"),
        (5, "integer number 300 is unrepresentable in width 8"),
        (6, "this local variable has not been previously declared"),
        (8, "a function @f was already defined"),
        (8, "the type `Lsit` is not defined"),
        (8, "expected an expression, got `}`"),
        (9, "this text does not end"),
    ]
    told = str(caught.value).split("error: ")[1:]
    found = {
        (int(part.split(" --> from_string:")[1].split(":")[0]), part.splitlines()[0])
        for part in told
    }
    assert found == set(wanted) and len(told) == len(wanted)
