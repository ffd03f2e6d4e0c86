"""Hybrid scripts: functions that compute with NumPy when called with arrays, and become a tensor
operation when called with tensors.

    @te.hybrid.script
    def outer(a, b):
        c = output_tensor((a.shape[0], b.shape[0]), a.dtype)
        for i in range(a.shape[0]):
            for j in range(b.shape[0]):
                c[i, j] = a[i] * b[j]
        return c
"""

import functools

from ..tensor import Tensor
from . import _ffi_api, runtime
from .module import HybridModule


def script(pyfunc):
    """Decorator: makes a hybrid script of a function.

    Parameters
    ----------
    pyfunc : function
        A function in the subset of Python that scripts are written in: loops (``range``,
        ``parallel``, ``vectorize``, ``unroll``, ``const_range``, ``bind``), conditions, arithmetic,
        ``allocate`` and ``output_tensor``.

    Returns
    -------
    function
        With tensors it gives tensors, with arrays of NumPy arrays.
    """
    import inspect

    from .parser import build_op, is_program_value

    closure = inspect.getclosurevars(pyfunc)
    names = dict(closure.globals) | dict(closure.nonlocals)

    @functools.wraps(pyfunc)
    def wrapped(*args):
        if any(isinstance(a, Tensor) for a in args) or all(is_program_value(a) for a in args):
            return build_op(pyfunc, args, names)
        return runtime.run(pyfunc, args)

    wrapped.hybrid_source = pyfunc
    wrapped.hybrid_names = names
    return wrapped


def build(sch, inputs, outputs, name="hybrid_func"):
    """What a schedule computes, as a hybrid script: to be read, run with NumPy or changed.

    Parameters
    ----------
    sch : te.Schedule
        The schedule.
    inputs : list of Tensor or Var
        Parameters of the script, in order.
    outputs : list of Tensor
        What it returns.
    name : str
        Its name.

    Returns
    -------
    HybridModule

    Raises
    ------
    ValueError
        The schedule does what hybrid scripts cannot say.
    """
    from ..schedule import _ffi_api as schedule

    inputs, outputs = list(inputs), list(outputs)
    func = schedule.ToFunc(sch, [*inputs, *outputs], None)
    return HybridModule(_ffi_api.Text(func, len(inputs), name), name)
