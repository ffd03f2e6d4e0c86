"""Linear equations over the integers."""

import itertools
import random

import pytest
from tenon import arith, tir
from tenon.ir import Range
from tenon.tir import EQ, const

x, y, z, k = (tir.Var(name, "int32") for name in "xyzk")


def value(expr, assignment):
    ana = arith.Analyzer()
    for var, number in assignment.items():
        ana.bind(var, const(number))
    return int(ana.simplify(expr))


def test_unique():
    found = arith.solve_linear_equations([EQ(x + y, const(20)), EQ(x - y, const(10))], [x, y])
    assert len(found.dst.variables) == 0 and len(found.dst.relations) == 0
    assert int(found.src_to_dst[x]) == 15
    assert int(found.src_to_dst[y]) == 5


def test_many_solutions():
    found = arith.solve_linear_equations([EQ(x + y, const(20))], [x, y], {x: Range(0, 30)})
    (fresh,) = found.dst.variables
    ana = arith.Analyzer()
    assert ana.can_prove_equal(found.src_to_dst[x], fresh + 20)
    assert ana.can_prove_equal(found.src_to_dst[y], 0 - fresh)
    assert ana.can_prove_equal(found.dst_to_src[fresh], 0 - y)
    assert len(found.dst.ranges) == 0 and len(found.dst.relations) == 2
    both = {x: Range(0, 30), y: Range(0, 5)}
    found = arith.solve_linear_equations([EQ(x + y, const(20))], [x, y], both)
    (fresh,) = found.dst.variables
    limits = found.dst.ranges[fresh]
    assert (int(limits.min), int(limits.extent)) == (-4, 5)
    assert len(found.dst.relations) == 0


def test_symbolic_right_side():
    found = arith.solve_linear_equations([EQ(x * 2, k)], [x])
    assert arith.Analyzer().can_prove_equal(found.src_to_dst[x], k // 2)
    (condition,) = found.dst.relations
    assert value(tir.Select(condition, const(1), const(0)), {k: 4}) == 1
    assert value(tir.Select(condition, const(1), const(0)), {k: 5}) == 0


@pytest.mark.parametrize(
    "equations",
    [
        [EQ(x + y, const(0)), EQ(x + y, const(1))],
        [EQ(x * 2 + y * 4, const(3))],
        [EQ(x, const(40))],
    ],
)
def test_no_solution(equations):
    found = arith.solve_linear_equations(equations, [x, y], {x: Range(0, 30)})
    (condition,) = found.dst.relations
    assert int(condition) == 0
    assert len(found.dst.variables) == 0 and len(found.src_to_dst) == 0


def test_nothing_to_solve():
    found = arith.solve_linear_equations([EQ(x + y, const(0))], [])
    assert len(found.dst.variables) == 0
    assert len(found.dst.relations) == 1


def test_random_systems():
    rng = random.Random(1)
    for _ in range(60):
        rows = [[rng.randint(-4, 4) for _ in "xyz"] for _ in range(rng.randint(1, 3))]
        point = [rng.randint(-5, 5) for _ in "xyz"]
        right = [sum(a * b for a, b in zip(row, point, strict=True)) for row in rows]
        equations = [
            EQ(x * row[0] + y * row[1] + z * row[2] + const(0), const(b))
            for row, b in zip(rows, right, strict=True)
        ]
        found = arith.solve_linear_equations(equations, [x, y, z])
        assert len(found.dst.relations) == 0
        fresh = list(found.dst.variables)
        for numbers in itertools.islice(itertools.product([-2, 0, 3], repeat=len(fresh)), 9):
            at = dict(zip(fresh, numbers, strict=True))
            got = [value(found.src_to_dst[v], at) for v in (x, y, z)]
            assert [sum(a * b for a, b in zip(r, got, strict=True)) for r in rows] == right
            back = dict(zip((x, y, z), got, strict=True))
            assert [value(found.dst_to_src[v], back) for v in fresh] == list(numbers)
