"""Kernels of which several extents are known at run time only: products, reductions, windows."""

import numpy as np
import pytest
import tenon
from tenon import relay
from tenon.relay.backend.te_compiler import lower_to_primfunc

ANY = relay.Any()
SOFTMAX = "vm_mod_fused_nn_softmax"


def machine(op, *shapes):
    params = [relay.var(f"x{i}", shape=shape) for i, shape in enumerate(shapes)]
    mod = tenon.IRModule.from_expr(relay.Function(params, op(*params)))
    return tenon.runtime.vm.VirtualMachine(relay.vm.compile(mod, "llvm"), tenon.cpu())


def check(vm, want, *shapes):
    rng = np.random.default_rng(3)
    args = [rng.standard_normal(shape).astype("float32") for shape in shapes]
    got = vm.run(*args).numpy()
    np.testing.assert_allclose(got, want(*args), rtol=1e-4, atol=1e-4, err_msg=str(shapes))


@pytest.mark.parametrize("opened", ["mkn", "mn", "k", "n"])
def test_dense(opened):
    """Rows and columns that are not whole tiles are padded, one row and two have own kernels."""
    fixed = {"m": 9, "k": 20, "n": 48}
    m, k, n = (ANY if c in opened else fixed[c] for c in "mkn")
    half = relay.const(0.5)
    vm = machine(lambda x, w: relay.nn.relu(relay.nn.dense(x, w) + half), (m, k), (n, k))
    for size in [(1, 5, 1), (2, 17, 33), (3, 1, 16), (8, 64, 32), (9, 20, 48), (33, 67, 70)]:
        m, k, n = (size["mkn".index(c)] if c in opened else fixed[c] for c in "mkn")
        check(vm, lambda x, w: np.maximum(x @ w.T + 0.5, 0), (m, k), (n, k))


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("opened", ["bmkn", "mn", "k"])
def test_batch_matmul(opened, transposed):
    fixed = {"b": 2, "m": 10, "k": 17, "n": 33}

    def shapes(b, m, k, n):
        return (b, m, k), (b, n, k) if transposed else (b, k, n)

    def op(x, y):
        return relay.nn.batch_matmul(x, y, transpose_b=transposed)

    def want(x, y):
        return np.matmul(x, y.transpose(0, 2, 1) if transposed else y)

    vm = machine(op, *shapes(*(ANY if c in opened else fixed[c] for c in "bmkn")))
    for size in [(1, 1, 1, 1), (3, 8, 33, 16), (2, 19, 5, 40), (1, 1, 64, 100)]:
        real = (size["bmkn".index(c)] if c in opened else fixed[c] for c in "bmkn")
        check(vm, want, *shapes(*real))


@pytest.mark.parametrize("target, level", [("llvm", 0), ("llvm", 4), ("c", 3)])
def test_batches_that_broadcast(target, level, tmp_path):
    params = [relay.var(name, shape=(ANY, ANY, ANY)) for name in "xy"]
    product = relay.nn.batch_matmul(*params, transpose_b=False)
    mod = tenon.IRModule.from_expr(relay.Function(params, product))
    with tenon.transform.PassContext(opt_level=level):
        exe = relay.vm.compile(mod, target)
    if target == "c":
        code, lib = exe.save()
        lib.export_library(str(tmp_path / "lib.so"))
        lib = tenon.runtime.load_module(str(tmp_path / "lib.so"))
        exe = tenon.runtime.vm.Executable.load_exec(code, lib)
    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    for a, b in [(1, 3), (3, 1), (3, 3), (0, 1)]:
        for m, k, n in [(7, 37, 128), (128, 7, 37), (1, 0, 7), (0, 7, 7), (7, 7, 0)]:
            check(vm, np.matmul, (a, m, k), (b, k, n))
    with pytest.raises(tenon.error.ShapeError, match="do not fit together"):
        vm.run(*(np.zeros((n, 4, 4), "float32") for n in (2, 3)))


