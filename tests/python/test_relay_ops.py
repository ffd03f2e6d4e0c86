"""Operators of Relay: rows, Python functions, relations, computes and shape functions of the
families that others are modelled on."""

import inspect
import math
import subprocess
import sys

import numpy as np
import op_cases
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import ir, relay, tir
from tenon.relay import TensorType

UNARY = {
    "log": (np.log, 0.1, 4),
    "log2": (np.log2, 0.1, 4),
    "log10": (np.log10, 0.1, 4),
    "exp": (np.exp, -2, 2),
    "erf": (np.vectorize(math.erf), -2, 2),
    "sqrt": (np.sqrt, 0, 4),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 0.1, 4),
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), -4, 4),
    "sin": (np.sin, -4, 4),
    "cos": (np.cos, -4, 4),
    "tan": (np.tan, -1, 1),
    "sinh": (np.sinh, -2, 2),
    "cosh": (np.cosh, -2, 2),
    "tanh": (np.tanh, -2, 2),
    "asin": (np.arcsin, -0.9, 0.9),
    "acos": (np.arccos, -0.9, 0.9),
    "atan": (np.arctan, -4, 4),
    "asinh": (np.arcsinh, -4, 4),
    "acosh": (np.arccosh, 1.1, 4),
    "atanh": (np.arctanh, -0.9, 0.9),
    "floor": (np.floor, -4, 4),
    "ceil": (np.ceil, -4, 4),
    "trunc": (np.trunc, -4, 4),
    "abs": (np.abs, -4, 4),
    "sign": (np.sign, -4, 4),
    "negative": (np.negative, -4, 4),
    "copy": (np.copy, -4, 4),
    "zeros_like": (np.zeros_like, -4, 4),
    "ones_like": (np.ones_like, -4, 4),
    "nn.relu": (lambda x: np.maximum(x, 0), -4, 4),
}


def function(name):
    found = relay
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    reference, low, high = UNARY[name]
    check(function(name), reference, rand(2, 3, low=low, high=high), rtol=1e-4, atol=1e-5)
    n = tir.Var("n", "int32")
    t = TensorType((n, relay.Any(), 3), "float32")
    assert result_type(function(name), t) == t


def test_unary_of_other_types():
    check(
        relay.round, lambda x: np.array([-3, -2, 1, 2, 3.0]), np.array([-2.5, -1.5, 0.5, 1.5, 2.6])
    )
    check(relay.sign, np.sign, np.array([-3, 0, 7], "int8"))
    check(relay.sign, np.sign, np.array([0, 200], "uint8"))
    check(relay.floor, np.floor, np.array([-3, 7], "int32"))
    check(relay.logical_not, np.logical_not, rand(5, dtype="bool"))
    check(relay.bitwise_not, np.invert, np.array([0, 5, -9], "int16"))
    odd = np.array([np.nan, np.inf, -np.inf, 1], "float32")
    for f, g in [(relay.isnan, np.isnan), (relay.isinf, np.isinf), (relay.isfinite, np.isfinite)]:
        check(f, g, odd)
    check(relay.exp, np.exp, np.float32(1.5).reshape(()))
    check(relay.exp, np.exp, np.zeros((0, 3), "float32"))


BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "divide": np.divide,
    "floor_divide": np.floor_divide,
    "floor_mod": np.mod,
    "mod": np.fmod,
    "trunc_mod": np.fmod,
    "trunc_divide": lambda a, b: np.trunc(a / b),
    "equal": np.equal,
    "not_equal": np.not_equal,
    "less": np.less,
    "less_equal": np.less_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
}


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    a, b = rand(2, 1, 3), rand(4, 1, seed=1, low=0.5)
    check(function(name), BINARY[name], a, b)
    check(function(name), BINARY[name], a, rand(2, 1, 3, seed=1, low=0.5))
    check(function(name), BINARY[name], a, np.array(1.5, "float32"))


