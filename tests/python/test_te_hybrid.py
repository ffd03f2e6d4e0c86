"""Hybrid scripts: the same function computes with NumPy and becomes an operation."""

import numpy as np
import pytest
import tenon
from tenon import te

# the names of scripts are not Python's: they are given when a script runs
# ruff: noqa: F821


def check(function, *args, extra=()):
    """Runs the operation on random data and compares it with the function on arrays."""
    arrays, values = [], []
    for arg in args:
        if isinstance(arg, te.Tensor):
            shape = [int(e) for e in arg.shape]
            data = np.random.default_rng(0).uniform(1, 9, shape).astype(str(arg.dtype))
            arrays.append(tenon.nd.array(data))
            values.append(data)
        else:
            values.append(arg)
    outputs = function(*args)
    outputs = list(outputs) if isinstance(outputs, list | tuple) else [outputs]
    expected = function(*values)
    expected = expected if isinstance(expected, tuple) else (expected,)
    tensors = [a for a in args if isinstance(a, te.Tensor)]
    built = tenon.build(te.create_prim_func([*tensors, *outputs]), target="stackvm")
    results = [tenon.nd.array(np.zeros_like(e)) for e in expected]
    built(*arrays, *results)
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.numpy(), want, rtol=1e-5)
    return outputs


@te.hybrid.script
def outer_product(a, b):
    c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            c[i, j] = a[i] * b[j]
    return c


def test_outer_product():
    a, b = te.placeholder((9,), name="a"), te.placeholder((7,), name="b")
    (c,) = check(outer_product, a, b)
    assert [int(e) for e in c.shape] == [9, 7]
    assert c.op.tag == "hybrid"
    assert "for i, j in T.grid(9, 7):" in te.create_prim_func([a, b, c]).script()


def test_conditions_and_scalars():
    @te.hybrid.script
    def fan_out(a):
        b = output_tensor((a.shape[0],), "float32")
        for i in range(a.shape[0]):
            total = 0.0
            for j in range(i + 1):
                total += a[j]
            if i % 3 == 0:
                b[i] = total
            elif i % 3 == 1:
                b[i] = total * 2.0
            else:
                b[i] = -1.0
        return b

    check(fan_out, te.placeholder((10,), name="a"))


def test_kinds_of_loops():
    @te.hybrid.script
    def loops(a):
        b = output_tensor(a.shape, a.dtype)
        for i in parallel(a.shape[0]):
            for j in vectorize(4):
                b[i, j] = a[i, j] + 1
            for j in unroll(4, 8):
                b[i, j] = a[i, j] * 2
        return b

    (b,) = check(loops, te.placeholder((6, 8), "int32", name="a"))
    text = str(b.op.body)
    assert "T.parallel(6)" in text and "T.vectorized(4)" in text and "T.unroll(4, 8)" in text


def test_const_range_and_allocate():
    @te.hybrid.script
    def unrolled(a):
        b = output_tensor((4,), "int32")
        c = allocate((4,), "int32")
        for i in const_range(4):
            c[i] = a[i] * weights[i]
        for i in range(4):
            b[i] = c[i] + 1
        return b

    (b,) = check(unrolled, te.placeholder((4,), "int32", name="a"))
    assert str(b.op.body).count("* ") >= 3


weights = [1, 2, 3, 4]


def test_several_outputs_and_numbers():
    @te.hybrid.script
    def split(a, n, scale):
        low = output_tensor((n,), a.dtype)
        high = output_tensor((a.shape[0] - n,), a.dtype)
        for i in range(n):
            low[i] = a[i] * scale
        for i in range(a.shape[0] - n):
            high[i] = a[i + n] if i > 0 else exp(a[i + n]) + sqrt(a[i])
        return low, high

    low, high = check(split, te.placeholder((8,), name="a"), 3, 2.5)
    assert [int(low.shape[0]), int(high.shape[0])] == [3, 5]


def test_scripts_call_scripts():
    @te.hybrid.script
    def twice(a):
        b = output_tensor(a.shape, a.dtype)
        for i in range(len(a)):
            b[i] = a[i] + a[i]
        return b

    @te.hybrid.script
    def add_twice(a, b):
        c = output_tensor(a.shape, a.dtype)
        d = twice(b)
        for i in range(a.shape[0]):
            c[i] = max(a[i], d[i]) + min(a[i], b[i])
        return c

    assert twice.hybrid_source.__name__ == "twice"

    @te.hybrid.script
    def shape_only(a):
        b = output_tensor(a.shape, a.dtype)
        for i in range(a.shape[0]):
            b[i] = float32(int32(a[i]) // 2)
        return b

    check(shape_only, te.placeholder((5,), name="a"))
    a, b = te.placeholder((5,), name="a"), te.placeholder((5,), name="b")
    c = add_twice(a, b)
    built = tenon.build(te.create_prim_func([a, b, c]), target="stackvm")
    x, y = np.arange(5, dtype="float32"), np.arange(5, 0, -1).astype("float32")
    out = tenon.nd.array(np.zeros(5, "float32"))
    built(tenon.nd.array(x), tenon.nd.array(y), out)
    np.testing.assert_allclose(out.numpy(), np.maximum(x, y + y) + np.minimum(x, y))


def test_threads():
    @te.hybrid.script
    def on_threads(a):
        b = output_tensor(a.shape, a.dtype)
        for tx in bind("threadIdx.x", a.shape[0]):
            b[tx] = a[tx] + 1.0
        return b

    b = on_threads(te.placeholder((8,), name="a"))
    assert 'T.launch_thread("threadIdx.x", 8)' in str(b.op.body)
    np.testing.assert_allclose(on_threads(np.zeros(8, "float32")), np.ones(8))


def test_errors_are_value_errors():
    a = te.placeholder((4,), name="a")

    @te.hybrid.script
    def undefined(a):
        b = output_tensor(a.shape, a.dtype)
        b[0] = missing
        return b

    @te.hybrid.script
    def no_return(a):
        b = output_tensor(a.shape, a.dtype)
        b[0] = 1.0

    @te.hybrid.script
    def wrong_loop(a):
        b = output_tensor(a.shape, a.dtype)
        for i in a:
            b[i] = 1.0
        return b

    @te.hybrid.script
    def out_of_bound(a):
        b = output_tensor((a.shape[1],), a.dtype)
        return b

    @te.hybrid.script
    def not_an_output(a):
        return a

    for script, message in [
        (undefined, "undefined symbol missing"),
        (no_return, "required to return"),
        (wrong_loop, "range-like loops"),
        (out_of_bound, "Array access out of bound"),
        (not_an_output, "return output tensors"),
    ]:
        with pytest.raises(ValueError, match=message):
            script(a)
