"""Iteration maps of random indices, compared with enumerating all points: values, coverage,
inverse, padding and division into spaces."""

import itertools

import pytest
import tenon
from hypothesis import given, settings
from hypothesis import strategies as st
from tenon import arith, tir
from tenon.ir import Range

VARS = [tir.Var(name, "int32") for name in "xyz"]
OPERATIONS = {
    "Add": lambda a, b: a + b,
    "Sub": lambda a, b: a - b,
    "Mul": lambda a, b: a * b,
    "FloorDiv": lambda a, b: a // b,
    "FloorMod": lambda a, b: a % b,
    "LT": lambda a, b: a < b,
    "GE": lambda a, b: a >= b,
    "And": lambda a, b: a and b,
    "Or": lambda a, b: a or b,
}


def value(e, at):
    """What an expression is at a point (variable -> number)."""
    if isinstance(e, tir.Var):
        return at[e]
    if isinstance(e, tir.IntImm):
        return int(e.value)
    return OPERATIONS[type(e).__name__](value(e.a, at), value(e.b, at))


def random_index(rng, depth, variables):
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(variables)
    inner = random_index(rng, depth - 1, variables)
    kind = rng.randrange(6)
    if kind == 0:
        return inner * rng.choice([2, 3, 4, 6, 8, 12]) + random_index(rng, depth - 1, variables)
    if kind == 1:
        return tir.floordiv(inner, rng.choice([2, 3, 4, 6]))
    if kind == 2:
        return tir.floormod(inner, rng.choice([2, 3, 4, 6]))
    if kind == 3:
        return inner + rng.choice([1, 2, 3, 5, -1, 8])
    if kind == 4:
        return inner - random_index(rng, depth - 1, variables)
    return inner * rng.choice([-1, -2, 3])


def fused(variables, extents):
    total = variables[0]
    for v in variables[1:]:
        total = total * extents[v] + v
    return total


