"""Whether a schedule still computes what its program did, and whether its trace does it again."""

import numpy as np
import tenon
from tenon import tir
from tenon.tir.schedule.testing import verify_trace_roundtrip


def _module(program):
    return program if isinstance(program, tenon.IRModule) else tenon.IRModule({"main": program})


def _results(mod, arrays, target):
    named = mod["main"].with_attr("global_symbol", "main")
    built = tenon.build(tenon.IRModule({"main": named}), target=target)
    tensors = [tenon.nd.array(a) for a in arrays]
    built["main"](*tensors)
    return [t.numpy() for t in tensors]


def _arguments(func):
    """Small whole numbers, so that sums come out the same in any order."""
    rng = np.random.default_rng(7)
    for param in func.params:
        buffer = func.buffer_map[param]
        shape = [int(n) for n in buffer.shape]
        low = 0 if str(buffer.dtype).startswith("u") else -4
        yield rng.integers(low, 5, shape).astype(str(buffer.dtype))


def same_results(sch, start, target="llvm"):
    """Run both programs on the same numbers."""
    before = _module(start)
    arrays = list(_arguments(before["main"]))
    expected = _results(before, arrays, target)
    for got, want in zip(_results(sch.mod, arrays, target), expected, strict=True):
        np.testing.assert_array_equal(got, want)


def verified(sch, start, expected=None, run=True):
    """The schedule's program is as expected, prints and parses, computes the same, replays."""
    if expected is not None:
        tir.schedule.testing.assert_structural_equal_ignore_global_symbol(sch.mod["main"], expected)
    parsed = tenon.script.from_source(sch.mod.script())
    tenon.ir.assert_structural_equal(parsed, sch.mod)
    verify_trace_roundtrip(sch, start)
    if run:
        same_results(sch, start)
