"""Operators whose indices and attributes come from outside: nothing is read beyond the arrays."""

import numpy as np
import pytest
import tenon
from op_cases import compute, rand, result_type
from tenon import relay

LEAST, MOST = -(2**31), 2**31 - 1
TARGETS = ["llvm", "stackvm"]


def _rows_between(values, columns, begins, row):
    """Elements of a row in compressed rows, as far as there are any."""
    first, last = max(begins[row], 0), max(min(begins[row + 1], len(values)), 0)
    return [(columns[i], values[i]) for i in range(first, last)]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "begins", [(1, LEAST, 0), (MOST, LEAST, MOST), (-5, 100, 3), (LEAST, MOST, LEAST)]
)
def test_beginnings_of_rows_beyond_the_elements(begins, target):
    x, values, columns = rand(2, 4), rand(3, seed=1), np.array([0, 1, 2], "int32")
    w = np.zeros((2, 4), "float32")
    for row in range(2):
        for column, value in _rows_between(values, columns, begins, row):
            w[row, column] += value
    parts = (values, columns, np.array(begins, "int32"))
    product = compute(lambda a, *m: relay.nn.sparse_dense(a, m), x, *parts, target=target)
    np.testing.assert_allclose(product, x @ w.T, rtol=1e-5)
    total = compute(lambda a, *m: relay.nn.sparse_add(a, m), x, *parts, target=target)
    np.testing.assert_allclose(total, x + w, rtol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_columns_of_blocks_that_overflow(target):
    columns = np.array([2**30, -(2**30), 0, MOST, LEAST], "int32")
    values = rand(5, 1, 4)
    x, begins = rand(2, 4), np.array([0, 5], "int32")
    product = compute(
        lambda a, *m: relay.nn.sparse_dense(a, m), x, values, columns, begins, target=target
    )
    np.testing.assert_allclose(product, x @ values[2].T, rtol=1e-5)


def test_columns_of_64_bits_are_not_cut_off():
    x, values = rand(2, 4), rand(2, seed=1)
    parts = (values, np.array([2**32 + 1, 3], "int64"), np.array([0, 2, 2], "int32"))
    w = np.zeros((2, 4), "float32")
    w[0, 3] = values[1]
    for make, want in (
        (relay.nn.sparse_dense, x @ w.T),
        (relay.nn.sparse_add, x + w),
    ):
        got = compute(lambda a, *m, make=make: make(a, m), x, *parts, target="llvm")
        np.testing.assert_allclose(got, want, rtol=1e-5)


def test_rows_need_a_beginning():
    with pytest.raises(tenon.TVMError, match="one number more than rows"):
        result_type(
            lambda a, *m: relay.nn.sparse_dense(a, m),
            relay.TensorType((2, 4)),
            relay.TensorType((0,)),
            relay.TensorType((0,), "int32"),
            relay.TensorType((0,), "int32"),
        )


def test_one_coordinate_has_one_value():
    with pytest.raises(tenon.TVMError, match="one coordinate for"):
        result_type(
            lambda a, b, c: relay.sparse_to_dense(a, [5], b, c),
            relay.TensorType((), "int32"),
            relay.TensorType((0,)),
            relay.TensorType(()),
        )


@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
def test_boxes_without_an_image(method):
    got = compute(
        lambda *x: relay.image.crop_and_resize(*x, (3, 3), "NCHW", method, 7.0),
        np.zeros((0, 1, 4, 4), "float32"),
        np.array([[0, 0, 1, 1]], "float32"),
        np.array([0], "int32"),
        target="llvm",
    )
    np.testing.assert_array_equal(got, np.full((1, 1, 3, 3), 7, "float32"))


def test_dilation_adds_in_the_type_of_the_result():
    x, w = np.array([[[[100, -100]]]], "int8"), np.array([[[100]]], "int8")
    got = compute(lambda a, b: relay.image.dilation2d(a, b, out_dtype="int32"), x, w)
    np.testing.assert_array_equal(got, [[[[200, 0]]]])


@pytest.mark.parametrize(
    "sizes",
    [
        {"max_displacement": 2**31, "stride2": 2**31},
        {"max_displacement": 2**62},
        {"kernel_size": 2**32 + 1, "max_displacement": 0},
        {"stride1": 2**32},
    ],
)
def test_correlation_of_sizes_beyond_32_bits(sizes):
    given = {"kernel_size": 1, "max_displacement": 1, "stride1": 1, "stride2": 1, **sizes}
    image = relay.TensorType((1, 1, 4, 4))
    with pytest.raises(tenon.TVMError, match="at most, and strides of 32 bits"):
        result_type(
            lambda a, b: relay.nn.correlation(
                a, b, **given, padding=0, is_multiply=True, layout="NCHW"
            ),
            image,
            image,
        )


@pytest.mark.parametrize("compute_dtype", ["float32", "int64"])
@pytest.mark.parametrize("zero", [-128, 5])
@pytest.mark.parametrize("factor", [1.0, 0.9999999])
def test_zero_points_of_the_largest_sums_do_not_overflow(factor, zero, compute_dtype):
    data = np.array([LEAST, LEAST + 1, -40, 0, 40, MOST - 1, MOST], "int32")
    x = relay.var("x", shape=data.shape, dtype="int32")
    scales = relay.const(np.float32(factor)), relay.const(0), relay.const(np.float32(1))
    body = relay.qnn.op.requantize(
        x, *scales, relay.const(zero), compute_dtype=compute_dtype, out_dtype="int8"
    )
    mod = tenon.IRModule.from_expr(relay.Function([x], body))
    run = relay.create_executor("graph", mod, tenon.cpu(), "llvm").evaluate()
    want = np.clip(data.astype("int64") + zero, -128, 127)
    np.testing.assert_array_equal(run(data).numpy(), want)