def random_indices(rng, variables, extents):
    if rng.random() < 0.5:
        return [random_index(rng, 2, variables) for _ in range(rng.choice([1, 1, 2, 3]))]
    f, first, last = fused(variables, extents), variables[0], variables[-1]
    c, d = rng.choice([2, 3, 4, 6]), rng.choice([2, 3, 4])
    inner = first % c * extents[last] + last
    shifted = f + rng.choice([1, 2, 4, 6, 10])
    return rng.choice(
        [
            [f],
            [f // c],
            [f % c],
            [f // c, f % c],
            [f // c // d, f // c % d, f % c],
            [f // c % d, f % c],
            [f // c, last],
            list(variables),
            [shifted // c, f % c],
            [shifted // c],
            [shifted // c % d, shifted % c],
            [first // c, inner],
            [first // (c * d), first % (c * d) // c, inner],
        ]
    )


def random_predicate(rng, variables, extents):
    if rng.random() < 0.7:
        return True
    both = tir.all(variables[0] < 2, variables[-1] < 3)
    limit = fused(variables, extents) < rng.choice([3, 5, 10, 20])
    return rng.choice([limit, variables[0] < rng.choice([1, 2, 3]), both])


def points_of(dom, predicate):
    ranges = [range(int(r.min), int(r.min) + int(r.extent)) for r in dom.values()]
    points = [dict(zip(dom, p, strict=True)) for p in itertools.product(*ranges)]
    return points if predicate is True else [p for p in points if value(predicate, p)]


def box_of(found):
    """All combinations of the values that the indices are said to take."""
    ranges = []
    for index in found.indices:
        extent, scale = (index.args[0].extent, index.args[0].scale) if len(index.args) else (1, 1)
        base = int(index.base)
        ranges.append(range(base, base + int(extent) * int(scale), int(scale)))
    return set(itertools.product(*ranges))


def check_inverse(found, indices, points, extents):
    outputs = [tir.Var(f"o{i}", "int32") for i in range(len(indices))]
    inverse = arith.inverse_affine_iter_map(found.indices, outputs)
    for p in points:
        at = {o: value(i, p) for o, i in zip(outputs, indices, strict=True)}
        for v, number in p.items():
            assert (
                value(inverse[v], at) == number
                if v in inverse
                else len(points) and (extents[v] == 1 or all(q[v] == number for q in points))
            )


def check_map(rng):
    variables = VARS[: rng.choice([1, 2, 2, 3])]
    extents = {v: rng.choice([1, 2, 3, 4, 6, 8, 12, 24]) for v in variables}
    dom = {v: Range.from_min_extent(rng.choice([0, 0, 0, 2, 5]), n) for v, n in extents.items()}
    indices = random_indices(rng, variables, extents)
    indices = [tir.const(i) if isinstance(i, int) else i for i in indices]
    level = rng.choice(["bijective", "surjective", "nocheck"])
    predicate = random_predicate(rng, variables, extents)
    trivial = rng.random() < 0.7
    points = points_of(dom, predicate)
    found = arith.detect_iter_map(indices, dom, predicate, level, trivial)
    simple = arith.iter_map_simplify(indices, dom, predicate, level, trivial)
    for p in points:
        assert [value(i, p) for i in indices] == [value(e, p) for e in simple]
    if len(found.indices) == 0:
        assert len(found.errors) > 0
        return
    sums = [arith.normalize_iter_map_to_expr(e) for e in found.indices]
    seen = []
    for p in points:
        seen.append(tuple(value(i, p) for i in indices))
        assert seen[-1] == tuple(value(e, p) for e in sums)
        assert not value(found.padding_predicate, p)
    if level == "nocheck" or not points:
        return
    assert set(seen) == box_of(found)
    if level == "bijective":
        assert len(set(seen)) == len(seen)
        check_inverse(found, indices, points, extents)


def check_division(rng):
    variables = VARS[: rng.choice([2, 2, 3])]
    extents = {v: rng.choice([1, 2, 3, 4, 6, 8]) for v in variables}
    dom = {v: Range(0, n) for v, n in extents.items()}
    indices = random_indices(rng, variables, extents)
    indices = [tir.const(i) if isinstance(i, int) else i for i in indices]
    sub = rng.choice([[variables[-1]], variables[1:], [variables[0]], []])
    predicate = random_predicate(rng, variables, extents)
    level = rng.choice(["bijective", "surjective"])
    pairs = arith.subspace_divide(indices, dom, sub, predicate, level)
    if len(pairs) == 0:
        return
    assert len(pairs) == len(indices) + 1
    for index, (outer, inner) in zip(indices, pairs, strict=False):
        parts = [arith.normalize_iter_map_to_expr(mark.source) for mark in (outer, inner)]
        used = [list(tir.analysis.undefined_vars(tir.Evaluate(e))) for e in parts]
        assert not any(v.same_as(s) for v in used[0] for s in sub)
        assert all(any(v.same_as(s) for s in sub) for v in used[1])
        for p in points_of(dom, predicate):
            outer_value, inner_value = (value(e, p) for e in parts)
            assert outer_value * int(inner.extent) + inner_value == value(index, p)


@given(st.randoms(use_true_random=False))
@settings(max_examples=400, deadline=None)
def test_maps(rng):
    check_map(rng)


@given(st.randoms(use_true_random=False))
@settings(max_examples=200, deadline=None)
def test_divisions(rng):
    check_division(rng)


x, y = VARS[:2]
PADDED = [
    ({(y + 80) // 32: (6, 2)}, {y: 176}),
    ({(y + 80) // 2 % 16: (16, 0), (y + 80) % 2: (2, 0)}, {y: 176}),
    ({(y + 64) // 32: (6, 2)}, {y: 176}),
    ({(x + 71) // 32: (2, 2)}, {x: 45}),
    ({(x + 71) // 4 % 8: (8, 0), (x + 71) % 4: (4, 0)}, {x: 45}),
    ({(y * 360 + x) // 16: (270, 0)}, {x: 360, y: 12}),
    (
        {(x + 10) % 3: (3, 0), (x + 10) // 3 % 4: (4, 0), (x + 10) // 3 // 4 % 5: (5, 0)},
        {x: 240},
    ),
]
TOO_NARROW = [
    ([(y + 80) // 32, (y + 80) % 32], {y: 176}),
    ([(x + 71) // 32, (x + 71) % 32], {x: 45}),
    ([(x + 10) // 3, (x + 11) % 3], {x: 240}),
    ([(x + 10) % 3, (x + 10) // 3 % 4, (x + 10) // 3 // 4 % 5, (x + 10) // 60], {x: 240}),
    ([(x + 1) % 7], {x: 5}),
]


@pytest.mark.parametrize("indices, extents", PADDED)
def test_padding(indices, extents):
    dom = {v: Range(0, n) for v, n in extents.items()}
    found = arith.detect_iter_map(list(indices), dom)
    assert [(int(i.args[0].extent), int(i.base)) for i in found.indices] == list(indices.values())
    if y not in extents or x not in extents:
        assert not isinstance(found.padding_predicate, tir.IntImm)
    assert len(arith.detect_iter_map(list(indices), dom, True, "bijective").indices) == 0


@pytest.mark.parametrize("indices, extents", TOO_NARROW)
def test_padding_that_does_not_cover(indices, extents):
    dom = {v: Range(0, n) for v, n in extents.items()}
    found = arith.detect_iter_map(indices, dom)
    assert len(found.indices) == 0 and len(found.errors) > 0
    with_holes = arith.detect_iter_map(indices, dom, True, "nocheck")
    if len(with_holes.indices):
        for n in range(next(iter(extents.values()))):
            at = {next(iter(extents)): n}
            for index, e in zip(indices, with_holes.indices, strict=True):
                assert value(arith.normalize_iter_map_to_expr(e), at) == value(index, at)


def test_padding_predicate_over_the_indices():
    """With the inverse of the map it says which indices come from padding only."""
    dom = {x: Range(0, 45)}
    found = arith.detect_iter_map([(x + 3) // 4, (x + 3) % 4], dom, True, "nocheck")
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    inverse = arith.inverse_affine_iter_map(found.indices, [a, b])
    padding = tir.stmt_functor.substitute(found.padding_predicate, inverse)
    real = {((n + 3) // 4, (n + 3) % 4) for n in range(45)}
    for p, q in itertools.product(range(12), range(4)):
        assert bool(value(padding, {a: p, b: q})) == ((p, q) not in real)


def test_division_by_zero():
    with pytest.raises(tenon.TVMError, match="Divide by zero"):
        arith.detect_iter_map([x // 0], {x: Range(0, 4)})
