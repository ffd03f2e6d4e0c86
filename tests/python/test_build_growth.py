"""How programs and the work on them grow with the size of a model: no time is measured."""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import tenon
from tenon import arith, relay, tir
from tenon.relay import vm

pytestmark = pytest.mark.unsanitized
CAP = 300  # seconds: what doubles with each step takes longer, whatever the machine does besides


def finishes(program):
    """What a program prints, run in its own process."""
    env = {**os.environ, "TENON_CACHE": "off"}
    r = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=env,
        capture_output=True,
        text=True,
        timeout=CAP,
        check=False,
    )
    assert r.returncode == 0, r.stderr
    return r.stdout.split()


@tenon.instrument.pass_instrument
class Programs:
    """Tensor programs as a build makes them: their nodes, counted as often as they occur."""

    def __init__(self):
        self.nodes = {}

    def run_before_pass(self, mod, info):
        if info.name != "tir.LowerInitBlock":
            return
        for name, f in mod.functions.items():
            self.nodes[name.name_hint] = sum(nodes_of(f.script()))


def nodes_of(text):
    return (len(line.replace("(", " ").replace(")", " ").split()) for line in text.splitlines())


def open_chain(n, op):
    xs = [relay.var(f"x{i}", shape=(relay.Any(),), dtype="float32") for i in range(n)]
    y = xs[0]
    for x in xs[1:]:
        y = op(y, x)
    return tenon.IRModule.from_expr(relay.Function(xs, y))


def counted(mod, build=vm.compile):
    programs = Programs()
    with tenon.transform.PassContext(opt_level=3, instruments=[programs]):
        build(mod, "llvm")
    return programs.nodes


# ---- broadcasts of dynamic extents ----


@pytest.mark.parametrize("op", [relay.add, relay.maximum], ids=["add", "max"])
def test_extents_of_broadcasts_grow_linearly(op):
    small, large = (
        sum(v for k, v in counted(open_chain(n, op)).items() if "shape_func" in k) for n in (8, 16)
    )
    assert 0 < large < 2.6 * small


def test_kernels_of_broadcasts_grow_linearly():
    """At most 16 of them are one kernel."""
    small, large = (sum(counted(open_chain(n + 1, relay.add)).values()) for n in (32, 96))
    assert 0 < large <= 3 * small


@pytest.mark.parametrize("executor", ["vm", "debug"])
def test_broadcasts_of_open_extents(executor):
    """Every extent is 1 or one number, which may be 0."""
    n = 10
    f = relay.create_executor(executor, open_chain(n, relay.add), target="llvm").evaluate()
    rng = np.random.default_rng(0)
    for common in (0, 1, 2, 5):
        for _ in range(4):
            xs = [rng.random(rng.choice([1, common])).astype("float32") for _ in range(n)]
            got, want = f(*xs).numpy(), sum(xs[1:], xs[0])
            assert got.shape == want.shape
            np.testing.assert_allclose(got, want, rtol=1e-5)
    for wrong in ((2, 3), (0, 2), (1, 2, 3), (3, 1, 1, 2)):
        xs = [np.ones(k, "float32") for k in wrong + (1,) * (n - len(wrong))]
        with pytest.raises((tenon.TVMError, ValueError)):
            f(*xs)


def test_pairs_of_open_extents():
    """x + y, then x + y again: the extents are the same symbols."""
    x, y = (relay.var(v, shape=(relay.Any(), relay.Any()), dtype="float32") for v in "xy")
    z = x
    for i in range(6):
        z = relay.add(relay.multiply(z, y), x) if i % 2 else relay.add(y, relay.add(x, z))
    f = relay.create_executor(
        "vm", tenon.IRModule.from_expr(relay.Function([x, y], z)), target="llvm"
    ).evaluate()
    for s, t in (((2, 3), (2, 3)), ((1, 3), (2, 1)), ((0, 1), (1, 4)), ((1, 1), (5, 1))):
        a, b = np.random.rand(*s).astype("float32"), np.random.rand(*t).astype("float32")
        w = a
        for i in range(6):
            w = w * b + a if i % 2 else b + (a + w)
        np.testing.assert_allclose(f(a, b).numpy(), w, rtol=1e-4)


