"""Random schedules of small programs compute what the programs compute without them.

Each case draws a program and a row of steps; steps that do not apply are left out. The result is
run by the interpreter, as native code through LLVM and, now and then, as C, and compared with the
interpreter's run of the program as it was. TENON_RANDOM_SCHEDULES sets the number of cases, and
TENON_RANDOM_SEED the first seed; a failure shows the seed and the steps that were taken.
"""

import os
import random

import pytest
import random_schedules
import tenon
from random_schedules import PROGRAMS, schedule
from tenon import tir

CASES = int(os.environ.get("TENON_RANDOM_SCHEDULES", "40"))
FIRST = int(os.environ.get("TENON_RANDOM_SEED", "1"))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_programs(seed):
    random_schedules.check(seed)


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES // 4))
def test_traces(seed):
    rng = random.Random(seed)
    program, _ = rng.choice(PROGRAMS)(rng)
    sch = schedule(program, rng, seed)
    again = tir.Schedule(program)
    sch.trace.apply_to_schedule(again, remove_postproc=False)
    tenon.ir.assert_structural_equal(again.mod, sch.mod)
