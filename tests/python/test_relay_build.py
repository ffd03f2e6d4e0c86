"""From Relay programs to graph executors: names, graphs, memory plans, numbers, errors."""

import json
import warnings

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.contrib import graph_executor
from tenon.relay.backend import Executor, Runtime


def build(func, level=3, target="llvm", **how):
    with tenon.transform.PassContext(opt_level=level):
        return relay.build(tenon.IRModule({"main": func}), target=target, **how)


def run(lib, **inputs):
    module = graph_executor.GraphModule(lib["default"](tenon.cpu(0)))
    module.set_input(**inputs)
    module.run()
    return [module.get_output(i).numpy() for i in range(module.get_num_outputs())]


def kernels(lib):
    nodes = json.loads(lib.get_graph_json())["nodes"]
    return [n["attrs"]["func_name"] for n in nodes if n["op"] == "tvm_op"]


def storage(lib):
    return json.loads(lib.get_graph_json())["attrs"]["storage_id"][1]


def rand(*shape, seed=0):
    return np.random.default_rng(seed).random(shape, dtype="float32")


def mlp():
    x, w, b = (
        relay.var("x", shape=(4, 8)),
        relay.var("w", shape=(16, 8)),
        relay.var("b", shape=(16,)),
    )
    y = relay.tanh(relay.add(relay.nn.dense(x, w), b))
    return relay.Function([x, w, b], relay.Tuple([y, relay.sum(y, axis=1)]))


@pytest.mark.parametrize("target", ["llvm", "stackvm"])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_numbers_do_not_depend_on_level_or_target(level, target):
    x, w, b = rand(4, 8), rand(16, 8, seed=1), rand(16, seed=2)
    want = np.tanh(x @ w.T + b)
    got = run(build(mlp(), level, target), x=x, w=w, b=b)
    np.testing.assert_allclose(got[0], want, rtol=1e-5)
    np.testing.assert_allclose(got[1], want.sum(1), rtol=1e-5)


def test_kernels_are_named_by_their_operators():
    assert kernels(build(mlp())) == [
        "tvmgen_default_fused_nn_dense_add_tanh",
        "tvmgen_default_fused_sum",
    ]
    assert kernels(build(mlp(), level=0, mod_name="net")) == [
        "tvmgen_net_fused_nn_dense",
        "tvmgen_net_fused_add",
        "tvmgen_net_fused_tanh",
        "tvmgen_net_fused_sum",
    ]


def test_equal_kernels_are_made_once():
    x = relay.var("x", shape=(10,))
    e = x
    for _ in range(3):
        e = relay.nn.softmax(relay.reshape(relay.exp(e), (2, 5)))
        e = relay.reshape(e, (10,))
    lib = build(relay.Function([x], e))
    names = kernels(lib)
    assert len(set(names)) < len(names)
    p = rand(10)
    want = p
    for _ in range(3):
        want = np.exp(np.exp(want).reshape(2, 5))
        want = (want / want.sum(1, keepdims=True)).reshape(10)
    np.testing.assert_allclose(run(lib, x=p)[0], want, rtol=1e-5)


def test_parameters_become_constants():
    w, b = rand(16, 8, seed=1), rand(16, seed=2)
    lib = build(mlp(), params={"w": w, "b": b, "other": w})
    assert sorted(lib.get_params()) == ["p0", "p1"]
    np.testing.assert_allclose(run(lib, x=rand(4, 8))[0], np.tanh(rand(4, 8) @ w.T + b), rtol=1e-5)


def test_memory_is_shared():
    x, y = relay.var("x", shape=(10,)), relay.var("y", shape=(1,))
    z = relay.add(x, relay.exp(y))
    for _ in range(5):
        z = relay.exp(z)
    ids = storage(build(relay.Function([x, y], z), level=0))
    assert len(set(ids)) == 4 and len(ids) == 9


def test_reshapes_share_the_memory_of_their_input():
    x = relay.var("x", shape=(4, 4))
    a = relay.reshape(relay.exp(x), (16,))
    lib = build(relay.Function([x], relay.sum(a, axis=0)), level=0)
    assert "__nop" in kernels(lib)
    ids = storage(lib)
    assert ids[1] == ids[2]
    np.testing.assert_allclose(run(lib, x=rand(4, 4))[0], np.exp(rand(4, 4)).sum(), rtol=1e-5)


