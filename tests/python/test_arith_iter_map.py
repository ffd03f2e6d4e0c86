"""Iteration maps: detection, simplification, division, inversion; checked by enumeration too."""

import itertools
import random

import pytest
import tenon
from tenon import arith, tir
from tenon.arith import IterMapLevel
from tenon.ir import Range, structural_equal
from tenon.tir import const

x, y, z = (tir.Var(name, "int32") for name in "xyz")


def iters(**extents):
    return {v: Range(0, extents[v.name]) for v in (x, y, z) if v.name in extents}


def value(expr, assignment):
    """The number an expression is for given values of its variables."""
    ana = arith.Analyzer()
    for var, number in assignment.items():
        ana.bind(var, const(number))
    return int(ana.simplify(expr))


def expect(indices, dom, *shape, predicate=True, level=IterMapLevel.Bijective):
    found = arith.detect_iter_map(indices, dom, predicate, level)
    assert len(found.indices) == len(shape), list(found.errors)
    for index, (extent, base) in zip(found.indices, shape, strict=True):
        if extent == 1:
            assert len(index.args) == 0
        else:
            assert int(index.args[0].extent) == extent
        assert int(index.base) == base
    return found.indices


def reject(indices, dom, predicate=True, level=IterMapLevel.Surjective):
    found = arith.detect_iter_map(indices, dom, predicate, level)
    assert len(found.indices) == 0
    assert len(found.errors) > 0


