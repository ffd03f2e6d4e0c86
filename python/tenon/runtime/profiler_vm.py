"""The virtual machine with a profile of each call."""

from .profiling import Report  # noqa: F401  what a profile is
from .vm import VirtualMachine


def enabled():
    """Are profiles part of this library? bool."""
    return True


class VirtualMachineProfiler(VirtualMachine):
    """A machine that also measures: see `VirtualMachine` for the parameters."""

    def profile(self, *args, func_name="main", collectors=None, **kwargs):
        """Call a function and measure each kernel and allocation.

        Parameters
        ----------
        args, kwargs : array-like
            Its arguments; none: those set before.
        func_name : str
            The function.
        collectors : list of MetricCollector, optional
            What to measure besides the time.

        Returns
        -------
        Report
        """
        values = self._arguments(func_name, args, kwargs)
        return self.module["profile"](func_name, list(collectors or ()), *values)
