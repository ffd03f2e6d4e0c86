"""Steps on loops of which several iterations write one element."""

import numpy as np
import pytest
import tenon
from schedule_programs import func
from tenon import tir
from tenon.script import from_source

AT_ONCE = "cannot run its iterations at once: nothing proves"
KINDS = ["parallel", "vectorize", "blockIdx.x", "threadIdx.x", "vthread.x"]


def loops(program, *lines, alloc=""):
    body = "\n".join(lines)
    return func([p for p in ["A:64", "B:64", "D:64"] if p[0] in program], body, alloc)


def apply(program, kind, number=0, block="B"):
    sch = tir.Schedule(program)
    loop = sch.get_loops(sch.get_block(block))[number]
    if kind in ("parallel", "vectorize"):
        getattr(sch, kind)(loop)
    else:
        sch.bind(loop, kind)
    return sch


def block(values, store, indent="    ", name="B"):
    names = [f"v{i}" for i in range(len(values))]
    lines = [f'with T.block("{name}"):']
    lines += [f"    {n} = T.axis.spatial({v})" for n, v in zip(names, values, strict=True)]
    return [indent + line for line in [*lines, f"    {store}"]]


def run(program):
    arrays = [np.arange(64, dtype="float32") * (k + 1) for k in range(3)]
    tensors = [tenon.nd.array(a) for a in arrays[: len(program["main"].params)]]
    tenon.build(program, target="stackvm", name="main")["main"](*tensors)
    return tensors[-1].numpy()


# ---- iterators that are called spatial ----

