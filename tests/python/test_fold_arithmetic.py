"""FoldConstant computes plain arithmetic itself: the same bits as a kernel gives."""

import numpy as np
import pytest
import tenon
from tenon import relay

EDGES = [0.0, -0.0, 1.5, -2.25, np.inf, -np.inf, np.nan, 1e-42, 3e38, -1e-30, 7.0, 1 / 3]
SHAPES = [
    ((5, 12), (5, 12)),
    ((5, 12), (12,)),
    ((5, 12), (5, 1)),
    ((5, 1), (1, 12)),
    ((), (5, 12)),
    ((2, 1, 3, 4), (5, 1, 4)),
    ((3, 1, 1), (2, 1, 1, 7)),
    ((1, 1), (1, 1)),
    ((0, 4), (1, 4)),
    ((64, 3, 7, 7), (64, 1, 1, 1)),
]


def values(shape, dtype, seed):
    rng, count = np.random.default_rng(seed), int(np.prod(shape))
    if dtype.startswith("int"):
        info = np.iinfo(dtype)
        found = rng.integers(info.min, info.max, count, dtype, endpoint=True)
    else:
        found = rng.standard_normal(count).astype(dtype)
        edges = np.resize(np.array(EDGES).astype(dtype), count // 2)
        found[: len(edges)] = edges
        rng.shuffle(found)
    return found.reshape(shape)


def expressions(a, b, dtype):
    ops = [relay.add, relay.subtract, relay.multiply]
    found = [op(a, b) for op in ops] + [relay.negative(a)]
    return found if dtype.startswith("int") else [*found, relay.divide(a, b), relay.sqrt(b)]


def folded(body):
    mod = tenon.IRModule.from_expr(relay.Function([], body))
    found = relay.transform.FoldConstant()(mod)["main"].body
    fields = found.fields if isinstance(found, relay.Tuple) else [found]
    return [field.data.numpy() for field in fields]


def computed(a, b, dtype):
    """By kernels."""
    arrays = {"a": a, "b": b}
    params = [relay.var(name, shape=v.shape, dtype=dtype) for name, v in arrays.items()]
    body = relay.Tuple(expressions(*params, dtype))
    mod = tenon.IRModule.from_expr(relay.Function(params, body))
    with tenon.transform.PassContext(opt_level=0):
        call = relay.create_executor("graph", mod, tenon.cpu(), "llvm").evaluate()
    return [value.numpy() for value in call(a, b)]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
@pytest.mark.parametrize("shapes", [SHAPES[1], SHAPES[5]])
def test_the_bits_of_a_kernel(shapes, dtype):
    a, b = (values(shape, dtype, seed) for seed, shape in enumerate(shapes))
    known = folded(relay.Tuple(expressions(relay.const(a), relay.const(b), dtype)))
    for mine, kernel in zip(known, computed(a, b, dtype), strict=True):
        assert mine.dtype == kernel.dtype
        missing = mine != mine  # NaN has many bit patterns
        np.testing.assert_array_equal(missing, kernel != kernel)
        assert mine[~missing].tobytes() == kernel[~missing].tobytes()


@pytest.mark.parametrize("dtype", ["float32", "int64"])
@pytest.mark.parametrize("shapes", SHAPES)
def test_broadcast(shapes, dtype):
    a, b = (values(shape, dtype, seed) for seed, shape in enumerate(shapes))
    found = folded(relay.Tuple(expressions(relay.const(a), relay.const(b), dtype)))
    with np.errstate(all="ignore"):
        wanted = [a + b, a - b, a * b, 0 - a, a / b, np.sqrt(b)]
    for mine, value in zip(found, wanted[: len(found)], strict=True):
        np.testing.assert_array_equal(mine, value)


def test_others_are_computed_by_kernels():
    half = np.array([1.5, 2.5, -3.0], "float16")
    np.testing.assert_array_equal(folded(relay.multiply(*[relay.const(half)] * 2))[0], half * half)
    few = np.array([7, -7, 3], "int32")
    by = np.array([2, 2, -2], "int32")
    np.testing.assert_array_equal(
        folded(relay.divide(relay.const(few), relay.const(by)))[0], [3, -3, -1]
    )
    flags = np.array([True, False])
    np.testing.assert_array_equal(folded(relay.logical_not(relay.const(flags)))[0], [False, True])


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "float16"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_concatenate(axis, dtype):
    rng = np.random.default_rng(3)
    shapes = [[2, 3, 4], [2, 3, 4], [2, 3, 4]]
    for extent, shape in zip([1, 5, 0], shapes, strict=True):
        shape[axis] = extent
    parts = [rng.integers(0, 2, shape).astype(dtype) for shape in shapes]
    found = folded(relay.concatenate([relay.const(p) for p in parts], axis))[0]
    np.testing.assert_array_equal(found, np.concatenate(parts, axis))
    assert found.dtype == dtype
