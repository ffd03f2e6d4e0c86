"""Fetching ahead: Stage.prefetch and the pass InjectPrefetch."""

import pytest
import tenon
from tenon import te, tir
from test_te_schedule_run import check, count, random


def rows(n=16, m=100):
    A = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    B = te.compute((n,), lambda i: te.sum(A[i, k], axis=k), name="B")
    return A, B


def prefetches(mod):
    found = []

    def visit(node):
        if isinstance(node, tir.Call) and node.op.name == "tir.prefetch":
            found.append(node)

    tir.stmt_functor.post_order_visit(mod["main"].body, visit)
    return found


def test_numbers_stay():
    A, B = rows()
    s = te.create_schedule(B.op)
    s[B].prefetch(A, B.op.axis[0], 1)
    a = random(16, 100)
    check(s, [A, B], [a], a.sum(1), rtol=1e-4)
    lowered = tenon.lower(s, [A, B])
    assert len(prefetches(lowered)) == 1
    assert count(lowered, tir.For) == 3  # rows, cache lines of a row, elements


def test_one_element_by_element():
    A = te.placeholder((64,), name="A")
    B = te.compute((64,), lambda i: A[i] + 1, name="B")
    s = te.create_schedule(B.op)
    s[B].prefetch(A, B.op.axis[0], 8)
    s[B].prefetch(A, B.op.axis[0], 16)
    a = random(64)
    check(s, [A, B], [a], a + 1)
    addresses = [str(p.args[0]) for p in prefetches(tenon.lower(s, [A, B]))]
    assert len(addresses) == 2 and any("+ 16" in a for a in addresses)


def test_of_a_stage():
    A = te.placeholder((8, 32), name="A")
    B = te.compute((8, 32), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((8, 32), lambda i, j: B[i, j] + B[i, (j + 1) % 32], name="C")
    s = te.create_schedule(C.op)
    s[C].prefetch(B, C.op.axis[0], 2)
    check(s, [A, C], [a := random(8, 32)], a * 2 + (a * 2)[:, [*range(1, 32), 0]])
    assert prefetches(tenon.lower(s, [A, C]))


def test_refused():
    A, B = rows()
    s = te.create_schedule(B.op)
    i = B.op.axis[0]
    s[B].split(i, factor=4)
    with pytest.raises(tenon.TVMError, match="already been split"):
        s[B].prefetch(A, i, 1)
    other = te.placeholder((4,), name="other")
    s = te.create_schedule(B.op)
    s[B].prefetch(other, i, 1)
    with pytest.raises(ValueError, match="prefetch: other is not computed before"):
        tenon.lower(s, [A, B])
