"""Contexts that tell schedules their configurations.

``with context:`` makes one the current one, `DispatchContext.current`; what it does not know it
asks the one around it. The outermost is a `FallbackContext`.

A build asks the current context about the kernels that it makes: contexts of this module hand
their records over, any other is called.
"""

import contextlib
import itertools
import json
import logging
import math
import threading

from ..._ffi import get_global_func
from ..record import MeasureInput, MeasureResult, encode, load_from_file, plain
from .space import FallbackConfigEntity

logger = logging.getLogger("autotvm")
_count = itertools.count(1)
_build = threading.local()  # is_asking: a query of this thread comes from a build


class DispatchContext:
    """Base of all contexts."""

    current = None

    def __init__(self):
        self._outer = DispatchContext.current

    def query(self, target, workload):
        """The configuration for a workload (a tuple) on a target; ConfigEntity."""
        found = self._query_inside(target, workload)
        return found if found is not None else self._outer.query(target, workload)

    def _query_inside(self, target, workload):
        """What this context knows; None when nothing."""
        raise NotImplementedError(f"{type(self).__name__} has no _query_inside")

    def update(self, target, workload, cfg):
        """Replace the configuration for a workload."""
        raise NotImplementedError(f"{type(self).__name__} cannot be changed")

    def __enter__(self):
        self._outer = DispatchContext.current
        DispatchContext.current = self
        return self

    def __exit__(self, exc_type, exc, trace):
        DispatchContext.current = self._outer


class FallbackContext(DispatchContext):
    """Knows nothing but what `update` gave it: schedules decide themselves, and a message of the
    logger ``autotvm`` says so, once for each target and workload: a warning, unless it is a build
    that asks, whose kernels are chosen by rules where nothing was measured."""

    def __init__(self):
        super().__init__()
        self.memory = {}
        self.silent = False
        self.messages = set()

    def _tell(self, target, workload):
        message = (
            f"Cannot find config for target={target}, workload={workload}. A fallback "
            "configuration is used, which may bring great performance regression."
        )
        if self.silent or message in self.messages:
            return
        self.messages.add(message)
        level = logging.DEBUG if getattr(_build, "is_asking", False) else logging.WARNING
        logger.log(level, message)

    def _query_inside(self, target, workload):
        key = (str(target), workload)
        if key not in self.memory:
            self._tell(target, workload)
            self.memory[key] = FallbackConfigEntity()
        return self.memory[key]

    def _text(self):
        known = {key: cfg for key, cfg in self.memory.items() if not cfg.is_fallback}
        return "\n".join(encode(*_as_record(*key, cfg)) for key, cfg in known.items())

    def update(self, target, workload, cfg):
        """Replace the configuration for a workload."""
        self.memory[(str(target), workload)] = cfg

    def clear_cache(self, target, workload):
        """Forget the configuration for a workload."""
        self.memory.pop((str(target), workload), None)


class ApplyHistoryBest(DispatchContext):
    """The fastest of measured configurations.

    Parameters
    ----------
    records : str, path, file, list of these, or iterator of (MeasureInput, MeasureResult)
        Files of records, or records; None for none.
    """

    def __init__(self, records=None):
        super().__init__()
        self.best_by_targetkey = {}
        self.best_by_model = {}
        self._mine = {}
        self._records = []
        self._encoded = None
        if records is not None:
            self.load(records)

    def load(self, records):
        """Add records; see the class."""
        if isinstance(records, str) or hasattr(records, "read") or hasattr(records, "__fspath__"):
            records = load_from_file(records)
        for record in records:
            if isinstance(record, tuple):
                self._add(*record)
            else:
                self.load(record)

    def _add(self, inp, res):
        if res.error_no != 0 or not res.costs:
            return
        self._records.append((inp, res))
        self._encoded = None
        for key in inp.target.keys:
            self._keep(self.best_by_targetkey, (str(key), inp.task.workload), inp, res)
        if inp.target.model != "unknown":
            self._keep(self.best_by_model, (inp.target.model, inp.task.workload), inp, res)

    @staticmethod
    def _keep(best, key, inp, res):
        cost = sum(res.costs) / len(res.costs)
        if key not in best or cost < best[key][2]:
            best[key] = (inp, res, cost)

    def _query_inside(self, target, workload):
        if target is None:
            raise RuntimeError("a query needs a target: `with target:` around it, or its argument")
        keys = [(target.model, workload)]
        if keys[0] in self._mine:
            return self._mine[keys[0]]
        if keys[0] in self.best_by_model:
            return self.best_by_model[keys[0]][0].config
        for key in target.keys:
            key = (str(key), workload)
            if key in self._mine:
                return self._mine[key]
            if key in self.best_by_targetkey:
                return self.best_by_targetkey[key][0].config
        return None

    def _text(self):
        """All records as a file has them, but what took forever: JSON has no such number."""
        if self._encoded is None:
            known = [(inp, res) for inp, res in self._records if math.isfinite(sum(res.costs))]
            self._encoded = "\n".join(encode(*record) for record in known)
        return self._encoded

    def update(self, target, workload, cfg):
        """Replace the configuration for a workload."""
        self._records.append(_as_record(target, workload, cfg))
        self._encoded = None
        self._mine[(target.model, workload)] = cfg
        for key in target.keys:
            self._mine[(str(key), workload)] = cfg


apply_history_best = ApplyHistoryBest

DispatchContext.current = FallbackContext()


# ---- what a build asks ----


def _as_record(target, workload, cfg):
    """A configuration that somebody has set goes before all that was measured."""
    from ...target import Target
    from ..record import RecordedTask

    task = RecordedTask(workload[0], workload[1:])
    result = MeasureResult((-float(next(_count)),), 0, 0.0, 0.0)
    return MeasureInput(Target(target), task, cfg), result


def _callback(context):
    def ask(target, workload, knobs):
        _build.is_asking = True
        try:
            found = context.query(target, plain(json.loads(str(workload))))
        finally:
            _build.is_asking = False
        if found is None or found.is_fallback:
            return None
        return json.dumps(found.to_json_dict()["entity"])

    return ask


def _sources(context):
    """Sources of records for a build, the outermost first: pairs of a function and what its
    answers depend on."""
    known = []
    while context is not None:
        if type(context) not in (FallbackContext, ApplyHistoryBest):
            known.append((_callback(context), None))  # it asks those around it itself
            break
        text = context._text()
        known.append((get_global_func("tune.records_source")(text, False), text))
        context = context._outer
    return known[::-1]


@contextlib.contextmanager
def asked_by_build():
    """A ``with`` block in which what this thread builds asks the current context."""
    enter, leave = get_global_func("tune.records_enter"), get_global_func("tune.records_exit")
    sources = _sources(DispatchContext.current)
    entered = 0
    try:
        for source, key in sources:
            enter(source, key)
            entered += 1
        yield
    finally:
        for _ in range(entered):
            leave()
