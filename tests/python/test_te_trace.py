"""Values of a program that a function sees on the way: tir.trace."""

import tempfile

import numpy as np
import pytest
import tenon
from tenon import te, tir


def run(make, dtype, callback, target, n=4):
    name = f"test_te_trace.{target}"
    tenon.register_func(name, callback, override=True)
    x = te.placeholder((n,), name="x", dtype=dtype)
    y = te.compute((n,), lambda i: make(i, x[i], name), name="y")
    s = te.create_schedule(y.op)
    given = np.arange(n).astype(dtype)
    out = tenon.nd.array(np.zeros_like(given))
    f = tenon.build(s, [x, y], target=target)
    if target == "c":
        with tempfile.TemporaryDirectory() as folder:
            f.export_library(f"{folder}/f.so")
            f = tenon.runtime.load_module(f"{folder}/f.so")
    f(tenon.nd.array(given), out)
    return given, out.numpy()


targets = pytest.mark.parametrize("target", ["stackvm", "llvm", "c"])
types = pytest.mark.parametrize("dtype", ["int8", "int32", "int64", "float32", "float64"])


@targets
@types
def test_values_are_seen_and_stay(target, dtype):
    seen = []
    given, got = run(
        lambda i, v, f: tir.trace([i, v], f) + tir.trace([v], f),
        dtype,
        lambda *v: seen.append(v),
        target,
    )
    np.testing.assert_array_equal(got, given + given)
    assert sorted(v for v in seen if len(v) == 2) == [(i, i) for i in range(4)]
    assert len(seen) == 8


@targets
@types
@pytest.mark.parametrize("value", [13, 14.0])
def test_what_is_returned_takes_the_place_of_the_value(target, dtype, value):
    _, got = run(lambda _, v, f: tir.trace([v], f), dtype, lambda _: value, target)
    np.testing.assert_array_equal(got, np.full(4, value, dtype))


@targets
def test_a_traced_value_is_traced_again(target):
    seen = []
    _, got = run(
        lambda i, v, f: tir.trace([i, tir.trace([v], f)], f),
        "int32",
        lambda *v: seen.append(len(v)) or (v[0] + 1 if len(v) == 1 else None),
        target,
    )
    np.testing.assert_array_equal(got, np.arange(4) + 1)
    assert sorted(seen) == [1, 1, 1, 1, 2, 2, 2, 2]


@targets
def test_a_value_that_is_not_needed_is_not_seen(target):
    seen = []
    run(
        lambda i, v, f: tir.if_then_else(i < 2, tir.trace([v], f), v),
        "int32",
        seen.append,
        target,
    )
    assert sorted(seen) == [0, 1]
