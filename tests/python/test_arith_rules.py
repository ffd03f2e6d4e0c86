"""Forms that expressions over integers are brought to. That each rule is true of all numbers is
checked by tests/c/test_arith_rules.c and test_arith_random.py; here is that the rules apply."""

import pytest
import tenon
from tenon import arith, tir
from tir_reference import expression_function

x, y, z = (tir.Var(n, "int32") for n in "xyz")
floordiv, floormod, truncdiv, truncmod = tir.floordiv, tir.floormod, tir.truncdiv, tir.truncmod
both = [(truncdiv, truncmod), (floordiv, floormod)]


def simplify(e, *conditions):
    a = arith.Analyzer()
    if not conditions:
        return a.rewrite_simplify(e)
    with a.constraint_scope(tir.all(*conditions)):
        return a.rewrite_simplify(e)


def assert_form(before, after, *conditions):
    got = simplify(before, *conditions)
    want = tir.const(after, before.dtype) if isinstance(after, int) else after
    want = want.asobject() if hasattr(want, "asobject") else want
    assert tenon.ir.structural_equal(got, want), f"{before}: {got}, expected {want}"


@pytest.mark.parametrize(("div", "mod"), both)
def test_what_is_left_of_a_multiple(div, mod):
    assert_form(y - div(y + z, 5) * 5, mod(y + z, 5) - z)
    assert_form(div(y - z, 5) * 5 - y, 0 - mod(y - z, 5) - z)
    assert_form(y * 3 - div(y, 2) * 6, mod(y, 2) * 3)
    assert_form(div(y, 3) * 6 - y * 2, mod(y, 3) * -2)
    assert_form(y * 5 - div(y + z, 2) * 10, (mod(y + z, 2) - z) * 5)
    assert_form(div(y - z, 3) * 6 - y * 2, (0 - mod(y - z, 3) - z) * 2)


def test_remainders_that_are_known():
    assert_form(floormod(x - floormod(x, 9), 9), 0)
    assert_form(floormod(x - floormod(x, y), y), 0)
    assert_form(floormod(x + floormod(x * -1, y), y), 0)
    assert_form(floormod(x, 2) + floormod(x + 1, 2), 1)
    assert_form(truncmod(x * 10 + 1 + y * 2 + 2, 2), 1, x >= 0, y >= 0)
    assert_form(truncmod(x, -5), truncmod(x, 5))
    assert_form(floormod(x * y + z, y), floormod(z, y))


def test_quotients():
    assert_form(floordiv(x - floormod(x, 21), 21), floordiv(x, 21))
    assert_form(floordiv(x * 8 + 39, 16), floordiv(x, 2) + 2)
    assert_form(floordiv(x * 360 + y, 16), x * 22, x >= 0, x < 2, y >= 0, y < 7)
    assert_form(floordiv(x * 128 + y * 4 + z, 512), floordiv(x, 4), y >= 0, y < 32, z >= 0, z < 4)
    assert_form(floordiv(x + 1, 2) - floordiv(x, 2), floormod(x, 2))
    assert_form(truncdiv(truncdiv(x, 2) + 1, 3), truncdiv(x + 2, 6), x >= 0)
    assert_form(truncdiv(tir.min(x * 6, y), 2), tir.min(x * 3, truncdiv(y, 2)))
    assert_form(truncdiv(x + 5, 3) - truncdiv(x, 3), truncdiv(truncmod(x, 3) + 5, 3), x >= 0)


def test_a_divisor_that_may_be_0_stays():
    """x / 0 is 0, so that x / x is not 1 for all x."""
    for e in (floordiv(x, x), floordiv(x * y, y), truncdiv(x + y, x)):
        assert_form(e, e, x >= 0, y >= 0)
    whole = floordiv(x, y) * y + floormod(x, y)
    assert_form(whole, whole)
    assert_form(whole, x, y > 0)


