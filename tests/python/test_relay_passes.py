"""Passes over Relay programs: networks compute the same before and after; what golden files do not
show."""

import json
import math

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay import testing, transform


def random_params(mod, skip, seed=0):
    """Numbers for all parameters but the input; variances and scales are positive."""
    rng = np.random.default_rng(seed)
    params = {}
    for v in mod["main"].params:
        name, shape = str(v.name_hint), [int(d) for d in v.checked_type.shape]
        if name == skip:
            continue
        positive = "var" in name or "gamma" in name
        spread = np.sqrt(2 / np.prod(shape[1:])) if len(shape) > 1 else 0.3
        value = rng.uniform(0.5, 1.5, shape) if positive else rng.normal(0, spread, shape)
        params[name] = value.astype("float32")
    return params


def branches():
    """Convolutions of one input with what follows, and dense layers of one input."""
    x = relay.var("data", shape=(1, 4, 8, 8))
    parts = []
    for i, channels in enumerate((3, 5, 4)):
        y = relay.nn.conv2d(
            x, relay.var(f"w{i}", shape=(channels, 4, 3, 3)), padding=(1, 1), kernel_size=(3, 3)
        )
        y = relay.nn.bias_add(y, relay.var(f"b{i}", shape=(channels,)))
        parts.append(relay.nn.relu(y))
    y = relay.concatenate(parts, axis=1)
    y = relay.nn.batch_flatten(relay.nn.max_pool2d(y, pool_size=(2, 2), strides=(2, 2)))
    heads = [relay.nn.dense(y, relay.var(f"v{i}", shape=(6, 192)), units=6) for i in range(3)]
    heads[1] = relay.tanh(heads[1]) * relay.const(1.0)
    e = relay.sqrt(relay.exp(heads[2] / relay.const(4.0)))
    out = relay.add(heads[0], relay.reshape(relay.reshape(heads[1], (3, 2)), (1, 6)))
    return relay.Function(relay.analysis.free_vars(out + e), out + e)


def load(name):
    if name == "resnet":
        net = testing.resnet.get_net(1, 10, 8, (3, 16, 16))
    elif name == "mobilenet":
        net = testing.mobilenet.mobile_net(
            num_classes=10, data_shape=(1, 3, 32, 32), alpha=0.25, is_shallow=True
        )
    elif name == "branches":
        net = branches()
    mod = transform.InferType()(tenon.IRModule.from_expr(net))
    params = random_params(mod, "data")
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return transform.InferType()(mod)


def run(mod):
    with tenon.transform.PassContext(opt_level=1):
        lib = relay.build(mod, target="llvm")
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    shape = [int(d) for d in mod["main"].params[0].checked_type.shape]
    module.set_input("data", np.random.default_rng(1).normal(size=shape).astype("float32"))
    module.run()
    return module.get_output(0).numpy()


NETWORKS = ("resnet", "mobilenet", "branches")


@pytest.fixture(scope="module")
def networks():
    return {name: (mod := load(name), run(mod)) for name in NETWORKS}


SIMPLIFIED = ["SimplifyInference", "FoldConstant"]
PIPELINES = {
    "SimplifyExpr": [*SIMPLIFIED, "SimplifyExpr"],
    "FoldScaleAxis": [*SIMPLIFIED, "FoldScaleAxis"],
    "Canonicalize": ["CanonicalizeOps", "CanonicalizeCast", "DivToMul"],
    "Defuse": ["FuseOps", "DefuseOps"],
    "FoldExplicitPadding": ["FoldExplicitPadding"],
    "DeadCodeElimination": ["DeadCodeElimination"],
    "CombineParallel": ["CombineParallelConv2D", "CombineParallelDense"],
}


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("network", NETWORKS)
def test_networks_compute_the_same(networks, network, pipeline):
    mod, want = networks[network]
    with tenon.transform.PassContext(opt_level=4):
        for name in PIPELINES[pipeline]:
            mod = getattr(transform, name)()(mod)
    mod = transform.InferType()(mod)
    np.testing.assert_allclose(run(mod), want, rtol=1e-5, atol=1e-5 * np.abs(want).max())


def operators(mod):
    return {str(k): int(v) for k, v in relay.analysis.list_op_freqs(mod).items()}


@pytest.mark.parametrize("network", ["resnet", "mobilenet"])
def test_batch_norm_becomes_part_of_convolutions(networks, network):
    mod = networks[network][0]
    for name in [*SIMPLIFIED, "FoldScaleAxis"]:
        mod = getattr(transform, name)()(mod)
    left = operators(mod).get("multiply", 0)
    assert left == (0 if network == "mobilenet" else left)
    assert left < operators(networks[network][0])["nn.batch_norm"]


