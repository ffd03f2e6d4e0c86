"""Scans: results step by step, whatever the schedule."""

import numpy as np
import pytest
import tenon
from tenon import te
from test_te_schedule_run import check, random, text

m, n = 7, 12


def cumsum(rows=m, columns=n):
    X = te.placeholder((rows, columns), name="X")
    state = te.placeholder((rows, columns), name="state")
    init = te.compute((1, columns), lambda _, i: X[0, i], name="init")
    update = te.compute((rows, columns), lambda t, i: state[t - 1, i] + X[t, i], name="update")
    return X, state, init, update, te.scan(init, update, state, inputs=[X], name="S")


def test_nodes():
    X, state, init, update, S = cumsum()
    op = S.op
    assert isinstance(op, te.ScanOp) and isinstance(te.create_schedule(op)[S].op, te.ScanOp)
    assert tuple(S.shape) == (m, n) and S.dtype == "float32"
    assert (op.scan_axis.dom.min, op.scan_axis.dom.extent) == (1, m - 1)
    assert op.scan_axis.var.name == "S.idx"
    assert [a.dom.extent for a in op.spatial_axis_] == [n]
    assert list(op.input_tensors) == [init, update]
    again = tenon.ir.load_json(tenon.ir.save_json(op))
    tenon.ir.assert_structural_equal(again, op)


def test_bounds():
    X, _, init, update, S = cumsum()
    s = te.create_schedule(S.op)
    bounds = te.schedule.InferBound(s.normalize())
    axis = bounds[S.op.scan_axis]
    assert (axis.min, axis.extent) == (1, m - 1)
    step = bounds[update.op.axis[0]]
    assert step.min.same_as(S.op.scan_axis.var) and step.extent == 1
    assert bounds[init.op.axis[0]].extent == 1 and bounds[update.op.axis[1]].extent == n


def test_one_buffer():
    X, _, _, _, S = cumsum()
    s = te.create_schedule(S.op)
    x = random(m, n)
    check(s, [X, S], [x], np.cumsum(x, axis=0))
    assert "alloc_buffer" not in text(s, [X, S])


def test_symbolic():
    rows, columns = te.var("rows"), te.var("columns")
    X, _, _, _, S = cumsum(rows, columns)
    x = random(5, 3)
    check(te.create_schedule(S.op), [X, S], [x], np.cumsum(x, axis=0))


def test_result_that_is_no_argument():
    X, _, _, _, S = cumsum()
    last = te.compute((n,), lambda i: S[m - 1, i] * 2, name="last")
    x = random(m, n)
    check(te.create_schedule(last.op), [X, last], [x], 2 * x.sum(0))


def two_steps():
    X = te.placeholder((m, n), name="X")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    s1 = te.compute((m, n), lambda t, i: state[t - 1, i] * 0.5, name="s1")
    s2 = te.compute((m, n), lambda t, i: s1[t, i] + X[t, i], name="s2")
    return X, state, init, s1, s2, te.scan(init, s2, state, name="S")


def expected_two_steps(x):
    out = x.copy()
    for t in range(1, len(x)):
        out[t] = out[t - 1] * 0.5 + x[t]
    return out


def test_stages_inside():
    X, _, _, _, _, S = two_steps()
    x = random(m, n)
    s = te.create_schedule(S.op)
    check(s, [X, S], [x], expected_two_steps(x))
    assert "s1 = T.alloc_buffer((1, 12))" in te.schedule._ffi_api.ToFunc(s, [X, S], None).script()


@pytest.mark.parametrize("how", ["root", "at", "inline", "split", "tail", "vectorize"])
def test_schedules(how):
    X, state, init, s1, s2, S = two_steps()
    x = random(m, n)
    s = te.create_schedule(S.op)
    if how == "at":
        outer, _ = s[s2].split(s2.op.axis[1], factor=5)
        s[s1].compute_at(s[s2], outer)
    if how == "inline":
        s[s1].compute_inline()
    if how == "split":
        s[S].split(S.op.scan_axis, factor=3)
    if how == "tail":
        s[S].split(S.op.scan_axis, factor=4)
    if how == "vectorize":
        _, inner = s[s2].split(s2.op.axis[1], factor=4)
        s[s2].vectorize(inner)
        _, inner = s[init].split(init.op.axis[1], factor=4)
        s[init].vectorize(inner)
    check(s, [X, S], [x], expected_two_steps(x))


