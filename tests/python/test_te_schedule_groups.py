"""Groups of stages: placed together, the numbers stay the same."""

import numpy as np
import pytest
import tenon
from tenon import te


def chain():
    a = te.placeholder((8, 16), name="A")
    b = te.compute(a.shape, lambda i, j: a[i, j] + 1.0, name="B")
    c = te.compute(a.shape, lambda i, j: b[i, j] * 2.0, name="C")
    d = te.compute(a.shape, lambda i, j: c[i, j] - 3.0, name="D")
    return a, b, c, d


def result(s, args, x):
    got = tenon.nd.array(np.zeros((8, 16), "float32"))
    tenon.build(s, args, target="stackvm")(tenon.nd.array(x), got)
    return got.numpy()


def test_a_group_is_computed_where_it_is_put():
    a, b, c, d = chain()
    s = te.create_schedule(d.op)
    group = s.create_group(outputs=c, inputs=a)
    assert group.op is None and s.groups[0].same_as(group)
    assert s[b].group.same_as(group) and s[c].group.same_as(group) and s[d].group is None
    group.compute_at(s[d], d.op.axis[0])
    text = tenon.lower(s, [a, d], simple_mode=True).script()
    assert text.count("range(8)") == 1  # B and C are rows in the loop of D
    x = np.random.default_rng(0).random((8, 16), dtype="float32")
    np.testing.assert_allclose(result(s, [a, d], x), (x + 1) * 2 - 3, rtol=1e-6)


def test_what_is_said_of_a_stage_goes_first():
    a, b, c, d = chain()
    s = te.create_schedule(d.op)
    s.create_group(outputs=c, inputs=b, include_inputs=True).compute_at(s[d], d.op.axis[0])
    s[b].compute_inline()
    copy = s.cache_write(c, "local")
    assert s[copy].group.same_as(s[c].group)
    text = tenon.lower(s, [a, d], simple_mode=True).script()
    assert "C_local" in text and "B = " not in text
    x = np.random.default_rng(0).random((8, 16), dtype="float32")
    np.testing.assert_allclose(result(s, [a, d], x), (x + 1) * 2 - 3, rtol=1e-6)


def test_a_group_in_a_group():
    a, b, c, d = chain()
    s = te.create_schedule(d.op)
    outer = s.create_group(outputs=c, inputs=a)
    inner = s.create_group(outputs=b, inputs=a)
    assert inner.group.same_as(outer)
    outer.compute_at(s[d], d.op.axis[0])
    text = tenon.lower(s, [a, d], simple_mode=True).script()
    assert text.count("range(8)") == 1


def test_a_group_around_groups():
    a, b, c, d = chain()
    s = te.create_schedule(d.op)
    inner = s.create_group(outputs=b, inputs=a)
    outer = s.create_group(outputs=c, inputs=a)
    assert s[b].group.same_as(inner) and inner.group.same_as(outer)
    assert s[c].group.same_as(outer) and outer.group is None
    assert outer.num_child_stages == 2 and inner.num_child_stages == 1
    s.cache_write(b, "local")
    assert inner.num_child_stages == 2
    inner.compute_at(s[c], c.op.axis[1])
    outer.compute_at(s[d], d.op.axis[0])
    text = tenon.lower(s, [a, d], simple_mode=True).script()
    assert text.count("range(8)") == 1  # a row of C, for each of its elements one of B
    x = np.random.default_rng(0).random((8, 16), dtype="float32")
    np.testing.assert_allclose(result(s, [a, d], x), (x + 1) * 2 - 3, rtol=1e-6)


def test_the_body_of_a_scan_is_a_group():
    x = te.placeholder((8, 4), name="X")
    state = te.placeholder((8, 4), name="state")
    first = te.compute((1, 4), lambda _, j: x[0, j], name="first")
    twice = te.compute((8, 4), lambda t, j: state[t - 1, j] * 2.0, name="twice")
    step = te.compute((8, 4), lambda t, j: twice[t, j] + x[t, j], name="step")
    scan = te.scan(first, step, state, inputs=x)
    s = te.create_schedule(scan.op)
    body = s[step].group
    assert list(s.groups) == [body] and body.num_child_stages == 2
    assert s[twice].group == body and s[first].group is None and s[scan].group is None
    part = s.create_group(outputs=twice, inputs=state)
    assert part.group == body and s[twice].group == part
    part.compute_at(s[step], step.op.axis[1])
    with pytest.raises(tenon.TVMError, match="twice belongs to a group, first to none"):
        s[twice].compute_at(s[first], first.op.axis[1])
    data = np.random.default_rng(0).random((8, 4), dtype="float32")
    got = tenon.nd.array(np.zeros((8, 4), "float32"))
    tenon.build(s, [x, scan], target="stackvm")(tenon.nd.array(data), got)
    want = data.copy()
    for t in range(1, 8):
        want[t] += want[t - 1] * 2
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


def test_errors():
    a, b, c, d = chain()
    s = te.create_schedule(d.op)
    with pytest.raises(tenon.TVMError, match="no stage lies between"):
        s.create_group(outputs=b, inputs=c)
    group = s.create_group(outputs=d, inputs=b)
    with pytest.raises(tenon.TVMError, match="the group would be computed inside itself"):
        group.compute_at(s[d], d.op.axis[0])
    with pytest.raises(tenon.TVMError, match="a group has no loops"):
        s[b].compute_at(group, d.op.axis[0])
    with pytest.raises(tenon.TVMError, match="the group is not a compute operation"):
        group.compute_inline()
    with pytest.raises(tenon.TVMError, match="the group"):
        group.split(d.op.axis[0], factor=2)
    with pytest.raises(tenon.TVMError, match="C lies in a group|D lies in a group"):
        s.create_group(outputs=c, inputs=a)
    with pytest.raises(tenon.TVMError, match="D belongs to a group, B to none"):
        s[d].compute_at(s[b], b.op.axis[0])