ONE = [
    ("16, i", "B[v0 % 4] = A[v0]"),
    ("16, i", "B[0] = A[v0]"),
    ("16, i", "B[v0 // 2] = A[v0]"),
    ("16, i", "B[T.max(v0, 3)] = A[v0]"),
    ("16, i", "B[T.cast(A[v0], 'int32')] = 1.0"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value, store", ONE)
def test_spatial_is_not_believed(kind, value, store):
    program = loops("AB", "for i in range(16):", *block([value], store))
    with pytest.raises(tir.ScheduleError, match=AT_ONCE + ".* elements of B"):
        apply(program, kind)


@pytest.mark.parametrize(
    "store",
    [
        "B[v0] = A[v0]",
        "B[v0 * 4] = A[v0]",
        "B[15 - v0] = A[v0]",
        "B[v0 // 4 + v0 % 4 * 4] = A[v0]",
        "B[v0 + 5] = A[v0 % 3]",
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_elements_of_each_iteration(kind, store):
    program = loops("AB", "for i in range(16):", *block(["16, i"], store))
    apply(program, kind)


def test_the_loop_that_tells_the_element():
    """v % 4 differs over the inner loop, not over the outer one."""
    program = loops(
        "AB", "for i, j in T.grid(4, 4):", *block(["16, i * 4 + j"], "B[v0 % 4] = A[v0]")
    )
    apply(program, "parallel", 1)
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program, "parallel", 0)


def test_loops_that_are_fused_and_divided():
    sch = tir.Schedule(
        func(
            ["A:6,10", "B:6,10"],
            "\n".join(
                ["for i, j in T.grid(6, 10):", *block(["6, i", "10, j"], "B[v0, v1] = A[v0, v1]")]
            ),
        )
    )
    sch.parallel(sch.split(sch.fuse(*sch.get_loops("B")), [None, 7])[0])
    sch.vectorize(sch.get_loops("B")[1])


def test_dynamic_extents():
    source = """
@T.prim_func
def main(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n * 8,))
    B = T.match_buffer(b, (n * 8,))
    for i in range(n * 8):
        with T.block("B"):
            vi = T.axis.spatial(n * 8, i)
            B[{}] = A[vi]
"""
    head = "from tenon.script import tir as T\n"
    sch = tir.Schedule(from_source(head + source.format("vi")))
    outer, inner = sch.split(sch.get_loops("B")[0], [None, 8])
    sch.parallel(outer)
    sch.vectorize(inner)
    sch = tir.Schedule(from_source(head + source.format("vi // 2")))
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        sch.parallel(sch.get_loops("B")[0])


def test_declared_regions():
    """Stores tell more than a region that is too large; each of several regions counts."""

    def program(declared, store):
        inner = block(["16, i"], f"T.reads(A[v0])\n        T.writes({declared})\n        {store}")
        return loops("AB", "for i in range(16):", *inner)

    apply(program("B[0:64]", "B[v0] = A[v0]"), "parallel")
    apply(program("B[v0], B[v0 + 16]", "B[v0] = A[v0]"), "parallel")
    call = "T.evaluate(T.call_extern('int32', 'f', B.data, v0))"
    apply(program("B[v0]", call), "parallel")
    for declared in ["B[v0], B[3]", "B[0:64]"]:
        with pytest.raises(tir.ScheduleError, match=AT_ONCE):
            apply(program(declared, call), "parallel")


SYMBOLIC = """
from tenon.script import tir as T
@T.prim_func
def main(b: T.handle, n: T.int32, m: T.int32):
    B = T.match_buffer(b, (n * 10, m * 10))
    for f in range(n * m):
        with T.block("B"):
            vi = T.axis.spatial(n * 10, {0})
            vj = T.axis.spatial(m * 10, {1})
            B[vi, vj] = {2}
"""


@pytest.mark.parametrize(
    "values, fine",
    [
        (("f // m", "f % m", "1.0"), True),
        (("f * m + f", "0", "1.0"), True),  # one run of the block, even where m is -1
        (("f * m", "0", "T.Cast('float32', f)"), False),  # m may be 0
        (("f // 2", "f % 3", "T.Cast('float32', f)"), False),
        (("f // 2 * 2 + f % 2", "0", "T.Cast('float32', f)"), True),
    ],
)
def test_symbolic_values(values, fine):
    sch = tir.Schedule(from_source(SYMBOLIC.format(*values)))
    if fine:
        sch.parallel(sch.get_loops("B")[0])
        return
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        sch.parallel(sch.get_loops("B")[0])


# ---- several writers ----


def test_writers_outside_of_the_loop():
    """Each loop writes one half, or first values and sums: the other loop does not matter."""
    halves = loops(
        "AB",
        "for i in range(8):",
        *block(["16, i"], "B[v0] = A[v0]", name="first"),
        "for i in range(8):",
        *block(["16, i + 8"], "B[v0] = A[v0 - 8] * 2.0", name="second"),
    )
    sch = tir.Schedule(halves)
    sch.parallel(sch.get_loops("first")[0])
    sch.vectorize(sch.get_loops("second")[0])
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": halves})))

    program = func(["A:64", "B:64"], SUM.format(at="vi"))
    sch = tir.Schedule(program)
    sch.decompose_reduction("B", sch.get_loops("B")[2])
    with pytest.raises(tir.ScheduleError, match="not data parallel"):
        sch.parallel(sch.get_loops("B_update")[2])
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        sch.parallel(sch.get_loops("B_update")[0])  # what t adds to is the same
    sch.parallel(sch.get_loops("B_update")[1])
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))


def test_what_the_iterations_add_up():
    body = ["for i in range(8):", *block(["8, i"], "S[0] = S[0] + A[v0]", name="S")]
    body += block(["8, i"], "B[v0] = S[0]")
    program = func(["A:64", "B:64"], "\n".join(body), "S = T.alloc_buffer((1,))\n")
    with pytest.raises(tir.ScheduleError, match="elements of S"):
        apply(program, "parallel")


# ---- blocks of blocks ----


def nested(*inner, reads="T.reads(A[0:64])", writes="T.writes(B[0:64])"):
    lines = ["for i in range(8):", '    with T.block("outer"):', f"        {reads}"]
    return loops("AB", *lines, f"        {writes}", *inner)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_within_a_block(kind):
    def program(second):
        return nested(
            *block(["8, i"], "B[v0] = A[v0]", " " * 8, "first"),
            *block(["8, i"], f"B[{second}] = A[v0] * 2.0", " " * 8, "second"),
        )

    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program("7 - v0"), kind, block="outer")
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program("(v0 + 1) % 8"), kind, block="outer")
    apply(program("v0"), kind, block="outer")