def test_fast_math_is_close():
    x = relay.var("data", shape=(1000,))
    f = relay.Function([x], relay.Tuple([relay.exp(x), relay.tanh(x), relay.erf(x)]))
    mod = transform.FastMath()(tenon.IRModule.from_expr(f))
    lib = relay.build(mod, target="llvm")
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    v = np.linspace(-20, 20, 1000, dtype="float32")
    module.set_input("data", v)
    module.run()
    exp, tanh, erf = (module.get_output(i).numpy() for i in range(3))
    np.testing.assert_allclose(exp, np.exp(v), rtol=1e-5)
    np.testing.assert_allclose(tanh, np.tanh(v), atol=1e-5)
    np.testing.assert_allclose(erf, [math.erf(e) for e in v], atol=1e-4)


def test_long_chains_of_bindings():
    x = relay.var("x", shape=(2,))
    variables = [relay.var(f"v{i}") for i in range(20_000)]
    body = variables[-1]
    for i in reversed(range(len(variables))):
        body = relay.Let(variables[i], relay.exp(variables[i - 1] if i else x), body)
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    assert isinstance(transform.DeadCodeElimination()(mod)["main"].body, relay.Let)
    inlined = transform.DeadCodeElimination(inline_once=True)(mod)["main"].body
    assert isinstance(inlined, relay.Call)
    unused = relay.Let(variables[0], relay.exp(x), relay.Let(variables[1], variables[0], x))
    mod = tenon.IRModule.from_expr(relay.Function([x], unused))
    alone = transform.DeadCodeElimination()(mod)["main"]
    assert alone.body.same_as(alone.params[0])


def test_disabled_passes_do_not_run():
    x = relay.var("x", shape=(2,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.add(x, relay.const(0.0))))
    both = tenon.transform.Sequential([transform.SimplifyExpr(), transform.FastMath()])
    assert isinstance(both(mod)["main"].body, relay.Var)
    with tenon.transform.PassContext(disabled_pass=["SimplifyExpr"]):
        assert isinstance(both(mod)["main"].body, relay.Call)


def test_operators_for_other_code_generators():
    """From annotations by a function to functions of the module, which compute the same."""

    def takes(call):
        return len(call.checked_type.shape) == 1

    x = relay.var("x", shape=(4,))
    e = relay.exp(relay.nn.relu(x)) + relay.sum(relay.exp(relay.reshape(x, (2, 2))), axis=[0, 1])
    mod = tenon.IRModule.from_expr(relay.Function([x], e))
    for name in ("nn.relu", "exp"):
        tenon.ir.register_op_attr(name, "target.testing", takes)
    try:
        mod = transform.AnnotateTarget(["testing"])(mod)
    finally:
        for name in ("nn.relu", "exp"):
            relay.op.get(name).reset_attr("target.testing")
    begins = operators(mod)["annotation.compiler_begin"]
    merged = transform.MergeCompilerRegions()(mod)
    assert (begins, operators(merged)["annotation.compiler_begin"]) == (2, 1)
    parts = transform.PartitionGraph()(merged)
    name = "tvmgen_default_testing_main_0"
    assert {str(v.name_hint) for v in parts.get_global_vars()} == {"main", name}
    f = parts[name]
    assert f.attrs["Compiler"] == "testing" and f.attrs["global_symbol"] == name
    assert isinstance(f.body, relay.Call) and f.body.op == relay.op.get("exp")
    assert relay.annotation.stop_fusion(x).op == relay.op.get("annotation.stop_fusion")


@pytest.mark.parametrize("network", ["resnet", "branches"])
def test_mixed_precision_is_close(networks, network):
    mod, want = networks[network]
    for name in SIMPLIFIED:
        mod = getattr(transform, name)()(mod)
    mod = transform.ToMixedPrecision("float16")(mod)
    convs = []

    def note(e):
        if isinstance(e, relay.Call) and e.op == relay.op.get("nn.conv2d"):
            convs.append(e)

    relay.analysis.post_order_visit(transform.InferType()(mod)["main"], note)
    assert convs and all(c.args[1].checked_type.dtype == "float16" for c in convs)
    got = run(transform.InferType()(transform.FoldConstant()(mod)))
    np.testing.assert_allclose(got, want, rtol=0.05, atol=0.01 * np.abs(want).max())


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_mixed_precision_of_variables(dtype):
    """Variables and constants follow; clip does where its bounds are numbers of the type."""
    x = relay.var("x", shape=(2, 4))
    small = relay.clip(relay.divide(x, relay.const(4.0)), -2, 2)
    large = relay.clip(relay.multiply(x, relay.const(0.5)), -70000, 70000)
    both = relay.Function([x], relay.Tuple([small, large, relay.exp(x)]))
    mod = transform.InferType()(tenon.IRModule.from_expr(both))
    changed = transform.ToMixedPrecision(dtype)(mod)
    types = [t.dtype for t in changed["main"].ret_type.fields]
    assert types == [dtype, "float32" if dtype == "float16" else dtype, "float32"]
    data = np.float32([[-9, -1, 0.25, 100], [1, 2, 3, 1000]])
    want = relay.create_executor("graph", mod=mod, target="llvm").evaluate()(data)
    with tenon.transform.PassContext(
        config={"relay.ToMixedPrecision.keep_orig_output_dtype": True}
    ):
        kept = transform.ToMixedPrecision(dtype)(mod)
    assert kept["main"].ret_type == mod["main"].ret_type
    got = relay.create_executor("graph", mod=kept, target="llvm").evaluate()(data)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-2)


