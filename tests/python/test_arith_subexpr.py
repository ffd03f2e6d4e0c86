"""Expressions that occur several times within one."""

import tenon
from tenon import te, tir


def found(expr, threshold=2):
    counts = tenon.arith.detect_common_subexpr(expr, threshold)
    return {str(e): int(n) for e, n in counts.items()}


def test_what_occurs_twice():
    x, y = te.var("x"), te.var("y")
    assert found((x + y) * 2 + (x + y)) == {"x + y": 2}
    assert found(x + y + x) == {}
    assert found((x + y) * (x + y) * (x + y), 3) == {"x + y": 3}
    nested = (x // 4 + 1) * (x // 4 + 1) + x // 4
    assert found(nested) == {"x // 4": 3, "x // 4 + 1": 2}


def test_what_does_not_count():
    x = te.var("x")
    random = tir.call_extern("int32", "rand", x + 1)
    assert found(random + random) == {}
    assert found(tir.exp(x.astype("float32")) + tir.exp(x.astype("float32"))) == {
        'T.Cast("float32", x)': 2,
        'T.exp(T.Cast("float32", x))': 2,
    }


def test_long_chains():
    x = te.var("x")
    total = x
    for i in range(20_000):
        total = total + (x * 3 if i % 2 else x * 5)
    assert found(total, 10_000)["x * 3"] == 10_000


def test_the_first_of_equal_expressions_is_the_key():
    a, b = tenon.te.var("a"), tenon.te.var("b")
    first = a + b
    found = tenon.arith.detect_common_subexpr(first * 3 - (a + b), 2)
    assert [k.same_as(first) for k in found] == [True]
