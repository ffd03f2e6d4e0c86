"""tenon.arith.Analyzer: documented normal forms, bounds, proofs, errors."""

import pytest
import tenon
from tenon import arith, tir
from tenon.ir import Range, structural_equal

x, y, z = (tir.Var(name, "int32") for name in "xyz")


@pytest.fixture
def ana():
    return arith.Analyzer()


def same(got, want):
    assert structural_equal(got, want), f"got {got!r}, expected {want!r}"


def test_const_int_bound(ana):
    ana.update(x, arith.ConstIntBound(0, 4))
    ana.update(y, arith.ConstIntBound(1, 10))
    bound = ana.const_int_bound(x * y + 20)
    assert (bound.min_value, bound.max_value) == (20, 60)
    wide = tir.Var("n", "int64")
    bound = ana.const_int_bound(wide + 1)
    assert bound.min_value == arith.ConstIntBound.NEG_INF
    assert bound.max_value == arith.ConstIntBound.POS_INF
    with pytest.raises(tenon.TVMError, match="division by zero"):
        ana.const_int_bound(tir.FloorMod(x, tir.const(0, "int32")))


def test_modular_set(ana):
    found = ana.modular_set(x * 6 + y * 4 + 1)
    assert (found.coeff, found.base) == (2, 1)
    ana.update(x, arith.ModularSet(4, 2))
    found = ana.modular_set(x + 3)
    assert (found.coeff, found.base) == (4, 1)


def test_modular_set_of_what_a_remainder_says(ana):
    with ana.constraint_scope(tir.truncmod(x, 6) == -2):
        found = ana.modular_set(x + 3)
        assert (found.coeff, found.base) == (6, 1)
        with ana.constraint_scope(x % 4 == 0):
            found = ana.modular_set(x)
            assert (found.coeff, found.base) == (12, 4)
    assert ana.modular_set(x).coeff == 1
    for r in range(-5, 6):  # every remainder that truncation leaves
        with ana.constraint_scope(tir.truncmod(x, 6) == r):
            assert ana.modular_set(x).base == r % 6


def test_modular_set_of_let(ana):
    found = ana.modular_set(tir.Let(x, y * 6 + 4, x * 2 + 1))
    assert (found.coeff, found.base) == (12, 9)
    assert ana.modular_set(x).coeff == 1  # outside of it nothing is known
    ana.update(x, arith.ModularSet(4, 2))
    assert ana.modular_set(tir.Let(x, y * 6, x)).coeff == 1  # a variable with two values


@pytest.mark.parametrize("dtype, exact", [("float32", 24), ("float64", 53), ("float16", 11)])
def test_bounds_of_integers_that_went_through_a_float(ana, dtype, exact):
    v = tir.Var("v", "int64")
    back = v.astype(dtype).astype("int64")
    most = 2**exact
    ana.update(v, arith.ConstIntBound(-most, most))
    bound = ana.const_int_bound(back)
    assert (bound.min_value, bound.max_value) == (-most, most)
    ana.update(v, arith.ConstIntBound(-most, most + 1), True)  # may be rounded
    assert ana.const_int_bound(back).max_value == arith.ConstIntBound.POS_INF


def test_comparisons_in_canonical_form(ana):
    same(ana.canonical_simplify(x - 2 < 3), x < 5)
    same(ana.canonical_simplify(7 < x - 2), tir.LT(tir.const(9), x))
    same(ana.canonical_simplify(x - 2 == 3), x == 5)
    same(ana.canonical_simplify(x - 2 < 2**31 - 1), tir.const(True))  # of every int32


