"""Schedules and computes for a target."""

import numpy as np

from ...runtime import ndarray
from ...target import Target
from .. import _schedules


def dispatch(target, dispatch_map):
    """The entry of a table for a target.

    Parameters
    ----------
    target : Target or str
        Its keys are looked up, the most special first.
    dispatch_map : dict of str to object
        Entries by key (``"cpu"``, ``"cuda"``, ``"gpu"``); ``"generic"`` is for all others.

    Raises
    ------
    ValueError
        If there is no entry ``"generic"``.
    """
    if "generic" not in dispatch_map:
        raise ValueError('dispatch: expected an entry "generic", got ' + str(sorted(dispatch_map)))
    target = target if isinstance(target, Target) else Target(target)
    for key in target.keys:
        if str(key) in dispatch_map:
            return dispatch_map[str(key)]
    return dispatch_map["generic"]


def _schedule_for(target):
    target = target if isinstance(target, Target) else Target(target)

    def schedule(*args):
        with target:
            return _schedules.schedule(*args)

    schedule.__doc__ = _schedules.schedule.__doc__
    return schedule


def get_injective_schedule(target):
    """The function that schedules element-by-element results for a target."""
    return _schedule_for(target)


get_elemwise_schedule = get_broadcast_schedule = get_injective_schedule


def get_reduce_schedule(target):
    """The function that schedules reductions for a target."""
    return _schedule_for(target)


def get_conv2d_nchw_implement(target):
    """(compute, schedule) of a convolution of images for a target."""
    from ..nn import conv2d_nchw

    return conv2d_nchw, _schedule_for(target)


def compare_numpy_tvm(inputs, output, target, device, compute, schedule):
    """Builds a computation and compares its result.

    Parameters
    ----------
    inputs : list of numpy.ndarray
        Arguments.
    output : numpy.ndarray
        Expected result.
    target : Target or str
        What to build for.
    device : Device
        Where to run it.
    compute : function
        Makes the result, a Tensor, of placeholders.
    schedule : function
        Makes the schedule of the result.

    Raises
    ------
    AssertionError
        If results differ.
    """
    from ... import build, te

    places = [te.placeholder(x.shape, str(x.dtype), f"in{i}") for i, x in enumerate(inputs)]
    result = compute(*places)
    with target if isinstance(target, Target) else Target(target):
        function = build(schedule([result]), [*places, result])
    got = ndarray.array(np.zeros(output.shape, output.dtype), device)
    function(*[ndarray.array(x, device) for x in inputs], got)
    np.testing.assert_allclose(got.numpy(), output, rtol=1e-4, atol=1e-4)
