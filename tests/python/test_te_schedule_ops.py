"""A schedule as a statement, and that statement as a function."""

import numpy as np
import pytest
import tenon
from tenon import te, tir

rng = np.random.default_rng(4)


def program():
    a = te.placeholder((16, 8), name="A")
    b = te.compute((16, 8), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((16, 8), lambda i, j: b[i, j] + 1.0, name="C")
    return a, b, c


def staged(s, args, bindings=None):
    s = s.normalize()
    stmt = te.schedule.ScheduleOps(s, te.schedule.InferBound(s))
    return te.schedule.SchedulePostProcToPrimFunc(args, stmt, bindings)


def check(func):
    x = rng.random((16, 8)).astype("float32")
    for target in ("stackvm", "llvm"):
        out = tenon.nd.array(np.zeros_like(x))
        tenon.build(func, target=target)(tenon.nd.array(x), out)
        np.testing.assert_array_equal(out.numpy(), x * 2 + 1)


def test_two_steps_give_what_one_gives():
    a, b, c = program()
    s = te.create_schedule(c.op)
    xo, xi = s[c].split(c.op.axis[0], 4)
    s[b].compute_at(s[c], xo)
    s[c].vectorize(s[c].fuse(xi, c.op.axis[1]))
    func = staged(s, [a, c])
    whole = tenon.driver.build_module.schedule_to_module(s, [a, c])["main"]
    tenon.ir.assert_structural_equal(func.body, whole.body, map_free_vars=True)
    assert [str(b.name) for b in func.buffer_map.values()] == ["A", "C"]
    check(func)


def test_statement_says_where_tensors_are():
    a, _, c = program()
    s = te.create_schedule(c.op)
    stmt = te.schedule.ScheduleOps(s, te.schedule.InferBound(s.normalize()))
    assert isinstance(stmt, tir.AttrStmt)
    assert {str(op.name) for op in stmt.node} == {"A", "C"}


def test_results_that_a_cache_computes_keep_their_name():
    a, _, c = program()
    s = te.create_schedule(c.op)
    s.cache_write(c, "local")
    check(staged(s, [a, c]))


def test_bindings():
    a, _, c = program()
    own = tir.decl_buffer((16, 8), "float32", "mine")
    s = te.create_schedule(c.op)
    for args in ([a, c], [own, c]):
        func = staged(s, args, {a: own})
        assert any(b.same_as(own) for b in func.buffer_map.values())
        check(func)


def test_symbolic_extents_and_several_results():
    n = te.var("n")
    a = te.placeholder((n,), name="A")
    d, e = te.compute((n,), lambda i: (a[i] + 1.0, a[i] * 3.0), name="D")
    s = te.create_schedule(d.op)
    f = tenon.build(staged(s, [a, d, e]), target="llvm")
    x = rng.random(11).astype("float32")
    outs = [tenon.nd.array(np.zeros_like(x)) for _ in range(2)]
    f(tenon.nd.array(x), *outs)
    np.testing.assert_array_equal(outs[0].numpy(), x + 1)
    np.testing.assert_array_equal(outs[1].numpy(), x * np.float32(3))


def test_scans():
    state = te.placeholder((8, 4), name="state")
    init = te.compute((1, 4), lambda _, j: tir.const(1.0, "float32"), name="init")
    update = te.compute((8, 4), lambda t, j: state[t - 1, j] * 2.0, name="update")
    scan = te.scan(init, update, state)
    s = te.create_schedule(scan.op)
    out = tenon.nd.array(np.zeros((8, 4), "float32"))
    tenon.build(staged(s, [scan]), target="llvm")(out)
    np.testing.assert_array_equal(out.numpy()[:, 0], 2.0 ** np.arange(8))


def test_any_statement_becomes_a_function():
    a, b = (tir.decl_buffer((4,), "float32", n) for n in "AB")
    store = tir.BufferStore(b, a[0] + 1.0, [0])
    func = te.schedule.SchedulePostProcToPrimFunc([a, b, te.var("n")], store, None)
    assert len(func.params) == 3 and func.body.same_as(store)


def test_what_is_used_must_be_an_argument():
    a, _, c = program()
    s = te.create_schedule(c.op)
    with pytest.raises(ValueError, match="the statement uses A, which is not among the arguments"):
        staged(s, [c])
    with pytest.raises(ValueError, match="uses C"):
        staged(s, [a])
    with pytest.raises(ValueError, match="argument 0: expected Tensor, Buffer or Var"):
        staged(s, [c.op])


def test_read_graph():
    a, b, c = program()
    graph = te.schedule.CreateReadGraph([c.op])
    assert graph[c.op][0] == b and graph[b.op][0] == a and len(graph[a.op]) == 0
    order = te.schedule.PostDFSOrder([c.op], graph)
    assert [str(op.name) for op in order] == ["A", "B", "C"]
    assert [str(op.name) for op in te.schedule.PostDFSOrder([b.op], graph)] == ["A", "B"]