@pytest.mark.parametrize("transposed", [False, True])
def test_products_of_open_extents_run_in_vectors(transposed):
    """Whatever is known of their extents, products are tiles in registers."""
    a, b = (relay.var(name, shape=(ANY, ANY, ANY)) for name in "ab")
    f = relay.Function([a, b], relay.nn.batch_matmul(a, b, transpose_b=transposed))
    f = relay.transform.InferType()(tenon.IRModule.from_expr(f))["main"]
    program = lower_to_primfunc(f, tenon.target.Target("llvm"))
    text = tenon.get_global_func("kernels.schedule")(program, 32, 16, 1).script()
    assert text.count("T.vectorized(8)") >= 3 and "T.unroll(6)" in text


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    "op, want",
    [
        (relay.nn.softmax, softmax),
        (lambda x: relay.mean(x, -1), lambda x: x.mean(-1)),
        (lambda x: relay.max(x, 1), lambda x: x.max(1)),
        (lambda x: relay.sum(x, 0), lambda x: x.sum(0)),
    ],
)
def test_reductions(op, want):
    vm = machine(op, (ANY, 3, ANY))
    for first, last in [(1, 1), (2, 5), (1, 16), (4, 31), (3, 33), (2, 100)]:
        check(vm, want, (first, 3, last))


@pytest.mark.parametrize("step", [1, 2])
def test_convolutions(step):
    x, w = relay.var("x", shape=(1, 3, ANY, ANY)), relay.var("w", shape=(8, 3, 3, 3))
    conv = relay.nn.conv2d(x, w, padding=(2, 1), dilation=(step, 1), strides=(step, step))
    conv = relay.Function([x, w], conv)
    vm = tenon.runtime.vm.VirtualMachine(
        relay.vm.compile(tenon.IRModule.from_expr(conv), "llvm"), tenon.cpu()
    )

    def want(x, w):
        p = np.pad(x[0], ((0, 0), (2, 2), (1, 1)))
        views = np.lib.stride_tricks.sliding_window_view(p, (2 * step + 1, 3), (1, 2))
        views = views[:, ::step, ::step, ::step]
        return np.einsum("chwij,ocij->ohw", views, w)[None]

    for h, width in [(1, 1), (4, 7), (5, 16), (3, 35)]:
        check(vm, want, (1, 3, h, width), (8, 3, 3, 3))


def test_layer_norm_is_one_kernel():
    x = relay.var("x", shape=(ANY, ANY, 40))
    gamma, beta = (relay.const(np.linspace(a, 1, 40, dtype="float32")) for a in (-1, 0))
    centred = x - relay.mean(x, -1, keepdims=True)
    variance = relay.mean(centred * centred, -1, keepdims=True)
    norm = centred * relay.rsqrt(variance + relay.const(1e-5)) * gamma + beta
    exe = relay.vm.compile(tenon.IRModule.from_expr(relay.Function([x], norm)), "llvm")
    assert [op for op in exe.primitive_ops if "shape_func" not in op] == [
        "vm_mod_fused_nn_layer_norm"
    ]

    def want(x):
        d = x - x.mean(-1, keepdims=True)
        d /= np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)
        return d * gamma.data.numpy() + beta.data.numpy()

    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    for b, n in [(1, 1), (0, 7), (7, 0), (2, 37), (1, 128)]:
        check(vm, want, (b, n, 40))


@pytest.mark.parametrize("shape", [(ANY, ANY, 40), (ANY, 2, ANY, 40)])
def test_rows_of_several_axes_are_one_axis(shape):
    """A dense layer with what follows it is one kernel, made for pieces of rows."""
    rng = np.random.default_rng(4)
    w, b = (rng.standard_normal(s).astype("float32") for s in [(64, 40), 64])
    x = relay.var("x", shape=shape)
    y = relay.add(relay.nn.dense(x, relay.const(w)), relay.const(b))
    f = relay.Function([x], relay.nn.softmax(relay.multiply(y, relay.sigmoid(y))))
    exe = relay.vm.compile(tenon.IRModule.from_expr(f), "llvm")
    kernels = [op for op in exe.primitive_ops if "shape_func" not in op]
    assert kernels == ["vm_mod_fused_nn_contrib_dense_pack_add_sigmoid_multiply", SOFTMAX]
    assert exe.lib.implements_function(f"{kernels[0]}_rows8")

    def want(x):
        y = x @ w.T + b
        return softmax(y / (1 + np.exp(-y)))

    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    for n, m in [(0, 7), (7, 0), (1, 1), (1, 37), (2, 64)]:
        check(vm, want, (n, *[2][: len(shape) - 3], m, 40))


