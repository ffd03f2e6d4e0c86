"""Tasks: the kernels of a program whose tiles can be tuned."""

import contextlib
import json

from ..._ffi import get_global_func
from ..record import RecordedTask, plain

_OPERATORS = {
    "nn.conv2d": ("conv2d_NCHWc.x86", "depthwise_conv2d_NCHWc.x86"),
    "nn.dense": ("dense_pack.x86", "dense_nopack.x86"),
    "nn.batch_matmul": ("batch_matmul.x86",),
}


class Task(RecordedTask):
    """A kernel, as records name it.

    Attributes
    ----------
    name, args, workload
        As in records: ``("dense_pack.x86", ("TENSOR", (8, 64), "float32"), ...)``.
    target : Target
        What it is for.
    knobs : dict of str to (int, list of int)
        What can be tuned: the value that the rules choose, and those that there may be. Not all of
        them go with each other.
    """

    def __init__(self, name, args, target, knobs=None):
        super().__init__(name, args)
        self.target = target
        self.knobs = knobs or {}

    def __repr__(self):
        return f"Task(func_name={self.name}, args={self.args}, target={self.target})"


@contextlib.contextmanager
def _listening(found):
    def ask(target, workload, knobs):
        key = (str(target), str(workload))
        found.setdefault(key, (target, {}))[1].update(json.loads(str(knobs)))

    enter, leave = get_global_func("tune.records_enter"), get_global_func("tune.records_exit")
    enter(ask, None)
    try:
        yield
    finally:
        leave()


def extract_from_program(mod, params, target, target_host=None, ops=None):
    """The tasks of a program, as builds ask about them at the optimisation level of the current
    pass context (kernels of convolutions and of dense layers with constant weights at 3).

    Parameters
    ----------
    mod : IRModule or relay.Function
        The program.
    params : dict of str to NDArray or array-like
        Values of parameters of ``main``.
    target : str, Target, dict or list
        What it is for.
    target_host : str or Target, optional
        Deprecated: give the target a host.
    ops : list of Op, optional
        Only tasks of these operators: ``nn.conv2d``, ``nn.dense``, ``nn.batch_matmul``.

    Returns
    -------
    list of Task
    """
    from ...relay.build_module import _bound, _check_module, _targets

    names = None
    if ops is not None:
        names = {name for op in ops for name in _OPERATORS.get(str(op.name), ())}
    mod = _bound(_check_module(mod, "extract_from_program"), params)
    found = {}
    with _listening(found):
        get_global_func("driver.relay_schedule")(mod, _targets(target, target_host))
    tasks = []
    for (_, workload), (of, knobs) in found.items():
        name, *args = plain(json.loads(workload))
        if names is None or name in names:
            knobs = {knob: tuple(values) for knob, values in knobs.items()}
            tasks.append(Task(name, tuple(args), of, knobs))
    return tasks


def extract_from_multiple_program(mods, params, target, target_host=None, ops=None):
    """The tasks of several programs, each once; see `extract_from_program`."""
    tasks = {}
    for mod, values in zip(mods, params, strict=True):
        for task in extract_from_program(mod, values, target, target_host, ops):
            tasks.setdefault((str(task.target), task.workload), task)
    return list(tasks.values())