# ---- analysis of integers ----


@pytest.mark.parametrize("make", ["tir.if_then_else", "tir.Select"])
@pytest.mark.parametrize("form", ["rewrite_simplify", "canonical_simplify"])
def test_nested_choices_are_simplified(make, form):
    """Each choice is there twice in the next: a tree of 2 ** 34 choices."""
    finishes(f"""
        import tenon
        from tenon import arith, tir
        d = [tir.Var(f"d{{i}}", "int64") for i in range(35)]
        e = d[0]
        for v in d[1:]:
            e = {make}(e == 1, v, e)
        arith.Analyzer().{form}(e)
        """)


def test_substitution_visits_a_shared_node_once():
    """Each choice is there twice in the next; the new tree shares as the old one does."""
    finishes("""
        from tenon import tir
        x, y = tir.Var("x", "int64"), tir.Var("y", "int64")
        e = x
        for i in range(60):
            e = tir.if_then_else(e == i, e, y)
        e = tir.stmt_functor.substitute(e, {x: y + 1})
        for _ in range(59):
            assert e.args[0].a.same_as(e.args[1])
            e = e.args[1]
        """)


def test_choices_are_simplified_by_their_conditions():
    x, y, z = (tir.Var(v, "int32") for v in "xyz")
    e = z
    for i in range(20):
        e = tir.if_then_else(x < y + i, e, 0)
    e = arith.Analyzer().simplify(tir.if_then_else(x < y, e, -1))
    tenon.ir.assert_structural_equal(e, tir.if_then_else(x < y, z, -1))


def test_conditions_about_other_variables_do_not_matter():
    """Those that do are found among many."""
    n, m, i, k, *others = (tir.Var(f"v{i}", "int32") for i in range(12))
    a = arith.Analyzer()
    a.bind(i, tenon.ir.Range(0, k))
    scopes = [a.constraint_scope(c) for c in (others[0] < others[1], k <= m, m <= n)]
    for s in scopes:
        s.__enter__()
    assert a.can_prove(i < n)
    for s in reversed(scopes):
        s.__exit__(None, None, None)
    assert not a.can_prove(i < n)


# ---- operators ----


