"""Linear inequalities over the integers."""

import itertools
import random

import pytest
from tenon import arith, ir, tir
from tenon.ir import Range
from tenon.testing import check_int_constraints_trans_consistency

x, y, z = (tir.Var(name, "int32") for name in "xyz")


def both(conditions, variables, ranges=None):
    solve = arith.solve_linear_inequalities
    return (
        solve(conditions, variables, ranges),
        solve(conditions, variables, ranges, deskew_range=True),
    )


def limits(range_):
    return int(range_.min), int(range_.extent)


def test_two_variables():
    ranges = {x: Range(-100, 100), y: Range(0, 10)}
    conditions = [tir.LE(x + y, 20), tir.GE(x - y, 10)]
    found = arith._ffi_api.SolveInequalitiesAsCondition([x, y], ranges, conditions)
    for condition, wanted in zip(found, [x >= y + 10, x <= 20 - y, y >= 0, y <= 5], strict=True):
        assert ir.structural_equal(condition, wanted)
    plain, deskewed = both(conditions, [x, y], ranges)
    assert limits(plain.ranges[y]) == (0, 6)
    assert ir.structural_equal(plain.ranges[x].min, y + 10)
    assert int(plain.ranges[x].extent) == 11
    new_x, new_y = deskewed.dst.variables
    (relation,) = deskewed.dst.relations
    assert ir.structural_equal(relation, new_y * 2 + new_x <= 10)
    assert limits(deskewed.dst.ranges[new_x]) == (0, 11)
    assert limits(deskewed.dst.ranges[new_y]) == (0, 6)
    assert ir.structural_equal(deskewed.src_to_dst[x], new_x + (new_y + 10))
    assert ir.structural_equal(deskewed.src_to_dst[y], new_y)
    assert ir.structural_equal(deskewed.dst_to_src[new_x], x - y - 10)
    assert ir.structural_equal(deskewed.dst_to_src[new_y], y)


def test_one_solution():
    plain, deskewed = both([tir.GE(x + y, 10), tir.GE(x - y, 2), tir.LE(x, 6)], [x, y])
    assert limits(plain.ranges[x]) == (6, 1) and limits(plain.ranges[y]) == (4, 1)
    dst = deskewed.dst
    assert not len(dst.variables) and not len(dst.ranges) and not len(dst.relations)
    assert int(deskewed.src_to_dst[x]) == 6 and int(deskewed.src_to_dst[y]) == 4


def test_products_stay_conditions():
    conditions = [tir.LE(x, 6), tir.GE(x, 6), tir.GE(x - z * y, 0), tir.LE(x - z * y, 0)]
    plain, deskewed = both(conditions, [x, y, z])
    assert limits(plain.ranges[x]) == (6, 1)
    assert ir.structural_equal(plain.relations[0], tir.EQ(x, z * y))
    assert len(plain.relations) == 3
    assert all(isinstance(r, tir.LE) and int(r.b) == 0 for r in plain.relations[1:])
    assert deskewed.src_to_dst[y].same_as(y) and int(deskewed.src_to_dst[x]) == 6


def test_no_solution():
    ranges = {x: Range.from_min_extent(-20, 41)}
    plain, deskewed = both([-x - 4 <= -5 * x + 2, x * 4 + 5 <= x * 5], [x], ranges)
    for found in (plain, deskewed.dst):
        assert not len(found.variables) and not len(found.ranges)
        assert [bool(relation) for relation in found.relations] == [False]
    assert not len(deskewed.src_to_dst) and not len(deskewed.dst_to_src)


def test_between_two_integers():
    plain, _ = both([tir.GE(x * 4, 5), tir.LE(x * 4, 7)], [x])
    assert [bool(relation) for relation in plain.relations] == [False]


def test_symbolic_range():
    n = tir.Var("n", "int32")
    plain, deskewed = both([x > 3], [x], {x: Range.from_min_extent(0, n)})
    assert int(plain.ranges[x].min) == 4
    assert arith.Analyzer().can_prove_equal(plain.ranges[x].extent, n - 4)
    (fresh,) = deskewed.dst.variables
    assert ir.structural_equal(deskewed.src_to_dst[x], fresh + 4)


def test_bounds_of_a_range():
    bounds = arith.IntGroupBounds.from_range(Range.from_min_extent(3, 5))
    assert limits(bounds.find_best_range()) == (3, 5)
    bounds = arith.IntGroupBounds(2, [tir.const(3)], [], [tir.const(9)])
    assert limits(bounds.find_best_range()) == (2, 3)
    assert arith.IntGroupBounds(1, [x], [], []).find_best_range() is None


@pytest.mark.unsanitized
def test_too_large():
    names = [tir.Var(f"v{i}", "int32") for i in range(12)]
    dice = random.Random(1)

    def conditions(steps):
        for _ in range(40):
            left = sum((v * dice.choice(steps) for v in names), tir.const(0))
            yield tir.LE(left, dice.randrange(50))

    with pytest.raises(ValueError, match="more than 500 inequalities"):
        arith.solve_linear_inequalities(list(conditions([-1, 0, 1])), names)
    with pytest.raises(ValueError, match="beyond int32|leaves int64"):
        arith.solve_linear_inequalities(list(conditions([-99, 98, 97])), names)


def holds(found, point):
    """Does a point fulfil ranges and conditions?"""
    ana = arith.Analyzer()
    for variable, value in point.items():
        ana.bind(variable, tir.const(value))
    for variable, range_ in found.ranges.items():
        low, extent = int(ana.simplify(range_.min)), int(ana.simplify(range_.extent))
        if not low <= point[variable] < low + extent:
            return False
    return all(bool(ana.simplify(relation)) for relation in found.relations)


@pytest.mark.parametrize("seed", range(40))
def test_random(seed):
    dice = random.Random(seed)
    variables = [x, y, z][: dice.randrange(1, 4)]
    ranges = {
        v: Range.from_min_extent(dice.randrange(-4, 3), dice.randrange(1, 6)) for v in variables
    }
    conditions = []
    for _ in range(dice.randrange(1, 5)):
        left = sum((v * dice.randrange(-3, 4) for v in variables), tir.const(dice.randrange(-6, 7)))
        kind = dice.choice([tir.LE, tir.GE, tir.LT, tir.GT, tir.EQ])
        conditions.append(kind(left, tir.const(dice.randrange(-5, 6))))
    plain, deskewed = both(conditions, variables, ranges)
    check_int_constraints_trans_consistency(deskewed)
    unsolvable = len(plain.variables) == 0
    for values in itertools.product(range(-6, 9), repeat=len(variables)):
        point = dict(zip(variables, values, strict=True))
        ana = arith.Analyzer()
        for variable, value in point.items():
            ana.bind(variable, tir.const(value))
        wanted = all(
            int(ranges[v].min) <= point[v] < int(ranges[v].min) + int(ranges[v].extent)
            for v in variables
        ) and all(bool(ana.simplify(condition)) for condition in conditions)
        assert wanted == (not unsolvable and holds(plain, point)), point
