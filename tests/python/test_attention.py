"""Attention as one kernel: right numbers for odd extents, masks, layouts and targets, and what is
left alone."""

import numpy as np
import pytest
import tenon
from machines import runnable
from tenon import relay, te, tir
from tenon.contrib import graph_executor, utils
from tenon.relay.backend.te_compiler import lower_to_primfunc
from tenon.runtime import vm

schedule = tenon.get_global_func("kernels.schedule")
LAYOUTS = ("heads", "lists", "parts", "transposed")


def var(name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def scores_of(s, masked, b, h, m, n):
    """Scaled and masked, the parameters this takes, and their values."""
    rng = np.random.default_rng(1)
    kind = str(s[1])
    x = s[0]
    if masked == "where":
        mask = rng.random((1, 1, m, n)) > 0.4
        mask[..., 0] = True
        p = var("mask", 1, 1, m, n, dtype="bool")
        x = relay.where(p, x * relay.const(0.25, kind), relay.const(-3e38, kind))
        return x, [p], [mask], lambda v: np.where(mask, v * 0.25, -3e38)
    if masked == "bias":
        bias, late = rng.random((1, h, m, n)), np.where(rng.random((b, 1, 1, n)) > 0.5, -1e4, 0)
        late[..., 0] = 0
        p, q = var("bias", 1, h, m, n, dtype=kind), var("late", b, 1, 1, n, dtype=kind)
        x = relay.add(relay.add(x, p), q)
        values = [bias.astype(kind), late.astype(kind)]
        return x, [p, q], values, lambda v: v + bias + late
    if masked == "windows":
        window = np.where(rng.random((1, b, 1, m, n)) > 0.3, 0, -100.0)
        x = relay.reshape(x, (-1, b, h, m, n)) + relay.const(window.astype(kind))
        return relay.reshape(x, (b, h, m, n)), [], [], lambda v: v + window[0]
    return x, [], [], lambda v: v


def heads(layout, b, h, m, n, k, d, kind):
    """The first product, the values, parameters and how these are made of plain operands."""
    if layout == "heads":
        q, key, v = (
            var(c, *s, dtype=kind)
            for c, s in (("q", (b, m, h, k)), ("k", (b, n, h, k)), ("v", (b, n, h, d)))
        )
        s = relay.einsum([q, key], "bmhk,bnhk->bhmn")
        return s, v, "bhmk,bkhn->bmhn", [q, key, v], lambda *a: [x.swapaxes(1, 2) for x in a]
    if layout == "lists":
        q, key, v = (
            var(c, *s, dtype=kind)
            for c, s in (("q", (b * h, m, k)), ("k", (b * h, n, k)), ("v", (b * h, n, d)))
        )
        s = relay.reshape(relay.nn.batch_matmul(q, key), (b, h, m, n))
        return s, v, None, [q, key, v], lambda *a: [x.reshape(-1, *x.shape[2:]) for x in a]
    if layout == "transposed":
        q, key, v = (
            var(c, *s, dtype=kind)
            for c, s in (("q", (b, h, k, m)), ("k", (b, h, k, n)), ("v", (b, h, d, n)))
        )
        s = relay.einsum([q, key], "bhkm,bhkn->bhmn")
        return s, v, "bhmk,bhnk->bhmn", [q, key, v], lambda *a: [x.swapaxes(2, 3) for x in a]
    assert m == n and k == d
    x = var("x", b, m, 3 * h * k, dtype=kind)
    parts = relay.split(relay.reshape(x, (b, m, 3, h, k)), 3, axis=2)
    q, key, v = (relay.reshape(p, (b, m, h, k)) for p in parts)
    s = relay.einsum([q * relay.const(0.5, kind), key], "bmhk,bnhk->bhmn")

    def together(*a):
        return [np.stack([y.swapaxes(1, 2) for y in a], 2).reshape(b, m, -1)]

    return s, v, "bhmk,bkhn->bmhn", [x], together


def network(layout, masked, b, h, m, n, k, d, kind="float32"):
    """A module, its inputs, the result in float64."""
    s, v, result, params, arrange = heads(layout, b, h, m, n, k, d, kind)
    x, more, values, mask = scores_of((s, kind), masked, b, h, m, n)
    p = relay.nn.softmax(x)
    if result:
        out = relay.einsum([p, v], result)
    else:
        out = relay.nn.batch_matmul(relay.reshape(p, (b * h, m, n)), v, transpose_b=False)
    rng = np.random.default_rng(0)
    shapes = (b, h, m, k), (b, h, n, k), (b, h, n, d)
    plain = [rng.standard_normal(s).astype(kind) for s in shapes]
    inputs = dict(zip([p.name_hint for p in params + more], arrange(*plain) + values, strict=True))
    q, key, v = (a.astype("float64") for a in plain)
    e = mask(np.einsum("bhmk,bhnk->bhmn", q, key) * (0.5 if layout == "parts" else 1))
    e = np.exp(e - e.max(-1, keepdims=True))
    want = np.einsum("bhmn,bhnd->bhmd", e / e.sum(-1, keepdims=True), v)
    if layout in ("heads", "parts"):
        want = want.swapaxes(1, 2)
    mod = tenon.IRModule.from_expr(relay.Function(params + more, out))
    return relay.transform.InferType()(mod), inputs, want


def run(mod, inputs, target="llvm", executor="graph", **context):
    with tenon.transform.PassContext(opt_level=3, **context):
        if executor == "vm":
            machine = vm.VirtualMachine(relay.vm.compile(mod, target=target), tenon.cpu())
            return machine.invoke("main", **inputs).numpy()
        lib = relay.build(mod, target=target, executor=relay.backend.Executor(executor))
    if executor == "aot" or target == "c":
        folder = utils.tempdir()
        path = folder.relpath("lib.so")
        lib.export_library(path)
        lib = tenon.runtime.load_module(path)
    if executor == "aot":
        m = tenon.runtime.executor.AotModule(lib["default"](tenon.cpu()))
    else:
        m = graph_executor.GraphModule(lib["default"](tenon.cpu()))
    m.set_input(**inputs)
    m.run()
    return m.get_output(0).numpy()


def fused(mod):
    """The primitive function that the pass makes; None: it makes none."""
    after = relay.transform.FuseAttention(1, 1 << 20)(mod)
    found = []

    def visit(e):
        if isinstance(e, relay.Function) and e.attrs and "Primitive" in e.attrs.keys():
            found.append(e)

    relay.analysis.post_order_visit(after["main"], visit)
    assert len(found) <= 1
    return found[0] if found else None


def check(got, want, rtol=1e-5):
    np.testing.assert_allclose(got.reshape(want.shape), want, rtol=rtol, atol=rtol)


SHAPES = [
    (1, 1, 4, 8, 1, 8),
    (1, 3, 49, 49, 32, 32),
    (2, 2, 13, 33, 17, 40),
    (3, 1, 27, 100, 8, 9),
    (1, 2, 130, 16, 64, 80),
]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout, shape):
    b, h, m, n, k, d = shape
    if layout == "parts":
        n, d = m, k
    mod, inputs, want = network(layout, "where", b, h, m, n, k, d)
    check(run(mod, inputs), want)