def test_fusion_of_diamonds_reductions_and_tuples():
    x = relay.var("x", shape=(4, 6))
    a = relay.exp(x)
    diamond = relay.add(relay.tanh(a), relay.sigmoid(a))
    lib = build(relay.Function([x], relay.sum(diamond, axis=[1])))
    assert len(kernels(lib)) == 1
    pair = relay.concatenate([relay.exp(x), relay.tanh(x)], axis=1)
    lib = build(relay.Function([x], relay.nn.relu(pair)))
    assert len(kernels(lib)) == 1
    v = rand(4, 6)
    np.testing.assert_allclose(
        run(lib, x=v)[0], np.concatenate([np.exp(v), np.tanh(v)], 1), rtol=1e-5
    )
    with tenon.transform.PassContext(opt_level=3, config={"relay.FuseOps.max_depth": 2}):
        chain = x
        for op in (relay.exp, relay.tanh, relay.sigmoid, relay.exp):
            chain = op(chain)
        lib = relay.build(tenon.IRModule({"main": relay.Function([x], chain)}), target="llvm")
    assert len(kernels(lib)) == 2


def test_a_result_may_be_an_input_or_appear_twice():
    x = relay.var("x", shape=(3,))
    y = relay.exp(x)
    v = rand(3)
    got = run(build(relay.Function([x], relay.Tuple([y, x, y]))), x=v)
    for value, want in zip(got, [np.exp(v), v, np.exp(v)], strict=True):
        np.testing.assert_allclose(value, want, rtol=1e-6)
    assert (
        graph_executor.GraphModule(
            build(relay.Function([x], relay.Tuple([])))["default"](tenon.cpu(0))
        ).get_num_outputs()
        == 0
    )


def test_normalisation_and_constants_are_folded():
    x = relay.var("x", shape=(1, 3, 4, 4))
    gamma, beta, mean, var = (rand(3, seed=i) + 0.5 for i in range(4))
    params = [relay.const(p) for p in (gamma, beta, mean, var)]
    y = relay.nn.batch_norm(x, *params)[0]
    y = relay.nn.dropout(relay.nn.relu(y))
    lib = build(relay.Function([x], y))
    assert len(kernels(lib)) == 1 and "sqrt" not in kernels(lib)[0]
    v = rand(1, 3, 4, 4)
    s = (slice(None), None, None)
    want = np.maximum((v - mean[s]) / np.sqrt(var[s] + 1e-5) * gamma[s] + beta[s], 0)
    np.testing.assert_allclose(run(lib, x=v)[0], want, rtol=1e-4)


def test_fold_constant():
    x = relay.var("x", shape=(2, 3))
    table = relay.const(np.arange(6, dtype="int64").reshape(2, 3))
    e = relay.take(relay.shape_of(x, "int64"), relay.const(1))
    e = relay.add(relay.sum(relay.transpose(table)), relay.multiply(e, relay.const(np.int64(10))))
    mod = relay.transform.FoldConstant()(tenon.IRModule({"main": relay.Function([x], e)}))
    assert isinstance(mod["main"].body, relay.Constant) and int(mod["main"].body.data.numpy()) == 45
    chosen = relay.If(relay.const(True), relay.exp(x), x)
    mod = relay.transform.FoldConstant()(tenon.IRModule({"main": relay.Function([x], chosen)}))
    assert isinstance(mod["main"].body, relay.Call)


def test_instruments_do_not_see_how_constants_are_computed():
    seen = []

    @tenon.ir.instrument.pass_instrument
    class Names:
        def run_before_pass(self, mod, info):
            seen.append(info.name)

    x = relay.var("x", shape=(3,))
    e = relay.add(x, relay.exp(relay.const(np.ones(3, "float32"))))
    with tenon.transform.PassContext(opt_level=3, instruments=[Names()]):
        relay.transform.FoldConstant()(tenon.IRModule.from_expr(relay.Function([x], e)))
    assert "FoldConstant" in seen and not [name for name in seen if name.startswith("tir.")]