def test_binary_of_integers():
    a, b = np.array([-7, -7, 7, 7], "int32"), np.array([2, -2, 2, -2], "int32")
    check(relay.floor_divide, np.floor_divide, a, b)
    check(relay.floor_mod, np.mod, a, b)
    check(relay.divide, lambda x, y: np.trunc(x / y), a, b)
    check(relay.mod, np.fmod, a, b)
    check(relay.power, np.power, a, np.abs(b))
    check(relay.power, np.power, rand(4, low=0.5), rand(4, seed=3))
    for f, g in [
        (relay.bitwise_and, np.bitwise_and),
        (relay.bitwise_or, np.bitwise_or),
        (relay.bitwise_xor, np.bitwise_xor),
    ]:
        check(f, g, a, b)
    check(relay.left_shift, np.left_shift, a, np.abs(b))
    check(relay.right_shift, np.right_shift, a, np.abs(b))
    x, y = rand(5, dtype="bool"), rand(5, dtype="bool", seed=1)
    for f, g in [
        (relay.logical_and, np.logical_and),
        (relay.logical_or, np.logical_or),
        (relay.logical_xor, np.logical_xor),
    ]:
        check(f, g, x, y)


def test_broadcast_types():
    n, any_ = tir.Var("n", "int32"), relay.Any()

    def f(*shapes):
        return result_type(relay.add, *[TensorType(s) for s in shapes]).shape

    def same(shape, want):
        return ir.structural_equal(TensorType(shape), TensorType(want))

    assert same(f((n, 1), (1, 4)), (n, 4))
    assert same(f((n, 3), (n, 1)), (n, 3))
    assert same(f((any_, 3), (5, 3)), (5, 3))
    assert same(f((any_, 3), (1, 3)), (any_, 3))
    assert same(f((any_,), (any_,)), (any_,))
    with pytest.raises(tenon.error.DiagnosticError, match=r"Incompatible broadcast type Tensor"):
        f((2,), (3,))
    with pytest.raises(tenon.error.DiagnosticError, match="add: The Relay type checker is unable"):
        result_type(relay.add, TensorType((2,)), TensorType((2,), "int32"))
    assert result_type(relay.less, TensorType((2,)), TensorType((2,))).dtype == "bool"


def test_dense():
    check(relay.nn.dense, lambda x, w: x @ w.T, rand(2, 5, 3), rand(4, 3, seed=1))
    a, b = np.array([[100, 100]], "int8"), np.array([[100, 100], [1, 2]], "int8")
    check(
        lambda x, w: relay.nn.dense(x, w, out_dtype="int32"),
        lambda x, w: x.astype("int32") @ w.astype("int32").T,
        a,
        b,
    )
    t = result_type(
        lambda x, w: relay.nn.dense(x, w, units=7), TensorType((2, 3)), relay.IncompleteType()
    )
    assert t == TensorType((2, 7))
    with pytest.raises(tenon.error.DiagnosticError, match="doesn't match weight"):
        result_type(relay.nn.dense, TensorType((2, 3)), TensorType((4, 5)))
    with pytest.raises(tenon.error.DiagnosticError, match="units=7"):
        result_type(lambda x, w: relay.nn.dense(x, w, 7), TensorType((2, 3)), TensorType((4, 3)))


@pytest.mark.parametrize(
    "shape, newshape, want",
    [
        ((2, 3, 4), (4, 0, 2), (4, 3, 2)),
        ((2, 3, 4), (2, 0, 0), (2, 3, 4)),
        ((2, 3, 4), (6, 1, -1), (6, 1, 4)),
        ((2, 3, 4), (3, -1, 8), (3, 1, 8)),
        ((2, 3, 4), (-1,), (24,)),
        ((2, 3, 4), (-2,), (2, 3, 4)),
        ((2, 3, 4), (2, -2), (2, 3, 4)),
        ((2, 3, 4), (-2, 1, 1), (2, 3, 4, 1, 1)),
        ((2, 3, 4), (-3, 4), (6, 4)),
        ((2, 3, 4, 5), (-3, -3), (6, 20)),
        ((2, 3, 4), (0, -3), (2, 12)),
        ((2, 3, 4), (-4, 1, 2, -2), (1, 2, 3, 4)),
        ((2, 3, 4), (2, -4, -1, 3, -2), (2, 1, 3, 4)),
        ((1,), (), ()),
        ((), (1, 1), (1, 1)),
    ],
)
def test_reshape(shape, newshape, want):
    check(lambda x: relay.reshape(x, newshape), lambda x: x.reshape(want), rand(*shape))