@pytest.mark.parametrize("cpu", runnable(["native", "haswell", "skylake-avx512", "x86-64"]))
@pytest.mark.parametrize("masked", ["none", "where", "bias", "windows"])
def test_targets(cpu, masked):
    mod, inputs, want = network("heads", masked, 4, 3, 23, 23, 20, 24)
    check(run(mod, inputs, f"llvm -mcpu={cpu}"), want)
    mod, inputs, want = network("parts", masked, 2, 1, 49, 49, 32, 32)
    check(run(mod, inputs, f"llvm -mcpu={cpu}"), want)


@pytest.mark.parametrize("vector_bytes", [64, 32, 16])
@pytest.mark.parametrize("layout, masked", [("parts", "windows"), ("lists", "bias")])
def test_kernel_is_used(layout, masked, vector_bytes):
    """Scores of a block of rows are all that there is memory for, whatever the operands are."""
    mod, _, _ = network(layout, masked, 4, 3, 49, 49, 32, 32)
    f = schedule(lower_to_primfunc(fused(mod), "llvm"), vector_bytes, 32, 2)
    text = f.script()
    assert 'with T.block("T_softmax' not in text
    assert "scores = T.alloc_buffer((" in text and "T.parallel(12)" in text


def sums_from(first):
    """Attention as tensor expressions; the sums of softmax and of the result begin with `first`."""
    b, h, m = 1, 2, 16
    begin = [tir.const(v, "float32") for v in first]
    q, key, v = (te.placeholder((b, h, m, m), name=n) for n in "qkv")
    k = [te.reduce_axis((0, m), f"k{i}") for i in range(4)]
    four, three = (b, h, m, m), (b, h, m)
    s = te.compute(four, lambda *i: te.sum(q[(*i[:3], k[0])] * key[(*i[:2], i[3], k[0])], k[0]))
    most = te.compute(three, lambda *i: te.max(s[(*i, k[1])], k[1]))
    e = te.compute(four, lambda *i: tir.exp(s(*i) - most(*i[:3])))
    total = te.compute(three, lambda *i: te.sum(e[(*i, k[2])], k[2], init=begin[0]))
    inverse = te.compute(three, lambda *i: tir.const(1.0, "float32") / total(*i))
    p = te.compute(four, lambda *i: e(*i) * inverse(*i[:3]))
    out = te.compute(
        four, lambda *i: te.sum(p[(*i[:3], k[3])] * v[(*i[:2], k[3], i[3])], k[3], init=begin[1])
    )
    return te.create_prim_func([q, key, v, out])


