"""Expressions: nodes, operators of Python, dtype rules, folding, constants, messages."""

import itertools
import math

import numpy as np
import pytest
import tenon
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tenon import te, tir
from tenon.ir import assert_structural_equal


def var(dtype, name="x"):
    return tir.Var(name, dtype)


def test_var_is_what_was_asked_for():
    x = tir.Var("x", "int32")
    assert (x.name, x.dtype) == ("x", "int32")
    assert x.type_annotation == tenon.ir.PrimType("int32")
    pointer = tenon.ir.PointerType(tenon.ir.PrimType("float32"), "global")
    p = tir.Var("p", pointer)
    assert p.dtype == "handle" and p.type_annotation == pointer
    with pytest.raises(TypeError):
        tir.Var("x", tenon.IRModule({}))
    assert tir.SizeVar("n", "int64").dtype == "int64"


@pytest.mark.parametrize(
    "a, b, common",
    [
        ("bool", "int32", "int32"),
        ("int32", "float32", "float32"),
        ("int32", "int64", "int64"),
        ("uint32", "int8", "uint32"),
        ("uint32", "int32", "uint32"),
        ("int64", "uint32", "int64"),
        ("float16", "float32", "float32"),
        ("float64", "bfloat16", "float64"),
        ("int8", "int64", "int64"),
        ("float32x4", "int32", "float32x4"),
    ],
)
@pytest.mark.parametrize("swap", [False, True])
def test_operands_meet_in_one_type(a, b, common, swap):
    x, y = var(a, "x"), var(b, "y")
    if swap:
        x, y = y, x
    for out in (x + y, x - y, x * y, tir.max(x, y)):
        assert out.dtype == out.a.dtype == out.b.dtype == common
    lanes = "x4" if "x4" in common else ""
    for out in (x < y, x <= y, x > y, x >= y, (x == y).asobject(), (x != y).asobject()):
        assert out.dtype == "bool" + lanes
        assert out.a.dtype == out.b.dtype == common


def test_two_bools_count():
    assert (var("bool") + var("bool")).dtype == "int32"
    assert (tir.const(True) + tir.const(True)).value == 2
    assert tir.max(var("bool"), var("bool")).dtype == "bool"


def test_types_that_do_not_meet():
    with pytest.raises(tenon.TVMError, match="Cannot match type int32x2 vs float32x4"):
        var("int32x2") + var("float32x4")
    with pytest.raises(tenon.TVMError, match="Cannot match type handle vs int32"):
        var("handle") + 1
    with pytest.raises(TypeError, match="expected PrimExpr, got"):
        var("int32") + tenon.IRModule({})


def test_raw_nodes_do_not_convert():
    assert isinstance(tir.Add(tir.const(1), tir.const(2)), tir.Add)
    with pytest.raises(tenon.TVMError, match=r"mismatched types. int32 vs. float32"):
        tir.Add(var("int32"), var("float32"))
    with pytest.raises(TypeError, match="tir.Mul.b: expected PrimExpr, got None"):
        tir.Mul(var("int32"), None)
    assert tir.LT(var("int32x4"), var("int32x4")).dtype == "boolx4"