def test_common_subexpressions():
    x = relay.var("x", shape=(2,))
    both = relay.add(relay.exp(x), relay.exp(x))
    make = relay.transform.EliminateCommonSubexpr
    body = make()(tenon.IRModule({"main": relay.Function([x], both)}))["main"].body
    assert body.args[0].same_as(body.args[1])
    kept = make(lambda e: True)(tenon.IRModule({"main": relay.Function([x], both)}))["main"].body
    assert not kept.args[0].same_as(kept.args[1])


def test_many_readers_of_one_value_are_no_burden():
    x = relay.var("x", shape=(2,))
    readers = [relay.add(x, relay.const(np.float32(i % 10_000))) for i in range(20_000)]
    func = relay.Function([x], relay.Tuple(readers))
    body = relay.transform.EliminateCommonSubexpr()(tenon.IRModule({"main": func}))["main"].body
    assert all(a.same_as(b) for a, b in zip(body.fields[:100], body.fields[10_000:], strict=False))
    assert not body.fields[0].same_as(body.fields[1])


def test_unpacking_warns():
    with pytest.warns(DeprecationWarning):
        graph, lib, params = build(mlp(), params={"w": rand(16, 8)})
    assert json.loads(graph)["nodes"] and params and lib is not None


def test_a_long_chain():
    x = relay.var("x", shape=(2,))
    e = x
    for i in range(10_000):
        e = relay.add(e, x) if i % 2 else relay.negative(e)
    lib = build(relay.Function([x], e))
    v = rand(2)
    want = v.astype("float64")
    for i in range(10_000):
        want = want + v if i % 2 else -want
    np.testing.assert_allclose(run(lib, x=v)[0], want, atol=1e-3)


def test_errors_say_what_to_do():
    with pytest.raises(ValueError, match="Type of input parameter mod must be tvm.IRModule"):
        relay.build(3, target="llvm")
    with pytest.raises(ValueError, match="Target is not set"):
        relay.build(tenon.IRModule({"main": mlp()}))
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    with pytest.raises(ValueError, match="relay.vm.compile"):
        build(relay.Function([c, x], relay.If(c, relay.exp(x), x)))
    dynamic = relay.var("x", shape=(relay.Any(), 2))
    with pytest.raises(ValueError, match="only supports static graphs"):
        build(relay.Function([dynamic], relay.exp(dynamic)))
    with pytest.warns(DeprecationWarning):
        relay.build(mlp(), target="llvm")
    a, b = relay.var("a", shape=(1,)), relay.var("a", shape=(1,))
    with pytest.raises(tenon.TVMError, match="Multiple args in the function have name a"):
        build(relay.Function([a, b], relay.add(a, b)), params={"a": rand(1)})


def test_executors_and_runtimes():
    assert Executor.list_registered() == ["graph", "aot"] and "crt" in Runtime.list_registered()
    assert Runtime.list_registered_options("crt")["system-lib"] == "IntImm"
    assert str(Runtime("crt", {"system-lib": True})) == "crt" and f"{Executor('aot')}" == "aot"
    assert "system-lib" in repr(Runtime("crt", {"system-lib": True}))
    aot = Executor("aot", {"interface-api": "c", "unpacked-api": True})
    assert aot["interface-api"] == "c" and bool(aot["unpacked-api"]) and "link-params" in aot
    assert Executor("graph") == Executor("graph", {"link-params": False}) != aot
    with pytest.raises(tenon.TVMError, match='Executor "x" is not defined'):
        Executor("x")
    with pytest.raises(tenon.TVMError, match='Attribute "y" is not available on this Executor'):
        Executor("graph", {"y": 1})
    with pytest.raises(tenon.TVMError, match='should have type "runtime.String" but instead found'):
        Executor("aot", {"interface-api": 1})
    with pytest.raises(tenon.TVMError, match='"system-lib" should have type "IntImm"'):
        Runtime("crt", {"system-lib": "yes"})