@pytest.mark.parametrize("first", [(0, 0), (1, 0), (0, 1)])
def test_sums_that_begin_with_something(first):
    f = schedule(sums_from(first), 16, 16, 1)
    assert ("keys = T.alloc_buffer(" in f.script()) == (first == (0, 0))
    rng = np.random.default_rng(3)
    q, key, v = (rng.standard_normal((1, 2, 16, 16)).astype("float32") for _ in range(3))
    out = tenon.nd.empty(q.shape)
    tenon.build(f, target="llvm")(*(tenon.nd.array(x) for x in (q, key, v)), out)
    s = q.astype("float64") @ key.swapaxes(2, 3)
    e = np.exp(s - s.max(-1, keepdims=True))
    check(out.numpy(), e / (first[0] + e.sum(-1, keepdims=True)) @ v + first[1])


@pytest.mark.parametrize("executor, target", [("vm", "llvm"), ("aot", "llvm"), ("graph", "c")])
def test_executors(executor, target):
    mod, inputs, want = network("parts", "where", 1, 2, 21, 21, 16, 16)
    check(run(mod, inputs, target, executor), want)


def test_without_vectors():
    """The function is one of ordinary operators: any target computes it."""
    mod, inputs, want = network("parts", "bias", 1, 2, 21, 21, 16, 16)
    mod = relay.transform.FuseAttention(1, 1 << 20)(mod)
    check(run(mod, inputs, "c"), want)


def test_double_precision():
    mod, inputs, want = network("heads", "where", 1, 2, 21, 30, 16, 20, "float64")
    assert fused(mod) is not None
    check(run(mod, inputs), want, 1e-12)


def test_rows_that_are_masked_whole():
    """Each value counts the same, as it does with the stages apart."""
    mod, inputs, want = network("heads", "where", 1, 2, 21, 30, 16, 20)
    inputs["mask"] = inputs["mask"].copy()
    inputs["mask"][0, 0, 5] = False
    want = run(mod, inputs, disabled_pass=["FuseAttention"])
    check(run(mod, inputs), want)


@pytest.mark.parametrize("cpu", runnable(["native", "haswell", "skylake-avx512", "x86-64"]))
@pytest.mark.parametrize("kind, large", [("float32", 3e38), ("float64", 1e300)])
def test_values_that_are_masked_do_not_count(cpu, kind, large):
    mod, inputs, _ = network("heads", "where", 1, 2, 21, 30, 16, 20, kind)
    inputs["mask"] = inputs["mask"].copy()
    inputs["mask"][..., 20:] = False
    want = run(mod, inputs)
    inputs["v"] = inputs["v"].copy()
    inputs["v"][:, 20:] = large
    check(run(mod, inputs, f"llvm -mcpu={cpu}"), want)


