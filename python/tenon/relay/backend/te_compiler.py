"""Primitive functions as tensor programs."""

from ..._ffi import get_global_func
from ...target import Target


def lower_to_primfunc(relay_func, target):
    """The tensor program of a function of operators, not scheduled.

    Parameters
    ----------
    relay_func : Function
        Its calls are of operators; constants that are not scalars become parameters after its own
        (attribute ``linked_constants``).
    target : str or Target
        What it is computed for.

    Returns
    -------
    PrimFunc
        It takes the tensors of the parameters (fields of tuples one after another), then those of
        the results.
    """
    return get_global_func("relay.backend.LowerToPrimFunc")(relay_func, Target(target))


class TECompiler:
    """Lowers and compiles single functions. It keeps nothing: every call does its work."""

    def lower(self, source_func, target=None, mod_name="default"):
        """The program of a function, lowered; see `lower_to_primfunc`.

        Parameters
        ----------
        source_func : Function
            The function.
        target : str or Target, optional
            What for; that of the enclosing ``with`` statement by default.
        mod_name : str
            Part of the program's name.

        Returns
        -------
        IRModule
        """
        from ...driver import lower

        func = lower_to_primfunc(source_func, target or Target.current(False))
        return lower(func, name=f"tvmgen_{mod_name}_fused")

    def jit(self, source_func, target=None):
        """The function as one that can be called with tensors, results last."""
        from ...driver import build

        target = target or Target.current(False)
        return build(lower_to_primfunc(source_func, target), target=target, name="fused")

    def clear(self):
        """Forget what is kept: nothing is."""


def get():
    """The compiler of single functions (TECompiler)."""
    return TECompiler()