def test_rows_of_a_program_that_has_reshape_like():
    """What the program itself unfolds may have more axes than rows have."""
    x, like = (
        relay.var(name, shape=shape)
        for name, shape in (("x", (ANY, 4, 5)), ("y", (ANY, ANY, ANY, 3)))
    )
    y = relay.reshape_like(x, like, lhs_begin=0, lhs_end=1, rhs_begin=0, rhs_end=3)
    f = relay.Function([x, like], relay.nn.softmax(y))
    vm = tenon.runtime.vm.VirtualMachine(
        relay.vm.compile(tenon.IRModule.from_expr(f), "llvm"), tenon.cpu()
    )
    check(vm, lambda x, y: softmax(x).reshape(1, 2, 3, 4, 5), (6, 4, 5), (1, 2, 3, 3))


def test_a_residual_that_broadcasts_is_no_row():
    """Extents that may be 1 are compared when the program runs."""
    x, r = (relay.var(name, shape=(ANY, ANY, 8)) for name in "xr")
    w = np.random.default_rng(1).standard_normal((8, 8)).astype("float32")
    f = relay.Function([x, r], relay.add(relay.nn.dense(x, relay.const(w)), r))
    vm = tenon.runtime.vm.VirtualMachine(
        relay.vm.compile(tenon.IRModule.from_expr(f), "llvm"), tenon.cpu()
    )
    for a, b in [((1, 7), (3, 7)), ((3, 7), (1, 1)), ((3, 1), (1, 7)), ((2, 5), (2, 5))]:
        check(vm, lambda x, r: x @ w.T + r, (*a, 8), (*b, 8))


def test_reshapes_of_what_an_if_gives_move_nothing():
    x, y = (relay.var(name, shape=(ANY, 2, ANY)) for name in "xy")
    swap = relay.var("swap", shape=(), dtype="bool")
    pair = relay.If(swap, relay.Tuple([y, x]), relay.Tuple([x, y]))
    flat = [relay.reshape(relay.TupleGetItem(pair, i), (-3, 0)) for i in range(2)]
    f = relay.Function([swap, x, y], relay.Tuple(flat))
    exe = relay.vm.compile(tenon.IRModule.from_expr(f), "llvm")
    assert all("shape_func" in op for op in exe.primitive_ops)
    vm = tenon.runtime.vm.VirtualMachine(exe, tenon.cpu())
    a, b = (np.arange(6 * n, dtype="float32").reshape(n, 2, 3) for n in (1, 2))
    for swapped in (False, True):
        got = vm.run(np.array(swapped), a, b)
        for g, w in zip(got, (b, a) if swapped else (a, b), strict=True):
            np.testing.assert_array_equal(g.numpy(), w.reshape(-1, 3))


def test_bounds_with_one_end():
    """What is known of a variable does not hide what is known of one by the other."""
    analyzer = tenon.arith.Analyzer()
    n, x, y = (
        tenon.tir.SizeVar("n", "int32"),
        tenon.tir.Var("x", "int32"),
        tenon.tir.Var("y", "int32"),
    )
    analyzer.update(n, tenon.arith.ConstIntBound(0, tenon.arith.ConstIntBound.POS_INF))
    tiles = (n + 31) // 32
    analyzer.bind(x, tenon.ir.Range(0, tiles))
    analyzer.bind(y, tenon.ir.Range(0, 32))
    assert analyzer.can_prove(x * 32 + y < tiles * 32)
    assert not analyzer.can_prove(x * 32 + y < n)