@pytest.mark.parametrize("c", [-7, -2, -1, 0, 1, 2, 7])
@pytest.mark.parametrize("div", [truncdiv, floordiv])
def test_compared_quotients(div, c):
    for e in (div(x, 3) < c, div(x, 3) <= c, div(x, 3) > c, div(x, 3) >= c):
        got = simplify(e)
        assert "Div" not in str(got) and "//" not in str(got)
        before, after = (expression_function(k, [x], []) for k in (e, got))
        assert [before(n) for n in range(-30, 31)] == [after(n) for n in range(-30, 31)]


def test_constants_move_to_the_side_where_they_are_positive():
    assert_form(x - 1 < y, x <= y)
    assert_form(x < y + 1, x <= y)
    assert_form(x + 10 < y + 5, x + 5 < y)
    assert_form(x < y - 10, x + 10 < y)
    assert_form(x + 2 < y + 5, x < y + 3)
    assert_form(x + 1 < tir.max(8, x), x < 7)
    assert_form(x - 1 < tir.max(8, x), 1)


def test_two_conditions_on_one_number():
    assert_form(tir.And(0 <= x - y * 5, x - y * 5 < 5), tir.EQ(y, floordiv(x, 5)))
    for low in (x < 20, x <= 19, x < 18):
        assert_form(tir.And(low, floormod(x, 5) < 2), tir.And(x < 17, floormod(x, 5) < 2))
    tile = tir.EQ(floordiv(x, 10), -5)
    assert_form(tir.And(tile, floormod(x, 10) < 7), tir.And(tir.LE(-50, x), x < -43))
    assert_form(tir.And(tile, floormod(x, 10) > 7), tir.And(tir.LT(-43, x), x < -40))


@pytest.mark.parametrize("f", [tir.min, tir.max])
def test_repeated_operands_of_min_and_max(f):
    assert_form(f(f(x, y), y), f(x, y))
    assert_form(f(f(f(x, y), z), y), f(f(x, y), z))
    other = tir.max if f is tir.min else tir.min
    for div in (truncdiv, floordiv):
        assert_form(f(div(x, 10), div(y, 10)), div(f(x, y), 10))
        assert_form(f(div(x, -10), div(y, -10)), div(other(x, y), -10))


def test_two_unknown_extents_are_not_the_same():
    e = tir.Sub(tir.Any(), tir.Any())
    assert simplify(e).same_as(e)


def test_vectors():
    ramp, spread = tir.Ramp, tir.Broadcast
    assert_form(floordiv(ramp(x * 4, 1, 4), 64), spread(floordiv(x, 16), 4))
    assert_form(floordiv(ramp(x * 4, 1, 5), 64), floordiv(ramp(x * 4, 1, 5), spread(64, 5)))
    assert_form(floormod(ramp(x * 8 + 7, 1, 4), 4), floormod(ramp(3, 1, 4), spread(4, 4)))
    assert_form(floormod(ramp(x * 8, 1, 5), 4), floormod(ramp(0, 1, 5), spread(4, 5)))
    assert_form(truncmod(ramp(x * 8 + 1, 15, 4), 8), truncmod(ramp(1, 15, 4), spread(8, 4)), x >= 0)
    unknown_sign = truncmod(ramp(x * 8 + 1, 15, 4), 8)
    assert_form(unknown_sign, unknown_sign)


def test_limits_of_the_type_stop_a_rule():
    low = tir.IntImm("int32", -(2**31))
    assert_form(tir.truncmod(x, low), tir.truncmod(x, low))
    e = tir.And(tir.EQ(floordiv(x, 2**20), 2**11 - 1), floormod(x, 2**20) >= 1)
    got = simplify(e)
    before, after = (expression_function(k, [x], []) for k in (e, got))
    for n in (2**31 - 1, 2**31 - 2**20, 2**31 - 2**20 + 1, 5):
        assert bool(before(n)) == bool(after(n))
