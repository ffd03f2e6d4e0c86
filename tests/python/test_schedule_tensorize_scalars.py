"""sch.tensorize with instructions that take scalars besides buffers."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def axpy_desc(x: T.handle, y: T.handle, alpha: T.float32, shift: T.int32) -> None:
    X = T.match_buffer(x, (4,), offset_factor=1)
    Y = T.match_buffer(y, (4,), offset_factor=1)
    with T.block("root"):
        T.reads(X[0:4], Y[0:4])
        T.writes(Y[0:4])
        for i in range(4):
            with T.block("axpy"):
                vi = T.axis.spatial(4, i)
                Y[vi] = Y[vi] + alpha * X[vi] + T.Cast("float32", shift)


@T.prim_func
def axpy_impl(x: T.handle, y: T.handle, a: T.float32, s: T.int32) -> None:
    X = T.match_buffer(x, (4,), offset_factor=1)
    Y = T.match_buffer(y, (4,), offset_factor=1)
    with T.block("root"):
        T.reads(X[0:4], Y[0:4])
        T.writes(Y[0:4])
        for i in T.vectorized(4):
            Y[i] = X[i] * a + (Y[i] + T.Cast("float32", s))


tir.TensorIntrin.register("test.axpy", axpy_desc, axpy_impl)

PROGRAM = """
@T.prim_func
def main(X: T.Buffer((16,), "float32"), Y: T.Buffer((16,), "float32"), n: T.int32, f: T.float32):
    for i in range(16):
        with T.block("B"):
            vi = T.axis.spatial(16, i)
            Y[vi] = SUM
"""


def blocked(total):
    sch = tir.Schedule(tenon.script.from_source(PROGRAM.replace("SUM", total)))
    outer, inner = sch.split(sch.get_loops("B")[0], [None, 4])
    return sch, outer, inner


def run(sch, n, f):
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=16).astype("float32") for _ in range(2))
    out = tenon.nd.array(y)
    tenon.build(sch.mod, target="llvm")["main"](tenon.nd.array(x), out, n, f)
    return x, y, out.numpy()


@pytest.mark.parametrize(
    "total, alpha, shift",
    [
        ('Y[vi] + f * X[vi] + T.Cast("float32", n)', lambda n, f: f, lambda n: n),
        (
            'Y[vi] + X[vi] * T.float32(3) + T.Cast("float32", n * 2)',
            lambda n, f: 3,
            lambda n: n * 2,
        ),
        ('Y[vi] + (f + f) * X[vi] + T.Cast("float32", 7)', lambda n, f: 2 * f, lambda n: 7),
    ],
)
def test_scalars_are_what_the_program_has(total, alpha, shift):
    sch, _, inner = blocked(total)
    sch.tensorize(inner, "test.axpy")
    assert "T.vectorized(4)" in sch.mod["main"].script()
    x, y, found = run(sch, 5, 0.5)
    np.testing.assert_allclose(found, y + alpha(5, 0.5) * x + shift(5), rtol=1e-5)


def test_iterators_around_are_scalars_too():
    """The number of the piece is the same for all of its elements."""
    sch = tir.Schedule(
        tenon.script.from_source("""
@T.prim_func
def main(X: T.Buffer((4, 4), "float32"), Y: T.Buffer((4, 4), "float32")):
    for i, j in T.grid(4, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            Y[vi, vj] = Y[vi, vj] + T.Cast("float32", vi) * X[vi, vj] + T.Cast("float32", vi)
""")
    )
    sch.tensorize(sch.get_loops("B")[1], "test.axpy")
    x = np.random.default_rng(0).normal(size=(4, 4)).astype("float32")
    out = tenon.nd.array(np.zeros((4, 4), "float32"))
    tenon.build(sch.mod, target="llvm")["main"](tenon.nd.array(x), out)
    i = np.arange(4, dtype="float32")[:, None]
    np.testing.assert_allclose(out.numpy(), i * x + i, rtol=1e-6)


@pytest.mark.parametrize(
    "total",
    [
        'Y[vi] + T.Cast("float32", vi) * X[vi] + T.Cast("float32", n)',
        'Y[vi] + X[0] * X[vi] + T.Cast("float32", n)',
        'Y[vi] + f * X[vi] + T.Cast("float32", vi)',
        "Y[vi] + f * X[vi] + f",
    ],
)
def test_what_is_no_scalar(total):
    sch, _, inner = blocked(total)
    assert "does not compute what" in failure(sch.tensorize, inner, "test.axpy")


def test_scalars_that_nothing_tells():
    @T.prim_func
    def desc(x: T.handle, alpha: T.float32) -> None:
        X = T.match_buffer(x, (4,), offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(X[0:4])
            for i in range(4):
                with T.block("b"):
                    vi = T.axis.spatial(4, i)
                    X[vi] = T.float32(0)

    @T.prim_func
    def impl(x: T.handle, alpha: T.float32) -> None:
        X = T.match_buffer(x, (4,), offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(X[0:4])
            for i in range(4):
                X[i] = alpha

    @T.prim_func
    def unscaled(x: T.handle) -> None:
        X = T.match_buffer(x, (4,), offset_factor=1)
        with T.block("root"):
            T.reads()
            T.writes(X[0:4])
            T.evaluate(0)

    tir.TensorIntrin.register("test.untold", desc, impl)
    sch, _, inner = blocked("T.float32(0)")
    assert "does not tell what its parameter alpha is" in failure(
        sch.tensorize, inner, "test.untold"
    )
    with pytest.raises(ValueError, match="description has 2 parameters"):
        tir.TensorIntrin(desc, unscaled)
    swapped = tir.PrimFunc(desc.params, tir.Evaluate(0))
    with pytest.raises(ValueError, match="must be a buffer or a scalar in both"):
        tir.TensorIntrin(desc, swapped)