def test_division_between_integers_must_be_named():
    x = var("int32")
    for divide in (lambda: x / 2, lambda: 2 / x, lambda: x / x):
        with pytest.raises(RuntimeError, match="supports multiple types of integer divisions"):
            divide()
    assert isinstance(var("float32") / 2, tir.Div)
    assert isinstance(x // 2, tir.FloorDiv)
    assert isinstance(x % 2, tir.FloorMod)
    assert isinstance(tir.truncdiv(x, 2), tir.Div)
    assert isinstance(tir.truncmod(x, 2), tir.Mod)
    assert tir.ceildiv(tir.const(7), 2).value == 4


def test_a_comparison_has_no_truth_value_but_equality_has():
    x, y = var("int32", "x"), var("int32", "y")
    with pytest.raises(ValueError, match="Cannot use and / or / not operator to Expr, hint"):
        if x < y:
            pass
    assert x == x and not x != x
    assert x != y and not x == y
    assert isinstance((x == y).asobject(), tir.EQ)
    assert {x: 1}[x] == 1 and y not in {x: 1}
    assert tir.const(3) == 3 and tir.const(1) == tir.const(True) and tir.const(2) != tir.const(True)
    assert hash(tir.const(3)) == 3 and [10, 20, 30][tir.const(1)] == 20
    assert tir.StringImm("a") == "a" and tir.StringImm("a") != "b"


def test_identities_give_the_operand_back():
    x = var("int32")
    for same in (x + 0, 0 + x, x - 0, x * 1, 1 * x, x // 1, tir.min(x, x), x << 0, x >> 0):
        assert same.same_as(x)
    assert (x * 0).value == 0 and (x % 1).value == 0 and tir.truncmod(x, 1).value == 0
    assert isinstance(tir.truncdiv(1, x), tir.Div)
    f = var("float32")
    assert (f * 1.0).same_as(f) and (f - 0.0).same_as(f) and (f + -0.0).same_as(f)
    assert isinstance(f + 0.0, tir.Add)  # -0.0 + 0.0 is 0.0
    assert isinstance(f * 0.0, tir.Mul)


def test_logic_on_bools_only():
    x, p = var("int32"), var("bool")
    yes, no = tir.const(True), tir.const(False)
    for function, value in itertools.product((tir.all, tir.any), (yes, no)):
        for args in ((value, x), (x, value)):
            with pytest.raises(tenon.TVMError, match="Expected boolean argument"):
                function(*args)
    for a, b in itertools.product((True, False), repeat=2):
        assert_structural_equal(tir.all(tir.const(a), tir.const(b)), tir.const(a and b))
        assert_structural_equal(tir.any(tir.const(a), tir.const(b)), tir.const(a or b))
    assert tir.all(p, yes).same_as(p) and tir.all(yes, p).same_as(p)
    assert tir.any(p, no).same_as(p) and tir.any(no, p).same_as(p)
    assert tir.all(p, no).same_as(no) and tir.any(yes, p).same_as(yes)
    assert isinstance(tir.all(p, p, p), tir.And)
    with pytest.raises(ValueError):
        tir.any()
    with pytest.raises(tenon.TVMError):
        tir.Not(x)


def test_choices():
    cond = var("bool", "cond")
    for a, b, common in [
        ("bool", "int32", "int32"),
        ("int32", "int64", "int64"),
        ("uint32", "int32", "uint32"),
    ]:
        out = tir.if_then_else(cond, var(a), var(b))
        assert out.dtype == out.args[1].dtype == out.args[2].dtype == common
    x, y = var("int32", "x"), var("float32", "y")
    assert_structural_equal(tir.if_then_else(True, x, y), x.astype("float32"))
    assert tir.if_then_else(False, x, y).same_as(y)
    with pytest.raises(
        tenon.TVMError, match="if_then_else only accept the condition to be boolean type"
    ):
        tir.if_then_else(x, x, x)
    with pytest.raises(tenon.TVMError, match="Select"):
        tir.Select(x, x, x)
    with pytest.raises(tenon.TVMError, match="mismatched"):
        tir.Select(cond, x, y)


def test_bits():
    x, f = var("int32"), var("float32")
    for amount in (-1, 32):
        for shift in (lambda n: x << n, lambda n: x >> n):
            with pytest.raises(
                tenon.TVMError,
                match="Shift amount must be non-negative and less than 32 for type int32",
            ):
                shift(amount)
    for op in (lambda a, b: a & b, lambda a, b: a | b, lambda a, b: a ^ b, lambda a, b: a << b):
        assert op(x, x).dtype == "int32"
        for args in ((x, f), (f, x), (f, 1)):
            with pytest.raises(tenon.TVMError):
                op(*args)
    with pytest.raises(RuntimeError, match="Cannot use ~ operator on float type Expr."):
        assert ~f
    byte = var("uint8")
    assert (byte & 0xFF).dtype == (1 << byte).dtype == (byte >> 3).dtype == "uint8"
    assert (tir.const(1, "int8x2") >> 1).dtype == "int8x2"
    assert (x >> tir.const(1, "int32x2")).dtype == "int32x2"
    with pytest.raises(tenon.TVMError, match="Literal value 256 exceeds maximum of uint8"):
        byte | 256  # noqa: B018
    assert (~tir.const(5)).value == -6 and (tir.const(6) & 3).value == 2
    assert (tir.const(-8) >> 1).value == -4


@pytest.mark.parametrize("value", [2**64, 2**64 + 5, 2**90])
def test_uint64_out_of_range(value):
    with pytest.raises(tenon.TVMError, match="exceeds maximum of uint64"):
        tir.const(value, "uint64")
    assert tir.const(2**64 - 1, "uint64").dtype == "uint64"


def test_floats_only():
    i, f = var("int32"), var("float32")
    for function in (tir.power, tir.fmod):
        with pytest.raises(tenon.TVMError, match="only applies to float"):
            function(i, i)
        assert function(i, f).dtype == "float32" and function(f, i).args[1].dtype == "float32"
    assert tir.power(2.0, 10.0).value == 1024.0 and tir.fmod(-5.5, 2.0).value == -1.5


def test_chain_of_folded_constants():
    x = tir.const(4, "int32") + 5
    assert isinstance(x, tir.IntImm) and x.value == 9
    x = tir.truncdiv(x, 3) + 0.55
    assert isinstance(x, tir.FloatImm) and abs(x.value - 3.55) < 1e-6
    x = tir.ceil(x)
    assert x.value == 4 and x.astype("int32").value == 4
    assert (te.round((tir.const(6.5, "float32") - 1) / 1.5) + 2).astype("int32").value == 6


def test_plain_floats_keep_the_precision_of_their_partner():
    assert (var("float32") + 0.1).b.value == np.float32(0.1)
    assert (var("float64") + 0.1).b.value == 0.1
    assert (var("float64") + 0.1).dtype == "float64"


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_range_of_integer_literals(kind, bits):
    dtype = f"{kind}{bits}"
    info = np.iinfo(dtype)
    for value in (info.min, info.max):
        if value <= 2**63 - 1:
            assert int(tir.const(value, dtype)) == value
    if bits < 64:
        with pytest.raises(
            tenon.TVMError, match=f"Literal value {info.max + 1} exceeds maximum of {dtype}"
        ):
            tir.const(int(info.max) + 1, dtype)
        with pytest.raises(tenon.TVMError, match=f"Literal value {info.min - 1} "):
            tir.const(int(info.min) - 1, dtype)
    assert tir.min_value(dtype).value == info.min
    assert tir.const(2**64 - 1, "uint64").op.same_as(tenon.ir.Op.get("tir.large_uint_imm"))


@pytest.mark.parametrize(
    "dtype, largest",
    [("float16", 65504.0), ("bfloat16", 3.3895313892515355e38), ("float32", 3.4028234663852886e38)],
)
def test_range_of_float_literals(dtype, largest):
    assert tir.const(largest, dtype).value == largest
    assert tir.const(float("-inf"), dtype).value == -float("inf")
    assert np.isnan(tir.const(float("nan"), dtype).value)
    assert tir.max_value(dtype).value == largest and tir.min_value(dtype).value == -largest
    assert tir.infinity(dtype).value == float("inf")
    assert (var(dtype) + var("float32")).dtype == "float32"
    assert (var(dtype) + var("int32")).dtype == dtype
    for value, side in ((largest * 1.01, "maximum"), (-largest * 1.01, "minimum")):
        with pytest.raises(tenon.TVMError, match=f"exceeds {side} of {dtype}"):
            tir.const(value, dtype)


def test_constants_of_odd_types():
    assert tir.const(True).dtype == "bool" and tir.const(1).dtype == "int32"
    for scalar in (np.uint8(1), np.int16(1), np.float64(1), np.bool_(True)):
        dtype = str(np.asarray(scalar).dtype)
        assert tir.const(scalar).dtype == tenon.runtime.convert(scalar).dtype == dtype
    assert tir.const(3.38953139e38, "bfloat16").value == 3.38953139e38
    assert tir.const(1.0).dtype == "float32" and tir.const(1 << 40).dtype == "int64"
    largest = float(np.finfo("float32").max)
    assert tir.const(largest).dtype == tir.const(-largest).dtype == "float32"
    assert tir.const(-1e39).dtype == "float64" and tir.const(1e39).value == 1e39
    assert tir.const(math.inf).dtype == tir.const(math.nan).dtype == "float32"
    assert isinstance(tir.const(3, "int32x4"), tir.Broadcast)
    with pytest.raises(tenon.TVMError, match="negative for unsigned integer type uint8"):
        tir.const(-1, "uint8")
    with pytest.raises(tenon.TVMError, match="cannot make a constant of type handle"):
        tir.const(0, "handle")
    with pytest.raises(tenon.TVMError, match="Cannot decide max_value for type handle"):
        tir.max_value("handle")


OPERATORS = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": tir.min,
    "max": tir.max,
}
NUMPY = dict(OPERATORS, min=np.minimum, max=np.maximum)
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"]


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(OPERATORS)), st.sampled_from(INTS), st.data())
def test_integer_folding_agrees_with_numpy(op, dtype, data):
    info = np.iinfo(dtype)
    a, b = (data.draw(st.integers(int(info.min), int(info.max))) for _ in "ab")
    assume(op not in ("//", "%") or b != 0)
    with np.errstate(all="ignore"):
        want = NUMPY[op](np.array([a], dtype), np.array([b], dtype))[0]
    got = OPERATORS[op](tir.const(a, dtype), tir.const(b, dtype))
    assert got.dtype == dtype
    if op == "%" and dtype not in ("int32", "int64"):
        assert isinstance(got, tir.FloorMod)  # remainders are folded as indices only
    else:
        assert got.value == int(want)


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(["+", "-", "*", "/"]),
    st.sampled_from(["float32", "float64"]),
    st.floats(allow_nan=False, width=32),
    st.floats(allow_nan=False, width=32),
)
def test_float_folding_agrees_with_numpy(op, dtype, a, b):
    assume(op != "/" or b != 0)
    functions = dict(OPERATORS, **{"/": lambda x, y: x / y})
    with np.errstate(all="ignore"):
        want = functions[op](np.array([a], dtype), np.array([b], dtype))[0]
    got = functions[op](tir.const(a, dtype), tir.const(b, dtype))
    assert got.dtype == dtype
    assert got.value == want or (np.isnan(got.value) and np.isnan(want))


