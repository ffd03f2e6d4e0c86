"""Expressions and Python's operators on them. The folding itself is tested in C."""

import numpy as np
import pytest
import tenon
from tenon import ir, te, tir


@pytest.fixture
def x():
    return tir.Var("x", "int32")


@pytest.fixture
def y():
    return tir.Var("y", "int32")


def same(a, b):
    ir.assert_structural_equal(a, b)


def test_operators_build_nodes(x, y):
    same(x + y, tir.Add(x, y))
    same(x - y, tir.Sub(x, y))
    same(x * y, tir.Mul(x, y))
    same(x // y, tir.FloorDiv(x, y))
    same(x % y, tir.FloorMod(x, y))
    same(x < y, tir.LT(x, y))
    same(x <= y, tir.LE(x, y))
    same(x > y, tir.GT(x, y))
    same(x >= y, tir.GE(x, y))
    same(1 + x, tir.Add(tir.const(1), x))
    same(1 - x, tir.Sub(tir.const(1), x))
    same(7 // x, tir.FloorDiv(tir.const(7), x))
    same(7 % x, tir.FloorMod(tir.const(7), x))
    for bits in (x << 2, x >> 2, x & 3, x | 3, x ^ 3, ~x, 1 << x, 9 >> x, 3 & x, 3 | x, 3 ^ x):
        assert isinstance(bits, tir.Call) and bits.dtype == "int32"
    same(-x, tir.Sub(tir.const(0), x)) if isinstance(-x, tir.Sub) else None
    assert (-x).dtype == "int32"


def test_constants_fold():
    one = tir.const(1)
    assert (one + 2).value == 3 and isinstance(one + 2, tir.IntImm)
    assert (2**3 - one).value == 7 and (tir.const(7) // 2).value == 3
    assert (tir.const(-7) % 3).value == 2 and (tir.const(1.5) * 2).value == 3.0
    assert (tir.const(3) < 4).value == 1


def test_division_of_integers_is_ambiguous(x):
    with pytest.raises(RuntimeError, match="please call div, indexdiv/indexmod, floordiv/floormod"):
        x / 2
    with pytest.raises(RuntimeError, match="ambiguity"):
        2 / x
    f = tir.Var("f", "float32")
    assert isinstance(f / 2, tir.Div) and isinstance(2 / f, tir.Div)
    assert isinstance(f**2, tir.Call)
    with pytest.raises(RuntimeError, match="Cannot use ~"):
        ~f  # noqa: B018


def test_equality_is_identity_until_it_is_used(x, y):
    assert x == x and not x == y and x != y and not x != x
    same((x == y).asobject(), tir.EQ(x, y))
    same((x != y).asobject(), tir.NE(x, y))
    same(x.equal(y), tir.EQ(x, y))
    assert (x == y).dtype == "bool" and repr(x == y) == "x == y"
    same(tir.Select(x == y, x, y), tir.Select(tir.EQ(x, y), x, y))
    assert hash(x == y) == hash(x == y)
    assert {x: 1}[x] == 1 and y not in {x: 1}
    assert x in [y, x] and [x, y].index(y) == 1


def test_truth_values(x, y):
    with pytest.raises(ValueError, match="Cannot use and / or / not operator to Expr, hint"):
        bool(x < y)
    with pytest.raises(ValueError, match="tvm.tir.all"):
        x < y and y < x  # noqa: B018
    assert tir.const(True) and not tir.const(False) and tir.const(5)


def test_integer_constants_are_numbers():
    three = tir.IntImm("int32", 3)
    assert three == 3 and 3 == three and three != 4 and three == tir.IntImm("int32", 3)
    assert int(three) == 3 and [0, 1, 2, 3][three] == 3 and list(range(three)) == [0, 1, 2]
    assert {three: "x"}[tir.IntImm("int32", 3)] == "x" and hash(three) == hash(3)
    assert three != "text" and three == np.int64(3)
    assert float(tir.FloatImm("float32", 0.5)) == 0.5
    assert tir.FloatImm("float32", 0.5) == 0.5 and tir.FloatImm("float32", 0.5) != 1.0


def test_text_constants():
    s = tir.StringImm("abc")
    assert s == "abc" and s == tir.StringImm("abc") and s != "x" and hash(s) == hash("abc")


def test_constructors(x, y):
    assert tir.SizeVar("n", "int64").dtype == "int64" and isinstance(
        tir.SizeVar("n", "int8"), tir.Var
    )
    assert tir.Cast("float32", x).dtype == "float32" and x.astype("int64").dtype == "int64"
    assert tir.Ramp(x, 1, 4).dtype == "int32x4" and tir.Broadcast(x, 8).lanes == 8
    assert tir.Shuffle([tir.Ramp(x, 1, 4)], [3, 2]).dtype == "int32x2"
    assert tir.Let(x, y, x + 1).body.a.same_as(x)
    assert tir.Not(x < y).dtype == "bool" and tir.And(x < y, y < x).dtype == "bool"
    assert tir.Select(True, x, y).condition.value == 1
    assert tir.Min(x, y).a.same_as(x) and tir.Max(x, y).b.same_as(y)
    assert isinstance(tir.Any(), tir.PrimExpr)
    call = tir.Call("float32", "tir.exp", [tir.const(1.0)])
    assert call.op.name == "tir.exp" and call.args[0].value == 1.0
    with pytest.raises(ValueError, match="tir namespace"):
        tir.Call("float32", "exp", [1.0])
    with pytest.raises((ValueError, AttributeError, tenon.TVMError), match="tir.no_such"):
        tir.Call("float32", "tir.no_such", [])
    with pytest.raises((TypeError, tenon.TVMError), match="(?s)int32.*float32"):
        tir.Add(x, tir.Var("f", "float32"))


def test_reductions(x, y):
    k = te.reduce_axis((0, 10), name="k")
    assert k.iter_type == tir.IterVar.CommReduce and k.dom.extent.value == 10 and k.var.name == "k"
    combiner = tir.CommReducer([x], [y], [x + y], [tir.const(0)])
    total = tir.Reduce(combiner, [k.var * 2], [k], tir.const(True), 0)
    assert total.value_index == 0 and total.combiner.same_as(combiner) and total.dtype == "int32"
    with pytest.raises(TypeError, match="Range"):
        tir.IterVar(5, "i", 0)
    with pytest.raises(TypeError, match="list of ranges"):
        tir.IterVar((1, 2, 3), "i", 0)


def test_iteration_variables_in_expressions():
    i = tir.IterVar((0, 4), "i", 0)
    same(i + 1, tir.Add(i.var, tir.const(1)))
    assert i.dtype == "int32" and i == i and {i: 1}[i] == 1
    t = te.thread_axis("threadIdx.x")
    assert t.thread_tag == "threadIdx.x" and t.dom is None and t.var.name == "threadIdx.x"
    with pytest.raises(ValueError, match="tag must be given"):
        te.thread_axis((0, 4))
    assert te.thread_axis((0, 4), "vthread", name="v").dom.extent.value == 4


def test_functions(x, y):
    f = tir.const(2.5)
    assert tir.floor(f).value == 2.0 and tir.ceil(f).value == 3.0 and tir.trunc(f).value == 2.0
    assert tir.round(f).value in (2.0, 3.0) and tir.nearbyint(f).value == 2.0
    assert tir.abs(tir.const(-3)).value == 3
    assert tir.truncdiv(-7, 2).value == -3 and tir.truncmod(-7, 2).value == -1
    assert tir.floordiv(-7, 2).value == -4 and tir.floormod(-7, 2).value == 1
    assert tir.ceildiv(7, 2).value == 4 and tir.div(7, 2).value == 3
    assert tir.indexdiv(7, 2).value == 3 and tir.indexmod(7, 2).value == 1
    assert tir.max_value("int8").value == 127 and tir.min_value("int8").value == -128
    assert tir.infinity("float32").value == float("inf")
    same(tir.all(x < y, y < x), tir.And(x < y, y < x))
    same(tir.any(x < y, y < x), tir.Or(x < y, y < x))
    same(tir.all(x < y), x < y)
    with pytest.raises(ValueError, match="at least one"):
        tir.all()
    assert tir.if_then_else(x < y, x, 0).op.name == "tir.if_then_else"
    for call in (tir.likely(x < y), tir.isnan(tir.Var("f", "float32")), tir.power(2.0, 3.0)):
        assert isinstance(call, tir.PrimExpr)
    assert tir.reinterpret("float32", x).dtype == "float32"
    assert te.var().name == "tindex" and te.size_var("n").dtype == "int32"
    for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"):
        assert getattr(tir, name)(x, 3).dtype == "int32"
    assert tir.bitwise_not(x).dtype == "int32"
    assert tir.isfinite(tir.Var("f", "float32")).dtype == "bool"
    assert tir.isinf(tir.Var("f", "float32")).dtype == "bool"


def test_generic_functions(x, y):
    from tenon.tir import generic

    same(generic.add(x, y), x + y)
    same(generic.subtract(x, 1), x - 1)
    same(generic.multiply(2, x), 2 * x)
    same(generic.floordiv(x, y), x // y)
    same(generic.divide(x, y), tir.Div(x, y))
    same(generic.cast(x, "int8"), x.astype("int8"))
