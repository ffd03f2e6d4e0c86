"""Random numbers from keys: a key gives the same numbers wherever it is used, and the next key."""

import sys

import numpy as np

from ... import nd
from ..expr import Constant, Expr, TupleWrapper, const
from . import _rows

_make = {
    name: _rows.wrapper(f"random.{name}")
    for name in ("threefry_generate", "threefry_split", "uniform", "normal", "multinomial")
}


def threefry_key(seed):
    """The key of a seed.

    Parameters
    ----------
    seed : int
        From 0 to below 2**256.

    Returns
    -------
    Constant
        10 words of type uint64.
    """
    try:
        words = np.frombuffer(int(seed).to_bytes(32, sys.byteorder), "uint64")
    except OverflowError:
        raise ValueError(f"seed: expected a number from 0 to below 2**256, got {seed}") from None
    return Constant(nd.array(np.concatenate((words, np.array([0, 0, 0, 0, 1 << 63, 0], "uint64")))))


def _pair(call):
    return TupleWrapper(call, 2)


def threefry_generate(key, shape):
    """The next key, and numbers of type uint64 whose bits are random."""
    return _pair(_make["threefry_generate"](key, shape))


def threefry_split(key):
    """Two keys whose numbers have nothing to do with each other; use these, and not `key`."""
    return _pair(_make["threefry_split"](key))


def _number(value, dtype):
    return value if isinstance(value, Expr) else const(value, dtype)


def uniform(key, shape, dtype="float32", low=0.0, high=1.0):
    """The next key, and numbers from `low` to below `high` (which rounding may reach).

    Parameters
    ----------
    key : Expr
        As from `threefry_key`; do not use it again.
    shape : sequence of int
        Extents of the numbers.
    dtype : str
        float32 or float64.
    low, high : float or Expr
        Bounds.
    """
    low, high = _number(low, dtype), _number(high, dtype)
    return _pair(_make["uniform"](key, low, high, shape, dtype))


def normal(key, shape, dtype="float32", mean=0.0, scale=1.0):
    """The next key, and numbers of a normal distribution; parameters are as in `uniform`."""
    mean, scale = _number(mean, dtype), _number(scale, dtype)
    return _pair(_make["normal"](key, mean, scale, shape, dtype))


def multinomial(key, probs, num_samples):
    """The next key, and indices along the last axis of `probs`, drawn with replacement.

    Parameters
    ----------
    key : Expr
        As from `threefry_key`; do not use it again.
    probs : Expr
        Weights, which need not add up to 1; negative ones, and NaN, count as 0. A row without
        positive ones gives its last index.
    num_samples : int
        How many are drawn of each row.
    """
    return _pair(_make["multinomial"](key, probs, num_samples))


__all__ = [
    "multinomial",
    "normal",
    "threefry_generate",
    "threefry_key",
    "threefry_split",
    "uniform",
]