def test_reshape_types():
    n, any_ = tir.Var("n", "int32"), relay.Any()

    def f(shape, newshape):
        return list(result_type(lambda x: relay.reshape(x, newshape), TensorType(shape)).shape)

    assert [int(x) for x in f((any_, 4), (0, 2, 2))[1:]] == [2, 2]
    assert isinstance(f((any_, 4), (-1,))[0], tir.Any)
    assert ir.structural_equal(f((n, 4), (0, -1)), [n, tir.IntImm("int32", 4)])
    assert ir.structural_equal(f((n, 4, 2), (-1, 8))[0], n)
    assert ir.structural_equal(f((n, 2, 2), (-3, 2))[0], n * 2)
    with pytest.raises(tenon.TVMError, match="6 elements cannot become 5"):
        f((2, 3), (5,))
    with pytest.raises(ValueError, match="only one number of newshape can be -1"):
        f((2, 3), (-1, -1))
    with pytest.raises(ValueError, match="cannot be below -4"):
        f((2, 3), (-5,))


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "mean"])
@pytest.mark.parametrize(
    "attrs, axis",
    [
        ({}, None),
        ({"axis": 1}, (1,)),
        ({"axis": (0, -1)}, (0, 2)),
        ({"axis": [1], "exclude": True}, (0, 2)),
    ],
)
@pytest.mark.parametrize("keepdims", [False, True])
def test_reduce(name, attrs, axis, keepdims):
    def make(x):
        return function(name)(x, keepdims=keepdims, **attrs)

    check(make, lambda x: getattr(np, name)(x, axis=axis, keepdims=keepdims), rand(2, 3, 4))


def test_reduce_of_other_types():
    check(relay.all, np.all, rand(2, 3, dtype="bool"))
    check(lambda x: relay.any(x, axis=0), lambda x: np.any(x, axis=0), rand(2, 3, dtype="bool"))
    check(relay.max, np.max, np.full((3,), -np.inf, "float32"))
    check(relay.max, np.max, np.array([-5, -7], "int8"))
    with pytest.raises(tenon.error.DiagnosticError, match="axis 3 is out of range"):
        result_type(lambda x: relay.sum(x, axis=3), TensorType((2, 3)))


def conv2d_reference(x, w, stride, pad, dilation, groups):
    """NCHW, OIHW."""
    (n, _, h, width), (o, i, kh, kw) = x.shape, w.shape
    top, left, bottom, right = pad
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    oh = (h + top + bottom - (kh - 1) * dilation - 1) // stride + 1
    ow = (width + left + right - (kw - 1) * dilation - 1) // stride + 1
    out = np.zeros((n, o, oh, ow), x.dtype)
    for oc in range(o):
        first = oc // (o // groups) * i
        for y in range(oh):
            for z in range(ow):
                rows = slice(y * stride, y * stride + (kh - 1) * dilation + 1, dilation)
                cols = slice(z * stride, z * stride + (kw - 1) * dilation + 1, dilation)
                window = x[:, first : first + i, rows, cols]
                out[:, oc, y, z] = (window * w[oc]).sum(axis=(1, 2, 3))
    return out