def test_simplify_canonical_forms(ana):
    same(ana.simplify((x // 8) * 8 + x % 8), x)
    same(ana.simplify(y + x * 8), x * 8 + y)
    same(ana.simplify((x * 4 + y) // 4), y // 4 + x)
    ana.bind(z, Range(0, 4))
    same(ana.simplify((x * 4 + z) // 4), x)
    same(ana.simplify((x * 4 + z) % 4), z)
    same(ana.simplify(x - 1 - y), x - y - 1)
    same(ana.simplify(tir.all(x < 5, tir.const(True))), x < 5)


def test_a_remainder_that_has_lost_multiples_completes_its_quotient(ana):
    same(ana.simplify((x * 9 + y) // 8 * 8 + (x + y) % 8), x * 9 + y)
    same(ana.simplify((x * 64 + y) // 28 * 28 + (x * 8 + y) % 28 + z * 784), z * 784 + x * 64 + y)
    same(ana.simplify((x * 64 + y) % 784 // 28 * 28 + (x * 8 + y) % 28), (x * 64 + y) % 784)
    same(ana.simplify((x + 9) // 8 * 24 + (x + 1) % 8 * 3), x * 3 + 27)
    kept = (x * 64 + y) // 28 * 28 + (x * 7 + y) % 28  # of another number
    got = ana.simplify(kept)
    bound = arith.Analyzer()
    for a in range(0, 30, 7):
        for b in range(0, 60, 11):
            at = {x: tir.const(a), y: tir.const(b)}
            value = bound.simplify(tir.stmt_functor.substitute(got, at))
            assert int(value) == (a * 64 + b) // 28 * 28 + (a * 7 + b) % 28


def test_rewrite_simplify(ana):
    one, ten = tir.const(1), tir.const(10)
    same(ana.rewrite_simplify(tir.Min(one, tir.Min(x, ten))), tir.Min(x, one))
    same(ana.rewrite_simplify(x + 3 < 10), x < 7)
    same(ana.canonical_simplify(x * 2 + x), x * 3)
    assert ana.rewrite_simplify_stats["rewrites_performed"] > 0
    ana.reset_rewrite_simplify_stats()
    assert ana.rewrite_simplify_stats == {"rewrites_performed": 0}


def test_floats_are_not_reordered(ana):
    f = tir.Var("f", "float32")
    same(ana.simplify(f * 0.0), f * 0.0)
    same(ana.simplify((f + 1.0) - f), (f + 1.0) - f)


def test_proofs_and_constraints(ana):
    ana.bind(x, Range(0, 16))
    ana.bind(y, Range(0, 8))
    assert ana.can_prove(x * 8 + y < 128)
    assert not ana.can_prove(x * 8 + y < 127)
    assert ana.can_prove_equal((x + y) * 2, y * 2 + x * 2)
    with ana.constraint_scope(x < 3):
        assert ana.can_prove(x * 8 + y < 24, arith.ProofStrength.SYMBOLIC_BOUND)
        with ana.constraint_scope(z % 4 == 1):
            assert ana.modular_set(z).base == 1
    assert ana.modular_set(z).coeff == 1
    assert not ana.can_prove(x < 3)


def test_one_sided_bounds_prove_nothing_by_wrapping_around(ana):
    ana.update(x, arith.ConstIntBound(0, arith.ConstIntBound.POS_INF))
    assert not ana.can_prove((x + 63) // 64 <= x // 64)
    assert ana.can_prove((x + 63) // 64 >= x // 64)


def test_bind_twice(ana):
    ana.bind(x, tir.const(3))
    same(ana.simplify(x + y), y + 3)
    ana.bind(x, tir.const(3))
    with pytest.raises(ValueError, match="variable x: its value is already known"):
        ana.bind(x, tir.const(4))
    ana.bind(x, tir.const(4), allow_override=True)
    same(ana.simplify(x + y), y + 4)


def test_wrong_arguments(ana):
    with pytest.raises(TypeError):
        ana.simplify(None)
    with pytest.raises(TypeError, match="expected a bool"):
        ana.constraint_scope(x + 1).__enter__()
    with pytest.raises(TypeError):
        ana.update(x, 3)


def test_order_of_operands_is_kept():
    """What the input has first stays first in quotients and remainders of sums."""
    a, x, y = arith.Analyzer(), tir.Var("x", "int32"), tir.Var("y", "int32")

    def becomes(given, wanted):
        tenon.ir.assert_structural_equal(a.rewrite_simplify(given), wanted)

    becomes((x + y * 4) // 2, x // 2 + y * 2)
    becomes((x * 4 + y) // 2, x * 2 + y // 2)
    becomes((x + y * 360) % 16, (x + y * 8) % 16)
    becomes(tir.max(y, x * 6) // 2, tir.max(y // 2, x * 3))
    becomes(tir.min(x * 6, y) // 2, tir.min(x * 3, y // 2))
    a.update(y, arith.ConstIntBound(0, 31))
    becomes((x * 32 + y) % 64, x % 2 * 32 + y)


def test_parts_of_a_number_meet_the_number(ana):
    """Quotient and remainder that make up a number again join the terms there are of it."""
    for form in (ana.canonical_simplify, ana.simplify):
        same(form(x // 4 * 4 + x % 4 - x), tir.const(0, "int32"))
        same(form(x // 4 * 8 + x % 4 * 2 - x), x)
        same(form(x % 4 - x + x // 4 * 4 + y), y)
        same(form(x // 8 * 8 + x % 8 // 4 * 4 + x % 4 + x * 2), x * 3)


def test_sums_of_quotients(ana):
    """Between rational numbers, rounded to whole ones."""
    true = [
        (x + 11) // 12 * 6 >= (x - 1) // 2 + 1,
        (x // 2 + 5) // 6 * 6 >= x // 2,
        x // 2 + (x + 1) // 2 <= x,
        x // 2 + (x + 1) // 2 >= x,
        x // 3 - x // 2 <= (x + 1) // 3 - x // 2,
    ]
    false = [
        (x + 11) // 12 * 6 >= (x - 1) // 2 + 2,
        x // 2 + x // 3 <= x,
        x // 2 * 2 >= x,
        (x + 10) // 12 * 6 >= (x - 1) // 2 + 1,
    ]

    def holds(cond, value):
        return int(ana.simplify(tir.stmt_functor.substitute(cond, {x: tir.const(value)}))) == 1

    for cond in true:
        assert ana.can_prove(cond) and all(holds(cond, value) for value in range(-40, 41))
    for cond in false:
        assert not ana.can_prove(cond) and not all(holds(cond, value) for value in range(-40, 41))


@pytest.mark.parametrize("dtype, bounds", [("int32", (4, 7)), ("int8", (4, 7)), ("bool", (0, 1))])
def test_bounds_of_logarithms(ana, dtype, bounds):
    """A conversion to a type that does not hold the logarithm wraps around."""
    ana.bind(x, Range(9, 101))
    steps = tir.ceil(tir.log2(tir.Cast("float64", x)))
    found = ana.const_int_bound(tir.Cast(dtype, steps))
    assert (found.min_value, found.max_value) == bounds