def test_exported_programs_run(tmp_path):
    lib = build(mlp(), params={"w": rand(16, 8, seed=1), "b": rand(16, seed=2)})
    path = str(tmp_path / "net.so")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lib.export_library(path)
    loaded = tenon.runtime.load_module(path)
    np.testing.assert_array_equal(run(loaded, x=rand(4, 8))[0], run(lib, x=rand(4, 8))[0])


@pytest.mark.parametrize("kind", ["graph", "aot", "debug"])
def test_create_executor(kind):
    x, y = relay.var("x", shape=(2, 3)), relay.var("y", shape=(3,))
    total = relay.add(x, y)
    func = relay.Function([x, y], relay.Tuple([total, relay.Tuple([relay.exp(total), y])]))
    a, b = rand(2, 3), rand(3, seed=1)
    run_it = relay.create_executor(kind, device=tenon.cpu(0), target="llvm").evaluate(func)
    for result in (run_it(a, b), run_it(a, y=b), run_it(y=b, x=a), run_it(y=b, x=a, unused=a)):
        np.testing.assert_allclose(result[0].numpy(), a + b, rtol=1e-6)
        np.testing.assert_allclose(result[1][0].numpy(), np.exp(a + b), rtol=1e-5)
    with pytest.raises(ValueError, match="missing .'y'."):
        run_it(a, unused=b)
    with pytest.raises(ValueError, match="given twice .'x'."):
        run_it(a, b, x=a)
    one = relay.create_executor(kind, tenon.IRModule.from_expr(func), params={"y": b}).evaluate()
    np.testing.assert_allclose(one(a)[0].numpy(), a + b, rtol=1e-6)
    value = relay.create_executor(kind).evaluate(relay.add(x, y), {x: a, y: b})
    np.testing.assert_allclose(value.numpy(), a + b, rtol=1e-6)
    with pytest.raises(RuntimeError, match="unknown execution strategy: other"):
        relay.create_executor("other")


def dense_and_conv():
    x, w = relay.var("x", shape=(1, 32, 9, 7)), relay.var("w", shape=(48, 32, 3, 3))
    v = relay.var("v", shape=(10, 48))
    y = relay.nn.conv2d(x, w, padding=(1, 1), channels=48, kernel_size=(3, 3))
    y = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(relay.nn.relu(y)))
    return relay.Function([x, w, v], relay.nn.dense(y, v))


def test_builds_without_a_context_choose_layouts():
    """Weights bound, given at run time, and given back; AlterOpLayout by itself keeps its level."""
    f = dense_and_conv()
    mod = tenon.IRModule.from_expr(f)
    data = rand(1, 32, 9, 7)
    weights = {"w": rand(48, 32, 3, 3, seed=1) - 0.5, "v": rand(10, 48, seed=2)}
    want = run(build(f, level=0), x=data, **weights)[0]

    bound = relay.build(mod, target="llvm", params=weights)
    assert any("NCHWc" in k for k in kernels(bound))
    module = graph_executor.create(bound.get_graph_json(), bound.get_lib(), tenon.cpu())
    module.load_params(tenon.runtime.save_param_dict(bound.get_params()))
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), want, rtol=1e-4)

    free = relay.build(mod, target="llvm")
    assert not free.get_params()
    np.testing.assert_allclose(run(free, x=data, **weights)[0], want, rtol=1e-4)
    module = graph_executor.GraphModule(free["default"](tenon.cpu()))
    module.load_params(tenon.runtime.save_param_dict(weights))
    module.run(x=data)
    np.testing.assert_allclose(module.get_output(0).numpy(), want, rtol=1e-4)

    with tenon.transform.PassContext(disabled_pass=["AlterOpLayout"]):
        plain = relay.build(mod, target="llvm", params=weights)
    assert not any("NCHWc" in k for k in kernels(plain))
    np.testing.assert_allclose(run(plain, x=data)[0], want, rtol=1e-4)

    alter = relay.transform.AlterOpLayout()
    assert alter.info.opt_level == 3
    with tenon.target.Target("llvm"):
        typed = relay.transform.InferType()(mod)
        assert tenon.ir.structural_equal(tenon.transform.Sequential([alter])(typed), typed)