def test_fuse_and_split():
    dom = iters(x=3, y=4)
    expect([x * 4 + y], dom, (12, 0))
    expect([y * 3 + x + 5], dom, (12, 5))
    fused = x * 4 + y
    expect([fused // 6, fused % 6], dom, (2, 0), (6, 0))
    expect([y, x], dom, (4, 0), (3, 0))
    expect([x * 2 + y // 2, y % 2], dom, (6, 0), (2, 0))
    reject([x * 4 + y // 2, y % 2], dom)


def test_trivial_and_shifted():
    dom = {x: Range(0, 1), y: Range(2, 6)}
    expect([x, y], dom, (1, 0), (4, 2))
    expect([y // 2], {y: Range(0, 4)}, (2, 0), level=IterMapLevel.Surjective)


def test_rejected():
    dom = iters(x=3, y=4)
    reject([x * 3 + y], dom)
    reject([x, x], dom)
    reject([x * y], dom)
    reject([y // 3], dom, level=IterMapLevel.Bijective)
    expect([y // 3], dom, (2, 0), level=IterMapLevel.Surjective)
    reject([x], dom, level=IterMapLevel.Bijective)
    reject([x * 4 + y, y], dom)
    reject([tir.Min(x, y)], dom)
    reject([y % 3, y // 3], dom)


def test_predicate():
    dom = iters(x=8, y=8)
    expect([x * 8 + y], dom, (60, 0), predicate=x * 8 + y < 60)
    expect([x, y], dom, (5, 0), (8, 0), predicate=tir.all(x < 5, y <= 7))
    reject([x, y], dom, predicate=x * 8 + y < 60)
    three = iters(x=8, y=8, z=4)
    limit = x * 8 + y < 60
    expect([(x * 8 + y) * 4 + z], three, (240, 0), predicate=limit)
    expect([x * 8 + y, z], three, (60, 0), (4, 0), predicate=limit)
    expect([(x * 8 + y) // 6, (x * 8 + y) % 6, z], three, (10, 0), (6, 0), (4, 0), predicate=limit)
    expect([z * 60 + x * 8 + y], three, (240, 0), predicate=limit)
    reject([x * 32 + z * 8 + y], three, predicate=limit)
    reject([x], iters(x=8), predicate=x > 3)


def test_simplify():
    dom = iters(x=4, y=8, z=16)
    index = (x * 128 + y * 16 + z) // 16 % 8
    (found,) = arith.iter_map_simplify([index], dom, check_level="nocheck")
    assert structural_equal(found, y)
    (found,) = arith.iter_map_simplify([tir.Min(x, y) + 0 * z], dom)
    assert structural_equal(found, tir.Min(x, y))
    total = arith.normalize_to_iter_sum(x * 8 + y, dom)
    assert [int(s.scale) for s in total.args] == [8, 1]
    assert structural_equal(arith.normalize_iter_map_to_expr(total), x * 8 + y)
    with pytest.raises(tenon.TVMError, match="normalize_to_iter_sum"):
        arith.normalize_to_iter_sum(x * y, dom)


def test_inverse():
    dom = iters(x=3, y=4)
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    found = arith.detect_iter_map([(x * 4 + y) // 6, (x * 4 + y) % 6], dom, True, "bijective")
    inverse = arith.inverse_affine_iter_map(found.indices, [a, b])
    for p, q in itertools.product(range(3), range(4)):
        at = {a: (p * 4 + q) // 6, b: (p * 4 + q) % 6}
        assert value(inverse[x], at) == p
        assert value(inverse[y], at) == q
    with pytest.raises(ValueError, match="expected 2 outputs"):
        arith.inverse_affine_iter_map(found.indices, [a])


def test_subspace_divide():
    dom = iters(x=3, y=4, z=5)
    result = arith.subspace_divide([x * 20 + y * 5 + z], dom, [z])
    outer, inner = result[0]
    assert (int(outer.extent), int(inner.extent)) == (12, 5)
    assert structural_equal(arith.normalize_iter_map_to_expr(outer.source), x * 4 + y)
    assert structural_equal(arith.normalize_iter_map_to_expr(inner.source), z)
    assert len(result) == 2
    outer, inner = arith.subspace_divide([x, y * 5 + z], dom, [y, z])[1]
    assert (int(outer.extent), int(inner.extent)) == (1, 20)
    assert len(arith.subspace_divide([z * 12 + x * 4 + y], dom, [z])) == 0


def test_a_digit_within_a_sum():
    """x is used by itself and as a part of a sum that another index takes."""
    dom = {x: Range(0, 24), y: Range(0, 2)}
    found = arith.detect_iter_map(
        [x // 12, x % 12 // 3, x % 3 * 2 + y], dom, True, IterMapLevel.Bijective
    )
    assert len(found.indices) == 3
    overlapping = arith.detect_iter_map([x // 6, x % 12 // 3, x % 3 * 2 + y], dom, True)
    assert len(overlapping.indices) == 0


def test_random_maps_against_enumeration():
    rng = random.Random(0)
    checked = 0
    for _ in range(150):
        extents = {v: rng.choice([2, 3, 4, 6]) for v in (x, y)}
        dom = {v: Range(0, n) for v, n in extents.items()}
        scale = rng.choice([1, 2, 3, 4, 6])
        fused = x * scale + y
        c = rng.choice([2, 3, 4])
        indices = rng.choice(
            [[fused], [fused // c, fused % c], [x, y], [y // c, y % c, x], [y // c]]
        )
        found = arith.detect_iter_map(indices, dom, True, IterMapLevel.Bijective)
        if len(found.indices) == 0:
            continue
        checked += 1
        seen = set()
        for p, q in itertools.product(range(extents[x]), range(extents[y])):
            at = {x: p, y: q}
            point = tuple(value(e, at) for e in indices)
            got = tuple(value(arith.normalize_iter_map_to_expr(e), at) for e in found.indices)
            assert got == point
            seen.add(point)
        total = 1
        for index in found.indices:
            total *= int(index.args[0].extent) if len(index.args) else 1
        assert len(seen) == extents[x] * extents[y] == total
    assert checked > 20


def test_extents_of_names():
    """Digits by factors that are names: where there are iterations, the names are 1 or more."""
    n, i, j = tir.SizeVar("n", "int64"), tir.Var("i", "int64"), tir.Var("j", "int64")

    def simplified(e, ranges, predicate=True):
        (r,) = arith.iter_map_simplify([e], ranges, predicate, "surjective")
        return str(r)

    def digits(e):
        return (e // (n * n) * n + e % (n * n) // n) * n + e % n

    assert simplified(i // n * n + i % n, {i: Range(0, n * 32)}) == "i"
    assert simplified(digits(i), {i: Range(0, n * n * 32)}) == "i"
    both = i * 64 + j
    half = {i: Range(0, (n * n + 1) // 2), j: Range(0, 64)}
    assert simplified(digits(both), half, both < n * n * 32) == "i * T.int64(64) + j"
    # digits in another order, or of which one is missing, stay
    assert simplified(i % n * 32 + i // n, {i: Range(0, n * 32)}) == "i % n * T.int64(32) + i // n"
    assert simplified(i // n * n, {i: Range(0, n * 32)}) == "i // n * n"


def test_names_that_may_be_negative():
    n, i = tir.Var("n", "int64"), tir.Var("i", "int64")
    (r,) = arith.iter_map_simplify([i // n * n + i % n], {i: Range(0, n * n)}, True, "surjective")
    assert str(r) == "i // n * n + i % n"
