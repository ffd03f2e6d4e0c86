"""Derivatives: rules of operators against differences, programs with control flow, errors."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.testing import check_grad, run_infer_type
from tenon.relay.transform import gradient

HOST = [("stackvm", tenon.cpu())]


def var(name, *shape, dtype="float64"):
    return relay.var(name, shape=shape, dtype=dtype)


def positive(*shape, seed=0):
    return np.random.default_rng(seed).uniform(0.3, 0.8, shape)


def numbers(*shape, seed=0):
    """Numbers that are apart from each other and from zero."""
    n = int(np.prod(shape, dtype=int))
    x = (np.random.default_rng(seed).permutation(n) + 0.5) / n
    return (4 * x - 2 + 0.01).reshape(shape)


def check(make, *arrays, mode="first_order"):
    """Along a direction for each argument, the result weighted so that places matter."""
    args = [relay.var(f"x{i}", shape=a.shape, dtype=str(a.dtype)) for i, a in enumerate(arrays)]
    y = make(*args)
    y = y.astuple() if isinstance(y, relay.TupleWrapper) else y
    kind = run_infer_type(y).checked_type
    kinds = [kind] if isinstance(kind, relay.TensorType) else list(kind.fields)
    parts = [relay.TupleGetItem(y, i) for i in range(len(kinds))] if kinds != [kind] else [y]
    total = [
        relay.sum(p * relay.const(numbers(*map(int, k.shape), seed=i)))
        for i, (p, k) in enumerate(zip(parts, kinds, strict=True))
    ]
    func = relay.Function(args, sum(total[1:], total[0]))
    run = relay.create_executor("debug", target="stackvm")
    _, found = run.evaluate(gradient(func, mode=mode))(*arrays)
    forward, eps = run.evaluate(func), 1e-5
    for i, x in enumerate(arrays):
        v = numbers(*x.shape, seed=7 + i)
        high, low = (
            float(forward(*arrays[:i], x + e * v, *arrays[i + 1 :]).numpy()) for e in (eps, -eps)
        )
        want = (high - low) / (2 * eps)
        np.testing.assert_allclose(np.sum(found[i].numpy() * v), want, rtol=1e-4, atol=1e-6)


UNARY = (
    "log log2 log10 exp erf sqrt rsqrt sigmoid sin cos tan sinh cosh tanh asin acos atan asinh "
    "atanh abs negative copy nn.relu floor sign zeros_like ones_like"
).split()


def op(name):
    return getattr(relay.nn, name[3:]) if name.startswith("nn.") else getattr(relay, name)


@pytest.mark.parametrize("name", UNARY)
def test_operators_of_one_tensor(name):
    check(op(name), positive(2, 3))


def test_acosh():
    check(relay.acosh, 1.5 + positive(3))


@pytest.mark.parametrize(
    "name", "add subtract multiply divide power maximum minimum floor_divide".split()
)
@pytest.mark.parametrize("shapes", [((2, 3), (2, 3)), ((2, 3), (3,)), ((2, 1), (4, 1, 3))])
def test_operators_of_two_tensors(name, shapes):
    check(op(name), 1 + positive(*shapes[0]), 1 + positive(*shapes[1], seed=1))


@pytest.mark.parametrize("name", "sum mean max min prod".split())
@pytest.mark.parametrize(
    "how", [{}, {"axis": 1}, {"axis": [0, -1], "keepdims": True}, {"axis": 1, "exclude": True}]
)
def test_reductions(name, how):
    check(lambda x: op(name)(x, **how), numbers(2, 3, 2))


@pytest.mark.parametrize("how", [{}, {"axis": 1}, {"axis": 0, "keepdims": True}])
def test_products_with_zeros(how):
    x = numbers(4, 3)
    x[1, 1] = x[2, 0] = x[2, 2] = 0
    check(lambda x: relay.prod(x, **how), x)


@pytest.mark.parametrize("mode", ["clip", "wrap"])
def test_indices_of_few_bits(mode):
    i = relay.const(np.array([-1, 100, 7], "int8"))
    check(lambda x: relay.take(x, i, 0, mode=mode), numbers(300, 2))


def test_equal_largest_elements_share():
    x = var("x", 4)
    func = gradient(relay.Function([x], relay.max(x)), mode="first_order")
    run = relay.create_executor("debug", target="stackvm").evaluate(func)
    _, (d,) = run(np.array([1.0, 3.0, 3.0, 2.0]))
    np.testing.assert_array_equal(d.numpy(), [0, 0.5, 0.5, 0])


INDICES = np.array([[1, 0, 1], [2, 2, -1]])
MOVES = {
    "variance": lambda x: relay.variance(x, axis=[1]),
    "reshape": lambda x: relay.reshape(x, (4, -1)),
    "reverse_reshape": lambda x: relay.reverse_reshape(x, (-1, 2)),
    "reshape_like": lambda x: relay.reshape_like(x, relay.ones((4, 3), "float64")),
    "squeeze": lambda x: relay.squeeze(relay.expand_dims(x, 1, 2), axis=[1, 2]),
    "batch_flatten": relay.nn.batch_flatten,
    "transpose": lambda x: relay.transpose(x, (1, 2, 0)),
    "transpose_all": relay.transpose,
    "reverse": lambda x: relay.reverse(x, axis=1),
    "cast": lambda x: relay.cast(relay.cast(x, "float64"), "float64"),
    "clip": lambda x: relay.clip(x, -1.0, 1.0),
    "where": lambda x: relay.where(x > relay.const(0.0, "float64"), x * x, relay.exp(x)),
    "broadcast_to": lambda x: relay.broadcast_to(x, (2, 2, 3, 2)),
    "broadcast_to_like": lambda x: relay.broadcast_to_like(x, relay.ones((2, 2, 3, 2), "float64")),
    "collapse_sum_to": lambda x: relay.collapse_sum_to(x, (3, 1)),
    "full": lambda x: relay.full(relay.sum(x), (2, 2)),
    "concatenate": lambda x: relay.concatenate([x, x * x, x], axis=-1),
    "stack": lambda x: relay.stack([x, x * x], axis=-1),
    "split": lambda x: relay.split(x, [1], axis=1),
    "split_twice": lambda x: relay.split(x * x, 3, axis=1)[1],
    "strided_slice": lambda x: relay.strided_slice(x, [0, 2, 1], [2, 0, 2], [1, -1, 1]),
    "slice_steps": lambda x: relay.strided_slice(x, [0], [3], [2], axes=[1]),
    "slice_size": lambda x: relay.strided_slice(x, [1, 0, 0], [-1, 2, 1], slice_mode="size"),
    "take": lambda x: relay.take(x, relay.const(INDICES), axis=1, mode="wrap"),
    "take_flat": lambda x: relay.take(x, relay.const(INDICES)),
    "take_one": lambda x: relay.take(x, relay.const(1), axis=0),
    "gather_nd": lambda x: relay.gather_nd(x, relay.const(np.array([[0, 1, 1], [2, 2, 0]]))),
    "tile": lambda x: relay.tile(x, (2, 1, 3)),
    "tile_more": lambda x: relay.tile(x, (2, 1, 1, 2)),
    "repeat": lambda x: relay.repeat(x, 2, 1),
    "pad": lambda x: relay.nn.pad(x, ((0, 1), (2, 0), (1, 1)), pad_value=3.0),
    "dropout": lambda x: relay.nn.dropout(x),
    "softmax": lambda x: relay.nn.softmax(x, axis=1),
    "log_softmax": relay.nn.log_softmax,
    "leaky_relu": lambda x: relay.nn.leaky_relu(x, 0.1),
    "bias_add": lambda x: relay.nn.bias_add(x, relay.sum(x, axis=[0, 2]), axis=1),
    "stop_fusion": lambda x: relay.annotation.stop_fusion(x * x),
}


@pytest.mark.parametrize("name", MOVES)
def test_operators_that_move_elements(name):
    check(MOVES[name], numbers(2, 3, 2))


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
def test_products(mode):
    a, b = numbers(2, 3), numbers(4, 3, seed=1)
    check(relay.nn.dense, a, b, mode=mode)
    check(relay.nn.dense, numbers(2, 2, 3), b, mode=mode)
    for i in range(4):
        x, y = a.T if i & 1 else a, b if i & 2 else b.T
        x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
        how = {"transpose_a": bool(i & 1), "transpose_b": bool(i & 2)}
        check(lambda p, q, how=how: relay.nn.matmul(p, q, **how), x, y, mode=mode)
        x, y = np.stack([x] * 2), np.stack([y])
        check(lambda p, q, how=how: relay.nn.batch_matmul(p, q, **how), x, y, mode=mode)


CONVS = [
    {},
    {"strides": (2, 2), "padding": (1, 0, 2, 1)},
    {"dilation": (2, 1), "padding": (1, 1)},
    {"strides": (3, 2), "dilation": (1, 2), "groups": 2, "padding": (1, 1)},
]


@pytest.mark.parametrize("how", CONVS)
def test_convolutions(how):
    g = how.get("groups", 1)
    x, w = numbers(2, 4, 6, 5), numbers(2, 4 // g, 3, 2, seed=1)
    check(lambda a, b: relay.nn.conv2d(a, b, **how), x, w)


@pytest.mark.parametrize("kind", ["max", "avg"])
@pytest.mark.parametrize(
    "how",
    [
        {"pool_size": (2, 2), "strides": (2, 2)},
        {"pool_size": (3, 2), "strides": (1, 2), "padding": (1, 0, 1, 1)},
        {"pool_size": (2, 2), "strides": (2, 2), "ceil_mode": True, "padding": (0, 1, 0, 0)},
        {"pool_size": (2, 2), "dilation": (2, 1), "layout": "NHWC"},
    ],
)
def test_pooling(kind, how):
    x = numbers(1, 5, 5, 2) if "layout" in how else numbers(1, 2, 5, 5)
    pool = getattr(relay.nn, f"{kind}_pool2d")
    check(lambda a: pool(a, **how), x)
    if kind == "avg":
        check(lambda a: pool(a, count_include_pad=True, **how), x)
    check(getattr(relay.nn, f"global_{kind}_pool2d"), numbers(2, 2, 3, 3))


@pytest.mark.parametrize("name", ["cross_entropy", "cross_entropy_with_logits"])
def test_losses(name):
    check(getattr(relay.nn, name), positive(3, 4), positive(3, 4, seed=1))


def test_a_network_learns():
    """Steps down the gradient, compiled for the graph executor."""
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((32, 4)).astype("float32"), rng.integers(0, 3, 32)
    target = np.eye(3, dtype="float32")[y]
    shapes = {"w1": (8, 4), "b1": (8,), "w2": (3, 8)}
    params = {k: rng.standard_normal(s).astype("float32") * 0.5 for k, s in shapes.items()}
    v = {k: relay.var(k, shape=s) for k, s in shapes.items()}
    data, goal = relay.var("x", shape=x.shape), relay.var("y", shape=target.shape)
    hidden = relay.tanh(relay.nn.bias_add(relay.nn.dense(data, v["w1"]), v["b1"]))
    logits = relay.nn.log_softmax(relay.nn.dense(hidden, v["w2"]))
    loss = relay.nn.cross_entropy_with_logits(logits, goal)
    mod = tenon.IRModule.from_expr(relay.Function([*v.values(), data, goal], loss))
    mod = relay.transform.FirstOrderGradient()(mod)
    with tenon.transform.PassContext(opt_level=3):
        lib = relay.build(mod, "llvm")
    run = tenon.contrib.graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    losses = []
    for _ in range(60):
        run.run(x=x, y=target, **params)
        losses.append(float(run.get_output(0).numpy()))
        for i, name in enumerate(params):
            params[name] = params[name] - 1.0 * run.get_output(1 + i).numpy()
    assert losses[-1] < 0.5 * losses[0]


# ---- control flow ----


def evaluate(func, *args, mod=None):
    mod = mod or tenon.IRModule()
    return relay.create_executor("debug", mod=mod, target="stackvm").evaluate(func)(*args)


def test_branches_references_and_closures():
    x = var("x")
    r = relay.var("r")
    f, p = relay.var("f"), var("p")
    body = relay.Let(
        f,
        relay.Function([p], relay.RefRead(r) * p),
        relay.If(x > relay.const(0.0, "float64"), relay.Call(f, [x]), relay.Call(f, [x * x])),
    )
    func = relay.Function([x], relay.Let(r, relay.RefCreate(x * relay.const(3.0, "float64")), body))
    check_grad(func, inputs=[np.array(2.0)], target_devices=HOST)
    check_grad(func, inputs=[np.array(-2.0)], target_devices=HOST)


def test_tuples_and_data():
    mod = tenon.IRModule()
    prelude = relay.prelude.Prelude(mod)
    cons, nil = mod.get_type("List")[1:3]
    x, y = var("x", 2), var("y")
    h, t = relay.var("h"), relay.var("t")
    pair = relay.TupleType([x.type_annotation, y.type_annotation])
    z = relay.var("z", pair)
    clause = relay.Clause(
        relay.PatternConstructor(cons, [relay.PatternVar(h), relay.PatternVar(t)]), h * h
    )
    items = cons(relay.TupleGetItem(z, 0) * relay.TupleGetItem(z, 1), nil())
    func = relay.Function([z], relay.Match(items, [clause], complete=False))
    back = gradient(func, prelude.mod)
    xs, s = np.array([1.0, 2.0]), np.array(3.0)
    _, ((dx, dy),) = evaluate(back, (tenon.nd.array(xs), tenon.nd.array(s)), mod=prelude.mod)
    np.testing.assert_allclose(dx.numpy(), 2 * xs * s * s)
    np.testing.assert_allclose(dy.numpy(), np.sum(2 * xs * xs * s))


def test_recursion():
    mod = tenon.IRModule()
    power = relay.GlobalVar("power")
    n, x = var("n", dtype="int32"), var("x")
    one = relay.const(1, "int32")
    body = relay.If(
        relay.equal(n, relay.const(0)), relay.const(1.0, "float64"), power(n - one, x) * x
    )
    scalar = relay.TensorType((), "float64")
    mod[power] = relay.Function([n, x], body, scalar)
    func = relay.Function([x], power(relay.const(4), x))
    back = gradient(func, mod)
    assert "power_grad" in [v.name_hint for v in mod.get_global_vars()]
    y, (d,) = evaluate(back, np.array(2.0), mod=mod)
    assert float(y.numpy()) == 16 and float(d.numpy()) == 32
    y, (_, d) = evaluate(gradient(power, mod), np.array(3, "int32"), np.array(2.0), mod=mod)
    assert float(d.numpy()) == 12


def test_functions_of_the_program_stay():
    """One that has the name of a derivative is another function."""
    mod, f, other = tenon.IRModule(), relay.GlobalVar("f"), relay.GlobalVar("f_grad")
    x, kind = var("x", 3), relay.TensorType((3,), "float64")
    mod[f] = relay.Function([x], x * x, kind)
    mod[other] = relay.Function([x], relay.exp(x), kind)
    back = gradient(relay.Function([x], f(x) + other(x)), mod)
    data = numbers(3)
    y, (d,) = evaluate(back, data, mod=mod)
    np.testing.assert_allclose(y.numpy(), data * data + np.exp(data))
    np.testing.assert_allclose(d.numpy(), 2 * data + np.exp(data))


def test_second_derivatives():
    x = var("x", 3)
    once = run_infer_type(gradient(relay.Function([x], relay.tanh(x) * x * x)))
    first = relay.Function([x], relay.TupleGetItem(relay.TupleGetItem(relay.Call(once, [x]), 1), 0))
    check_grad(first, inputs=[numbers(3)], target_devices=HOST)


# ---- rules of programs, errors ----


def test_a_program_gives_an_operator_its_gradient():
    seen = []

    def rule(call, d):
        seen.append(call.args[0].checked_type)
        return [d * relay.const(5.0, "float64"), None][: len(call.args)]

    x = var("x", 2)
    func = relay.Function([x], relay.round(x))
    with relay.testing.TempOpAttr("round", "FPrimalGradient", rule):
        for mode in ("first_order", "higher_order"):
            _, (d,) = evaluate(gradient(func, mode=mode), np.ones(2))
            np.testing.assert_array_equal(d.numpy(), [5, 5])
    assert len(seen) == 2
    with (
        relay.testing.TempOpAttr("round", "FPrimalGradient", lambda call, d: [d, d]),
        pytest.raises(TypeError, match="gradient of round: expected a list of 1 expressions"),
    ):
        gradient(func)


@pytest.mark.parametrize("mode", ["first_order", "higher_order"])
def test_operators_without_a_gradient(mode):
    x = var("x", 4)
    message = "nn.l2_normalize has no gradient: relay.op.register_gradient gives it one"
    with pytest.raises(tenon.error.OpNotImplemented, match=message):
        gradient(
            relay.Function([x], relay.nn.l2_normalize(relay.expand_dims(x, 0), 1e-5)), mode=mode
        )
    # what is not differentiable needs none
    func = relay.Function([x], relay.cast(relay.argsort(x), "float64") + x)
    _, (d,) = evaluate(gradient(func, mode=mode), np.arange(4.0))
    np.testing.assert_array_equal(d.numpy(), np.ones(4))


def test_errors():
    x = var("x", 2)
    identity = relay.Function([x], x)
    with pytest.raises(ValueError, match="unknown mode 'third'"):
        gradient(identity, mode="third")
    with pytest.raises(RuntimeError, match="FirstOrderGradient"):
        gradient(identity, tenon.IRModule(), mode="first_order")
    with pytest.raises(TypeError, match="expected a function"):
        gradient(x)
    with pytest.raises(ValueError, match="@f is called, but no module was given"):
        gradient(relay.GlobalVar("f"))
    branch = relay.If(relay.const(True), x, x * x)
    with pytest.raises(
        ValueError, match="relay.If is not an operator.*use relay.transform.gradient"
    ):
        gradient(relay.Function([x], branch), mode="first_order")


def test_a_program_too_deep_is_an_error():
    """Not the end of the process."""
    x, c = var("x"), relay.var("c", shape=(), dtype="bool")
    body = x
    for _ in range(20000):
        body = relay.If(c, body, x)
    with pytest.raises(RuntimeError, match="nested too deeply"):
        gradient(relay.Function([x, c], body), mode="higher_order")


def test_check_grad_chooses_inputs_that_single_precision_can_tell_apart():
    """Numbers as large as the step: the differences of larger ones are lost in float32."""
    x = relay.var("x", shape=(2, 3, 4), dtype="float32")
    check_grad(relay.Function([x], relay.reshape(x, (6, 4))), target_devices=HOST)


def test_gradient_of_a_shape_that_is_a_tensor():
    """It flows back to the elements; the shape has none."""
    x, shape = relay.var("x", shape=(2, 6)), relay.var("s", shape=(2,), dtype="int64")
    func = relay.Function([x, shape], relay.reshape(x, shape) * relay.const(3.0))
    arrays = [np.ones((2, 6), "float32"), np.array([4, 3], "int64")]
    check_grad(func, inputs=arrays, test_inputs=arrays[:1], eps=1e-2, target_devices=HOST)
