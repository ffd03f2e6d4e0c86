"""Random numbers in kernels: computes of the operators of `tenon.relay.random`."""

from .. import relay as _relay
from .. import te as _te
from ._calls import apply as _apply
from ._calls import scalar as _scalar


def threefry_generate(gen, out_shape):
    """The next key, and numbers of type uint64 whose bits are random."""
    return _apply(_relay.random.threefry_generate, gen, out_shape)


def threefry_split(gen):
    """Two keys whose numbers have nothing to do with each other."""
    return _apply(_relay.random.threefry_split, gen)


def _number(value, dtype):
    return value if isinstance(value, _te.Tensor) else _scalar(value, dtype)


def uniform(gen, low, high, out_shape, out_dtype):
    """The next key, and numbers from `low` to below `high`."""
    low, high = _number(low, out_dtype), _number(high, out_dtype)
    return _apply(_relay.random.uniform, gen, out_shape, out_dtype, low, high)


def normal(gen, mean, scale, out_shape, out_dtype):
    """The next key, and numbers of a normal distribution."""
    mean, scale = _number(mean, out_dtype), _number(scale, out_dtype)
    return _apply(_relay.random.normal, gen, out_shape, out_dtype, mean, scale)


def multinomial(gen, probs, num_samples):
    """The next key, and indices along the last axis of `probs`, drawn by these weights."""
    return _apply(_relay.random.multinomial, gen, probs, num_samples)


def threefry_test_wrapping(target, device):
    """Does a sum of uint64 that leaves 64 bits begin again at 0 on this device? It must."""
    from ..driver import build
    from ..nd import array
    from ..tir import const

    most = _te.placeholder((1,), "uint64", "most")
    wrapped = _te.compute((1,), lambda i: most[i] + const(1, "uint64"), "wrapped")
    schedule = _te.create_schedule(wrapped.op)
    kernel = build(schedule, [most, wrapped], target)
    import numpy

    result = array(numpy.ones(1, "uint64"), device)
    kernel(array(numpy.full(1, 2**64 - 1, "uint64"), device), result)
    return bool(result.numpy()[0] == 0)
