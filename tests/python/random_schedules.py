"""Random schedules of small programs: what test_random_schedules.py compares with the programs
without them.

``python random_schedules.py`` compares as many as one likes (endless.py). Loops and block iterators
start anywhere; steps that do not apply are left out.
"""

import pathlib
import random
import sys
import tempfile

import endless
import numpy as np
import tenon
from schedule_programs import func
from tenon import tir

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


def shifted(rng):
    """Loops and iterators that start somewhere."""
    n, m = rng.choice([(8, 16), (6, 10)])
    a, b = rng.choice([1, 2, 4]), rng.choice([0, 3, 5])
    rows, columns = a + n + 1, b + m + 2

    def nest(name, value, whole=False):
        i0, j0 = (0, 0) if whole else (a, b)
        return f"""
for i in range({i0}, {a + n}):
    for j in range({j0}, {b + m}):
        with T.block("{name}"):
            vi = T.axis.spatial(({i0}, {a + n}), i)
            vj = T.axis.spatial(({j0}, {b + m}), j)
            {name}[vi, vj] = {value}
"""

    body = nest("B", "A[vi, vj] * 2.0", rng.random() < 0.5) + nest("C", "B[vi, vj] + 1.0")
    body += nest("D", "C[vi, vj] * B[vi, vj] - A[vi, vj]")
    alloc = "".join(f"{x} = T.alloc_buffer(({rows}, {columns}))\n" for x in "BC")
    shape = (rows, columns)
    return func([f"A:{rows},{columns}", f"D:{rows},{columns}"], body, alloc), [shape, shape]


def summed(rng):
    """A sum whose loops start somewhere."""
    a, b = rng.choice([0, 2]), rng.choice([1, 4])
    n, m = a + 6, b + 16
    body = f"""
for i in range({a}, {n}):
    for j in range({b}, {m}):
        with T.block("S"):
            vi = T.axis.spatial(({a}, {n}), i)
            vj = T.axis.reduce(({b}, {m}), j)
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vj]
for i in range({a}, {n}):
    with T.block("D"):
        vi = T.axis.spatial(({a}, {n}), i)
        D[vi] = S[vi] * 0.5
"""
    return func([f"A:{n},{m}", f"D:{n}"], body, f"S = T.alloc_buffer(({n},))\n"), [(n, m), (n,)]


def partial(rng):
    """Blocks that leave elements as they were: of the argument, or of a buffer set before."""
    n, m = rng.choice([(12, 8), (9, 10)])
    k = rng.choice([2, 3])
    store = rng.choice(
        [
            f"if vi % {k} == 1:\n            {{0}} = {{1}}",
            "if A[vi, vj] < 0.5:\n            {0} = {1}",
            f"for r in range(vi % {k}):\n            {{0}} = {{1}}",
            "{0} = {1}",
        ]
    )
    where = rng.choice(
        ["True", f"i % {k} == 0", "i + j < 9", f"i < {n - 3}", f"i > 2 and j < {m - 1}"]
    )
    at = rng.choice(["vi, vj", f"{n - 1} - vi, vj"])
    first = f"""
for i, j in T.grid({n}, {m}):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj] * 2.0
"""
    second = f"""
for i, j in T.grid({n}, {m}):
    with T.block("C"):
        T.where({where})
        vi, vj = T.axis.remap("SS", [i, j])
        {store.format(f"D[{at}]", "B[vi, vj] + 1.0")}
"""
    return func(
        [f"A:{n},{m}", f"D:{n},{m}"], first + second, f"B = T.alloc_buffer(({n}, {m}))\n"
    ), [(n, m), (n, m)]


PROGRAMS = [elementwise, stencil, matmul, rows, shifted, summed, partial]

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


def cache_around(sch, rng):
    block = pick_block(sch, rng)
    step = rng.choice(["read_at", "write_at", "cache_inplace"])
    if step == "cache_inplace":
        sch.cache_inplace(block, 0, "global")
    else:
        getattr(sch, step)(rng.choice(list(sch.get_loops(block))), block, 0, "global")


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
        sch.transform_layout(block, ("write", 0), step, pad_value=rng.choice([None, 0.0]))


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


def blockize(sch, rng):
    sch.blockize(pick_loop(sch, rng), preserve_unit_iters=rng.random() < 0.5)


def reindex(sch, rng):
    block, kind = pick_block(sch, rng), rng.choice(["read", "write"])
    if rng.random() < 0.5:
        sch.reindex(block, (kind, 0))
        return
    order = (lambda i: i) if len(sch.get(block).iter_vars) == 1 else (lambda i, j: (j, i))
    getattr(sch, f"reindex_cache_{kind}")(block, 0, "global", order)


STEPS = [split, split, tile, fuse, reorder, reorder, kind, move, move, inline, cache, reduce]
STEPS += [layout, small, join, indices, blockize, reindex, cache_around]


def schedule(program, rng, seed):
    sch = tir.Schedule(program, seed=seed, error_render_level="none", debug_mask="all")
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
            err.add_note(f"seed {seed}, {target}, after the steps\n{steps}")
            raise


def inputs(shapes, seed):
    rng = np.random.default_rng(seed)
    given = [rng.random(s).astype("float32") for s in shapes[:-1]]
    return [*given, np.full(shapes[-1], 77, "float32")]


def check(seed):
    """Draws a program and its schedule, and compares them."""
    rng = random.Random(seed)
    program, shapes = rng.choice(PROGRAMS)(rng)
    sch = schedule(program, rng, seed)
    with tempfile.TemporaryDirectory() as folder:
        agree(program, sch.mod, inputs(shapes, seed), seed, pathlib.Path(folder), sch.trace)
    return "compared"


if __name__ == "__main__":
    sys.exit(endless.main(check))
