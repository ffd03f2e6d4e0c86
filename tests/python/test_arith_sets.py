"""Interval sets, regions, deduced bounds, linear expressions."""

import pytest
from tenon import arith, tir
from tenon.ir import Range, structural_equal

i, j, k, n = (tir.Var(name, "int32") for name in "ijkn")


def same(got, want):
    assert structural_equal(got, want), f"got {got!r}, expected {want!r}"


def interval(found, low, high):
    ana = arith.Analyzer()
    assert ana.can_prove_equal(found.min_value, low), f"min {found.min_value!r}"
    assert ana.can_prove_equal(found.max_value, high), f"max {found.max_value!r}"


def test_basic():
    point = arith.IntSet.single_point(n + 1)
    assert point.min_value.same_as(point.max_value)
    lanes = arith.IntSet.vector(tir.Ramp(tir.const(0), tir.const(1), 16))
    interval(lanes, 0, 15)
    assert not lanes.is_nothing() and not lanes.is_everything()
    everything = arith.IntervalSet(arith.neg_inf(), arith.pos_inf())
    assert everything.is_everything()
    both = arith.int_set.union_lower_bound([arith.IntervalSet(0, 3), arith.IntervalSet(5, 9)])
    interval(both, 0, 9)


@pytest.mark.parametrize(
    "expr, low, high",
    [
        (i * 4 + j, 0, n * 4 - 1),
        (n - i, 1, n),
        (i * -2, n * -2 + 2, 0),
        (tir.Min(i, tir.const(5)), 0, None),
        (j // 2, 0, 1),
        ((j + 4) % 4, 0, 3),
        ((j + 5) % 4, 0, 3),
        (tir.Select(n > 0, j, j + 10), 0, 13),
    ],
)
def test_int_set(expr, low, high):
    dom = {i: arith.IntervalSet(0, n - 1), j: arith.IntervalSet(0, 3)}
    found = arith.Analyzer().int_set(expr, dom)
    interval(found, low, found.max_value if high is None else high)


def test_domains_in_terms_of_others():
    dom = {i: arith.IntervalSet(j, j + 7), j: arith.IntervalSet(0, 3)}
    interval(arith.Analyzer().int_set(i, dom), 0, 10)
    assert arith.Analyzer().int_set(i * i, {i: arith.IntervalSet(None, 5)}).is_everything()


def test_regions():
    dom = {i: Range(0, 8), j: Range(0, 4)}
    region = [Range.from_min_extent(i * 4, 4), Range.from_min_extent(j + 2, 1)]
    for estimate in (
        arith.estimate_region_lower_bound,
        arith.estimate_region_strict_bound,
        arith.estimate_region_upper_bound,
    ):
        rows, columns = estimate(region, dom, True)
        interval(rows, 0, 31)
        interval(columns, 2, 5)
    gaps = [Range.from_min_extent(i * 4, 2)]
    assert arith.estimate_region_lower_bound(gaps, dom, True) is None
    (rows,) = arith.estimate_region_upper_bound(gaps, dom, True)
    interval(rows, 0, 29)
    (rows,) = arith.estimate_region_strict_bound([Range.from_min_extent(i * 4 + j, 1)], dom, i < 5)
    interval(rows, 0, 19)


def test_deduce_bound():
    relax = {j: arith.IntervalSet(0, 3)}
    found = arith.deduce_bound(i, i * 4 + j < n, {}, relax)
    assert structural_equal(found.min_value, arith.neg_inf())
    for value in range(-20, 40):
        for limit in range(0, 30):
            ana = arith.Analyzer()
            ana.bind(n, tir.const(limit))
            inside = ana.can_prove(found.max_value >= value)
            assert inside == all(value * 4 + other < limit for other in range(4))
    interval(arith.deduce_bound(i, i - 3 >= n, {}, {}), n + 3, arith.pos_inf())
    for k in (6, 8):  # the range of i is as open as n: its products do not overflow
        hint = {i: arith.IntervalSet(0, (n + k - 1) // k - 1)}
        found = arith.deduce_bound(i, i * k + j < n, hint, {j: arith.IntervalSet(0, k - 1)})
        interval(found, arith.neg_inf(), n // k - 1)
    interval(arith.deduce_bound(i, tir.all(i > 2, i * -2 >= -20), {}, {}), 3, 10)
    interval(arith.deduce_bound(i, tir.EQ(i + 2, n), {}, {}), n - 2, n - 2)
    interval(arith.deduce_bound(i, i // 4 < n, {}, {}), arith.neg_inf(), n * 4 - 1)
    assert arith.deduce_bound(i, i * i < n, {}, {}).is_nothing()
    assert arith.deduce_bound(i, j < n, {}, {}).is_nothing()


def test_linear_equation():
    found = arith.detect_linear_equation(i * 4 + j + n * 2, [i, j])
    assert [int(x) for x in found[:2]] == [4, 1]
    same(found[2], n * 2)
    assert len(arith.detect_linear_equation(i * i, [i])) == 0
    assert len(arith.detect_linear_equation(i * j, [i, j])) == 0
    same(arith.detect_linear_equation((i + 1) * n, [i])[0], n)
    assert [int(x) for x in arith.detect_linear_equation(tir.const(3), [i])] == [0, 3]


def test_clip_bound_of_what_does_not_hold_and_of_minima():
    found = arith.detect_clip_bound(tir.Not(i > n), [i])
    assert found[0] is None and str(found[1]) == "n"
    found = arith.detect_clip_bound(tir.all(tir.Min(i, j) > 3, 9 >= tir.Max(i, 2)), [i, j])
    assert [x and x.value for x in (found[0], found[1], found[2], found[3])] == [4, 9, 4, None]
    assert len(arith.detect_clip_bound(tir.Max(i, j) > 3, [i, j])) == 0  # one of them is enough
    assert len(arith.detect_clip_bound(tir.Not(tir.all(i > 3, j > 3)), [i, j])) == 0


def test_clip_bound():
    found = arith.detect_clip_bound(tir.all(i >= 2, i + 1 < n, j <= 5), [i, j])
    assert int(found[0]) == 2
    same(found[1], n - 2)
    assert found[2] is None and int(found[3]) == 5
    assert len(arith.detect_clip_bound(i + j < 5, [i, j])) == 0
    assert len(arith.detect_clip_bound(tir.any(i < 5, j < 2), [i, j])) == 0


def test_limit_over_a_loop_outside_of_the_region():
    """Where the predicate says nothing of an iteration yet, the region ends with the loop."""
    region, dom = [Range.from_min_extent(i * 4 + j, 1)], {j: Range(0, 4)}
    (exact,) = arith.estimate_region_strict_bound(region, dom, i * 4 + j < 17)
    for value, last in ((0, 3), (3, 15), (4, 16)):
        ana = arith.Analyzer()
        ana.bind(i, tir.const(value))
        assert ana.can_prove_equal(exact.max_value, last)


def test_how_results_are_shown():
    ana = arith.Analyzer()
    ana.bind(i, Range(0, 10))
    assert str(ana.const_int_bound(i * 4)) == "ConstIntBound[0,36]"
    wide = tir.Var("wide", "int64")
    assert str(ana.const_int_bound(wide)) == "ConstIntBound[neg_inf,pos_inf]"
    assert str(ana.modular_set(i * 4 + 2)) == "ModularSet(coeff=4, base=2)"
    assert str(ana.int_set(n + j, {j: arith.IntervalSet(0, 3)})) == "IntervalSet[n, n + 3]"
    (index,) = arith.detect_iter_map([i * 4 + 1], {i: Range(0, 8)}).indices
    assert str(index) == (
        "IterSum([IterSplit(IterMark(i, extent=8), lower_factor=1, extent=8, scale=4)], 1)"
    )


def test_regions_that_go_downwards():
    for bound, low in ((True, 0), (i < 6, 3)):
        dom = {i: Range(0, 9)}
        (one,) = arith.estimate_region_strict_bound([Range.from_min_extent(8 - i, 1)], dom, bound)
        interval(one, low, 8)
        twos = [Range.from_min_extent(16 - i * 2, 2)]
        (two,) = arith.estimate_region_strict_bound(twos, dom, bound)
        interval(two, 2 * low, 17)
