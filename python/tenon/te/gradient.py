"""Gradients of tensor expressions."""

from .. import _core
from .tensor import Tensor


def gradient(output, inputs, head=None):
    """Gradients of a tensor, by reverse mode.

    Parameters
    ----------
    output : Tensor
        What is differentiated, of floats; what lies between it and the inputs comes of
        `te.compute`.
    inputs : Tensor or list of Tensor
        By what it is differentiated.
    head : Tensor, optional
        Gradient of something else by `output`: its last dimensions are those of `output`. The
        identity by default, of shape ``output.shape + output.shape``.

    Returns
    -------
    list of Tensor
        For each input head times the Jacobian, of shape
        ``head.shape[:-output.ndim] + input.shape``; zeros where the output does not depend on it.

    Raises
    ------
    TVMError
        Where something has no derivative: a scan, an extern operation, an unknown function.

    Examples
    --------
    The gradient of a sum over ``x * x``::

        x = te.placeholder((n,), name="x")
        k = te.reduce_axis((0, n))
        y = te.compute((), lambda: te.sum(x[k] * x[k], axis=k))
        (dx,) = te.gradient(y, [x])
    """
    inputs = [inputs] if isinstance(inputs, Tensor) else list(inputs)
    return list(_core.get_global_func("te.Gradient")(output, inputs, head))
