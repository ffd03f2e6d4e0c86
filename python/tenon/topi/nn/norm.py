"""Normalizations over lists of axes.

Means are taken in float32 at least: sums of many numbers overflow in half precision.
"""

from ... import relay
from .._calls import apply
from ..utils import get_const_int


def _wide(dtype):
    return "float32" if str(dtype) == "float16" else str(dtype)


def _axes(axis, rank):
    given = axis if hasattr(axis, "__iter__") else [axis]
    return sorted(get_const_int(i) % rank for i in given)


def _placed(x, axes, rank):
    """A tensor whose axes are `axes` of another, with axes of extent 1 for the rest."""
    for i in range(rank):
        x = x if i in axes else relay.expand_dims(x, i)
    return x


def _normalized(x, axes, epsilon, dtype, centred=True):
    """Parts over some axes divided by their deviation, in the type of `x`."""
    wide = _wide(dtype)
    x = relay.cast(x, wide)
    if centred:
        x = x - relay.mean(x, axes, keepdims=True)
    square = relay.mean(x * x, axes, keepdims=True)
    return relay.cast(x / relay.sqrt(square + relay.const(epsilon, wide)), dtype)


def _run(compute, data, gamma, beta):
    """The tensor that `compute` makes of tensors of which the last two may be left out."""
    given = [x for x in (gamma, beta) if x is not None]

    def make(x, *rest):
        rest = iter(rest)
        return compute(x, *(None if t is None else next(rest) for t in (gamma, beta)))

    return apply(make, data, *given)


def _scaled(x, gamma, beta, axes, rank):
    if gamma is not None:
        x = x * _placed(gamma, axes, rank)
    return x if beta is None else x + _placed(beta, axes, rank)


def layer_norm(data, gamma, beta, axis, epsilon=1e-5):
    """Parts made of some axes, with mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    data : Tensor
        The data.
    gamma, beta : Tensor or None
        Factors and summands, of the shape of these axes.
    axis : int or list of int
        The axes.
    epsilon : float
        Added to the variance.

    Returns
    -------
    Tensor
    """
    rank = len(data.shape)
    axes = _axes(axis, rank)

    def compute(x, gamma, beta):
        return _scaled(_normalized(x, axes, epsilon, data.dtype), gamma, beta, axes, rank)

    return _run(compute, data, gamma, beta)


def instance_norm(data, gamma, beta, axis, epsilon=1e-5):
    """As `layer_norm`. One axis alone is that of channels, of which each item's are normalized
    apart; factors and summands are then those of channels."""
    if hasattr(axis, "__iter__"):
        return layer_norm(data, gamma, beta, axis, epsilon)
    rank = len(data.shape)
    channel = axis % rank
    axes = [i for i in range(1, rank) if i != channel]

    def compute(x, gamma, beta):
        return _scaled(_normalized(x, axes, epsilon, data.dtype), gamma, beta, [channel], rank)

    return _run(compute, data, gamma, beta)


def rms_norm(data, weight, axis, epsilon=1e-5):
    """Parts made of some axes, divided by the square root of their mean square.

    Parameters
    ----------
    data : Tensor
        The data.
    weight : Tensor
        Factors, of the shape of these axes.
    axis : int or list of int
        The axes.
    epsilon : float
        Added to the mean square.

    Returns
    -------
    Tensor
    """
    rank = len(data.shape)
    axes = _axes(axis, rank)

    wide = _wide(data.dtype)

    def compute(x, weight):
        x = _normalized(relay.cast(x, wide), axes, epsilon, wide, centred=False)
        return relay.cast(x * _placed(relay.cast(weight, wide), axes, rank), data.dtype)

    return apply(compute, data, weight)


def group_norm(data, gamma, beta, num_groups, channel_axis, axes=None, epsilon=1e-5):
    """Groups of channels, over some axes, with mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    data : Tensor
        The data.
    gamma, beta : Tensor or None
        Factors and summands of channels.
    num_groups : int
        How many groups the channels are in.
    channel_axis : int
        The axis of channels.
    axes : list of int, optional
        The other axes that a group spans; by default all but the first.
    epsilon : float
        Added to the variance.

    Returns
    -------
    Tensor
    """
    shape = [get_const_int(n) for n in data.shape]
    rank = len(shape)
    channel = channel_axis % rank
    split = [*shape[:channel], num_groups, shape[channel] // num_groups, *shape[channel + 1 :]]
    axes = [i for i in range(1, rank) if i != channel] if axes is None else axes
    spanned = [channel + 1, *(i if i < channel else i + 1 for i in _axes(axes, rank))]
    spanned = sorted(set(spanned))

    def compute(x, gamma, beta):
        x = _normalized(relay.reshape(x, split), spanned, epsilon, data.dtype)
        return _scaled(relay.reshape(x, shape), gamma, beta, [channel], rank)

    return _run(compute, data, gamma, beta)


def batch_norm(
    data,
    gamma,
    beta,
    moving_mean,
    moving_var,
    axis=None,
    epsilon=None,
    center=None,
    scale=None,
    training=None,
    momentum=None,
):
    """Channels with mean 0 and variance 1, then scaled and moved.

    Parameters
    ----------
    data : Tensor
        The data.
    gamma, beta : Tensor
        Factors and summands of channels.
    moving_mean, moving_var : Tensor
        What is taken for mean and variance, unless `training`.
    axis : int, optional
        The axis of channels, by default 1.
    epsilon : float, optional
        Added to the variance, by default 1e-5.
    center, scale : bool, optional
        Are `beta` and `gamma` used? By default they are.
    training : bool, optional
        Take mean and variance of the data, and let the moving ones follow them.
    momentum : float, optional
        How much of the new ones the moving ones take over, by default 0.1.

    Returns
    -------
    list of Tensor
        The result, and the moving mean and variance.
    """
    rank = len(data.shape)
    channel = (1 if axis is None else axis) % rank
    rest = [i for i in range(rank) if i != channel]
    dtype = str(data.dtype)
    more = relay.const(1e-5 if epsilon is None else epsilon, dtype)
    part = 0.1 if momentum is None else momentum

    def follow(old, new):
        return old * relay.const(1 - part, dtype) + new * relay.const(part, dtype)

    def compute(x, gamma, beta, mean, var):
        kept = (relay.copy(mean), relay.copy(var))
        if training:
            new = relay.mean(x, rest) if rest else relay.copy(x)
            apart = x - _placed(new, [channel], rank)
            new_var = relay.mean(apart * apart, rest) if rest else apart * apart
            kept = (follow(mean, new), follow(var, new_var))
            mean, var = new, new_var
        x = (x - _placed(mean, [channel], rank)) / relay.sqrt(_placed(var, [channel], rank) + more)
        gamma = gamma if scale in (None, True) else None
        beta = beta if center in (None, True) else None
        return relay.Tuple([_scaled(x, gamma, beta, [channel], rank), *kept])

    return apply(compute, data, gamma, beta, moving_mean, moving_var)


__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "rms_norm"]
