"""The context of passes under the name it had first."""

from ...ir.instrument import pass_instrument
from ...ir.transform import PassContext


@pass_instrument
class _Trace:
    """Calls a function before and after each pass."""

    def __init__(self, trace):
        self._trace = trace

    def run_before_pass(self, mod, info):
        self._trace(mod, info, True)

    def run_after_pass(self, mod, info):
        self._trace(mod, info, False)


def build_config(opt_level=2, required_pass=None, disabled_pass=None, trace=None):
    """A PassContext.

    Parameters
    ----------
    opt_level : int
        Passes up to this level run.
    required_pass, disabled_pass : list, tuple or set of str, optional
        Passes that run at any level, and passes that do not run.
    trace : Callable, optional
        Called with the module, the PassInfo and whether the pass is still to run, around each pass.

    Returns
    -------
    PassContext
    """
    instruments = [_Trace(trace)] if trace else None
    return PassContext(opt_level, required_pass, disabled_pass, instruments)