@pytest.mark.parametrize("stride, pad, dilation", [(1, 0, 1), (2, (1, 1), 1), (1, (0, 1, 2, 0), 2)])
@pytest.mark.parametrize("groups", [1, 2, 4])
def test_conv2d(stride, pad, dilation, groups):
    four = relay.op.nn.utils.get_pad_tuple2d(pad)
    check(
        lambda x, w: relay.nn.conv2d(
            x, w, stride, pad, dilation, groups, channels=4, kernel_size=(3, 2)
        ),
        lambda x, w: conv2d_reference(x, w, stride, four, dilation, groups),
        rand(2, 4, 6, 7),
        rand(4, 4 // groups, 3, 2, seed=1),
        rtol=1e-4,
        atol=1e-5,
    )


def blocked(x, axis, factor):
    """An axis as blocks, which go last."""
    shape = x.shape[:axis] + (x.shape[axis] // factor, factor) + x.shape[axis + 1 :]
    return np.moveaxis(x.reshape(shape), axis + 1, -1)


def test_conv2d_layouts():
    x, w = rand(1, 4, 5, 5), rand(8, 4, 3, 3, seed=1)
    want = conv2d_reference(x, w, 1, (1, 1, 1, 1), 1, 1)

    def conv(**layouts):
        return lambda a, b: relay.nn.conv2d(a, b, padding=1, **layouts)

    args = {"rtol": 1e-4, "atol": 1e-5}
    check(
        conv(data_layout="NHWC", kernel_layout="HWIO"),
        lambda a, b: want.transpose(0, 2, 3, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
        **args,
    )
    check(
        conv(data_layout="NCHW", kernel_layout="OIHW", out_layout="NHWC"),
        lambda a, b: want.transpose(0, 2, 3, 1),
        x,
        w,
        **args,
    )
    check(
        conv(data_layout="NCHW2c", kernel_layout="OIHW2i4o", out_layout="NCHW4c"),
        lambda a, b: blocked(want, 1, 4),
        np.ascontiguousarray(blocked(x, 1, 2)),
        np.ascontiguousarray(blocked(blocked(w, 1, 2), 0, 4)),
        **args,
    )


def test_conv2d_types():
    n = tir.Var("n", "int32")
    unknown = relay.IncompleteType()

    def conv(data, weight, **attrs):
        return result_type(lambda x, w: relay.nn.conv2d(x, w, **attrs), data, weight)

    t = conv(TensorType((n, 10, 224, 224)), unknown, channels=2, kernel_size=(3, 3), padding=(1, 1))
    assert t == TensorType((n, 2, 224, 224))
    t = conv(
        TensorType((n, 10, relay.Any(), 8), "int8"),
        TensorType((2, 10, 3, 3), "int8"),
        out_dtype="int32",
    )
    assert t.dtype == "int32" and isinstance(t.shape[2], tir.Any) and t.shape[3] == 6
    for data, weight, attrs, message in [
        ((1, 4, 8, 8), (8, 3, 3, 3), {}, "another number of channels"),
        ((1, 4, 8, 8), (8, 4, 3, 3), {"channels": 9}, "channels=9 does not match"),
        ((1, 4, 8, 8), (8, 4, 3, 3), {"kernel_size": 5}, r"kernel_size=\[5, 5\] does not match"),
        ((1, 4, 8), (8, 4, 3, 3), {}, "does not have the layout NCHW"),
        ((1, 4, 8, 8), (8, 4, 3, 3), {"groups": 0}, "groups must be positive"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            conv(TensorType(data), TensorType(weight), **attrs)


def test_concatenate():
    def make(axis):
        return lambda xs: relay.concatenate(xs, axis)

    arrays = [rand(2, 3), rand(2, 1, seed=1), rand(2, 4, seed=2)]
    check(make(1), lambda xs: np.concatenate(xs, 1), arrays)
    check(make(-2), lambda xs: np.concatenate(xs, 0), [arrays[0], arrays[0]])
    assert isinstance(relay.concatenate([relay.var("x")], 0).args[0], relay.Tuple)
    t = result_type(make(0), relay.TupleType([TensorType((relay.Any(), 3)), TensorType((2, 3))]))
    assert isinstance(t.shape[0], tir.Any) and t.shape[1] == 3
    for shapes, message in [
        ([(2, 3), (3, 3)], "non-concatenating"),
        ([(2, 3), (2, 3, 1)], "same ndim"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            result_type(make(1), relay.TupleType([TensorType(s) for s in shapes]))
    with pytest.raises(ValueError, match="non-empty"):
        relay.concatenate([], 0)


def test_symbolic_shapes():
    """A shape function works with expressions as well as with numbers."""
    call = relay.nn.conv2d(relay.var("x"), relay.var("w"), padding=1)
    n = tir.Var("n", "int64")
    types = [TensorType((1, 4, relay.Any(), 8)), TensorType((8, 4, 3, 3))]
    shape = tenon.get_global_func("relay.op.Shapes")(
        call.op, call.attrs, types, [[1, 4, n, 8], [8, 4, 3, 3]], None, None
    )[0]
    assert ir.structural_equal(shape[2], n) and shape[2].dtype == "int64"


# ---- the registry ----


def test_rows_give_functions():
    assert str(inspect.signature(relay.sum)) == "(data, axis=None, keepdims=False, exclude=False)"
    assert "sum" in dir(relay) and "relu" in dir(relay.nn) and "conv2d" in dir(relay.op.nn)
    x = relay.var("x", shape=(2,))
    assert relay.sum(data=x, keepdims=True).attrs.keepdims
    assert ir.structural_equal(relay.op._make.sum(x, [0], False, False), relay.sum(x, 0))
    with pytest.raises(TypeError, match="missing a required argument: 'rhs'"):
        relay.add(x)
    with pytest.raises(TypeError, match="argument 1: expected RelayExpr"):
        relay.add(x, "text")
    with pytest.raises(AttributeError, match="no attribute 'no_such_operator'"):
        relay.no_such_operator  # noqa: B018


def test_operators_of_python():
    x, y = relay.var("x", shape=(2,)), relay.var("y", shape=(2,))
    for call, name in [
        (x + y, "add"),
        (x - y, "subtract"),
        (x * y, "multiply"),
        (x / y, "divide"),
        (x < y, "less"),
        (x >= y, "greater_equal"),
        (-x, "negative"),
    ]:
        assert call.op.name == name
    assert (x - y).args[0].same_as(x)


def test_op_node():
    op = relay.op.get("nn.dense")
    assert op.same_as(ir.Op.get("nn.dense")) and op.num_inputs == 2 and op.support_level == 1
    assert [a.name for a in op.arguments] == ["data", "weight"]
    assert op.attrs_type_key == "relay.attrs.DenseAttrs"
    assert op.get_attr("TOpPattern") == relay.op.OpPattern.OUT_ELEMWISE_FUSABLE
    relation = op.op_type.type_constraints[0]
    assert relation.func.name == "tvm.relay.type_relation.Dense" and relation.num_inputs == 2
    with pytest.raises(AttributeError, match="not registered"):
        relay.op.get("no.such.operator")


def test_attributes():
    attrs = relay.nn.conv2d(relay.var("x"), relay.var("w"), groups=2).attrs
    assert attrs.groups == 2 and attrs["kernel_layout"] == "OIHW" and attrs.channels is None
    assert attrs.get_int_tuple("strides") == (1, 1) and "padding" in attrs.keys()  # noqa: SIM118
    again = ir.load_json(ir.save_json(attrs))
    assert ir.structural_equal(attrs, again)
    with pytest.raises(AttributeError, match="has no field 'group'"):
        ir.make_node("relay.attrs.Conv2DAttrs", group=2)
    made = ir.make_node("relay.attrs.ReduceAttrs", axis=[1])
    assert made.axis[0] == 1 and not made.keepdims


def test_operator_from_python():
    name = "test_relay_ops.twice"
    relay.op.register(name, "twice")
    with pytest.raises(tenon.TVMError, match=f"Operator {name} is registered before"):
        relay.op.register(name)
    op = relay.op.get(name)
    op.set_num_inputs(1)
    op.add_argument("data", "Tensor", "the input")
    op.add_type_rel("Identity")
    relay.op.register_pattern(name, relay.op.OpPattern.ELEMWISE)

    @relay.op.register_compute(name)
    def twice(attrs, inputs, out_type):
        (x,) = inputs
        return [tenon.te.compute(x.shape, lambda *i: x(*i) * 2.0)]

    def make(x):
        return relay.Call(op, [x])

    np.testing.assert_allclose(op_cases.compute(make, rand(3)), rand(3) * 2, rtol=1e-6)
    assert op_cases.shapes(make, rand(3)) == [(3,)]


REGISTERED = """
import tenon
from tenon import relay

@relay.op.register_compute("NAME", level=20)
def other(attrs, inputs, out_type):
    return [tenon.te.compute(out_type.shape, lambda *i: tenon.tir.const(7.0, "float32"))]

one = relay.const([1.0, 2.0])
call = CALL
print(relay.transform.FoldConstant()(tenon.IRModule.from_expr(call))["main"].body.data.numpy())
"""


@pytest.mark.parametrize(
    "name, call",
    [("add", "relay.add(one, one)"), ("reshape", "relay.reshape(one, [1, 2])")],
)
def test_constants_are_computed_as_programs_say(name, call):
    """Operators that are otherwise computed without a kernel."""
    code = REGISTERED.replace("NAME", name).replace("CALL", call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() in (["[7.", "7.]"], ["[[7.", "7.]]"])


UNCHECKED = """
import numpy as np
import tenon
from tenon import relay

@relay.op.register_compute("contrib_reverse_reshape", level=20)
def unchecked(attrs, inputs, out_type):
    i = inputs[0]
    return [tenon.te.compute(out_type.shape, lambda k: i[i[k]])]

def folded(count, last):
    index = np.arange(count, dtype="int32")
    index[0] = last
    call = relay.reverse_reshape(relay.const(index), [-1])
    return relay.transform.FoldConstant()(tenon.IRModule.from_expr(call))["main"].body

for count in (3, 20_000):  # interpreted, and as native code
    print(folded(count, 2).data.numpy()[:3])
    for last in (-1, count, 2**30):
        try:
            print("not told:", folded(count, last))
        except tenon.TVMError as e:
            print(e, *e.__notes__)
"""


def test_constants_are_computed_with_checked_indices():
    """By an operator's function that lets an index of any value through."""
    done = subprocess.run([sys.executable, "-c", UNCHECKED], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("an index that is data is outside of its buffer") == 6
    assert done.stdout.count("in contrib_reverse_reshape, computed on constants") == 6
    assert done.stdout.count("[2 1 2]") == 2


def test_relation_from_python():
    name = "test_relay_ops.pair"
    relay.op.register(name)
    op = relay.op.get(name)
    op.set_num_inputs(2)
    op.add_type_rel("TestRelayOpsPair", lambda types, attrs: relay.TupleType(types))
    a, b = TensorType((1,)), TensorType((2,), "int8")
    assert result_type(lambda *x: relay.Call(op, x), a, b) == relay.TupleType([a, b])


def test_operator_without_compute():
    name = "test_relay_ops.nothing"
    relay.op.register(name)
    with pytest.raises(tenon.error.OpNotImplemented, match=f"{name} has no compute"):
        tenon.get_global_func("relay.op.Compute")(relay.op.get(name), None, [], relay.TupleType([]))


@pytest.mark.parametrize(
    "attrs, inputs, text",
    [
        (None, 2, "nn.conv2d: expected attributes relay.attrs.Conv2DAttrs, got None"),
        ("nn.dense", 2, "expected attributes relay.attrs.Conv2DAttrs, got relay.attrs.DenseAttrs"),
        ("nn.conv2d", 1, "nn.conv2d: expected 2 inputs, got 1"),
    ],
)
def test_compute_of_what_is_no_call(attrs, inputs, text):
    calls = {
        "nn.dense": relay.nn.dense(relay.var("x", shape=(1, 2)), relay.var("w", shape=(1, 2))),
        "nn.conv2d": relay.nn.conv2d(relay.var("x"), relay.var("w")),
    }
    tensors = [tenon.te.placeholder((1, 1, 3, 3)) for _ in range(inputs)]
    type_ = relay.TensorType((1, 1, 1, 1))
    with pytest.raises(TypeError, match=text):
        tenon.get_global_func("relay.op.Compute")(
            relay.op.get("nn.conv2d"), attrs and calls[attrs].attrs, tensors, type_
        )
