"""The dataflow pattern language: what matches, rewriting, partitioning, composite functions."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay import transform
from tenon.relay.dataflow_pattern import (
    DFPatternCallback,
    FunctionPattern,
    TupleGetItemPattern,
    TuplePattern,
    dominates,
    has_attr,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    partition,
    rewrite,
    wildcard,
)
from tenon.relay.testing import run_infer_type

x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(2, 3))
ELEMWISE = {"TOpPattern": 0}


def conv(data, weight=None, **attrs):
    weight = relay.var("w", shape=(4, 4, 3, 3)) if weight is None else weight
    return relay.nn.conv2d(data, weight, padding=(1, 1), **attrs)


def test_what_matches():
    assert is_op("exp")(wildcard()).match(relay.exp(x))
    assert not is_op("exp")(wildcard()).match(relay.tanh(x))
    assert is_op("exp").match(relay.op.get("exp"))
    assert is_var("x").match(x) and is_var().match(y) and not is_var("x").match(y)
    assert is_constant().match(relay.const(1)) and not is_constant().match(x)
    assert is_expr(x).match(x) and not is_expr(x).match(y)
    assert (is_op("exp")(None)).match(relay.exp(x)) and wildcard()(None).match(relay.add(x, y))
    assert (is_op("exp") | is_op("tanh"))(wildcard()).match(relay.tanh(x))
    assert (wildcard() * wildcard() - is_constant()).match(x * y - relay.const(1.0))
    assert not (wildcard() / wildcard()).match(x * y)
    assert match(
        is_op("nn.relu")(is_op("exp")(wildcard()).optional(is_op("tanh"))),
        relay.nn.relu(relay.tanh(relay.exp(x))),
    )


def test_operands_of_sums_may_be_swapped():
    pattern = is_op("add")(is_op("exp")(wildcard()), is_var("y"))
    assert pattern.match(relay.exp(x) + y) and pattern.match(y + relay.exp(x))
    pattern = is_op("subtract")(is_op("exp")(wildcard()), is_var("y"))
    assert pattern.match(relay.exp(x) - y) and not pattern.match(y - relay.exp(x))


def test_a_pattern_is_one_expression():
    a = wildcard()
    assert (a + a).match(x + x) and not (a + a).match(x + y)
    e = relay.exp(x)
    assert (is_op("tanh")(a) + is_op("exp")(a)).match(relay.tanh(e) + relay.exp(e))
    assert not (is_op("tanh")(a) + is_op("exp")(a)).match(relay.tanh(e) + relay.exp(x))


def test_tuples_functions_and_control():
    both = relay.Tuple([x, relay.exp(y)])
    assert is_tuple([wildcard(), is_op("exp")(wildcard())]).match(both)
    assert TuplePattern(None).match(both) and not is_tuple([wildcard()]).match(both)
    item = relay.TupleGetItem(both, 1)
    assert is_tuple_get_item(wildcard(), 1).match(item) and TupleGetItemPattern(
        TuplePattern(None)
    ).match(item)
    assert not is_tuple_get_item(wildcard(), 0).match(item)
    f = relay.Function([x, y], x + y)
    assert FunctionPattern([wildcard(), wildcard()], wildcard() + wildcard()).match(f)
    assert FunctionPattern(None, wildcard() + wildcard()).match(f)
    assert not FunctionPattern([wildcard()], wildcard()).match(f)
    c = relay.var("c", shape=(), dtype="bool")
    assert is_if(is_var("c"), is_var("x"), wildcard()).match(relay.If(c, x, y))
    v = relay.var("v")
    assert is_let(is_var("v"), is_op("exp")(None), is_var("v")).match(relay.Let(v, relay.exp(x), v))


def test_types_and_attributes():
    e = run_infer_type(relay.exp(x))
    assert wildcard().has_type(relay.TensorType((2, 3))).match(e)
    assert not has_type(relay.TensorType((2, 4))).match(e)
    assert has_shape((2, 3)).match(e) and not has_shape((2,)).match(e)
    assert has_dtype("float32").match(relay.exp(x)) and not has_dtype("int8").match(e)
    op = wildcard().has_attr(ELEMWISE)
    assert op(wildcard()).match(e) and not op(wildcard(), wildcard()).match(x + y)
    image = relay.var("i", shape=(1, 4, 8, 8))
    c = is_op("nn.conv2d")(wildcard(), wildcard())
    assert c.has_attr({"data_layout": "NCHW", "groups": 1}).match(conv(image))
    assert c.has_attr({"padding": [1, 1, 1, 1]}).match(conv(image))
    assert c.has_attr({"out_dtype": "int8"}).match(conv(image, out_dtype="int8"))
    assert not c.has_attr({"data_layout": "NHWC"}).match(conv(image))
    assert not c.has_attr({"nothing": 1}).match(conv(image))
    f = relay.Function([x], x).with_attr("Composite", "add")
    assert has_attr({"Composite": "add"}).match(f) and not has_attr({"Composite": "b"}).match(f)


def test_dominators():
    image = relay.var("i", shape=(1, 4, 8, 8))
    path = wildcard().has_attr(ELEMWISE)(wildcard())
    pattern = dominates(is_op("nn.conv2d")(None), path, wildcard() + wildcard())
    c = conv(image)
    assert pattern.match(relay.nn.relu(relay.nn.relu(c)) + relay.exp(c))
    assert pattern.match(c + relay.exp(c))
    assert not pattern.match(relay.nn.relu(c) + relay.exp(image))
    assert not pattern.match(relay.nn.relu(c) + relay.nn.softmax(c))
    assert not pattern.match(relay.nn.relu(c) + relay.exp(conv(image)))
    assert not pattern.match(relay.nn.relu(image) + relay.exp(image))
    short = (wildcard() + wildcard()).dominates(is_op("nn.conv2d")(None))
    assert short.match(relay.nn.relu(c) + c)


class Twice(DFPatternCallback):
    def __init__(self, **how):
        super().__init__(**how)
        self.x = wildcard()
        self.pattern = is_op("negative")(is_op("negative")(self.x))

    def callback(self, pre, post, node_map):
        assert self.pattern.match(pre) and self.pattern.match(post)
        return node_map[self.x][0]


def test_rewriting():
    e = x
    for _ in range(7):
        e = relay.negative(e)
    assert tenon.ir.structural_equal(rewrite(Twice(), e), relay.negative(x), map_free_vars=True)
    once = Twice(rewrite_once=True).rewrite(relay.tanh(e))
    assert tenon.ir.structural_equal(once, relay.tanh(relay.negative(x)), map_free_vars=True)
    inside = relay.Function([x], relay.If(relay.const(True), relay.negative(relay.negative(x)), x))
    assert rewrite(Twice(), inside).body.true_branch.same_as(x)


def test_a_batch_norm_is_found():
    gamma, beta, var, mean = (relay.var(n, shape=(3,)) for n in ("g", "b", "v", "m"))
    e = gamma * (x - mean) / relay.sqrt(var + relay.const(1e-5)) + beta

    class Norm(DFPatternCallback):
        def __init__(self):
            super().__init__(require_type=True)
            self.parts = [wildcard() for _ in range(5)]
            self.eps = is_constant()
            x_, g, b, v, m = self.parts
            self.pattern = g * (x_ - m) / is_op("sqrt")(v + self.eps) + b

        def callback(self, pre, post, node_map):
            args = [node_map[p][0] for p in self.parts]
            assert args[0].checked_type.shape[1] == 3
            eps = float(node_map[self.eps][0].data.numpy())
            return relay.nn.batch_norm(*args, epsilon=eps)[0]

    found = rewrite(Norm(), e)
    assert isinstance(found, relay.TupleGetItem)
    call = found.tuple_value
    assert [a.name_hint for a in call.args] == ["x", "g", "b", "v", "m"]
    assert abs(call.attrs.epsilon - 1e-5) < 1e-12


def test_callbacks_that_fail():
    class Broken(Twice):
        def callback(self, pre, post, node_map):
            raise KeyError("mine")

    class Nothing(Twice):
        def callback(self, pre, post, node_map):
            return None

    e = relay.negative(relay.negative(x))
    with pytest.raises(KeyError, match="mine"):
        rewrite(Broken(), e)
    with pytest.raises(TypeError, match="expected an expression"):
        rewrite(Nothing(), e)
    with pytest.raises(ValueError, match="no pattern"):
        rewrite(DFPatternCallback(), e)


def test_partitioning():
    image, w = relay.var("i", shape=(1, 4, 8, 8)), relay.var("w", shape=(4, 4, 3, 3))
    b = relay.const(np.ones(4, "float32"))
    e = relay.nn.relu(relay.nn.bias_add(conv(image, w), b))
    pattern = is_op("nn.relu")(is_op("nn.bias_add")(is_op("nn.conv2d")(None), is_constant()))
    call = pattern.partition(relay.tanh(e), {"Composite": "mine"}).args[0]
    f = call.op
    assert [a.same_as(v) for a, v in zip(call.args, (image, w), strict=True)] == [True, True]
    assert f.attrs["PartitionedFromPattern"] == "nn.conv2d_nn.bias_add_nn.relu_"
    assert f.attrs["Composite"] == "mine" and len(f.params) == 2
    assert pattern.match(f.body) and f.body.args[0].args[1].same_as(b)
    assert partition(pattern, e, check=lambda e: False).same_as(e)
    seen = []
    pattern.partition(e, check=lambda e: seen.append(e) or True)
    assert seen[0].same_as(e)


def test_a_value_that_others_read_is_not_taken():
    c = conv(relay.var("i", shape=(1, 4, 8, 8)))
    e = relay.Tuple([relay.nn.relu(c), c])
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(None))
    assert pattern.partition(e).same_as(e)
    two = relay.Tuple([relay.nn.relu(c), relay.exp(relay.nn.relu(conv(x)))])
    assert isinstance(pattern.partition(two).fields[0].op, relay.Function)


def test_composites():
    image = relay.var("data", shape=(1, 4, 8, 8))
    e = relay.nn.relu(relay.nn.relu(conv(image))) + relay.exp(image)
    mod = tenon.IRModule.from_expr(relay.Function(relay.analysis.free_vars(e), e))
    table = [
        ("a.conv_relu", is_op("nn.relu")(is_op("nn.conv2d")(None))),
        ("a.relu", is_op("nn.relu")(wildcard())),
        ("a.exp", is_op("exp")(wildcard()), lambda e: False),
    ]
    body = transform.InferType()(transform.MergeComposite(table)(mod))["main"].body
    outer = body.args[0]
    assert outer.op.attrs["Composite"] == "a.relu"
    assert outer.args[0].op.attrs["Composite"] == "a.conv_relu"
    assert body.args[1].op == relay.op.get("exp")
    with pytest.raises(TypeError):
        transform.MergeComposite([("a", 3)])(mod)


def test_functions_in_partitions_stay_whole():
    """The inner function keeps its parameters; what it captures becomes a parameter outside."""
    x, y, b = (relay.var(name, shape=(3,)) for name in "xyb")
    inner = relay.Function([x], relay.exp(x) * y)
    whole = relay.Function([y, b], relay.Call(inner, [b]) + b)
    call = FunctionPattern([wildcard()], wildcard())(wildcard())
    body = (call + wildcard()).partition(whole.body)
    made = body.op
    assert str(made.attrs["PartitionedFromPattern"]) == "exp_multiply_FunctionCall_add_"
    assert len(made.params) == len(body.args) == 2
    assert not relay.analysis.free_vars(made)
    assert relay.analysis.well_formed(relay.Function([y, b], body))
    data = np.float32([0, 1, 2]), np.float32([3, 4, 5])
    runs = [
        relay.create_executor("debug", tenon.IRModule.from_expr(f)).evaluate()(*data).numpy()
        for f in (whole, relay.Function([y, b], body))
    ]
    np.testing.assert_array_equal(*runs)