def test_items_and_heads_that_softmax_sees_otherwise():
    """Three items of two heads for the first product are two of three for softmax."""
    b, h, m, k = 3, 2, 16, 16
    q, key, v = var("q", b, m, h, k), var("k", b, m, h, k), var("v", b * h, m, k)
    s = relay.reshape(relay.einsum([q, key], "bmhk,bnhk->bhmn"), (h, b, m, m))
    p = relay.reshape(relay.nn.softmax(s), (b * h, m, m))
    out = relay.nn.batch_matmul(p, v, transpose_b=False)
    mod = tenon.IRModule.from_expr(relay.Function([q, key, v], out))
    mod = relay.transform.InferType()(mod)
    rng = np.random.default_rng(0)
    shapes = {"q": (b, m, h, k), "k": (b, m, h, k), "v": (b * h, m, k)}
    inputs = {n: rng.standard_normal(s).astype("float32") for n, s in shapes.items()}
    q, key, v = (a.astype("float64") for a in inputs.values())
    e = np.einsum("bmhk,bnhk->bhmn", q, key).reshape(b * h, m, m)
    e = np.exp(e - e.max(-1, keepdims=True))
    check(run(mod, inputs), e / e.sum(-1, keepdims=True) @ v)


def test_left_alone():
    mod, _, _ = network("heads", "none", 1, 2, 3, 30, 16, 20)
    assert fused(mod) is None  # few rows
    mod, _, _ = network("heads", "none", 1, 2, 30, 30, 16, 20, "float16")
    assert fused(mod) is None
    mod, _, _ = network("heads", "none", 1, 1, 30, 3000, 64, 64)
    assert fused(mod) is not None
    mod, _, _ = network("heads", "none", 1, 1, 30, 30000, 64, 64)
    assert fused(mod) is None  # keys do not stay in the cache
    with pytest.raises(ValueError, match="bytes of cache"):
        relay.transform.FuseAttention(1, 0)(mod)


def test_not_a_number():
    """A row that has none stays without one; the others do not notice."""
    mod, inputs, want = network("heads", "where", 1, 2, 21, 30, 16, 20)
    inputs["q"][0, 5, 1, 3] = np.nan
    want[0, 5, 1] = np.nan
    check(run(mod, inputs), want)


def projected(biases, shared=True, again=False):
    """Attention of dense layers of one input, or of two."""
    rng = np.random.default_rng(2)
    x, y = var("x", 9, 12), var("y", 9, 12)
    weights = rng.standard_normal((3, 16, 12)).astype("float32")
    parts, plain = [], []
    inputs = {n: rng.standard_normal((9, 12)).astype("float32") for n in "xy"}
    for i, name in enumerate("xxx" if shared else "xyy"):
        e = relay.nn.dense(y if name == "y" else x, relay.const(weights[i]))
        plain.append(inputs[name].astype("float64") @ weights[i].T)
        if i in biases:
            b = rng.standard_normal(16).astype("float32")
            e, plain[-1] = relay.add(e, relay.const(b)), plain[-1] + b
        parts.append(e)
    q, k, v = (relay.reshape(e, (1, 9, 2, 8)) for e in parts)
    p = relay.nn.softmax(relay.einsum([q, k], "bmhk,bnhk->bhmn"))
    out = relay.einsum([p, v], "bhmk,bkhn->bmhn")
    if again:
        out = relay.add(out, q)
    q, k, v = (e.reshape(9, 2, 8) for e in plain)
    s = np.einsum("mhk,nhk->hmn", q, k)
    s = np.exp(s - s.max(-1, keepdims=True))
    want = np.einsum("hmn,nhd->mhd", s / s.sum(-1, keepdims=True), v)
    mod = tenon.IRModule.from_expr(relay.Function([x, y], out))
    return relay.transform.InferType()(mod), inputs, want + q if again else want


@pytest.mark.parametrize(
    "how, left",
    [
        ({"biases": (0, 1, 2)}, 1),
        ({"biases": ()}, 1),
        ({"biases": (0, 2)}, 2),  # key alone has none
        ({"biases": (0, 1, 2), "shared": False}, 2),
        ({"biases": (0, 1, 2), "again": True}, 2),  # query is read elsewhere
    ],
)
def test_dense_layers_become_one(how, left):
    mod, inputs, want = projected(**how)
    after = relay.transform.CombineAttentionDense(1, 1 << 20)(mod)
    assert after.astext(show_meta_data=False).count("nn.dense(") == left
    check(run(mod, inputs), want)
    with pytest.raises(ValueError, match="bytes of cache"):
        relay.transform.CombineAttentionDense(1, 0)(mod)