@pytest.mark.parametrize("divide", [tir.truncdiv, tir.truncmod, tir.floordiv, tir.floormod])
@pytest.mark.parametrize("numerator", [1, 0, None])
def test_divide_by_zero(divide, numerator):
    with pytest.raises(tenon.TVMError, match="Divide by zero"):
        divide(var("int32") if numerator is None else tir.const(numerator), 0)


def test_division_by_sign():
    for a, b in itertools.product((7, -7), (2, -2)):
        x, y = tir.const(a), tir.const(b)
        assert (x // y).value == a // b and (x % y).value == a % b
        assert tir.truncdiv(x, y).value == int(a / b)
        assert tir.truncmod(x, y).value == a - b * int(a / b)


def test_casts():
    assert tir.const(300).astype("int8").value == 44
    assert tir.const(2.9).astype("int32").value == 2
    assert tir.const(3e9, "float32").astype("int32").value == -(2**31)
    x = var("int32")
    assert x.astype("int32").same_as(x) and x.astype("float32").dtype == "float32"
    assert isinstance(x.astype("int32x4"), tir.Broadcast)
    ramp = tir.Ramp(x, 1, 4)
    assert isinstance(ramp.astype("int64x4"), tir.Ramp)
    assert ramp.astype("int64x4").base.dtype == "int64"
    with pytest.raises(tenon.TVMError, match="Can't cast a handle to other types"):
        tir.StringImm("s").astype("int32")
    with pytest.raises(tenon.TVMError, match="reinterpret: int32 has 32 bits and float64 has 64"):
        tir.reinterpret("float64", x)


def test_vectors():
    x = var("int32")
    for bad in (
        lambda: tir.Ramp(x, 1, 1),
        lambda: tir.Broadcast(tir.Broadcast(x, 2), 2),
        lambda: tir.Broadcast(x, 1),
    ):
        with pytest.raises(tenon.TVMError):
            bad()
    shuffle = tir.Shuffle([tir.Broadcast(x, 4), tir.Broadcast(x, 4)], [0, 5])
    assert shuffle.dtype == "int32x2"
    with pytest.raises(tenon.TVMError, match="mismatched types"):
        tir.Shuffle([x, var("float32")], [0, 1])


def test_reductions():
    k = te.reduce_axis((0, 10), "k")
    x = var("float32")
    total = tir.sum(x, axis=k)
    assert isinstance(total, tir.Reduce) and total.dtype == "float32"
    assert total.combiner.identity_element[0].value == 0
    assert tir.max(*range(2, 9)).value == 8 and tir.min(3, 1).value == 1
    argmax = te_argmax = tir.comm_reducer(
        lambda a, b: (
            tir.Select(a[1] >= b[1], a[0], b[0]),
            tir.Select(a[1] >= b[1], a[1], b[1]),
        ),
        lambda i, v: (tir.const(-1, i), tir.min_value(v)),
        name="argmax",
    )
    index, value = argmax((k.var, x), axis=k)
    assert (index.dtype, value.dtype, index.value_index, value.value_index) == (
        "int32",
        "float32",
        0,
        1,
    )
    assert te_argmax.__name__ == "argmax"
    bare = tir.Reduce(None, [1], [tir.IterVar((0, 1), "x", 2)], None, 0)
    assert bare.combiner is None and bare.dtype == "int32"
    with pytest.raises(tenon.TVMError, match="Can only take axis created by reduce_axis"):
        tir.sum(x, axis=te.thread_axis("threadIdx.x"))
    with pytest.raises(tenon.TVMError, match="must match its associated Var's dtype"):
        tir.IterVar(tenon.ir.Range(0, 10), tir.Var("i", "int64"), 0)


def test_calls():
    x = var("float32")
    for name in "exp tanh sqrt log sigmoid erf".split():
        call = getattr(tir, name)(x)
        assert call.op.name == f"tir.{name}" and call.dtype == "float32"
    call = tir.call_extern("int32", "puts", "text", 1)
    assert call.op.name == "tir.call_extern" and call.args[1].value == "text"
    assert tir.call_packed("f", x).args[1].same_as(x)
    with pytest.raises(AttributeError, match="tir.nothing is not registered"):
        tir.call_intrin("int32", "tir.nothing")
    with pytest.raises(ValueError, match="only handles str argument with the tir namespace"):
        tir.call_intrin("int32", "nothing")
    with pytest.raises(TypeError, match="dp4a: missing a required argument: 'vec2'"):
        tir.dp4a(x)
    assert tir.isnan(var("int32")).value == 0
    assert tir.abs(tir.const(-3)).value == 3 and isinstance(tir.abs(var("int32")), tir.Select)
    assert (
        tenon.ir.Op.get("tir.call_extern").get_attr("TCallEffectKind") == tir.CallEffectKind.Opaque
    )


def test_keyword_construction_and_json_check_and_complete():
    x = var("int32")
    made = tenon.ir.make_node("tir.Add", a=x, b=tir.const(1))
    assert made.dtype == "int32"
    assert_structural_equal(made, x + 1)
    with pytest.raises(tenon.TVMError, match="mismatched types"):
        tenon.ir.make_node("tir.Add", a=x, b=tir.const(1.0))
    text = tenon.ir.save_json(x + 1)
    assert_structural_equal(tenon.ir.load_json(text), x + 1, map_free_vars=True)
    with pytest.raises(tenon.TVMError, match="exceeds maximum of int8"):
        tenon.ir.make_node("IntImm", dtype="int8", value=300)