def test_caches():
    X, state, init, s1, s2, S = two_steps()
    x = random(m, n)
    s = te.create_schedule(S.op)
    cached = s.cache_read(state, "local", [s1])
    local = s.cache_write(s2, "local")
    row = s.cache_read(X, "local", [local])
    s[row].compute_at(s[S], S.op.scan_axis)
    check(s, [X, S], [x], expected_two_steps(x))
    script = tenon.lower(s, [X, S]).script()
    assert "state_local" in script and "s2_local" in script and "X_local" in script
    assert str(cached.op.name) == "state.local"


def test_several_states():
    X = te.placeholder((m, n), name="X")
    a, b = te.placeholder((m, n), name="a"), te.placeholder((m, 3), name="b")
    a0 = te.compute((2, n), lambda t, i: X[t, i], name="a0")
    b0 = te.compute((2, 3), lambda t, i: X[t, i] - 1, name="b0")
    a1 = te.compute((m, n), lambda t, i: a[t - 2, i] + X[t, i] + b[t - 1, i % 3], name="a1")
    b1 = te.compute((m, 3), lambda t, i: b[t - 1, i] * a[t - 1, i], name="b1")
    A, B = te.scan([a0, b0], [a1, b1], [a, b], inputs=[X])
    x = random(m, n)
    want_a, want_b = x.copy(), x[:, :3] - 1
    for t in range(2, m):
        want_a[t] = want_a[t - 2] + x[t] + np.tile(want_b[t - 1], 4)
        want_b[t] = want_b[t - 1] * want_a[t - 1, :3]
    check(te.create_schedule(A.op), [X, A, B], [x], want_a, want_b)


def test_update_by_a_pair():
    X = te.placeholder((m, n), name="X")
    a, b = te.placeholder((m, n), name="a"), te.placeholder((m, n), name="b")
    first = te.compute((1, n), lambda t, i: (X[t, i], X[t, i] * 2), name="first")
    step = te.compute(
        (m, n), lambda t, i: (b[t - 1, i] + X[t, i], a[t - 1, i] - X[t, i]), name="step"
    )
    A, B = te.scan(list(first), list(step), [a, b])
    x = random(m, n)
    want_a, want_b = x.copy(), x * 2
    for t in range(1, m):
        want_a[t], want_b[t] = want_b[t - 1] + x[t], want_a[t - 1] - x[t]
    check(te.create_schedule(A.op), [X, A, B], [x], want_a, want_b)


def test_matrix_in_the_step():
    X = te.placeholder((m, n), name="X")
    W = te.placeholder((n, n), name="W")
    state = te.placeholder((m, n), name="state")
    init = te.compute((1, n), lambda _, i: X[0, i], name="init")
    k = te.reduce_axis((0, n), name="k")
    prod = te.compute((m, n), lambda t, i: te.sum(W[i, k] * state[t - 1, k], axis=k), name="prod")
    update = te.compute((m, n), lambda t, i: te.tanh(prod[t, i]) + X[t, i], name="update")
    S = te.scan(init, update, state, inputs=[X, W], name="S")
    x, w = random(m, n), random(n, n) - 0.5
    want = x.copy()
    for t in range(1, m):
        want[t] = np.tanh(w @ want[t - 1]) + x[t]
    s = te.create_schedule(S.op)
    check(s, [X, W, S], [x, w], want, rtol=1e-4)
    s = te.create_schedule(S.op)
    outer, inner = s[prod].split(prod.op.reduce_axis[0], factor=4)
    partial = s.rfactor(prod, inner)
    s[partial].reorder(*partial.op.reduce_axis, partial.op.axis[0])
    check(s, [X, W, S], [x, w], want, rtol=1e-4)


