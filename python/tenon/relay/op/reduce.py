"""Reductions made of several operators."""

from ..expr import Tuple, TupleWrapper
from . import _make, _rows

_ARG = ("data", "axis", "keepdims", "exclude", "select_last_index")
argmax = _rows.wrapper("argmax", order=_ARG)
argmin = _rows.wrapper("argmin", order=_ARG)


def _op(name):
    from . import __getattr__ as fetch

    return fetch(name)


def variance(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    """Mean of squared distances from the mean.

    Parameters
    ----------
    data : RelayExpr
        The data.
    axis : int or tuple of int, optional
        Axes that are reduced, all of them when None.
    keepdims : bool
        Keep reduced axes, with extent 1.
    exclude : bool
        Reduce the axes that are not in `axis` instead.
    unbiased : bool
        Divide by one less than the number of elements.
    with_mean : RelayExpr, optional
        The mean, with reduced axes kept, where it is known.

    Returns
    -------
    Call
    """
    if with_mean is None:
        with_mean = _op("mean")(data, axis, True, exclude)
    return _make.variance(data, with_mean, axis, keepdims, exclude, unbiased)


def std(data, axis=None, keepdims=False, exclude=False, unbiased=False, with_mean=None):
    """Square root of the variance; parameters as of `variance`."""
    return _op("sqrt")(variance(data, axis, keepdims, exclude, unbiased, with_mean))


def _with_mean(second, data, axis, keepdims, exclude, unbiased):
    mean = _op("mean")(data, axis, True, exclude)
    value = second(data, axis, keepdims, exclude, unbiased, mean)
    if not keepdims:
        mean = _op("mean")(data, axis, False, exclude)
    return TupleWrapper(Tuple((mean, value)), 2)


def mean_variance(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """Mean and variance; parameters as of `variance`."""
    return _with_mean(variance, data, axis, keepdims, exclude, unbiased)


def mean_std(data, axis=None, keepdims=False, exclude=False, unbiased=False):
    """Mean and square root of the variance; parameters as of `variance`."""
    return _with_mean(std, data, axis, keepdims, exclude, unbiased)


def logsumexp(data, axis=None, keepdims=False):
    """Logarithm of the sum of exponentials, without overflow.

    Parameters
    ----------
    data : RelayExpr
        The data.
    axis : int or tuple of int, optional
        Axes that are reduced, all of them when None.
    keepdims : bool
        Keep reduced axes, with extent 1.

    Returns
    -------
    Call
    """
    largest = _op("max")(data, axis, True)
    total = _op("sum")(_op("exp")(_op("subtract")(data, largest)), axis, True)
    out = _op("add")(_op("log")(total), largest)
    if keepdims:
        return out
    return _op("squeeze")(out, axis=[axis] if isinstance(axis, int) else axis)


__all__ = [
    "argmax",
    "argmin",
    "logsumexp",
    "mean_std",
    "mean_variance",
    "std",
    "variance",
]
