"""Arguments of functions that te makes: each is written, whatever the schedule of its stage, and
those that may be broadcast are."""

import math

import numpy as np
import pytest
import tenon
from tenon import relay, te, tir

TARGETS = ["llvm", "stackvm"]


def run(s, tensors, arrays, target="llvm"):
    f = tenon.build(s, tensors, target, name="main")
    given = [tenon.nd.array(a) for a in arrays]
    f["main"](*given)
    return [a.numpy() for a in given]


def two_stages():
    A = te.placeholder((4, 6), name="A")
    B = te.compute((4, 6), lambda i, j: A[i, j] + 1, name="B")
    C = te.compute((4, 6), lambda i, j: B[i, j] * 2, name="C")
    return A, B, C


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("axis", [0, 1])
def test_an_argument_computed_at_another_stage_is_written(axis, target):
    A, B, C = two_stages()
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[axis])
    a = np.random.rand(4, 6).astype("float32")
    empty = [np.full((4, 6), -1, "float32") for _ in range(2)]
    _, b, c = run(s, [A, B, C], [a, *empty], target)
    np.testing.assert_allclose(b, a + 1)
    np.testing.assert_allclose(c, (a + 1) * 2, rtol=1e-6)


def test_an_argument_computed_inline_is_not_written(caplog):
    A, B, C = two_stages()
    s = te.create_schedule(C.op)
    s[B].compute_inline()
    assert len(tenon.lower(s, [A, B, C])["main"].params) == 3
    assert "argument 1 is tensor B, which is computed inline" in caplog.text
    a = np.random.rand(4, 6).astype("float32")
    _, c = run(s, [A, C], [a, np.zeros((4, 6), "float32")])
    np.testing.assert_allclose(c, (a + 1) * 2, rtol=1e-6)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("factor_axis", [0, 1])
