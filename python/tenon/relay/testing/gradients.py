"""Derivatives compared with quotients of differences."""

import numpy as np

from ...runtime import device
from ...testing import enabled_targets
from ..build_module import create_executor
from ..function import Function
from ..transform import InferType, gradient


def _values(func, inputs, scale, mean):
    from . import _np_randn_from_type

    if inputs is not None:
        return inputs
    params = func.params
    return [_np_randn_from_type(p.checked_type, scale, mean) for p in params]


def _typed(func):
    from ...ir.module import IRModule

    return InferType()(IRModule.from_expr(func))["main"]


def check_grad(
    func,
    inputs=None,
    test_inputs=None,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    scale=None,
    mean=0,
    mode="higher_order",
    target_devices=None,
    executor_kind="debug",
):
    """Compare the derivatives of a function with central quotients of differences.

    Parameters
    ----------
    func : Function
        The function, of tensors.
    inputs : list of numpy.ndarray, optional
        Where to look; random numbers by default. float64 keeps the differences exact.
    test_inputs : list of numpy.ndarray, optional
        Those of the inputs that are differentiated by; default: all that are floats.
    eps : float
        Half of the difference.
    atol, rtol : float
        What may differ.
    scale, mean : float
        Of the random numbers; the scale is ten times `eps` by default.
    mode : str
        As for `relay.transform.gradient`.
    target_devices : list of (str, Device), optional
        Where; default: all targets that are enabled.
    executor_kind : str
        As for `relay.create_executor`.

    Raises
    ------
    AssertionError
        A derivative differs.
    """
    func = _typed(func)
    if not isinstance(func, Function):
        raise TypeError(f"check_grad: expected a function, got {type(func).__name__}")
    back = _typed(gradient(func, mode=mode))
    # numbers of the size of a step: their differences are exact enough in float32 too
    inputs = _values(func, inputs, 10 * eps if scale is None else scale, mean)
    if test_inputs is None:
        test_inputs = [x for x in inputs if np.issubdtype(x.dtype, np.floating)]
    which = [next(i for i, x in enumerate(inputs) if x is t) for t in test_inputs]
    for target, dev in target_devices or enabled_targets():
        dev = dev if not isinstance(dev, str) else device(dev)
        kwargs = {"device": dev, "target": target}
        forward = create_executor(executor_kind, **kwargs).evaluate(func)
        _, found = create_executor(executor_kind, **kwargs).evaluate(back)(*inputs)
        for i in which:
            want = _differences(forward, inputs, i, eps)
            np.testing.assert_allclose(found[i].numpy(), want, atol=atol, rtol=rtol)


def _total(value):
    if isinstance(value, tuple | list) or not hasattr(value, "numpy"):
        return sum(_total(x) for x in value)
    return np.sum(value.numpy().astype("float64"))


def _differences(forward, inputs, i, eps):
    """Quotients of differences of the sum of all results, for each element of input i."""
    x = inputs[i].copy()
    args = [*inputs[:i], x, *inputs[i + 1 :]]
    out = np.zeros_like(x)
    for at in np.ndindex(*x.shape):
        was = x[at]
        x[at] = was + eps
        high = _total(forward(*args))
        x[at] = was - eps
        low = _total(forward(*args))
        x[at] = was
        out[at] = (high - low) / (2 * eps)
    return out