def test_mixed_precision_leaves_indices_alone():
    x, i = relay.var("x", shape=(3000,)), relay.var("i", shape=(1, 2))
    mod = transform.InferType()(tenon.IRModule.from_expr(relay.gather_nd(x, i)))
    values = np.zeros(3000, "float32")
    values[[257, 2049]] = 1, 2  # the nearest numbers of bfloat16 are 256 and 2048
    mod = transform.ToMixedPrecision("bfloat16")(mod)
    f = relay.create_executor("graph", mod=mod, target="llvm").evaluate()
    assert f(values, np.float32([[257, 2049]])).numpy().tolist() == [1, 2]


def test_mixed_precision_asks_operators():
    from tenon.relay.testing.temp_op_attr import TempOpAttr

    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    key = "FTVMMixedPrecisionConversionType"
    with TempOpAttr("exp", key, lambda call, dtype: [0, dtype, dtype]):
        f = transform.InferType()(transform.ToMixedPrecision()(mod))["main"]
    assert f.ret_type.dtype == "float16" and f.body.op == relay.op.get("exp")
    with TempOpAttr("exp", key, lambda call, dtype: 3):
        with pytest.raises(TypeError, match="a number and two types"):
            transform.ToMixedPrecision()(mod)
    with pytest.raises(ValueError, match="float16, bfloat16 or float64"):
        transform.ToMixedPrecision("int8")(mod)
    with pytest.raises(ValueError, match="0, 1 or 2"):
        transform.ToMixedPrecision("float16", 3)(mod)


def kernels_of(mod, level=3):
    with tenon.transform.PassContext(opt_level=level):
        lib = relay.build(mod, target="llvm")
    nodes = json.loads(lib.get_graph_json())["nodes"]
    return [n["attrs"]["func_name"] for n in nodes if n["op"] == "tvm_op"]


def test_a_convolution_and_what_follows_are_one_kernel(networks):
    """Convolution, batch normalisation, relu and the sum of a residual unit."""
    data, w = relay.var("data", shape=(1, 4, 8, 8)), relay.const(np.ones((4, 4, 3, 3), "float32"))
    ones = relay.const(np.ones(4, "float32"))
    y = relay.nn.conv2d(data, w, padding=(1, 1), channels=4, kernel_size=(3, 3))
    y = relay.nn.batch_norm(relay.nn.bias_add(y, ones), *[ones] * 4)[0]
    f = relay.Function([data], relay.nn.relu(y + data))
    names = kernels_of(tenon.IRModule.from_expr(f))
    layers = [n for n in names if "layout_transform" not in n]
    assert len(layers) == 1 and "conv2d" in layers[0] and layers[0].endswith("_add_add_nn_relu")
    assert not layers[0].endswith("_add_add_add_nn_relu")  # bias and shift are one constant
    for network in ("resnet", "mobilenet"):
        names = kernels_of(networks[network][0])
        loose = [n for n in names if n.endswith(("_multiply", "_nn_batch_norm"))]
        assert not loose, names


def test_functions_for_other_code_generators_are_inlined():
    x, p = relay.var("x", shape=(4,)), relay.var("p", shape=(4,))
    outer, inner = relay.GlobalVar("outer"), relay.GlobalVar("inner")
    f = relay.Function([p], relay.exp(p)).with_attr("Compiler", "a")
    mod = tenon.IRModule(
        {inner: f, outer: f, relay.GlobalVar("main"): relay.Function([x], outer(inner(x)))}
    )
    got = transform.InlineCompilerFunctionsBoundTo([outer])(mod)
    assert {str(v.name_hint) for v in got.get_global_vars()} == {"inner", "main"}
    assert got["main"].body.op == relay.op.get("exp")
    assert got["main"].body.args[0].op.name_hint == "inner"


def test_places_in_the_printed_program():
    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.tanh(relay.exp(x))))
    span = transform.AnnotateSpans()(mod)["main"].body.span
    assert span.source_name.name == "GeneratedSource" and span.line == 4


