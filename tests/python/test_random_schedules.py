"""Random schedules of small programs compute what the programs compute without them.

Each case draws a program and a row of steps; steps that do not apply are left out. The result is
run by the interpreter, as native code through LLVM and, now and then, as C, and compared with the
interpreter's run of the program as it was. TENON_RANDOM_SCHEDULES sets the number of cases, and
TENON_RANDOM_SEED the first seed; a failure shows the seed and the steps that were taken.
"""

import os
import random

import numpy as np
import pytest
import tenon
from schedule_programs import func
from tenon import te, tir

CASES = int(os.environ.get("TENON_RANDOM_SCHEDULES", "40"))
FIRST = int(os.environ.get("TENON_RANDOM_SEED", "1"))
HAS_LLVM = bool(tenon._core.get_global_func("target.llvm_version_major")())

# ---- programs ----


def elementwise(rng):
    n, m = rng.choice([(12, 10), (16, 16), (7, 24)])
    body = f"""
for i, j in T.grid({n}, {m}):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid({n}, {m}):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj] + 1.0
for i, j in T.grid({n}, {m}):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = C[vi, vj] * B[vi, vj] - A[vi, vj]
"""
    alloc = f"B = T.alloc_buffer(({n}, {m}))\nC = T.alloc_buffer(({n}, {m}))\n"
    return func([f"A:{n},{m}", f"D:{n},{m}"], body, alloc), [(n, m), (n, m)]


def stencil(rng):
    n = rng.choice([16, 20, 33])
    body = f"""
for i in range({n + 2}):
    with T.block("B"):
        vi = T.axis.spatial({n + 2}, i)
        B[vi] = A[vi] * A[vi]
for i in range({n}):
    with T.block("C"):
        vi = T.axis.spatial({n}, i)
        C[vi] = B[vi] + B[vi + 1] * 3.0 + B[vi + 2]
"""
    return func([f"A:{n + 2}", f"C:{n}"], body, f"B = T.alloc_buffer(({n + 2},))\n"), [
        (n + 2,),
        (n,),
    ]


def matmul(rng):
    n, m, k = rng.choice([(8, 12, 16), (10, 9, 7), (16, 16, 16)])
    body = f"""
for i, j, k in T.grid({n}, {m}, {k}):
    with T.block("C"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            C[vi, vj] = 0.0
        C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
for i, j in T.grid({n}, {m}):
    with T.block("D"):
        vi, vj = T.axis.remap("SS", [i, j])
        D[vi, vj] = T.max(C[vi, vj] - 4.0, 0.0)
"""
    params = [f"A:{n},{k}", f"B:{k},{m}", f"D:{n},{m}"]
    return func(params, body, f"C = T.alloc_buffer(({n}, {m}))\n"), [(n, k), (k, m), (n, m)]


def rows(rng):
    n, m = rng.choice([(6, 20), (8, 32), (5, 11)])
    body = f"""
for i, j in T.grid({n}, {m}):
    with T.block("S"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            S[vi] = 0.0
        S[vi] = S[vi] + A[vi, vj]
for i, j in T.grid({n}, {m}):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] - S[vi] * {1 / m}
"""
    return func([f"A:{n},{m}", f"B:{n},{m}"], body, f"S = T.alloc_buffer(({n},))\n"), [
        (n, m),
        (n, m),
    ]


PROGRAMS = [elementwise, stencil, matmul, rows]

# ---- steps ----


def blocks(sch):
    found = []
    tir.stmt_functor.post_order_visit(
        sch.mod["main"].body,
        lambda node: found.append(node) if isinstance(node, tir.Block) else None,
    )
    return sorted({str(b.name_hint) for b in found} - {"root", ""})


def pick_block(sch, rng):
    return sch.get_block(rng.choice(blocks(sch)))


def pick_loop(sch, rng):
    return rng.choice(list(sch.get_loops(pick_block(sch, rng))))


def extent(sch, loop):
    value = sch.get(loop).extent
    return int(value) if isinstance(value, tir.IntImm) else None


def split(sch, rng):
    k = rng.choice([2, 3, 4, 8])
    sch.split(pick_loop(sch, rng), rng.choice([[None, k], [k, None], [None, 2, k]]))


def tile(sch, rng):
    loop = pick_loop(sch, rng)
    sch.split(loop, sch.sample_perfect_tile(loop, 2, 8))


def fuse(sch, rng):
    loops = list(sch.get_loops(pick_block(sch, rng)))
    at = rng.randrange(len(loops))
    sch.fuse(*loops[at : at + 2])


def reorder(sch, rng):
    loops = list(sch.get_loops(pick_block(sch, rng)))
    sch.reorder(*rng.sample(loops, min(len(loops), rng.choice([2, 3]))))