def test_a_block_within_a_block():
    def program(store, value="8, i"):
        return nested("        for j in range(8):", *block([value, "8, j"], store, " " * 12))

    apply(program("B[v0 * 8 + v1] = A[v1]"), "parallel", block="outer")
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program("B[v0 + v1] = A[v1]"), "parallel", block="outer")
    # what several iterations store is the same
    one = nested("        for j in range(8):", *block(["16, i + j"], "B[v0] = A[v0]", " " * 12))
    apply(one, "parallel", block="outer")


def test_a_value_that_depends_on_the_loop_itself():
    """The run of the block is the same, what it stores is not."""
    program = loops(
        "AB", "for i, j in T.grid(4, 8):", *block(["8, j"], "B[v0] = A[v0] * T.cast(i, 'float32')")
    )
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program, "parallel")
    apply(program, "parallel", 1)


def test_runs_that_are_repeated():
    program = loops("AB", "for t, i in T.grid(4, 8):", *block(["8, i"], "B[v0] = A[v0]"))
    sch = apply(program, "parallel")
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))


SUM = """
for t, i, k in T.grid(2, 8, 8):
    with T.block("B"):
        vi, vk = T.axis.remap("SR", [i, k])
        with T.init():
            B[{at}] = 0.0
        B[{at}] = B[{at}] + A[vi * 8 + vk]
"""


def test_reductions():
    program = func(["A:64", "B:64"], SUM.format(at="vi"))
    apply(program, "parallel", 1)
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program, "parallel", 0)  # both would add to one sum
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(func(["A:64", "B:64"], SUM.format(at="vi // 2")), "parallel", 1)
    apply(program, "threadIdx.x", 2)  # threads reduce together


# ---- memory of each iteration ----

SCRATCH = """
for i in range(8):
    for j in range(8):
        with T.block("S"):
            vi, vj = T.axis.remap("SS", [i, j])
            S[vj] = A[vi * 8 + vj] * 2.0
    for j in range(8):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi * 8 + vj] = S[vj] + 1.0
"""


def test_scratch_memory():
    alloc = "S = T.alloc_buffer((8,))\n"
    program = func(["A:64", "B:64"], SCRATCH, alloc)
    sch = apply(program, "parallel")
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))
    with pytest.raises(tir.ScheduleError, match=AT_ONCE + ".* elements of S"):
        apply(func(["A:64", "S:8", "B:64"], SCRATCH), "parallel")
    after = """
for j in range(8):
    with T.block("D"):
        vj = T.axis.spatial(8, j)
        D[vj] = S[vj]
"""
    with pytest.raises(tir.ScheduleError, match=AT_ONCE + ".* elements of S"):
        apply(func(["A:64", "B:64", "D:8"], SCRATCH + after, alloc), "parallel")
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program, "blockIdx.x")  # global memory is that of all threads


@pytest.mark.parametrize(
    "memory, kind",
    [("shared", "threadIdx.x"), ("local", "blockIdx.x"), ("global.vtcm", "blockIdx.x")],
)
def test_memory_of_threads(memory, kind):
    program = func(["A:64", "B:64"], SCRATCH, f'S = T.alloc_buffer((8,), scope="{memory}")\n')
    if memory == "local":
        apply(program, kind)
        return
    with pytest.raises(tir.ScheduleError, match=AT_ONCE):
        apply(program, kind)


def test_memory_of_threads_that_is_read_after_the_loop():
    """The last value is the one that is read; each thread would read what it has stored."""
    body = ["for i in range(8):", *block(["8, i"], "S[0] = A[v0]", name="S")]
    body += ["for i in range(8):", *block(["8, i"], "B[v0] = S[0]")]
    alloc = 'S = T.alloc_buffer((1,), scope="local")\n'
    program = func(["A:64", "B:64"], "\n".join(body), alloc)
    with pytest.raises(tir.ScheduleError, match=AT_ONCE + ".* elements of S"):
        apply(program, "threadIdx.x", block="S")


