"""CUTLASS: kernels of its own are not made here; what a partition has for it can be counted."""

from ..._later import attach as _attach

_attach(
    __name__,
    "no code is made for CUTLASS; build the program for cuda without partition_for_cutlass",
    {"": "finalize_modules finalize_modules_vm"},
)


def has_cutlass():
    """Whether code can be made for CUTLASS: it cannot."""
    return False


def num_cutlass_partitions(mod):
    """How many functions of a program `partition_for_cutlass` has cut out.

    Parameters
    ----------
    mod : IRModule
        The program.

    Returns
    -------
    int
    """
    functions = [f for f in mod.functions.values() if getattr(f, "attrs", None)]
    return sum(str(f.attrs.get("Compiler", "")) == "cutlass" for f in functions)
