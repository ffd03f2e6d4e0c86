"""Checks that tests of schedules make."""

from ...ir import IRModule, assert_structural_equal
from ..function import PrimFunc
from .schedule import Schedule
from .trace import Trace


def _without_symbols(program):
    """The program without the attribute global_symbol of its functions."""
    if isinstance(program, PrimFunc):
        return program.without_attr("global_symbol")
    if not isinstance(program, IRModule):
        return program
    out = IRModule({})
    for var, func in program.functions.items():
        out[var] = _without_symbols(func)
    return out


def assert_structural_equal_ignore_global_symbol(func1, func2, *args, **kwargs):
    """Assert that two functions or modules are equal, whatever their global symbols are.

    Parameters
    ----------
    func1, func2 : PrimFunc or IRModule
        The programs.
    args, kwargs
        As for `tenon.ir.assert_structural_equal`.
    """
    assert_structural_equal(_without_symbols(func1), _without_symbols(func2), *args, **kwargs)


def verify_trace_roundtrip(sch, mod, *, debug_mask="all", text_format=("python", "json")):
    """Write the trace of a schedule down, take its steps again, and compare the programs.

    Parameters
    ----------
    sch : Schedule
        The schedule.
    mod : IRModule or PrimFunc
        The program it began with.
    debug_mask : str or int
        What the new schedules verify after each step.
    text_format : str or list of str
        "python", "json" or both.

    Returns
    -------
    Schedule
        The last of the new schedules.
    """
    formats = [text_format] if isinstance(text_format, str) else list(text_format)
    if not formats or set(formats) - {"python", "json"}:
        raise ValueError(f"text_format: expected python or json, got {text_format!r}")
    for form in formats:
        again = Schedule(mod, debug_mask=debug_mask)
        if form == "json":
            Trace.apply_json_to_schedule(sch.trace.as_json(), again)
        else:
            from ... import tir
            from ...script import tir as script

            names = vars(tir) | {"T": script}
            exec("\n".join(sch.trace.as_python()), names, {"sch": again})
        assert_structural_equal_ignore_global_symbol(again.mod, sch.mod)
    return again