def test_virtual_threads_do_not_take_turns():
    stores = [*block(["8, i"], "B[v0] = A[v0]"), *block(["8, i"], "D[v0] = B[7 - v0]", name="D")]
    program = loops("ABD", "for i in range(8):", *stores)
    with pytest.raises(tir.ScheduleError, match="may write in other iterations"):
        apply(program, "vthread.x")


# ---- the order of loops ----


def reordered(store, values=("8, i", "8, j"), extents="8, 8"):
    program = loops("AB", f"for i, j in T.grid({extents}):", *block(values, store))
    sch = tir.Schedule(program)
    i, j = sch.get_loops("B")
    sch.reorder(j, i)
    np.testing.assert_array_equal(run(sch.mod), run(tenon.IRModule({"main": program})))


@pytest.mark.parametrize("store", ["B[v0 + v1] = A[v0 * 8 + v1]", "B[0] = A[v0 * 8 + v1]"])
def test_reorder_of_writers(store):
    with pytest.raises(
        tir.ScheduleError, match="cannot change places.*the last one stays the last"
    ):
        reordered(store)


@pytest.mark.parametrize(
    "store",
    ["B[v0 * 8 + v1] = A[v0]", "B[v0] = A[v0 * 8 + v1]", "B[v1] = A[v0 * 8 + v1]"],
)
def test_reorder_keeps_the_last_writer(store):
    reordered(store)


def test_reorder_of_runs_that_are_repeated():
    reordered("B[v0] = A[v0]", ["16, i + j"])


def test_reorder_of_calls():
    """What a call writes through a pointer only the iterators say."""
    values = ["8, i", "8, j"]
    call = (
        "T.reads()\n        T.writes(B[0:64])\n"
        "        T.evaluate(T.call_extern('int32', 'f', B.data, v0, v1))"
    )
    sch = tir.Schedule(loops("B", "for i, j in T.grid(8, 8):", *block(values, call)))
    sch.reorder(*reversed(sch.get_loops("B")))


def test_reorder_of_a_sum_that_is_repeated():
    """The loop t is above the sums: each of them starts from zero."""
    sch = tir.Schedule(func(["A:64", "B:64"], SUM.format(at="vi")))
    t, i, k = sch.get_loops("B")
    sch.reorder(i, t)
    with pytest.raises(tir.ScheduleError, match="the last one stays the last"):
        sch.reorder(k, t)


def test_reorder_of_the_affine_loops():
    """Loops that keep their place may be used in any way."""
    values = ["64, i * i + j", "4, k"]
    program = loops("B", "for i, j, k in T.grid(6, 4, 4):", *block(values, "B[v0] = 1.0"))
    sch = tir.Schedule(program)
    i, j, k = sch.get_loops("B")
    with pytest.raises(tir.ScheduleError, match="affine"):
        sch.reorder(k, i)
    sch.reorder(k, j)


def test_two_launches():
    """Threads of loops one after the other differ in number, those of one launch do not."""
    program = loops(
        "AB",
        "for i in range(2):",
        "    for j in range(8):",
        *block(["16, i * 8 + j"], "A[v0 + 16] = A[v0]", " " * 8, "first"),
        "    for j in range(4):",
        *block(["8, i * 4 + j"], "B[v0] = 1.0", " " * 8),
    )
    sch = tir.Schedule(program)
    sch.bind(sch.get_loops("first")[1], "threadIdx.x")
    sch.bind(sch.get_loops("B")[1], "threadIdx.x")
    sch = tir.Schedule(program)
    sch.bind(sch.get_loops("first")[0], "blockIdx.x")
    sch.bind(sch.get_loops("first")[1], "threadIdx.x")
    with pytest.raises(tir.ScheduleError, match="another extent"):
        sch.bind(sch.get_loops("B")[1], "threadIdx.x")
