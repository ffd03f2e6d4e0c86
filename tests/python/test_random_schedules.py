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
from random_schedules import PROGRAMS, agree, inputs, schedule
from tenon import te, tir

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


# ---- tensor expressions ----


def te_matmul(rng):
    n, m, k = rng.choice([(8, 12, 16), (10, 9, 7), (16, 16, 16)])
    A, B = te.placeholder((n, k), name="A"), te.placeholder((k, m), name="B")
    r = te.reduce_axis((0, k), name="r")
    C = te.compute((n, m), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
    D = te.compute((n, m), lambda i, j: C[i, j] + 1, name="D")
    return [A, B, D], [(n, k), (k, m), (n, m)]


def te_stencil(rng):
    n = rng.choice([16, 20, 33])
    A = te.placeholder((n + 2, 8), name="A")
    B = te.compute((n + 2, 8), lambda i, j: A[i, j] * 2, name="B")
    C = te.compute((n, 8), lambda i, j: B[i, j] + B[i + 1, j] + B[i + 2, 7 - j], name="C")
    D = te.compute((n, 8), lambda i, j: C[i, j] * B[i, j], name="D")
    return [A, D], [(n + 2, 8), (n, 8)]


def te_rows(rng):
    n, m = rng.choice([(6, 20), (8, 32), (5, 11)])
    A = te.placeholder((n, m), name="A")
    r = te.reduce_axis((0, m), name="r")
    S = te.compute((n,), lambda i: te.sum(A[i, r], axis=r), name="S")
    B = te.compute((n, m), lambda i, j: A[i, j] - S[i], name="B")
    return [A, B], [(n, m), (n, m)]


def te_scan(rng):
    m, n = rng.choice([(5, 12), (9, 8), (4, 7)])
    A = te.placeholder((m, n), name="A")
    state = te.placeholder((m, n), name="state")
    first = te.compute((1, n), lambda t, i: A[t, i] * 2, name="first")
    half = te.compute((m, n), lambda t, i: state[t - 1, n - 1 - i] * 0.5, name="half")
    update = te.compute((m, n), lambda t, i: half[t, i] + A[t, i], name="update")
    S = te.scan(first, update, state, name="S")
    D = te.compute((m, n), lambda t, i: S[t, i] + 1, name="D")
    return [A, D], [(m, n), (m, n)]


def te_step(s, rng):
    stages = [st for st in s.stages if isinstance(st.op, te.ComputeOp)]
    st = rng.choice(stages)
    loops = list(st.leaf_iter_vars)
    loop = rng.choice(loops)
    what = rng.randrange(9)
    if what < 2:
        st.split(loop, **{rng.choice(["factor", "nparts"]): rng.choice([2, 3, 4, 8])})
    elif what == 2:
        at = rng.randrange(len(loops))
        st.fuse(*loops[at : at + 2])
    elif what == 3:
        st.reorder(*rng.sample(loops, min(2, len(loops))))
    elif what == 4:
        other = rng.choice(stages)
        st.compute_at(other, rng.choice(list(other.leaf_iter_vars)))
    elif what == 5:
        rng.choice([st.compute_inline, st.compute_root])()
    elif what == 6:
        st.parallel(loop)
    elif what == 7:
        tensor = st.op.output(0)
        if rng.random() < 0.5:
            s.cache_write(tensor, "global")
        else:
            source = st.op.input_tensors[0]
            s.cache_read(source, "global", [st.op])
    elif len(st.op.reduce_axis):
        s.rfactor(st.op.output(0), rng.choice(loops), rng.choice([0, -1]))


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_tensor_expressions(seed, tmp_path):
    rng = random.Random(seed)
    args, shapes = rng.choice([te_matmul, te_stencil, te_rows, te_scan])(rng)
    s = te.create_schedule(args[-1].op)
    plain = tenon.driver.schedule_to_module(s, args)
    for _ in range(rng.randrange(2, 9)):
        try:
            te_step(s, rng)
        except tenon.TVMError:
            continue
    try:
        scheduled = tenon.driver.schedule_to_module(s, args)
    except tenon.TVMError:
        return  # a place that does not serve all users, an inlined reduction
    agree(plain, scheduled, inputs(shapes, seed), seed, tmp_path, scheduled.script())
