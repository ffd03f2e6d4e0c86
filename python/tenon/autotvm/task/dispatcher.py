"""Contexts that tell schedules their configurations.

``with context:`` makes one the current one, `DispatchContext.current`; what it does not know it
asks the one around it. The outermost is a `FallbackContext`.
"""

from ..record import load_from_file
from .space import FallbackConfigEntity


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
    """Knows nothing but what `update` gave it: schedules decide themselves."""

    def __init__(self):
        super().__init__()
        self.memory = {}

    def _query_inside(self, target, workload):
        key = (str(target), workload)
        return self.memory.setdefault(key, FallbackConfigEntity())

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
        if res.error_no != 0:
            return
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

    def update(self, target, workload, cfg):
        """Replace the configuration for a workload."""
        self._mine[(target.model, workload)] = cfg
        for key in target.keys:
            self._mine[(str(key), workload)] = cfg


apply_history_best = ApplyHistoryBest

DispatchContext.current = FallbackContext()
