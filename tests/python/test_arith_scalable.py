"""Vectors whose number of lanes is a multiple of vscale, which the machine tells at run time."""

import pytest
import tenon
from tenon import arith, tir
from tenon.script import tir as T

x, y = tir.Var("x", "int32"), tir.Var("y", "int32")


def lanes(n):
    return tir.vscale() * n


def ramp(base, stride, n):
    return tir.Ramp(base, stride, lanes(n))


def spread(value, n):
    return tir.Broadcast(value, lanes(n))


def same(a, b):
    return tenon.ir.structural_equal(a, b, map_free_vars=True)


@pytest.mark.parametrize("make", [lambda n: tir.Ramp(x, 1, n), lambda n: tir.Broadcast(x, n)])
def test_lanes_are_constants_or_multiples_of_vscale(make):
    assert make(4).lanes == 4 and make(4).dtype == "int32x4"
    assert make(tir.IntImm("int64", 4)).lanes == 4
    for n in (tir.vscale() * 4, 4 * tir.vscale()):
        e = make(n)
        assert e.dtype == "int32xvscalex4"
        tenon.ir.assert_structural_equal(e.lanes, tir.vscale() * 4)
    assert make(tir.vscale()).dtype == "int32xvscalex1"


@pytest.mark.parametrize("n", [x, tir.vscale() + 1, tir.vscale() * x, -4, tir.vscale() * -2])
def test_other_expressions_are_no_number_of_lanes(n):
    with pytest.raises(ValueError, match=r"Broadcast: expected a positive constant or vscale\(\)"):
        tir.Broadcast(x, n)


@pytest.mark.parametrize("n", [0, 1, 2**15, 2**40, tir.vscale() * 2**15])
def test_lanes_are_counted_in_15_bits(n):
    with pytest.raises(tenon.TVMError, match="2 to 32767 lanes, or 1 to 32767 times vscale"):
        tir.Ramp(x, 1, n)


def test_stride_gets_the_type_of_the_base():
    e = tir.Ramp(tir.IntImm("int64", 0), 1, 4)
    assert e.stride.dtype == "int64" and e.dtype == "int64x4"


def test_type_as_text():
    t = tenon.DataType("float16xvscalex8")
    assert str(t) == "float16xvscalex8" and t.bits == 16
    assert tir.Var("v", t).dtype == "float16xvscalex8"
    assert tenon.DataType("int8x8") != tenon.DataType("int8xvscalex8")
    for bad in ("int8xvscalex", "int8xvscalex0", "int8xvscale", "int8x32768", "int8xvscalex32768"):
        with pytest.raises(ValueError, match="unknown data type"):
            tenon.DataType(bad)


def test_no_tensor_has_such_a_type():
    with pytest.raises(ValueError, match="type with a size, got float32xvscalex4"):
        tenon.nd.empty((4,), "float32xvscalex4")


def test_equality_and_hash_tell_lanes_apart():
    assert same(ramp(x, 1, 4), ramp(y, 1, 4))
    assert not same(ramp(x, 1, 4), ramp(x, 1, 8))
    assert not same(ramp(x, 1, 4), tir.Ramp(x, 1, 4))
    hash_of = tenon.ir.structural_hash
    assert hash_of(ramp(x, 1, 4)) == hash_of(ramp(x, 1, 4)) != hash_of(tir.Ramp(x, 1, 4))


def test_json_and_pickle():
    import pickle

    for e in (ramp(x, 2, 4), spread(tir.const(1.5, "float32"), 2), tir.Ramp(x, 1, 4)):
        for again in (tenon.ir.load_json(tenon.ir.save_json(e)), pickle.loads(pickle.dumps(e))):
            assert same(again, e) and again.dtype == e.dtype


@T.prim_func
def add_one(a: T.handle, b: T.handle):
    A = T.match_buffer(a, (128,), "float32")
    B = T.match_buffer(b, (128,), "float32")
    B[0 : T.vscale() * 4] = A[0 : T.vscale() * 4] + T.Broadcast(T.float32(1.0), T.vscale() * 4)
    B[T.Ramp(0, 2, T.vscale() * 4)] = A[T.Ramp(4, 2, T.vscale() * 4)]


def test_script_is_printed_and_read():
    text = add_one.script()
    assert "A[0:T.vscale() * 4]" in text and "T.Broadcast(T.float32(1.0), T.vscale() * 4)" in text
    tenon.ir.assert_structural_equal(tenon.script.from_source(text), add_one)


@pytest.mark.parametrize("target", ["c", "llvm", "stackvm"])
def test_kernels_refuse_them(target):
    if target == "llvm" and not tenon.runtime.enabled("llvm"):
        pytest.skip("no LLVM")
    with pytest.raises(tenon.TVMError) as e:
        tenon.build(add_one, target=target)
    text = str(e.value)
    assert "expected vectors with a fixed number of lanes" in text and "xvscalex4" in text
    assert target in text and "use a constant number of lanes" in text


def test_types_match_lane_by_lane():
    assert (ramp(x, 1, 4) + 1).dtype == "int32xvscalex4"
    assert (ramp(x, 1, 4) < y).dtype == "boolxvscalex4"
    assert ramp(x, 1, 4).astype("float32xvscalex4").dtype == "float32xvscalex4"
    for other in (tir.Ramp(x, 1, 4), ramp(x, 1, 8)):
        with pytest.raises(tenon.TVMError):
            ramp(x, 1, 4) + other
    with pytest.raises(tenon.TVMError, match="the lanes differ"):
        tir.Cast("float32x4", ramp(x, 1, 4))
    tir.reinterpret("int16xvscalex8", ramp(x, 1, 4))
    with pytest.raises(tenon.TVMError):
        tir.reinterpret("int16x32766", tir.Broadcast(tir.const(1, "int8"), lanes(8)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ramp(x, 1, 4) + ramp(y, 2, 4), ramp(x + y, 3, 4)),
        (spread(0, 8) + y, spread(y, 8)),
        (tir.floordiv(ramp(x, 4, 4), 2), ramp(tir.floordiv(x, 2), 2, 4)),
        (tir.floormod(ramp(x, 4, 8), 2), spread(tir.floormod(x, 2), 8)),
        (tir.floordiv(ramp(x, 8, 4), spread(4, 4)), ramp(tir.floordiv(x, 4), 2, 4)),
    ],
)
def test_simplified_as_vectors_of_fixed_lanes(before, after):
    assert tenon.ir.structural_equal(arith.Analyzer().rewrite_simplify(before), after)


@pytest.mark.parametrize("n", [4, 8])
def test_rules_that_count_lanes_leave_them_alone(n):
    e = tir.floordiv(ramp(x * 8, 1, n), 8)
    assert tenon.ir.structural_equal(arith.Analyzer().rewrite_simplify(e), e)


def test_bounds_hold_for_every_vscale():
    a = arith.Analyzer()
    a.update(x, arith.ConstIntBound(0, 7))
    b = a.const_int_bound(ramp(x, 2, 4))
    assert b.min_value <= 0 and b.max_value >= 7 + 2 * (4 * 16 - 1)
    assert a.const_int_bound(ramp(x, 0, 4)).max_value == 7
    s = arith.IntSet.vector(ramp(x, 2, 4))
    last = a.simplify(s.max_value - x)
    assert tenon.ir.structural_equal(s.min_value, x)
    assert arith.Analyzer().can_prove_equal(last, tir.vscale() * 8 - 2)