def kind(sch, rng):
    loop = pick_loop(sch, rng)
    step = rng.choice(["parallel", "vectorize", "unroll"])
    small = extent(sch, loop) is not None and extent(sch, loop) <= 16
    innermost = isinstance(sch.get(loop).body, tir.BlockRealize)
    if step == "parallel" or small and (step == "unroll" or innermost):
        getattr(sch, step)(loop)


def move(sch, rng):
    step = rng.choice(["compute_at", "reverse_compute_at"])
    getattr(sch, step)(pick_block(sch, rng), pick_loop(sch, rng))


def inline(sch, rng):
    step = rng.choice(["compute_inline", "reverse_compute_inline"])
    getattr(sch, step)(pick_block(sch, rng))


def cache(sch, rng):
    getattr(sch, rng.choice(["cache_read", "cache_write"]))(pick_block(sch, rng), 0, "global")


def reduce(sch, rng):
    block = pick_block(sch, rng)
    loop = rng.choice(list(sch.get_loops(block)))
    if rng.random() < 0.5:
        sch.decompose_reduction(block, loop)
    else:
        sch.rfactor(loop, rng.choice([0, -1]))


def layout(sch, rng):
    block = pick_block(sch, rng)
    regions = sch.get(block).writes
    buffer = regions[0].buffer
    if str(buffer.name) in [str(b.name) for b in sch.mod["main"].buffer_map.values()]:
        return  # arguments keep their shape here
    maps = {
        1: [lambda i: [i // 4, i % 4], lambda i: [i, 0]],
        2: [lambda i, j: [j, i], lambda i, j: [i // 4, j, i % 4], lambda i, j: [i * 64 + j]],
    }
    if len(buffer.shape) in maps:
        step = rng.choice(maps[len(buffer.shape)])
        sch.transform_layout(block, ("write", 0), step, pad_value=rng.choice([None, 0]))


def small(sch, rng):
    block = pick_block(sch, rng)
    what = rng.randrange(4)
    if what == 0:
        sch.storage_align(block, 0, axis=0, factor=8, offset=rng.choice([0, 1]))
    elif what == 1:
        sch.add_unit_loop(rng.choice([block, *sch.get_loops(block)]))
    elif what == 2:
        sch.transform_block_layout(
            block, rng.choice([lambda *i: i[::-1], lambda i, j: [i * 16 + j]])
        )
    else:
        n = len(sch.get(block).iter_vars)
        sch.reorder_block_iter_var(block, rng.sample(range(n), n))


def join(sch, rng):
    """Loops in a row become one, or one becomes several."""
    loop = pick_loop(sch, rng)
    if rng.random() < 0.5:
        sch.merge(loop, pick_loop(sch, rng))
    elif extent(sch, loop):
        sch.loop_partition(loop, [rng.randrange(1, extent(sch, loop) + 1)])


def indices(sch, rng):
    sch.cache_index(pick_block(sch, rng), "global", rng.choice([0, 2]))


STEPS = [split, split, tile, fuse, reorder, reorder, kind, move, move, inline, cache, reduce]
STEPS += [layout, small, join, indices]


def schedule(program, rng, seed):
    sch = tir.Schedule(program, seed=seed, error_render_level="none")
    for _ in range(rng.randrange(3, 12)):
        before = sch.mod
        try:
            rng.choice(STEPS)(sch, rng)
        except (tir.ScheduleError, IndexError, ValueError):
            # what does not apply changes nothing but by the steps of the same row before it
            assert before is not None
    return sch


# ---- running ----


def run(program, arrays, target, directory=None):
    built = tenon.build(program, target=target, name="main")
    if target == "c":
        path = str(directory / "lib.so")
        built.export_library(path)
        built = tenon.runtime.load_module(path)
    tensors = [tenon.nd.array(a) for a in arrays]
    built["main"](*tensors)
    return tensors[-1].numpy()


def agree(program, scheduled, arrays, seed, directory, steps):
    want = run(program, arrays, "stackvm")
    targets = ["stackvm", *(["llvm"] if HAS_LLVM else []), *(["c"] if seed % 8 == 0 else [])]
    for target in targets:
        try:
            got = run(scheduled, arrays, target, directory)
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)
        except Exception as err:
            pytest.fail(f"seed {seed}, {target}: {err}\nafter the steps\n{steps}", pytrace=False)


def inputs(shapes, seed):
    rng = np.random.default_rng(seed)
    given = [rng.random(s).astype("float32") for s in shapes[:-1]]
    return [*given, np.full(shapes[-1], 77, "float32")]


@pytest.mark.parametrize("seed", range(FIRST, FIRST + CASES))
def test_programs(seed, tmp_path):
    rng = random.Random(seed)
    program, shapes = rng.choice(PROGRAMS)(rng)
    sch = schedule(program, rng, seed)
    agree(program, sch.mod, inputs(shapes, seed), seed, tmp_path, sch.trace)


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