def test_stacked():
    X, _, _, _, S = cumsum()
    state = te.placeholder((m, n), name="state2")
    init = te.compute((1, n), lambda t, i: S[t, i], name="init2")
    update = te.compute((m, n), lambda t, i: state[t - 1, i] + S[t, i], name="update2")
    T = te.scan(init, update, state, inputs=[S], name="T")
    x = random(m, n)
    check(te.create_schedule(T.op), [X, T], [x], np.cumsum(np.cumsum(x, 0), 0))


def test_auto_inline_keeps_first_values():
    X, _, _, s1, _, S = two_steps()
    s = te.create_schedule(S.op)
    te.schedule.AutoInlineInjective(s)
    x = random(m, n)
    check(s, [X, S], [x], expected_two_steps(x))


# ---- what is refused ----


def refuse(error, why, **changes):
    X, state, init, update, _ = cumsum()
    parts = {"init": init, "update": update, "state_placeholder": state} | changes
    with pytest.raises(error, match=why):
        te.scan(**parts)


def test_shapes_are_checked():
    A = te.placeholder((m, n), name="A")
    two = te.compute((2, n), lambda t, i: A[t, i], name="two")
    narrow = te.compute((1, n - 1), lambda t, i: A[t, i], name="narrow")
    flat = te.compute((1,), lambda t: A[t, 0], name="flat")
    whole = te.compute((1, n), lambda t, i: A[t, i].astype("int32"), name="whole")
    refuse(ValueError, "update.shape\\[0\\]|differ in shape", update=two)
    refuse(ValueError, "differ in shape\\[1\\]", init=narrow)
    refuse(ValueError, "number of dimensions", init=flat)
    refuse(ValueError, "differ in type", init=whole)
    refuse(ValueError, "expected a placeholder", state_placeholder=two)
    refuse(ValueError, "expected the result of a compute", init=te.placeholder((1, n)))
    refuse(ValueError, "of one length", state_placeholder=[A, A])
    refuse(ValueError, "at least one tensor", init=[])


def test_schedules_are_checked():
    X, state, init, update, S = cumsum()
    s = te.create_schedule(S.op)
    for step, why in [
        (lambda: s[update].compute_at(s[S], S.op.scan_axis), "compute_at for scan updates"),
        (lambda: s[update].compute_root(), "compute_at for scan updates"),
        (lambda: s[S].parallel(S.op.scan_axis), "axis of a scan"),
        (lambda: s[S].bind(S.op.scan_axis, te.thread_axis("threadIdx.x")), "axis of a scan"),
    ]:
        with pytest.raises(tenon.TVMError, match=why):
            step()
    s[init].compute_inline()
    with pytest.raises(tenon.TVMError, match="first value or the update"):
        tenon.lower(s, [X, S])
    s = te.create_schedule(S.op)
    with pytest.raises(ValueError, match="shares the memory of the scan S"):
        tenon.lower(s, [X, init, S])


def test_what_a_step_reads_of_a_stage_at_the_root():
    """All steps of it are computed before the scan, whether its loop is split or not."""
    X = te.placeholder((m, n), name="X")
    Y = te.compute((m, n), lambda t, i: X[t, i] * 2.0, name="Y")
    state = te.placeholder((m + 1, n), name="state")
    init = te.compute((1, n), lambda _, i: tenon.tir.const(0.0), name="init")
    part = te.compute((m + 1, n), lambda t, i: state[t - 1, i] + Y[t - 1, i], name="part")
    update = te.compute((m + 1, n), lambda t, i: part[t, i] + 1.0, name="update")
    for inputs in (None, [Y]):
        S = te.scan(init, update, state, inputs=inputs, name="S")
        x = random(m, n)
        wanted = np.cumsum(np.concatenate([np.zeros((1, n), "float32"), x * 2 + 1]), axis=0)
        s = te.create_schedule(S.op)
        check(s, [X, S], [x], wanted)
        s = te.create_schedule(S.op)
        s[S].split(S.op.scan_axis, 3)
        check(s, [X, S], [x], wanted)
