"""The interpreter: what programs mean. The virtual machine computes the same."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend.interpreter import ConstructorValue, RefValue

VERSION = '#[version = "0.0.5"]\n'

LOOP = """
def @loop(%i: int32, %n: int32, %acc: int32) -> int32 {
  if (less(%i, %n)) { @loop(add(%i, 1), %n, add(%acc, %i)) } else { %acc }
}
def @main(%n: int32) -> int32 { @loop(0, %n, 0) }
"""
FIB = """
def @fib(%n: int32) -> int32 {
  if (less(%n, 2)) { %n } else { add(@fib(subtract(%n, 1)), @fib(subtract(%n, 2))) }
}
def @main(%n: int32) -> int32 { @fib(%n) }
"""
CLOSURES = """
def @main(%x: int32) -> int32 {
  let %adder = fn (%a: int32) { fn (%b: int32) { add(%a, %b) } };
  let %twice = fn (%f: fn (int32) -> int32) { fn (%y: int32) { %f(%f(%y)) } };
  let %g = %twice(%adder(%x));
  %g(1)
}
"""
LOCAL = """
def @main(%n: int32) -> int32 {
  let %sum = fn (%i: int32) -> int32 {
    if (less(%i, 1)) { 0 } else { add(%n, %sum(subtract(%i, 1))) }
  };
  %sum(%n)
}
"""
REFERENCES = """
def @main(%x: int32) -> int32 {
  let %r = ref(%x);
  let %next = fn () { let %u = ref_write(%r, add(ref_read(%r), 1)); ref_read(%r) };
  let %a = %next();
  let %b = %next();
  add(multiply(%a, 100), %b)
}
"""
DATA = """
type Shape { Circle(int32), Box(int32, int32), Nothing, }
def @area(%s: Shape) -> int32 {
  match (%s) {
    Box(%w, %h) => multiply(%w, %h),
    Circle(%r) => multiply(3, multiply(%r, %r)),
    _ => 0,
  }
}
def @pick(%n: int32) -> Shape {
  if (equal(%n, 0)) { Nothing } else { if (equal(%n, 1)) { Circle(%n) } else { Box(%n, 5) } }
}
def @main(%n: int32) -> int32 { add(@area(@pick(%n)), @area(Box(%n, %n))) }
"""
PROGRAMS = {
    "loop": (LOOP, lambda n: n * (n - 1) // 2),
    "fib": (FIB, lambda n: [0, 1, 1, 2, 3, 5, 8, 13][n]),
    "closures": (CLOSURES, lambda n: 2 * n + 1),
    "local": (LOCAL, lambda n: n * n),
    "references": (REFERENCES, lambda n: (n + 1) * 100 + n + 2),
    "data": (DATA, lambda n: (0, 3)[n] + n * n if n < 2 else 5 * n + n * n),
}


@pytest.mark.parametrize("kind", ["debug", "vm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, kind):
    text, want = PROGRAMS[name]
    mod = relay.parse(VERSION + text)
    run = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
    for n in (0, 1, 2, 5):
        assert int(run(np.int32(n)).numpy()) == want(n)


def interpreted(text, *args):
    mod = relay.parse(VERSION + text)
    return relay.create_executor("debug", mod, tenon.cpu(), "llvm").evaluate()(*args)


def test_values():
    got = interpreted(
        "type T { A(int32), B, }\ndef @main(%x: int32) { (A(%x), B, ref(%x), ()) }", np.int32(4)
    )
    assert isinstance(got[0], ConstructorValue) and isinstance(got[2], RefValue)
    assert int(got[0].fields[0].numpy()) == 4
    assert str(got[0].constructor.name_hint) == "A"
    assert (got[1].tag & 0xFF, len(got[1].fields)) == (1, 0)
    assert int(got[2].value.numpy()) == 4
    assert len(got[3]) == 0


def test_dynamic_shapes():
    text = "def @main(%x: Tensor[(?, 4), float32]) { (nn.softmax(%x), sum(%x), shape_of(%x)) }"
    x = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    got = interpreted(text, x)
    np.testing.assert_allclose(got[0].numpy(), np.exp(x) / np.exp(x).sum(1)[:, None], rtol=1e-5)
    np.testing.assert_allclose(got[1].numpy(), x.sum(), rtol=1e-5)
    np.testing.assert_array_equal(got[2].numpy(), [3, 4])


def test_shapes_that_depend_on_values():
    n = relay.var("n", shape=(), dtype="int32")
    body = relay.arange(relay.const(0), n, relay.const(1), dtype="int32")
    ex = relay.create_executor("debug", tenon.IRModule(), tenon.cpu(), "llvm")
    np.testing.assert_array_equal(ex.evaluate(relay.Function([n], body))(5).numpy(), np.arange(5))


def test_errors():
    with pytest.raises(tenon.error.TVMError, match="no clause"):
        interpreted(
            "type T { A(int32), B, }\ndef @main(%x: int32) { match? (B) { A(%y) => %y } }",
            np.int32(1),
        )
    with pytest.raises(RuntimeError, match="nested too deeply"):
        interpreted(
            "def @f(%x: int32) -> int32 { add(@f(%x), 1) }\ndef @main(%x: int32) { @f(%x) }",
            np.int32(1),
        )
    with pytest.raises(ValueError, match="missing .'n'."):
        interpreted(LOOP)


@pytest.mark.parametrize("kind", ["debug", "vm"])
def test_parameters_of_one_name(kind):
    first, second = relay.var("x", shape=(2,)), relay.var("x", shape=(2,))
    mod = tenon.IRModule.from_expr(relay.Function([first, second], first - second))
    run = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
    got = run(np.float32([5, 6]), np.float32([1, 2]))
    np.testing.assert_array_equal(got.numpy(), [4, 4])
    with pytest.raises(ValueError, match="missing"):
        run(np.float32([5, 6]))


def test_results_of_shapes_that_depend_on_values():
    """Several results, and arguments that are checked."""
    x = relay.var("x", shape=(7,), dtype="int32")
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.unique(x)[0]))
    value = np.array([3, 1, 3, 2, 1, 1, 9], "int32")
    ex = relay.create_executor("debug", mod, tenon.cpu(), "llvm")
    count = int(relay.create_executor("vm", mod, tenon.cpu(), "llvm").evaluate()(value).shape[0])
    assert ex.evaluate()(value).shape == (count,)
    data, shape = relay.var("d", shape=(6,)), relay.var("s", shape=(2,), dtype="int64")
    mod = tenon.IRModule.from_expr(relay.Function([data, shape], relay.reshape(data, shape)))
    ex = relay.create_executor("debug", mod, tenon.cpu(), "llvm").evaluate()
    assert ex(np.zeros(6, "float32"), np.array([2, 3])).shape == (2, 3)
    with pytest.raises(tenon.error.TVMError):
        ex(np.zeros(6, "float32"), np.array([4, 3]))


def test_values_of_variables_may_be_expressions():
    x = relay.var("x", shape=(2,))
    value = relay.const(np.float32([1, -2]))
    got = relay.create_executor().evaluate(relay.abs(x), {x: value})
    np.testing.assert_array_equal(got.numpy(), [1, 2])


def test_constants_as_arguments():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    run = relay.create_executor("debug", target="stackvm").evaluate(relay.Function([x, y], x - y))
    np.testing.assert_array_equal(
        run(relay.const([3.0, 4.0]), y=np.float32([1, 1])).numpy(), [2, 3]
    )
    with pytest.raises(TypeError, match="got relay.Var"):
        run(x, relay.const([1.0, 1.0]))
