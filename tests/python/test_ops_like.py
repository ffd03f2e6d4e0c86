"""Operators that take the shape of another tensor: collapse_sum_like, reshape_like, ..."""

import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay


def summed(x, shape):
    """Axes that broadcasting to x repeats, summed up."""
    x = x.sum(axis=tuple(range(x.ndim - len(shape))))
    return x.sum(axis=tuple(i for i, n in enumerate(shape) if n == 1), keepdims=True)


@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 4), (1, 3, 1), (3, 1), (4,), (1,), ()])
def test_collapse_sum(shape):
    x = rand(2, 3, 4)
    check(relay.collapse_sum_like, lambda a, b: summed(a, b.shape), x, rand(*shape))
    check(lambda a: relay.collapse_sum_to(a, shape), lambda a: summed(a, shape), x)


def test_collapse_sum_of_what_does_not_fit():
    x = relay.TensorType((2, 3))
    for shape in [(2,), (1, 2, 3)]:
        with pytest.raises(tenon.error.DiagnosticError, match="cannot collapse"):
            result_type(relay.collapse_sum_like, x, relay.TensorType(shape))
    kind = result_type(relay.collapse_sum_like, x, relay.TensorType((relay.Any(), 1)))
    assert isinstance(kind.shape[0], relay.Any) and kind.shape[1] == 1


@pytest.mark.parametrize(
    ("like", "how", "shape"),
    [
        ((4, 3), {}, (4, 3)),
        ((6, 9), {"lhs_end": 2, "rhs_end": 1}, (6, 2)),
        ((9, 3, 2), {"lhs_begin": 1, "rhs_begin": 1}, (2, 3, 2)),
        ((9, 6), {"lhs_begin": -2, "rhs_begin": -1, "rhs_end": 2}, (2, 6)),
        ((5, 5), {"lhs_begin": 1, "lhs_end": 1, "rhs_begin": 1, "rhs_end": 1}, (2, 3, 2)),
    ],
)
def test_reshape_like(like, how, shape):
    x = rand(2, 3, 2)
    check(
        lambda a, b: relay.reshape_like(a, b, **how), lambda a, b: a.reshape(shape), x, rand(*like)
    )


def test_reshape_like_errors():
    x, y = relay.TensorType((2, 3)), relay.TensorType((3, 4))
    with pytest.raises(tenon.TVMError, match="not compatible: 6 elements"):
        result_type(relay.reshape_like, x, y)
    with pytest.raises(ValueError, match="begins and ends do not fit"):
        result_type(lambda a, b: relay.reshape_like(a, b, lhs_begin=3), x, y)


@pytest.mark.parametrize(
    ("codes", "shape"),
    [((-1, 0), (6, 2)), ((0, -1), (3, 4)), ((-3, 2), (6, 2)), ((-2,), (2, 3, 2))],
)
def test_reverse_reshape(codes, shape):
    check(lambda a: relay.reverse_reshape(a, codes), lambda a: a.reshape(shape), rand(2, 3, 2))
