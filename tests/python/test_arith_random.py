"""What the analyzer says of random expressions is true of their values, which may wrap around.

Variables have ranges, narrow ones and ones that reach the ends of the type; data is loaded from
memory and may be anything. Each expression is evaluated as it is written, for many values:

    simplified forms give the same value,
    constant bounds, modular sets and interval sets contain it.

`python test_arith_random.py FROM TO` tries more of them.
"""

import sys

import numpy as np
import pytest
import tenon
from tenon import arith, tir
from tir_reference import Undefined, expression_function

EACH = 250
INT = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1)}
SAMPLES = 24


class Maker:
    """A random expression of a type, over variables with ranges and elements of memory."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.dtype = "int32" if self.rng.random() < 0.7 else "int64"
        self.low, self.high = INT[self.dtype]
        self.vars = [tir.Var(n, self.dtype) for n in "xyz"]
        self.ranges = [self.range() for _ in self.vars]
        self.buffers = [tir.decl_buffer((1,), self.dtype, n) for n in "AB"]
        self.expr = self.condition(3) if self.rng.random() < 0.3 else self.number(4)

    def one_of(self, options):
        return options[int(self.rng.integers(len(options)))]

    def wide(self):
        """A number anywhere in the type, often near its ends or a power of two."""
        rng = self.rng
        kind = rng.random()
        bits = 31 if self.dtype == "int32" else 63
        if kind < 0.3:
            n = self.one_of([self.low, self.high]) + int(rng.integers(-3, 4))
        elif kind < 0.6:
            n = int(self.one_of([-1, 1])) * 2 ** int(rng.integers(bits)) + int(rng.integers(-2, 3))
        else:
            n = int(rng.integers(self.low, self.high, endpoint=True))
        return min(max(n, self.low), self.high)

    def limit(self):
        """An end of a range; those of int64 stand for infinity."""
        n = self.wide()
        return n if self.dtype == "int32" else min(max(n, self.low // 2), self.high // 2)

    def range(self):
        rng = self.rng
        if rng.random() < 0.5:
            low = int(rng.integers(-20, 20))
            return low, low + int(rng.integers(0, 40))
        # more than half of the type says nothing: such an index is taken not to overflow
        a, b = sorted([self.limit(), self.limit()])
        return (a, b) if b - a < self.high // 2 else (b - self.high // 2, b)

    def constant(self):
        small = self.rng.random() < 0.85
        return int(self.rng.integers(-12, 13)) if small else self.wide()

    def leaf(self):
        kind = self.rng.random()
        if kind < 0.35:
            return self.one_of(self.vars)
        if kind < 0.65:
            return tir.BufferLoad(self.one_of(self.buffers), [0])
        return tir.IntImm(self.dtype, self.constant())

    def number(self, depth):
        if depth <= 0 or self.rng.random() < 0.1:
            return self.leaf()
        kind = self.rng.random()
        if kind < 0.08:
            c, a, b = self.condition(depth - 1), self.number(depth - 1), self.number(depth - 1)
            return tir.Select(c, a, b) if self.rng.random() < 0.5 else tir.if_then_else(c, a, b)
        if kind < 0.12:
            narrow = self.one_of(["int8", "int16", "uint8", "int32", "uint32"])
            return tir.Cast(self.dtype, tir.Cast(narrow, self.number(depth - 1)))
        if kind < 0.14:
            return self.through_float(depth)
        if kind < 0.17:
            return self.let(depth)
        a = self.number(depth - 1)
        if kind < 0.4:
            op = self.one_of([tir.FloorDiv, tir.FloorMod, tir.Div, tir.Mod])
            return op(a, tir.IntImm(self.dtype, self.constant() or 3))
        if kind < 0.44:
            op = self.one_of([tir.bitwise_and, tir.bitwise_or, tir.bitwise_xor])
            return op(a, self.number(depth - 1))
        op = self.one_of([tir.Add, tir.Add, tir.Sub, tir.Sub, tir.Mul, tir.Mul, tir.Min, tir.Max])
        by = tir.IntImm(self.dtype, self.constant()) if self.rng.random() < 0.5 else None
        return op(a, by if by is not None else self.number(depth - 1))

    def through_float(self, depth):
        """A number that a float type holds, or rounds: small enough to be an integer again."""
        most = tir.IntImm(self.dtype, self.one_of([9, 2**11, 2**24, 2**24 + 1, 2**30]))
        n = tir.Min(tir.Max(self.number(depth - 1), -most), most)
        return tir.Cast(self.dtype, tir.Cast(self.one_of(["float32", "float64"]), n))

    def let(self, depth):
        """A new variable, which only the body knows."""
        value, outside = self.number(depth - 1), self.vars
        v = tir.Var(f"v{depth}", self.dtype)
        self.vars = [*outside, v, v]
        body = self.number(depth - 1)
        self.vars = outside
        return tir.Let(v, value, body)

    def condition(self, depth):
        kind = self.rng.random()
        if depth > 1 and kind < 0.3:
            op = self.one_of([tir.And, tir.Or])
            return op(self.condition(depth - 1), self.condition(depth - 1))
        if depth > 1 and kind < 0.4:
            return tir.Not(self.condition(depth - 1))
        op = self.one_of([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
        return op(self.number(depth - 1), self.number(depth - 1))

    def values(self):
        """Values for the variables, then memory: corners first."""
        for k in range(SAMPLES):
            if k < 8:
                out = [r[k >> i & 1] for i, r in enumerate(self.ranges)]
            else:
                out = [int(self.rng.integers(lo, hi, endpoint=True)) for lo, hi in self.ranges]
            for _ in self.buffers:
                small = self.rng.random() < 0.4
                n = int(self.rng.integers(-20, 21)) if small else self.wide()
                out.append(np.array([n], self.dtype))
            yield out


def analyzer(maker):
    a = arith.Analyzer()
    for v, (lo, hi) in zip(maker.vars, maker.ranges, strict=True):
        a.update(v, arith.ConstIntBound(lo, hi))
    return a


def interval(maker):
    dom = {
        v: arith.IntervalSet(tir.IntImm(maker.dtype, lo), tir.IntImm(maker.dtype, hi))
        for v, (lo, hi) in zip(maker.vars, maker.ranges, strict=True)
    }
    return arith.Analyzer().int_set(maker.expr, dom)


def contains(bound, value):
    low = -(2**63) if bound.min_value <= arith.ConstIntBound.NEG_INF else bound.min_value
    high = 2**63 if bound.max_value >= arith.ConstIntBound.POS_INF else bound.max_value
    return low <= value <= high


def facts(seed):
    """What is said of one expression, as functions of its values that are true."""
    m = Maker(seed)
    a = analyzer(m)
    buffers, variables = m.buffers, m.vars

    def compiled(e):
        return expression_function(e, variables, buffers)

    same = {
        name: compiled(getattr(a, name)(m.expr))
        for name in ("simplify", "rewrite_simplify", "canonical_simplify")
    }
    checks = {
        name: (lambda v, args, f=f: f(*args) == v, getattr(a, name)(m.expr))
        for name, f in same.items()
    }
    if m.expr.dtype != "bool":
        bound, mod, ends = a.const_int_bound(m.expr), a.modular_set(m.expr), interval(m)
        checks["const_int_bound"] = (lambda v, args: contains(bound, v), bound)

        def in_modular(v, args):
            return v == mod.base if mod.coeff == 0 else (v - mod.base) % mod.coeff == 0

        checks["modular_set"] = (in_modular, mod)
        low = compiled(ends.min_value) if not is_infinite(ends.min_value) else None
        high = compiled(ends.max_value) if not is_infinite(ends.max_value) else None
        checks["int_set"] = (
            lambda v, args: (low is None or low(*args) <= v) and (high is None or v <= high(*args)),
            ends,
        )
    return m, compiled(m.expr), checks


def is_infinite(e):
    return isinstance(e, tir.Var) and e.name in ("pos_inf", "neg_inf")


def wrong(seed):
    """Texts of what is said and is not true."""
    m, value, checks = facts(seed)
    out = []
    for args in m.values():
        try:
            v = value(*args)
        except Undefined:
            continue
        for name, (holds, said) in checks.items():
            try:
                good = holds(v, args)
            except Undefined:
                good = False
            if not good:
                out.append(f"{seed}: {name} of {m.expr} in {m.ranges}: {said}, value {v} at {args}")
    return out


@pytest.mark.parametrize("start", range(0, 4 * EACH, EACH))
def test_what_is_said_of_expressions_is_true(start):
    found = [text for seed in range(start, start + EACH) for text in wrong(seed)]
    assert not found, "\n".join(found[:5])


def test_the_examples_of_wrapping_arithmetic():
    a = arith.Analyzer()
    load = tir.BufferLoad(tir.decl_buffer((1,), "int32", "A"), [0])
    x = tir.Var("x", "int32")
    for data, index in [
        (tir.floormod(load * 33, 11), tir.floormod(x * 33, 11)),
        (load + 1 > load, x + 1 > x),
        (tir.floordiv(load * 4, 4), tir.floordiv(x * 4, 4)),
        (load * 2 < load * 2 + 7, x * 2 < x * 2 + 7),
    ]:
        tenon.ir.assert_structural_equal(a.canonical_simplify(data), a.simplify(data))
        assert not isinstance(a.simplify(data), tir.IntImm)
        assert isinstance(a.simplify(index), (tir.IntImm, tir.Var))
    # what holds modulo a power of two is used
    assert a.simplify(load * 4 + load * 4 - load * 8).value == 0
    assert a.simplify(tir.floormod(load * 4, 2)).value == 0


if __name__ == "__main__":
    first, last = int(sys.argv[1]), int(sys.argv[2])
    bad = 0
    for seed in range(first, last):
        for text in wrong(seed)[:1]:
            bad += 1
            print(text, flush=True)
    print(f"{last - first} expressions, {bad} wrong")
