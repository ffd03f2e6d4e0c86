"""Hybrid scripts as functions on arrays of NumPy."""

import math


class bind:  # noqa: N801  named as in scripts
    """Loop over a thread axis; here a plain loop."""

    def __init__(self, tag, ext):
        self.tag = tag
        self.ext = ext

    def __iter__(self):
        return iter(range(self.ext))


def _numpy():
    import numpy

    return numpy


def allocate(shape, dtype="float32", scope="global"):
    """An array for results in between."""
    return _numpy().zeros(shape, dtype)


def output_tensor(shape, dtype):
    """An array for a result."""
    return _numpy().zeros(shape, dtype)


def rsqrt(x):
    """One over the square root."""
    return _numpy().ones_like(x) / _numpy().sqrt(x)


def popcount(x):
    """Number of bits that are set."""
    return bin(int(x)).count("1")


def sigmoid(x):
    """1 / (1 + exp(-x))"""
    return 1 / (1 + _numpy().exp(-x))


def max_num_threads(allow_none=True):
    """Threads of a block of the current target, for loops over threads."""
    from ...target import Target

    target = Target.current(allow_none=allow_none)
    return int(target.max_num_threads) if target else 1024


def ceil_div(a, b):
    """a / b, rounded up."""
    return (a + b - 1) // b


def _function(name):
    def call(*args):
        return getattr(_numpy(), name)(*args)

    call.__doc__ = f"numpy.{name}"
    return call


_TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
_TYPES += ("float16", "float32", "float64")

_MATH = ("trunc", "sin", "cos", "tan", "log2", "log10")

HYBRID_GLOBALS = {
    "unroll": range,
    "vectorize": range,
    "parallel": range,
    "serial": range,
    "const_range": range,
    "bind": bind,
    "allocate": allocate,
    "output_tensor": output_tensor,
    "sqrt": _function("sqrt"),
    "rsqrt": rsqrt,
    "log": _function("log"),
    "tanh": _function("tanh"),
    "power": _function("power"),
    "exp": _function("exp"),
    **{name: _function(name) for name in _MATH},
    "sigmoid": sigmoid,
    "popcount": popcount,
    "round": round,
    "likely": lambda cond: cond,
    "ceil_div": ceil_div,
    "max_num_threads": max_num_threads,
    "atan": _function("arctan"),
    "floor": math.floor,
    "ceil": math.ceil,
    **{name: _function(name) for name in _TYPES},
}


def run(func, args):
    """Call the function with the names that scripts have."""
    names = func.__globals__
    before = {k: names[k] for k in HYBRID_GLOBALS if k in names}
    added = {k: v for k, v in HYBRID_GLOBALS.items() if k not in names}
    names.update(added)
    try:
        return func(*args)
    finally:
        for key in added:
            names.pop(key, None)
        names.update(before)