def max_pool(n):
    """With the places of the largest elements, of windows of n x n."""
    helper, kind = pytest.importorskip("onnx").helper, onnx_types()
    node = helper.make_node("MaxPool", ["x"], ["y", "i"], kernel_shape=[n, n])
    graph = helper.make_graph(
        [node],
        "pool",
        [helper.make_tensor_value_info("x", kind.FLOAT, [1, 2, 24, 24])],
        [
            helper.make_tensor_value_info("y", kind.FLOAT, None),
            helper.make_tensor_value_info("i", kind.INT64, None),
        ],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def onnx_types():
    return pytest.importorskip("onnx").TensorProto


def test_places_of_the_largest_do_not_grow_with_the_window():
    def operators(n):
        mod, _ = relay.frontend.from_onnx(max_pool(n))
        return sum(relay.analysis.list_op_freqs(mod).values())

    assert operators(2) == operators(9)


def test_places_of_the_largest_in_a_large_window():
    mod, _ = relay.frontend.from_onnx(max_pool(20))
    x = np.random.default_rng(1).random((1, 2, 24, 24)).astype("float32")
    largest, places = relay.create_executor("vm", mod, target="llvm").evaluate()(x)
    np.testing.assert_array_equal(x.ravel()[places.numpy()], largest.numpy())
    windows = np.lib.stride_tricks.sliding_window_view(x, (20, 20), (2, 3))
    np.testing.assert_array_equal(largest.numpy(), windows.max((-1, -2)))


# ---- operators of many tensors ----


def joined(op, n, axis=0):
    xs = [
        relay.var(f"x{i}", shape=(1 + (i % 3 if op is relay.concatenate else 0), 5))
        for i in range(n)
    ]
    return tenon.IRModule.from_expr(relay.Function(xs, op(xs, axis)))


def parted(n, equal=True, axis=0):
    shape = (2 * n, 3) if axis in (0, -2) else (3, 2 * n)
    x = relay.var("x", shape=shape)
    at = n if equal else [2 * i + i % 2 for i in range(1, n)]
    return tenon.IRModule.from_expr(relay.Function([x], relay.split(x, at, axis).astuple()))


@pytest.mark.parametrize(
    "make", [lambda n: joined(relay.concatenate, n), lambda n: joined(relay.stack, n), parted]
)
def test_kernels_of_many_tensors_stay_small(make):
    """Of 130 tensors and of 650 the largest kernel is the same."""
    few, many = (counted(make(n), relay.build) for n in (130, 650))
    assert max(many.values()) <= 1.1 * max(few.values())
    assert len(many) <= 6


@pytest.mark.parametrize("n", [64, 70])
@pytest.mark.parametrize("op", ["concatenate", "stack"])
def test_many_tensors_into_one(op, n):
    rng = np.random.default_rng(n)
    axis = 0 if op == "concatenate" else -1
    mod = joined(getattr(relay, op), n, axis)
    xs = [
        rng.random([int(d) for d in v.type_annotation.shape], "float32") for v in mod["main"].params
    ]
    for executor, level in (("graph", 3), ("vm", 3), ("graph", 0)):
        with tenon.transform.PassContext(opt_level=level):
            got = relay.create_executor(executor, mod, target="llvm").evaluate()(*xs)
        np.testing.assert_array_equal(got.numpy(), getattr(np, op)(xs, axis))


@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize("equal", [True, False])
@pytest.mark.parametrize("n", [70])
def test_one_tensor_into_many(n, equal, axis):
    mod = parted(n, equal, axis)
    x = np.random.default_rng(n).random(
        [int(d) for d in mod["main"].params[0].type_annotation.shape], "float32"
    )
    want = np.split(x, n if equal else [2 * i + i % 2 for i in range(1, n)], axis)
    for executor in ("graph", "vm"):
        got = relay.create_executor(executor, mod, target="llvm").evaluate()(x)
        assert len(got) == n
        for a, b in zip(got, want, strict=True):
            np.testing.assert_array_equal(a.numpy(), b)


def test_fields_of_a_split_of_many():
    """Some of the parts, read by operators, and one tensor of all of them."""
    x = relay.var("x", shape=(200, 3))
    parts = relay.split(x, 200, 0)
    y = relay.concatenate([relay.exp(parts[199 - i]) for i in range(0, 200, 2)], 0)
    a = np.random.default_rng(0).random((200, 3), "float32")
    for executor in ("graph", "vm"):
        mod = tenon.IRModule.from_expr(relay.Function([x], y))
        got = relay.create_executor(executor, mod, target="llvm").evaluate()(a)
        np.testing.assert_allclose(got.numpy(), np.exp(a[::-1][::2]), rtol=1e-6)


def test_many_open_tensors_into_one():
    xs = [relay.var(f"x{i}", shape=(relay.Any(),)) for i in range(40)]
    mod = tenon.IRModule.from_expr(relay.Function(xs, relay.concatenate(xs, 0)))
    assert max(counted(mod).values()) < 4000
    rng = np.random.default_rng(0)
    data = [rng.random(rng.integers(0, 4), "float32") for _ in xs]
    got = relay.create_executor("vm", mod, target="llvm").evaluate()(*data)
    np.testing.assert_array_equal(got.numpy(), np.concatenate(data))


# ---- slices of dynamic dimensions ----


def open_slices(n):
    x = relay.var("x", shape=(relay.Any(),))
    y = x
    for i in range(n):
        y = relay.strided_slice(y, [1 + i % 2], [-1 if i % 3 else 2**31], [1])
    return tenon.IRModule.from_expr(relay.Function([x], y))


def test_slices_of_slices_do_not_double():
    """The extent of the one before stood twice in each: 2 ** 24 nodes."""
    few, many = (max(counted(open_slices(n)).values()) for n in (12, 24))
    assert few < many < 4.5 * few
    x = np.arange(30, dtype="float32")
    f = relay.create_executor("vm", open_slices(12), target="llvm").evaluate()
    for n in (0, 5, 20, 30):
        got, want = f(x[:n]).numpy(), x[:n]
        for i in range(12):
            want = want[1 + i % 2 : -1 if i % 3 else None]
        np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("begin", [-9, -3, -1, 0, 1, 3, 9, 2**31 - 1, 2**40])
def test_extents_of_slices(begin):
    """As numpy says, whatever begin, end and extent are."""
    for end in (-(2**40), -9, -3, -2, -1, 0, 1, 2, 4, 9, 2**31 - 1, 2**40):
        for n in range(7):
            x = relay.var("x", shape=(n,))
            got = relay.transform.InferTypeLocal(relay.strided_slice(x, [begin], [end])).shape[0]
            assert int(got) == len(range(n)[begin:end]), (begin, end, n)


@pytest.mark.parametrize("begin, end", [(-3, -1), (-3, 2**40), (2, -1), (2, 4), (-3, 2), (-1, -3)])
def test_slices_of_open_extents(begin, end):
    x = relay.var("x", shape=(relay.Any(),))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.strided_slice(x, [begin], [end])))
    f = relay.create_executor("vm", mod, target="llvm").evaluate()
    for n in range(7):
        a = np.arange(n, dtype="float32")
        np.testing.assert_array_equal(f(a).numpy(), a[begin:end])


