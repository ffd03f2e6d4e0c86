"""Operators of neural networks and reductions against numpy: forms of arguments."""

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.relay import TensorType

CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def near(x, size, alpha, beta, bias):
    """Division by what is near on axis 1, of an even size one more before than after."""
    first = [i - size // 2 for i in range(x.shape[1])]
    sums = [np.square(x[:, max(f, 0) : max(f + size, 0)]).sum(1) for f in first]
    return x / (bias + alpha / size * np.stack(sums, 1)) ** beta


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9, 10])
def test_lrn(size):
    x = rand(2, 5, 3)
    check(
        lambda x: relay.nn.lrn(x, size=size, axis=1, bias=0.5, alpha=2.0, beta=0.75),
        lambda x: near(x, size, 2.0, 0.75, 0.5),
        x,
        **CLOSE,
    )


@pytest.mark.parametrize("size", [0, -2])
def test_lrn_says_which_sizes_there_are(size):
    with pytest.raises(tenon.error.DiagnosticError, match=f"size must be positive, got {size}"):
        result_type(lambda x: relay.nn.lrn(x, size=size), TensorType((1, 2, 3)))


@pytest.mark.parametrize("axis", [None, 0, [1, 2], []])
@pytest.mark.parametrize("keepdims", [False, True])
def test_a_sum_of_bools_says_if_any_is_true(axis, keepdims):
    x = rand(3, 2, 4) > 0.7
    wanted = None if axis in (None, []) else tuple(np.atleast_1d(axis))
    check(
        lambda x: relay.sum(x, axis, keepdims),
        lambda x: np.asarray(np.sum(x, wanted, dtype="bool", keepdims=keepdims)),
        x,
    )


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_borders_of_one_number(shape):
    value = np.full(shape, 7, "float32")
    check(
        lambda x, v: relay.nn.pad(x, ((1, 0), (0, 2)), v),
        lambda x, v: np.pad(x, ((1, 0), (0, 2)), constant_values=7),
        rand(2, 3),
        value,
    )


def test_borders_of_several_numbers():
    with pytest.raises(tenon.error.DiagnosticError, match="pad_value: expected one number, got"):
        result_type(lambda x, v: relay.nn.pad(x, ((1, 1),), v), TensorType((3,)), TensorType((2,)))


def test_the_last_window_may_see_nothing():
    x = np.float32([[[1, 2, 3, 4]]])
    how = {"pool_size": 2, "strides": 3, "padding": (0, 2), "ceil_mode": True}
    check(lambda d: relay.nn.max_pool1d(d, **how), lambda d: np.float32([[[2, 4, -np.inf]]]), x)
    for count, second in ((False, 4), (True, 2)):
        check(
            lambda d, count=count: relay.nn.avg_pool1d(d, **how, count_include_pad=count),
            lambda d, second=second: np.float32([[[1.5, second, 0]]]),
            x,
        )
