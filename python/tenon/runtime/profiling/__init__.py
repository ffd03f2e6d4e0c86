"""Profiles of executors and functions: reports, metrics, collectors of metrics."""

from ... import _core
from ..._ffi.registry import register_object
from ..object import Object
from . import _ffi_api


@register_object("runtime.profiling.Report")
class Report(Object):
    """What a profile found.

    Parameters
    ----------
    calls : list of dict of str to metric
        The metrics of each call: ``"Name"``, ``"Duration (us)"``, ``"Percent"``, ``"Device"``,
        ``"Count"``, ``"Argument Shapes"``, ``"Hash"`` and others. A metric is a `Duration`,
        `Percent`, `Count`, `Ratio` or str.
    device_metrics : dict of str to dict of str to metric
        Metrics of the whole run by name of the device.
    configuration : dict of str to metric
        What was run, and how: ``"Executor"``, ``"Number of threads"``.
    """

    __slots__ = ()

    def __init__(self, calls, device_metrics, configuration):
        self.__init_handle_by_constructor__(_ffi_api.Report, calls, device_metrics, configuration)

    def csv(self):
        """The calls as comma-separated values, with a line of headings; str."""
        return str(_ffi_api.AsCSV(self))

    def table(self, sort=True, aggregate=True, col_sums=True):
        """The report as a table for people.

        Parameters
        ----------
        sort : bool
            Calls that took longest come first.
        aggregate : bool
            Calls of the same function, with the same shapes, on the same device become one row.
        col_sums : bool
            Add a row with the sums of the calls.

        Returns
        -------
        str
        """
        return str(_ffi_api.AsTable(self, sort, aggregate, col_sums))

    def json(self):
        """The report as JSON, from which `from_json` makes it again; str.

        The object has the members ``calls``, ``device_metrics`` and ``configuration``; a metric is
        written with its unit: ``{"microseconds": 1.5}``, ``{"count": 3}``, ``{"percent": 2.5}``,
        ``{"ratio": 0.5}``, ``{"string": "text"}``.
        """
        return str(_ffi_api.AsJSON(self))

    @classmethod
    def from_json(cls, s):
        """The report that was written as JSON.

        Parameters
        ----------
        s : str
            What `json` returned.

        Returns
        -------
        Report

        Raises
        ------
        ValueError
            The text is not a report.
        """
        return _ffi_api.FromJSON(s)

    def __str__(self):
        return self.table()


def _metric(type_key, field):
    """Class of a metric that is one number."""

    class Metric(Object):
        __slots__ = ()

        def __init__(self, value):
            self.__init_handle_by_constructor__(_core.make_node, type_key, {field: value})

        def __repr__(self):
            return f"{type(self).__name__}({getattr(self, field)})"

    return Metric


@register_object("runtime.profiling.Count")
class Count(_metric("runtime.profiling.Count", "value")):
    """A number of things; its attribute is ``value``."""

    __slots__ = ()


@register_object("runtime.profiling.Duration")
class Duration(_metric("runtime.profiling.Duration", "microseconds")):
    """A time; its attribute is ``microseconds``."""

    __slots__ = ()


@register_object("runtime.profiling.Percent")
class Percent(_metric("runtime.profiling.Percent", "percent")):
    """A percentage; its attribute is ``percent``."""

    __slots__ = ()


@register_object("runtime.profiling.Ratio")
class Ratio(_metric("runtime.profiling.Ratio", "ratio")):
    """A quotient; its attribute is ``ratio``."""

    __slots__ = ()


@register_object("runtime.profiling.DeviceWrapper")
class DeviceWrapper(Object):
    """A device as an object, for containers of objects.

    Parameters
    ----------
    dev : Device
        The device; afterwards the attribute ``device``.
    """

    __slots__ = ()

    def __init__(self, dev):
        self.__init_handle_by_constructor__(_ffi_api.DeviceWrapper, dev)


@register_object("runtime.profiling.MetricCollector")
class MetricCollector(Object):
    """Measures something around each call of a profile.

    Parameters
    ----------
    init : function (devices), optional
        Called once with the list of `DeviceWrapper` that the profile runs on.
    start : function (device), optional
        Called before each call. What it returns is handed to `stop`; None: nothing to stop.
    stop : function (started) -> dict of str to metric, optional
        Called after each call; its result is added to the metrics of the call.
    """

    __slots__ = ()

    def __init__(self, init=None, start=None, stop=None):
        self.__init_handle_by_constructor__(_ffi_api.MetricCollector, init, start, stop)


class PAPIMetricCollector(MetricCollector):
    """Would read performance counters of the hardware through PAPI, which this library is built
    without: making one is an error.

    Parameters
    ----------
    metric_names : dict of Device or DeviceWrapper to list of str, optional
        Counters for each device.
    """

    __slots__ = ()

    def __init__(self, metric_names=None):
        raise NotImplementedError(
            "PAPIMetricCollector: this library is built without PAPI; a MetricCollector can be "
            "made of functions that read the counters"
        )


def profile_function(mod, dev, collectors, func_name=None, warmup_iters=10):
    """A function that collects metrics of one call of a function.

    Parameters
    ----------
    mod : Module
        The module.
    dev : Device
        Device that the function runs on.
    collectors : list of MetricCollector
        What to measure.
    func_name : str, optional
        Which function; default: the module's entry.
    warmup_iters : int
        Calls before the one that is measured.

    Returns
    -------
    function (*args) -> dict of str to metric
        Calls the function. `TVMError` when the module has none of that name.

    Examples
    --------
    >>> f = tenon.build(program, target="llvm")
    >>> profiled = profile_function(f, tenon.cpu(), [collector])
    >>> print(profiled(a, b, c))
    """
    if func_name is None:
        func_name = mod.entry_name
    return _ffi_api.ProfileFunction(
        mod, func_name, dev.device_type, dev.device_id, warmup_iters, list(collectors)
    )