@pytest.mark.parametrize("start", ["number", "element"])
def test_rfactor_keeps_what_a_sum_begins_with(target, factor_axis, start):
    A, first = te.placeholder((4, 8), name="A"), te.placeholder((4,), name="first")
    k = te.reduce_axis((0, 8), "k")

    def begin(i):
        return tir.const(10.0, "float32") if start == "number" else first[i]

    B = te.compute((4,), lambda i: te.sum(A[i, k], axis=k, init=begin(i)), name="B")
    s = te.create_schedule(B.op)
    _, inner = s[B].split(B.op.reduce_axis[0], 4)
    s.rfactor(B, inner, factor_axis)
    a, b = np.random.rand(4, 8).astype("float32"), np.arange(4, dtype="float32")
    got = run(s, [A, first, B], [a, b, np.zeros(4, "float32")], target)[2]
    np.testing.assert_allclose(got, a.sum(1) + (10 if start == "number" else b), rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("shape", [(4, 3), (4, 1), (1, 3), (1, 1)])
@pytest.mark.parametrize("strided", [False, True])
def test_broadcast_arguments(shape, strided, target):
    m0, n0, m1, n1 = (te.var(x) for x in ("m0", "n0", "m1", "n1"))
    A, B = te.placeholder((m0, n0), name="A"), te.placeholder((m1, n1), name="B")
    C = te.compute((m0, n0), lambda i, j: A[i, j] + B[i, j], name="C")
    binds = {
        t: tir.decl_buffer(t.shape, "float32", name=t.op.name, buffer_type="auto_broadcast")
        for t in (A, B)
    }
    f = tenon.build(te.create_schedule(C.op), [A, B, C], target, binds=binds)
    a, b = (np.random.rand(*x).astype("float32") for x in ((4, 3), shape))
    other = tenon.nd.from_dlpack(np.asfortranarray(b)) if strided else tenon.nd.array(b)
    out = tenon.nd.empty((4, 3))
    f(tenon.nd.array(a), other, out)
    np.testing.assert_allclose(out.numpy(), a + b, rtol=1e-6)


def test_double_buffer_of_several_results_is_refused():
    A = te.placeholder((8, 16), name="A")
    B, D = te.compute((8, 16), lambda i, j: (A[i, j] + 1, A[i, j] * 2), name="B")
    C = te.compute((8, 16), lambda i, j: B[i, j] + D[i, j], name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    with pytest.raises(ValueError, match="double_buffer: B has 2 results"):
        tenon.lower(s, [A, C])


def test_double_buffer_whose_size_depends_on_the_loop_is_refused():
    n = te.var("n")
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    r = te.reduce_axis((0, n), name="r")
    C = te.compute((n,), lambda i: te.sum(B[te.max(i - r, 0)], axis=r), name="C")
    s = te.create_schedule(C.op)
    s[B].compute_at(s[C], C.op.axis[0])
    s[B].double_buffer()
    with pytest.raises(
        ValueError, match="the size of B depends on i, which is defined in the loop"
    ):
        tenon.lower(s, [A, C])


def test_double_buffer_in_a_scan_is_refused():
    A = te.placeholder((4, 16), name="A")
    state = te.placeholder((4, 16), name="state")
    first = te.compute((1, 16), lambda t, i: A[0, i], name="first")
    update = te.compute((4, 16), lambda t, i: state[t - 1, i] + A[t, i], name="update")
    scan = te.scan(first, update, state, name="scan")
    s = te.create_schedule(scan.op)
    s[update].double_buffer()
    with pytest.raises(ValueError, match="double_buffer: update is a part of a scan"):
        tenon.lower(s, [A, scan])
    s = te.create_schedule(scan.op)
    cache = s.cache_read(state, "global", [update.op])
    s[cache].double_buffer()
    with pytest.raises(ValueError, match="state.global is filled a round ahead from scan"):
        tenon.lower(s, [A, scan])


@pytest.mark.parametrize("n", [1, 51, 52, 64, 1027])
def test_pragmas_of_parallel_loops(n):
    """One launch for several loops; each thread takes every so-many-th iteration and waits."""
    size = te.var("n")
    A, B = te.placeholder((size,), name="A"), te.placeholder((size,), name="B")
    C = te.compute((size,), lambda i: A[i] + B[i], name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=4)
    first, second = s[C].split(outer, factor=13)
    s[C].parallel(second)
    s[C].pragma(first, "parallel_launch_point")
    s[C].pragma(second, "parallel_stride_pattern")
    s[C].pragma(second, "parallel_barrier_when_finish")
    s[C].vectorize(inner)
    a, b = (np.random.rand(n).astype("float32") for _ in range(2))
    c = run(s, [A, B, C], [a, b, np.full(n, -1, "float32")])[2]
    np.testing.assert_allclose(c, a + b, rtol=1e-6)


@pytest.mark.parametrize("n", [128, 4096])  # on the stack, and in a workspace
def test_tasks_of_a_launch_share_what_they_compute(n):
    A = te.placeholder((n,), name="A")
    B = te.compute((n,), lambda i: A[i] + 1, name="B")
    C = te.compute((n,), lambda i: te.sqrt(B[i]) * 2 + 2, name="C")
    s = te.create_schedule(C.op)
    outer, inner = s[C].split(C.op.axis[0], factor=8)
    whole, _ = s[C].split(outer, nparts=1)
    s[B].compute_at(s[C], whole)
    s[B].parallel(B.op.axis[0])
    s[B].pragma(B.op.axis[0], "parallel_barrier_when_finish")
    s[C].parallel(inner)
    s[C].pragma(whole, "parallel_launch_point")
    s[C].pragma(inner, "parallel_stride_pattern")
    for _ in range(5):
        a = np.random.rand(n).astype("float32")
        c = run(s, [A, C], [a, np.zeros(n, "float32")])[1]
        np.testing.assert_allclose(c, np.sqrt(a + 1) * 2 + 2, rtol=1e-5)


def test_fast_exp_reaches_both_ends():
    x = relay.var("x", shape=(12,))
    mod = tenon.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    v = [0, -0.5, 1, 88, 88.5, 88.72, 89, 1000, -87.5, -100, -110, -1000]
    v = np.array(v, "float32")
    with tenon.transform.PassContext(opt_level=4):
        f = relay.create_executor("graph", mod, tenon.cpu(), "llvm").evaluate()
    with np.errstate(over="ignore", under="ignore"):
        np.testing.assert_allclose(f(v).numpy(), np.exp(v), rtol=2e-5, atol=1e-44)


@pytest.mark.parametrize("cached", [False, True])
def test_a_reduction_may_depend_on_the_axes(cached):
    """Its extent, first value and combiner name the axis of the result."""
    x = te.placeholder((10,), name="x")

    def body(n):
        k = te.reduce_axis((0, n))
        first = lambda dtype: tenon.tir.Select(n > 1, tenon.tir.const(0, dtype), n.astype(dtype))  # noqa: E731
        total = te.comm_reducer(lambda a, b: te.max(a + b, n.astype("float32")), first, "total")
        return total(x[k], axis=k)

    y = te.compute((10,), body, name="y")
    s = te.create_schedule(y.op)
    if cached:
        s.cache_write(y, "local")
    value, out = np.arange(10, dtype="float32"), tenon.nd.empty((10,))
    tenon.build(s, [x, y], "llvm")(tenon.nd.array(value), out)
    want = []
    for n in range(10):
        total = 0.0 if n > 1 else n
        for k in range(n):
            total = max(total + value[k], n)
        want.append(total)
    np.testing.assert_array_equal(out.numpy(), want)


def run_named(function, argument, target, folder):
    """exp(x) + floor(sin(x)) under names that the code itself may need."""
    A = te.placeholder((4,), name=argument)
    C = te.compute((4,), lambda i: te.exp(A[i]) + te.floor(te.sin(A[i])), name="C")
    f = tenon.build(te.create_schedule(C.op), [A, C], target, name=function)
    if target == "c":
        path = str(folder / "named.so")
        f.export_library(path)
        f = tenon.runtime.load_module(path)
    a, out = np.arange(4, dtype="float32"), tenon.nd.empty((4,))
    f[function](tenon.nd.array(a), out)
    np.testing.assert_allclose(out.numpy(), np.exp(a) + np.floor(np.sin(a)), rtol=1e-5)


NAMES = ["exp", "sinf", "memcpy", "malloc", "floor", "main", "double"]


@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("name", NAMES)
def test_functions_named_as_those_they_call(name, target, tmp_path):
    run_named(name, "A", target, tmp_path)


@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", ["tan", "pow", "erf", "exp", "log"])
def test_functions_of_double_named_as_those_they_call(name, lanes):
    functions = {"pow": lambda x: te.power(x, x), "erf": te.erf}
    op = functions.get(name) or getattr(te, name)
    values = {"pow": lambda x: x**x, "erf": np.vectorize(math.erf)}
    A = te.placeholder((8,), "float64", name="A")
    B = te.compute((8,), lambda i: op(A[i]), name="B")
    s = te.create_schedule(B.op)
    if lanes > 1:
        s[B].vectorize(s[B].split(B.op.axis[0], lanes)[1])
    f = tenon.build(s, [A, B], "llvm", name=name)
    a = np.linspace(0.1, 1.4, 8)
    out = tenon.nd.array(np.zeros(8))
    f(tenon.nd.array(a), out)
    expected = values.get(name) or getattr(np, name)
    np.testing.assert_allclose(out.numpy(), expected(a), rtol=1e-15)


@pytest.mark.parametrize("name", [*NAMES, "expf", "class", "NULL", "int8_t"])
def test_arguments_named_as_words_of_c(name, tmp_path):
    run_named("f", name, "c", tmp_path)


def added(schedule=lambda s, c: None, axis=1):
    m, n, p, q = (te.var(v) for v in "mnpq")
    shape = (p, n) if axis == 0 else (m, q) if axis == 1 else (p, q)
    a, b = te.placeholder((m, n), name="A"), te.placeholder(shape, name="B")
    c = te.compute((m, n), lambda i, j: a[i, j] + b[i, j], name="C")
    s = te.create_schedule(c.op)
    schedule(s, c)
    return s, [a, b, c]


def split_and_vectorize(s, c):
    outer, inner = s[c].split(c.op.axis[1], 4)
    s[c].vectorize(inner)
    s[c].parallel(c.op.axis[0])


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("schedule", [lambda s, c: None, split_and_vectorize])
@pytest.mark.parametrize("axis", [0, 1, None])
def test_axes_of_one_element_are_broadcast(axis, schedule, target):
    """Nothing says that the extents are equal: a tensor of one row was read beyond its end."""
    if target == "stackvm" and schedule is split_and_vectorize:
        pytest.skip("no vectors")
    s, args = added(schedule, axis)
    f = tenon.build(s, args, target)
    rng = np.random.default_rng(0)
    for m, n in ((3, 5), (1, 7), (4, 1), (2, 8)):
        for one in (True, False):
            p = 1 if one and axis in (0, None) else m
            q = 1 if one and axis in (1, None) else n
            a, b = rng.random((m, n), "float32"), rng.random((p, q), "float32")
            out = tenon.nd.empty((m, n))
            f(tenon.nd.array(a), tenon.nd.array(b), out)
            np.testing.assert_array_equal(out.numpy(), a + b)


def test_tensors_of_the_loops_extents_have_no_strides():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    c = te.compute((n,), lambda i: a[i] + 1.0, name="C")
    buffers = tenon.lower(te.create_schedule(c.op), [a, c])["main"].buffer_map.values()
    assert all(len(b.strides) == 0 for b in buffers)
    s, args = added(axis=0)
    kinds = [len(b.strides) for b in tenon.lower(s, args)["main"].buffer_map.values()]
    assert sorted(kinds) == [0, 0, 2]
