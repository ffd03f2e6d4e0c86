"""Shapes that are known at run time only: the virtual machine against numpy, and against the same
program with static shapes."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend import vm as relay_vm
from tenon.runtime.vm import VirtualMachine

Any = relay.Any


def machine(params, body, target="llvm"):
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    return VirtualMachine(relay_vm.compile(mod, target), tenon.cpu())


def rand(*shape, dtype="float32", seed=0):
    r = np.random.default_rng(seed)
    if dtype.startswith("int"):
        return r.integers(0, 10, shape).astype(dtype)
    return r.normal(size=shape).astype(dtype)


def check(make, types, arrays, reference, rtol=1e-5, atol=1e-5):
    """``make`` on variables with Any in their types, for several sets of arrays."""
    params = [relay.var(f"x{i}", shape=s, dtype=d) for i, (s, d) in enumerate(types)]
    vm = machine(params, make(*params))
    for values in arrays:
        got = vm.run(*values)
        want = reference(*values)
        if not isinstance(want, list | tuple):
            got, want = [got], [want]
        for g, w in zip(got, want, strict=True):
            assert g.shape == np.shape(w)
            np.testing.assert_allclose(g.numpy(), w, rtol=rtol, atol=atol)


F = "float32"
ONE = [((Any(), 4), F)]
SETS = [(rand(n, 4),) for n in (1, 3, 8)]
softmax = lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)  # noqa: E731

CASES = {
    "exp": (lambda x: relay.exp(x), np.exp),
    "relu of sum": (lambda x: relay.nn.relu(x + relay.const(1.0)), lambda x: np.maximum(x + 1, 0)),
    "softmax": (relay.nn.softmax, softmax),
    "sum": (lambda x: relay.sum(x, axis=0), lambda x: x.sum(0)),
    "sum of all": (lambda x: relay.sum(x), lambda x: x.sum()),
    "mean of rows": (lambda x: relay.mean(x, axis=1, keepdims=True), lambda x: x.mean(1)[:, None]),
    "max": (lambda x: relay.max(x, axis=[0, 1]), lambda x: x.max()),
    "argmax": (lambda x: relay.argmax(x, axis=1), lambda x: x.argmax(1)),
    "transpose": (lambda x: relay.transpose(x), lambda x: x.T),
    "reshape": (lambda x: relay.reshape(x, (-1,)), lambda x: x.reshape(-1)),
    "reshape 2": (lambda x: relay.reshape(x, (-1, 2)), lambda x: x.reshape(-1, 2)),
    "reshape 0": (lambda x: relay.reshape(x, (0, 2, 2)), lambda x: x.reshape(-1, 2, 2)),
    "expand dims": (lambda x: relay.expand_dims(x, 1), lambda x: x[:, None]),
    "concatenate": (lambda x: relay.concatenate([x, x], 0), lambda x: np.concatenate([x, x])),
    "concatenate 1": (
        lambda x: relay.concatenate([x, relay.exp(x)], 1),
        lambda x: np.concatenate([x, np.exp(x)], 1),
    ),
    "split": (
        lambda x: relay.split(x, 2, axis=1).astuple(),
        lambda x: tuple(np.split(x, 2, axis=1)),
    ),
    "take": (lambda x: relay.take(x, relay.const(0), axis=0), lambda x: x[0]),
    "strided slice": (
        lambda x: relay.strided_slice(x, [0, 1], [2**31 - 1, 3], axes=[0, 1]),
        lambda x: x[:, 1:3],
    ),
    "tile": (lambda x: relay.tile(x, (2, 1)), lambda x: np.tile(x, (2, 1))),
    "pad": (
        lambda x: relay.nn.pad(x, ((1, 2), (0, 0))),
        lambda x: np.pad(x, ((1, 2), (0, 0))),
    ),
    "cast": (lambda x: relay.cast(x, "int32"), lambda x: x.astype("int32")),
    "shape of": (lambda x: relay.shape_of(x), lambda x: np.array(x.shape, "int32")),
    "zeros like": (lambda x: relay.zeros_like(x), np.zeros_like),
    "where": (
        lambda x: relay.where(relay.greater(x, relay.const(0.0)), x, relay.negative(x)),
        np.abs,
    ),
    "dense": (
        lambda x: relay.nn.dense(x, relay.const(rand(5, 4, seed=1))),
        lambda x: x @ rand(5, 4, seed=1).T,
    ),
    "dense and bias": (
        lambda x: relay.nn.relu(
            relay.nn.bias_add(
                relay.nn.dense(x, relay.const(rand(5, 4, seed=1))), relay.const(rand(5, seed=2))
            )
        ),
        lambda x: np.maximum(x @ rand(5, 4, seed=1).T + rand(5, seed=2), 0),
    ),
    "argsort": (lambda x: relay.argsort(x, axis=0), lambda x: x.argsort(0, kind="stable")),
    "full like": (lambda x: relay.full_like(x, relay.const(3.0)), lambda x: np.full_like(x, 3)),
    "batch flatten": (relay.nn.batch_flatten, lambda x: x),
    "squeeze": (
        lambda x: relay.squeeze(relay.expand_dims(x, 1), axis=[1]),
        lambda x: x,
    ),
    "stack": (lambda x: relay.stack([x, x], 0), lambda x: np.stack([x, x])),
    "clip": (lambda x: relay.clip(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    "layer norm": (
        lambda x: relay.nn.layer_norm(x, relay.const(np.ones(4, F)), relay.const(np.zeros(4, F))),
        lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
    ),
    "reverse": (lambda x: relay.reverse(x, 0), lambda x: x[::-1]),
    "cumulated": (lambda x: relay.cumsum(x, axis=0), lambda x: x.cumsum(0)),
}


@pytest.mark.parametrize("name", CASES)
def test_operator(name):
    make, reference = CASES[name]
    try:
        make(relay.var("x", shape=(2, 4)))
    except AttributeError as err:
        pytest.skip(str(err))
    check(make, ONE, SETS, reference)


def test_broadcast_of_what_is_not_known():
    """Each extent may turn out to be 1."""
    sets = [
        (rand(3, 4), rand(3, 4, seed=1)),
        (rand(1, 4), rand(3, 4, seed=1)),
        (rand(3, 4), rand(1, 1, seed=1)),
        (rand(3, 1), rand(1, 4, seed=1)),
    ]
    types = [((Any(), Any()), F), ((Any(), Any()), F)]
    check(lambda x, y: x + y, types, sets, lambda x, y: x + y)
    check(lambda x, y: relay.nn.relu(x * y), types, sets, lambda x, y: np.maximum(x * y, 0))
    half = [((Any(), 4), F), ((3, Any()), F)]
    check(lambda x, y: x + y, half, [sets[0], sets[2][:1] + sets[0][:1]], lambda x, y: x + y)


def test_extents_that_do_not_fit():
    """They are an error, and the machine goes on."""
    x, y = relay.var("x", shape=(Any(), 4)), relay.var("y", shape=(Any(), 4))
    vm = machine([x, y], x + y)
    with pytest.raises(
        tenon.error.TVMError,
        match=r"fused_add: the arguments do not fit together: \(3, 4\), \(2, 4\)",
    ):
        vm.run(rand(3, 4), rand(2, 4))
    with pytest.raises(tenon.error.TVMError, match="shape"):
        vm.run(rand(3, 5), rand(3, 5))
    assert vm.run(rand(3, 4), rand(3, 4)).shape == (3, 4)


def test_products():
    a, b = [((Any(), Any()), F), ((5, 4), F)], [(rand(n, 4), rand(5, 4)) for n in (1, 2, 7)]
    check(relay.nn.dense, a, b, lambda x, y: x @ y.T)
    types = [((Any(), 3, 4), F), ((Any(), 5, 4), F)]
    sets = [(rand(n, 3, 4), rand(n, 5, 4, seed=1)) for n in (1, 2, 5)]
    check(relay.nn.batch_matmul, types, sets, lambda x, y: x @ y.transpose(0, 2, 1))
    check(
        lambda x, y: relay.nn.matmul(x, y),
        [((Any(), Any()), F), ((Any(), 6), F)],
        [(rand(n, k), rand(k, 6, seed=1)) for n, k in ((1, 2), (3, 5), (17, 33))],
        lambda x, y: x @ y,
        rtol=1e-4,
    )


def test_convolution_of_any_batch_and_size():
    w = rand(4, 3, 3, 3, seed=1)
    static = {}
    x = relay.var("x", shape=(Any(), 3, Any(), Any()))
    body = relay.nn.relu(relay.nn.conv2d(x, relay.const(w), padding=(1, 1), kernel_size=(3, 3)))
    vm = machine([x], relay.nn.max_pool2d(body, (2, 2), strides=(2, 2)))
    for shape in ((1, 3, 8, 8), (2, 3, 10, 6), (3, 3, 5, 5)):
        v = relay.var("x", shape=shape)
        body = relay.nn.relu(relay.nn.conv2d(v, relay.const(w), padding=(1, 1), kernel_size=(3, 3)))
        static[shape] = machine([v], relay.nn.max_pool2d(body, (2, 2), strides=(2, 2)))
        value = rand(*shape)
        want = static[shape].run(value).numpy()
        np.testing.assert_allclose(vm.run(value).numpy(), want, rtol=1e-4, atol=1e-5)


def test_no_elements():
    x = relay.var("x", shape=(Any(), 4))
    vm = machine([x], relay.nn.relu(x + relay.const(1.0)))
    assert vm.run(np.zeros((0, 4), F)).shape == (0, 4)


def test_arange():
    n = relay.var("n", shape=(), dtype="int32")
    vm = machine([n], relay.arange(relay.const(0), n, relay.const(2), dtype="int32"))
    for stop in (0, 1, 7, 100):
        np.testing.assert_array_equal(vm.run(np.int32(stop)).numpy(), np.arange(0, stop, 2))


def test_arange_of_a_computed_end():
    x = relay.var("x", shape=(Any(), 4))
    n = relay.take(relay.shape_of(x), relay.const(0), axis=0)
    vm = machine([x], relay.arange(relay.const(0), n, relay.const(1), dtype="int32"))
    for rows in (1, 5):
        np.testing.assert_array_equal(vm.run(rand(rows, 4)).numpy(), np.arange(rows))


def test_growing_in_a_loop():
    """A loop whose value grows with each turn."""
    mod = tenon.IRModule()
    loop = relay.GlobalVar("loop")
    i = relay.var("i", shape=(), dtype="int32")
    acc = relay.var("acc", shape=(Any(),), dtype="float32")
    step = relay.reshape(relay.cast(i, "float32"), (1,))
    again = relay.Call(loop, [i - relay.const(1), relay.concatenate([acc, step], 0)])
    body = relay.If(relay.greater(i, relay.const(0)), again, acc)
    mod[loop] = relay.Function([i, acc], body, relay.TensorType((Any(),), "float32"))
    n = relay.var("n", shape=(), dtype="int32")
    start = relay.var("start", shape=(Any(),), dtype="float32")
    mod["main"] = relay.Function([n, start], loop(n, start))
    vm = VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())
    got = vm.run(np.int32(4), np.zeros(1, F)).numpy()
    np.testing.assert_array_equal(got, [0, 4, 3, 2, 1])


def test_memory_stays_flat():
    x = relay.var("x", shape=(Any(), 4))
    vm = machine([x], relay.nn.softmax(relay.exp(x)))
    value = rand(8, 4)
    for _ in range(3):
        vm.run(value)
    before = vm.memory_stats()
    for _ in range(100):
        vm.run(value)
    assert vm.memory_stats() == before


def test_two_results_of_dynamic_shape():
    types = [((Any(), 4), F)]
    make = lambda x: relay.Tuple([relay.exp(x), relay.sum(x, axis=1), relay.transpose(x)])  # noqa: E731
    check(make, types, SETS, lambda x: (np.exp(x), x.sum(1), x.T))


def test_argument_of_another_shape():
    """What the type says is checked by the kernels."""
    x = relay.var("x", shape=(Any(), 4))
    vm = machine([x], relay.exp(x))
    with pytest.raises(tenon.error.TVMError):
        vm.run(rand(3, 5))
    with pytest.raises(tenon.error.TVMError):
        vm.run(rand(3))


@pytest.mark.parametrize("rows", [1, 5, 16, 17, 50, 64, 100, 129, 200])
def test_rows_in_pieces(rows):
    """Products whose rows are computed 64, 32 and 16 at a time, the last ones padded."""
    w, b = rand(96, 80, seed=1), rand(96, seed=2)
    x = relay.var("x", shape=(Any(), 80))
    body = relay.nn.bias_add(relay.nn.dense(x, relay.const(w)), relay.const(b))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.relu(body)))
    exe = relay_vm.compile(mod, "llvm")
    vm = VirtualMachine(exe, tenon.cpu())
    value = rand(rows, 80)
    for _ in range(2):
        np.testing.assert_allclose(
            vm.run(value).numpy(), np.maximum(value @ w.T + b, 0), rtol=1e-4, atol=1e-4
        )
    stats = vm.memory_stats()
    assert stats["used"] == 0
    assert vm.run(np.zeros((0, 80), F)).shape == (0, 96)


def test_batches_in_pieces():
    types = [((Any(), 24, 32), F), ((Any(), 40, 32), F)]
    sets = [(rand(n, 24, 32), rand(n, 40, 32, seed=1)) for n in (1, 3, 8, 13)]
    check(relay.nn.batch_matmul, types, sets, lambda x, y: x @ y.transpose(0, 2, 1), rtol=1e-4)


def test_pieces_survive_files(tmp_path):
    x = relay.var("x", shape=(Any(), 80))
    w = rand(96, 80, seed=1)
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.nn.dense(x, relay.const(w))))
    path = str(tmp_path / "model.so")
    relay_vm.compile(mod, "llvm").mod.export_library(path)
    vm = VirtualMachine(tenon.runtime.load_module(path), tenon.cpu())
    value = rand(37, 80)
    np.testing.assert_allclose(vm.run(value).numpy(), value @ w.T, rtol=1e-4, atol=1e-4)


ROWS = (1, 2, 3, 4, 7, 8, 20, 31, 33, 64, 100, 131)


@pytest.mark.parametrize("level", [2, 3])
@pytest.mark.parametrize("units, features", [(96, 80), (10, 64), (1, 7), (33, 5)])
def test_weights_that_are_arguments(units, features, level):
    """They are put into panels once for a call of some rows, and read as they are for a few."""
    x = relay.var("x", shape=(Any(), features))
    w, b = relay.var("w", shape=(units, features)), relay.var("b", shape=(units,))
    body = relay.nn.relu(relay.nn.bias_add(relay.nn.dense(x, w), b))
    mod = tenon.IRModule.from_expr(relay.Function([x, w, b], body))
    with tenon.transform.PassContext(opt_level=level):
        vm = VirtualMachine(relay_vm.compile(mod, "llvm"), tenon.cpu())
    for rows in ROWS:
        data, weight, bias = rand(rows, features), rand(units, features, seed=1), rand(units)
        want = np.maximum(data @ weight.T + bias, 0)
        np.testing.assert_allclose(vm.run(data, weight, bias).numpy(), want, rtol=1e-4, atol=1e-4)
    assert vm.memory_stats()["used"] == 0


def test_weights_behind_a_tuple():
    """What stands for the weight is told by its place among tensors, not among parameters."""
    pair = relay.TupleType([relay.TensorType((Any(), 512)), relay.TensorType((512,))])
    p, v = relay.Var("p", pair), relay.var("v", shape=(512, 512))
    body = relay.nn.bias_add(relay.nn.dense(relay.TupleGetItem(p, 0), v), relay.TupleGetItem(p, 1))
    kernel = relay.Function([p, v], body).with_attr("Primitive", tenon.tir.IntImm("int32", 1))
    t, w = relay.Var("t", pair), relay.var("w", shape=(512, 512))
    vm = machine([t, w], relay.Call(kernel, [t, w]))
    for rows in (1, 33, 100):
        data, weight, bias = rand(rows, 512), rand(512, 512, seed=1), rand(512, seed=2)
        want = data @ weight.T + bias
        np.testing.assert_allclose(vm.run((data, bias), weight).numpy(), want, rtol=1e-4, atol=1e-4)


def test_weights_that_are_larger_than_the_cache():
    x, w = relay.var("x", shape=(Any(), 768)), relay.var("w", shape=(2048, 768))
    vm = machine([x, w], relay.nn.dense(x, w))
    weight = rand(2048, 768, seed=1)
    for rows in (1, 5, 20, 33, 41, 65, 130):
        data = rand(rows, 768)
        want = data @ weight.T
        np.testing.assert_allclose(vm.run(data, weight).numpy(), want, rtol=1e-3, atol=1e-3)


def test_data_that_is_its_own_weight():
    x = relay.var("x", shape=(Any(), 24))
    check(lambda a: relay.nn.dense(a, a), [((6, 24), F)], [(rand(6, 24),)], lambda a: a @ a.T)
    vm = machine([x], relay.nn.dense(x, x))
    for rows in (1, 3, 40):
        value = rand(rows, 24)
        np.testing.assert_allclose(vm.run(value).numpy(), value @ value.T, rtol=1e-4, atol=1e-4)


def test_shapes_put_together_of_extents():
    """No program computes what is known or an extent of an argument."""
    x, y = relay.var("x", shape=(Any(), 3, Any())), relay.var("y", shape=(2, Any()))
    mod = tenon.IRModule.from_expr(
        relay.Function([x, y], relay.Tuple([relay.transpose(x, (2, 1, 0)), relay.transpose(y)]))
    )
    exe = relay_vm.compile(mod, "llvm")
    assert "make_shape" in exe.bytecode
    assert not any("shape_func" in str(p) for p in exe.primitive_ops)
    vm = VirtualMachine(exe, tenon.cpu())
    a, b = rand(4, 3, 5), rand(2, 7)
    first, second = vm.run(a, b)
    np.testing.assert_array_equal(first.numpy(), a.transpose(2, 1, 0))
    np.testing.assert_array_equal(second.numpy(), b.T)


def test_sum_over_rows_is_not_cut():
    """A mean over the rows needs all of them."""
    x = relay.var("x", shape=(Any(), 128))
    body = relay.nn.dense(relay.mean(x, axis=0, keepdims=True), relay.const(rand(64, 128, seed=1)))
    vm = machine([x], relay.add(relay.sum(x, axis=1, keepdims=True), relay.sum(body)))
    for rows in (3, 40, 130):
        value = rand(rows, 128)
        want = value.sum(1, keepdims=True) + (value.mean(0) @ rand(64, 128, seed=1).T).sum()
        np.testing.assert_allclose(vm.run(value).numpy(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    "op, first, second",
    [
        (relay.nn.matmul, (2, 10), (8, 3)),
        (relay.nn.dense, (2, 10), (3, 8)),
        (relay.nn.batch_matmul, (2, 4, 10), (2, 3, 8)),
        (relay.nn.batch_matmul, (2, 4, 8), (3, 3, 8)),
        (relay.nn.conv2d, (1, 5, 6, 6), (2, 3, 3, 3)),
        (lambda *v: relay.concatenate(v, 0), (2, 10), (2, 8)),
    ],
)
def test_products_of_arrays_that_do_not_fit(op, first, second):
    """Nothing is read behind the end of an array."""
    params = [relay.var(n, shape=(Any(),) * len(s)) for n, s in (("a", first), ("b", second))]
    if op is relay.nn.conv2d:
        params[1] = relay.var("b", shape=second)
    vm = machine(params, op(*params))
    with pytest.raises(tenon.TVMError, match="do not fit together"):
        vm.run(rand(*first), rand(*second))


def test_open_indices_of_several_axes():
    """They broadcast by the lengths that they have at run time."""
    x = relay.var("x", shape=(relay.Any(), relay.Any()))
    i, j = (relay.var(name, shape=(relay.Any(),), dtype="int64") for name in "ij")
    mod = tenon.IRModule.from_expr(relay.Function([x, i, j], relay.adv_index([x, i, j])))
    vm = tenon.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())
    data = np.arange(12, dtype="float32").reshape(3, 4)
    for a, b in [([0, 2], [1, 3]), ([0, -1], [1]), ([2], [0, 1, 2])]:
        a, b = np.array(a), np.array(b)
        np.testing.assert_array_equal(vm.run(data, a, b).numpy(), data[a, b])


def test_external_functions_with_constants():
    """Constants of a function for another compiler have their own extents."""
    x, y = (relay.var(name, shape=(relay.Any(), 4)) for name in "xy")
    weight = relay.const(np.ones((3, 4), "float32"))
    ext = relay.Function([y], relay.nn.dense(y, weight))
    ext = ext.with_attr("Compiler", "ccompiler").with_attr("global_symbol", "ext_0")
    ext = ext.with_attr("Primitive", tenon.tir.IntImm("int32", 1))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.Call(ext, [x])))
    optimized, _ = relay.vm.VMCompiler().optimize(mod, target="llvm")
    assert "ext_0" in str(optimized)
