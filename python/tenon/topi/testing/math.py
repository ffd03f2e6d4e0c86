"""Products, normalizations, losses."""

import numpy as np


def dense(x, y, bias, use_bias=False, use_relu=False, out_dtype=None):
    """x times the transpose of y."""
    result = np.dot(x, y.T).astype(out_dtype or x.dtype)
    if use_bias:
        result = result + bias
    return np.maximum(result, 0) if use_relu else result


def batch_matmul(x, y, out_dtype=None, trans_x=False, trans_y=True):
    """Products of two lists of matrices; a list of one goes with each of the other."""
    x = np.swapaxes(x, 1, 2) if trans_x else x
    y = np.swapaxes(y, 1, 2) if trans_y else y
    dtype = out_dtype or x.dtype
    return np.matmul(x.astype(dtype), y.astype(dtype))


def softmax_python(a_np, axis=1):
    """exp(x) by its sum over an axis."""
    e = np.exp(a_np - a_np.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def log_softmax_python(a_np, axis=1):
    """The logarithm of softmax."""
    moved = a_np - a_np.max(axis, keepdims=True)
    return moved - np.log(np.exp(moved).sum(axis, keepdims=True))


def lrn_python(a_np, size, axis, bias, alpha, beta):
    """Division by the size of neighbours along an axis."""
    squares = np.moveaxis(np.square(a_np), axis, 0)
    half = size // 2
    sums = [squares[max(i - half, 0) : i - half + size].sum(0) for i in range(len(squares))]
    return a_np / (bias + alpha / size * np.moveaxis(np.array(sums), 0, axis)) ** beta


def l2_normalize_python(a_np, eps, axis=None):
    """Division by the root of the sum of squares."""
    total = np.sum(
        np.square(a_np), None if axis is None else tuple(np.atleast_1d(axis)), keepdims=True
    )
    return a_np / np.sqrt(np.maximum(total, eps))


def _along(values, data, axis):
    shape = [1] * data.ndim
    shape[axis] = -1
    return values.reshape(shape)


def batch_norm(
    x,
    gamma,
    beta,
    moving_mean,
    moving_var,
    axis,
    epsilon,
    center,
    scale,
    training=False,
    momentum=0.1,
):
    """Normalization by mean and variance of each channel.

    Returns
    -------
    list of numpy.ndarray
        The result, the mean and the variance; in training the two are moved towards those of x.
    """
    mean, var = moving_mean, moving_var
    if training:
        others = tuple(i for i in range(x.ndim) if i != axis % x.ndim)
        mean, var = x.mean(others), x.var(others)
    out = (x - _along(mean, x, axis)) / np.sqrt(_along(var, x, axis) + epsilon)
    if scale:
        out = out * _along(gamma, x, axis)
    if center:
        out = out + _along(beta, x, axis)
    if not training:
        return [out, moving_mean, moving_var]
    return [
        out,
        (1 - momentum) * moving_mean + momentum * mean,
        (1 - momentum) * moving_var + momentum * var,
    ]


def _normalized(data, over, epsilon, centred=True):
    """Parts over some axes divided by their deviation; halves are summed in float32."""
    wide = data.astype("float32") if data.dtype == "float16" else data
    if centred:
        wide = wide - wide.mean(over, keepdims=True)
    size = np.sqrt(np.mean(np.square(wide), over, keepdims=True) + epsilon)
    return (wide / size).astype(data.dtype)


def layer_norm_python(data, gamma, beta, axis, epsilon=1e-5):
    """Normalization over axes, scaled and shifted by their elements."""
    axes = tuple(a % data.ndim for a in np.atleast_1d(axis))
    shape = [n if i in axes else 1 for i, n in enumerate(data.shape)]
    result = _normalized(data, axes, epsilon) * gamma.reshape(shape)
    return result if beta is None else result + beta.reshape(shape)


def rms_norm_python(data, weight, axis, epsilon=1e-5):
    """Division by the root of the mean of squares over axes, scaled."""
    axes = tuple(a % data.ndim for a in np.atleast_1d(axis))
    shape = [n if i in axes else 1 for i, n in enumerate(data.shape)]
    return _normalized(data, axes, epsilon, centred=False) * weight.reshape(shape)


def group_norm_python(data, gamma, beta, num_groups, channel_axis, axes, epsilon=1e-5):
    """Normalization over groups of channels and over axes."""
    c = channel_axis % data.ndim
    parts = (*data.shape[:c], num_groups, data.shape[c] // num_groups, *data.shape[c + 1 :])
    over = (c + 1, *(a % data.ndim + (a % data.ndim > c) for a in axes))
    result = _normalized(data.reshape(parts), over, epsilon).reshape(data.shape)
    if gamma is not None:
        result = result * _along(gamma, data, c)
    return result if beta is None else result + _along(beta, data, c)


def instance_norm_python(data, gamma, beta, axis, epsilon=1e-5):
    """Normalization over axes (those of space), scaled and shifted by channel, or by the elements
    of these axes."""
    axes = tuple(a % data.ndim for a in np.atleast_1d(axis))
    if gamma.shape == tuple(data.shape[a] for a in axes):
        return layer_norm_python(data, gamma, beta, axis, epsilon)
    channel = next(i for i in range(1, data.ndim) if i not in axes)
    scaled = _normalized(data, axes, epsilon) * _along(gamma, data, channel)
    return scaled + _along(beta, data, channel)


def nll_loss(predictions, targets, weights, reduction="mean", ignore_index=-100):
    """Negative log-likelihood of targets (N, d1, ...) under predictions (N, C, d1, ...), or of one
    target under predictions (C)."""
    if predictions.ndim == 1:
        predictions, targets = predictions[None], np.asarray(targets)[None]
        losses = nll_loss(predictions, targets, weights, reduction, ignore_index)
        return losses[0] if reduction == "none" else losses
    seen = targets != ignore_index
    safe = np.where(seen, targets, 0)
    picked = np.take_along_axis(predictions, np.expand_dims(safe, 1), 1).squeeze(1)
    w = np.where(seen, weights[safe], 0).astype(predictions.dtype)
    losses = -picked * w
    if reduction == "none":
        return losses
    return losses.sum() / (w.sum() if reduction == "mean" else 1)


def _gate(name):
    return {"sigmoid": lambda x: 1 / (1 + np.exp(-x)), "tanh": np.tanh}[name]


def lstm_python(
    Xs,
    Wi,
    Wh,
    Bi=None,
    Bh=None,
    h_init=None,
    c_init=None,
    proj=None,
    p_i=None,
    p_f=None,
    p_o=None,
    f_act="sigmoid",
    g_act="tanh",
    h_act="tanh",
    reverse=False,
    weight_layout="IFGO",
):
    """A long short-term memory over inputs (steps, batch, features).

    Parameters
    ----------
    Wi, Wh : numpy.ndarray
        Weights of inputs and of the state, (4 * hidden, ...); `weight_layout` orders the gates.
    p_i, p_f, p_o : numpy.ndarray, optional
        Weights by which gates see the cell.

    Returns
    -------
    (numpy.ndarray, numpy.ndarray)
        States and cells after each step, in the order in which the steps are computed.
    """
    steps, batch, _ = Xs.shape
    hidden = Wi.shape[0] // 4
    h = np.zeros((batch, hidden if proj is None else proj.shape[0])) if h_init is None else h_init
    c = np.zeros((batch, hidden)) if c_init is None else c_init
    f, g, out = _gate(f_act), _gate(g_act), _gate(h_act)
    hs = np.zeros((steps, *h.shape), Xs.dtype)
    cs = np.zeros((steps, *c.shape), Xs.dtype)
    for t in range(steps):
        x = Xs[steps - 1 - t if reverse else t] @ Wi.T + h @ Wh.T
        x = x + (0 if Bi is None else Bi) + (0 if Bh is None else Bh)
        part = dict(zip(weight_layout, np.split(x, 4, 1), strict=True))
        i = f(part["I"] + (0 if p_i is None else p_i * c))
        forget = f(part["F"] + (0 if p_f is None else p_f * c))
        c = forget * c + i * g(part["G"])
        h = f(part["O"] + (0 if p_o is None else p_o * c)) * out(c)
        h = h if proj is None else h @ proj.T
        hs[t], cs[t] = h, c
    return hs, cs
