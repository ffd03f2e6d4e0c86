"""Schedules by name: ``topi.generic.schedule_softmax``, ``topi.x86.schedule_pool`` and so on.

All are one: the compiler schedules operations by what they are and by the target, so the name says
nothing that it does not see.
"""

import importlib
import sys

from .. import _core
from ..ir import Array
from ..target import Target
from ..te import Tensor

_VECTOR = 16  # elements; the code generator cuts vectors to what the processor has
_GENERIC = """
    adaptive_pool argsort argwhere batch_matmul batch_norm binarize_pack binary_dense
    bitserial_conv2d_nchw bitserial_conv2d_nhwc bitserial_dense broadcast concatenate conv1d_ncw
    conv1d_nwc conv1d_transpose_ncw conv2d_hwcn conv2d_nchw conv2d_NCHWc conv2d_NCHWc_int8
    conv2d_nhwc conv2d_nhwc_pack_int8 conv2d_transpose_nchw
    conv2d_winograd_nnpack_weight_transform conv2d_winograd_weight_transform
    conv2d_winograd_without_weight_transform conv3d_ncdhw conv3d_ndhwc conv3d_transpose_ncdhw
    correlation_nchw deformable_conv2d_nchw deformable_conv2d_nhwc dense dense_dynamic
    dense_large_batch dense_nopack dense_pack dense_small_batch depthwise_conv2d_nchw
    depthwise_conv2d_NCHWc depthwise_conv2d_nhwc einsum elemwise extern get_valid_counts
    group_conv1d_ncw group_conv1d_nwc group_conv1d_transpose_ncw group_conv2d_nchw
    group_conv2d_nhwc group_conv2d_transpose_nchw group_conv3d_transpose_ncdhw injective
    l2_normalize lrn lstm matmul multibox_detection multibox_prior multibox_transform_loc nms
    pool pool_grad proposal reduce reorg roi_align roi_pool scan scatter softmax sort sparse_dense
    sparse_transpose stft topk unique
""".split()


def _tensors(args):
    """The results among the arguments: a configuration may stand before them, a layout after."""
    for arg in args:
        if isinstance(arg, Tensor):
            return [arg]
        if isinstance(arg, list | tuple | Array):
            outs = list(arg)
            if outs and all(isinstance(out, Tensor) for out in outs):
                return outs
    raise TypeError("schedule: expected a te.Tensor or a list of them as `outs`")


def schedule(*args):
    """A schedule of results for the current target.

    Parameters
    ----------
    outs : Tensor or list of Tensor
        What is wanted. A configuration before them and a layout after them are accepted, as
        programs pass them, and not used.

    Returns
    -------
    Schedule
        What one other operation reads is computed in it; loops run on all threads, innermost ones
        in vectors, or in blocks of threads on a GPU.
    """
    outs = _tensors(args)
    target = Target.current() or Target("llvm")
    threads = int(target.attrs.get("max_num_threads", 256)) if "gpu" in target.keys else 0
    lanes = _VECTOR if target.kind.name == "llvm" else 1
    return _core.get_global_func("te.schedule.ForTarget")(outs, lanes, min(threads, 256))


def _named(name):
    def function(*args):
        return schedule(*args)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = schedule.__doc__
    return function


def _compute(name):
    """The compute that programs know by a name for one kind of target; it is that of any."""
    topi = importlib.import_module(__package__)
    places = (topi.nn, topi.vision, topi)
    found = (getattr(place, name, None) for place in places)
    function = topi.nn.dense if name.startswith("dense_") else next(filter(None, found), None)
    if not callable(function) or isinstance(function, type(sys)):
        return None

    def compute(*args, **kwargs):
        with_cfg = bool(args) and not isinstance(args[0], Tensor)
        return function(*(args[1:] if with_cfg else args), **kwargs)

    compute.__name__ = compute.__qualname__ = name
    compute.__doc__ = f"{function.__doc__} A configuration before the tensors is not used."
    return compute


def attach(package):
    """``__getattr__`` of a package of schedules, and of computes that are those of `tenon.topi.nn`.

    Parameters
    ----------
    package : str
        The package's ``__name__``.
    """

    def fetch(name):
        if name.startswith("schedule_"):
            known = name.removeprefix("schedule_") in _GENERIC
            function = _named(name) if known else None
        else:
            function = None if name.startswith("_") else _compute(name)
        if function is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        function.__module__ = package
        setattr(sys.modules[package], name, function)
        return function

    return fetch