def test_builds_tell_instruments_about_every_pass(networks):
    seen = []

    @tenon.instrument.pass_instrument
    class Note:
        def run_before_pass(self, mod, info):
            seen.append(str(info.name))

    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(relay.add(x, x))))

    def passes(level, **how):
        seen.clear()
        with tenon.transform.PassContext(opt_level=level, instruments=[Note()], **how):
            relay.build(mod, target="llvm")
        return set(seen)

    assert {"SimplifyExpr", "FuseOps"} <= passes(0) and "LabelOps" in passes(1)
    assert {"FoldScaleAxis", "FastMath", "FoldConstant"}.isdisjoint(passes(1))
    assert {"FoldScaleAxis", "CanonicalizeOps", "BackwardFoldScaleAxis"} <= passes(3)
    assert {"FastMath", "CombineParallelConv2D"} <= passes(4)
    assert "FastMath" in passes(1, required_pass=["FastMath"])
    assert "FoldScaleAxis" not in passes(3, disabled_pass=["FoldScaleAxis"])
    assert passes(2) == passes(3)  # a build by itself
    assert "AlterOpLayout" not in passes(2, disabled_pass=["AlterOpLayout"])


def test_a_constant_that_everything_reads_does_not_hinder_fusion():
    x, one = relay.var("x", shape=(2,)), relay.const(np.ones(2, "float32"))

    def functions(constant):
        e = x
        for _ in range(2000):
            e = relay.nn.relu(relay.add(e, constant()))
        mod = tenon.IRModule.from_expr(relay.Function([x], e))
        fused, found = transform.FuseOps()(transform.InferType()(mod)), []
        relay.analysis.post_order_visit(
            fused["main"], lambda e: found.append(e) if isinstance(e, relay.Function) else None
        )
        return len(found)

    shared = functions(lambda: one)
    assert 4000 / 256 <= shared < 20
    assert shared == functions(lambda: relay.const(np.ones(2, "float32")))


def typed(func):
    return func.ret_type is not None and func.body.checked_type == func.ret_type


def test_passes_leave_types():
    """What a program gets from a pass has types, also where it had none before."""
    x = relay.var("x", shape=(4,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.add(relay.exp(x), relay.exp(x))))
    assert mod["main"].ret_type is None
    for name in ("EliminateCommonSubexpr", "SimplifyExpr", "FoldConstant", "FoldScaleAxis"):
        assert typed(getattr(transform, name)()(mod)["main"]), name

    seen = []

    @transform.function_pass(opt_level=0)
    def negated(func, mod, ctx):
        return relay.Function(func.params, relay.negative(func.body))

    @transform.function_pass(opt_level=0)
    def looked_at(func, mod, ctx):
        seen.append(func.body.checked_type)
        return func

    after = tenon.transform.Sequential([negated, looked_at])(mod)
    assert typed(after["main"])
    assert seen == [relay.TensorType((4,), "float32")]

    @tenon.transform.module_pass(opt_level=0)
    def as_it_is(mod, ctx):
        return mod

    assert as_it_is(mod)["main"].ret_type is None  # a pass over modules says what it returns


def test_passes_that_break_types_say_so():
    x = relay.var("x", shape=(4,))

    @transform.function_pass(opt_level=0)
    def broken(func, mod, ctx):
        return relay.Function(func.params, relay.add(func.body, relay.const([1.0, 2.0])))

    with pytest.raises(tenon.error.DiagnosticError, match="Incompatible broadcast type"):
        broken(tenon.IRModule.from_expr(relay.Function([x], x)))


def test_inline_keeps_entries_and_recursion():
    mod = tenon.IRModule()
    n, x = relay.var("n", shape=(), dtype="int32"), relay.var("x", shape=(2,))
    down, half, alone = (relay.GlobalVar(name) for name in ("down", "half", "alone"))
    one = relay.const(1)
    again = relay.If(relay.greater(n, one), down(relay.subtract(n, one)), n)
    inline = {"Inline": tenon.tir.IntImm("int32", 1)}

    def marked(func, **attrs):
        return func.with_attr({**inline, **attrs})

    mod[down] = marked(relay.Function([n], again, relay.scalar_type("int32")))
    mod[half] = marked(relay.Function([x], relay.negative(x)), Compiler="other")
    mod[alone] = marked(relay.Function([x], relay.exp(x)))
    p, q = relay.var("p", shape=(), dtype="int32"), relay.var("q", shape=(2,))
    mod["main"] = relay.Function([p, q], relay.Tuple([down(p), half(q)]))
    after = transform.Inline()(mod)
    assert sorted(v.name_hint for v in after.get_global_vars()) == ["alone", "down", "main"]
    called, outside = after["main"].body.fields
    assert called.op.name_hint == "down"  # one step of it would win nothing
    assert isinstance(outside.op, relay.Function) and outside.op.attrs["Compiler"] == "other"