# ---- chains whose parts are used several times ----


def test_kernels_of_open_reshapes_stay_small():
    def chain(n):
        y = x = relay.var("x", shape=(relay.Any(), relay.Any(), 2))
        for _ in range(n):
            y = relay.reshape(relay.transpose(relay.reshape(y, (-1, 0)), (1, 0)), (0, 2, -1))
        return tenon.IRModule.from_expr(relay.Function([x], y))

    sizes = [max(counted(chain(n)).values()) for n in (3, 6)]
    assert sizes[1] <= sizes[0] * 1.5
    data = np.arange(24, dtype="float32").reshape(3, 4, 2)
    want = data
    for _ in range(6):
        want = want.reshape(-1, want.shape[1]).T
        want = want.reshape(want.shape[0], 2, -1)
    run = relay.create_executor("vm", mod=chain(6), target="llvm").evaluate()
    np.testing.assert_array_equal(run(data).numpy(), want)


def test_bindings_that_use_others_twice():
    """Written out, the last of them would have 2^40 nodes."""
    out = finishes("""
        import numpy as np, tenon
        from tenon.script import tir as T
        lines = [f"    v{k + 1}: T.int32 = v{k} * 3 + v{k} % 7" for k in range(40)]
        text = "\\n".join([
            "@T.prim_func",
            'def f(A: T.Buffer((2,), "int32")):',
            "    v0: T.int32 = A[0]",
            *lines,
            "    A[1] = v40",
        ])
        f = tenon.build(tenon.script.from_source(text), target="llvm")
        a = tenon.nd.array(np.array([5, 0], "int32"))
        f(a)
        print(a.numpy()[1])
    """)
    v = 5
    for _ in range(40):
        v = (v * 3 + v % 7 + 2**31) % 2**32 - 2**31
    assert out == [str(v)]


def test_large_values_do_not_take_the_place_of_variables():
    analyzer = arith.Analyzer()
    x = tir.Var("x", "int32")
    small, large = tir.Var("small", "int32"), tir.Var("large", "int32")
    ys = [tir.Var(f"y{i}", "int32") for i in range(300)]
    analyzer.bind(small, x * 2)
    analyzer.bind(large, sum(ys[1:], ys[0]) % 4)
    assert analyzer.simplify(small + 1).a.a.same_as(x)
    assert analyzer.simplify(large + 1).a.same_as(large)
    assert analyzer.const_int_bound(large).max_value == 3
