"""Schedules: blocks that move under loops of others."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure
from schedule_run import verified
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def chain(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (32, 32))
    C = T.match_buffer(c, (32, 32))
    B = T.alloc_buffer((32, 32))
    for i, j in T.grid(32, 32):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(32, 32):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0


def test_compute_at():
    sch = tir.Schedule(chain)
    block = sch.get_block("B")
    i, _ = sch.get_loops("C")
    sch.compute_at(block, i)

    @T.prim_func
    def expected(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        C = T.match_buffer(c, (32, 32))
        B = T.alloc_buffer((32, 32))
        for i in range(32):
            for ax0 in range(32):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, ax0])
                    B[vi, vj] = A[vi, vj] * 2.0
            for j in range(32):
                with T.block("C"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    C[vi, vj] = B[vi, vj] + 1.0

    verified(sch, chain, expected)
    assert sch.get(block).name_hint == "B" and sch.get(i).loop_var.name == "i"
    assert sch.trace.as_python()[-1] == (
        "sch.compute_at(block=b0, loop=l2, preserve_unit_loops=False, index=-1)"
    )
    assert sch.trace.as_json()[0][-1] == ["ComputeAt", ["b0", "l2"], [0, -1], []]


def test_unit_loops_may_be_kept():
    sch = tir.Schedule(chain)
    _, j = sch.get_loops("C")
    sch.compute_at("B", j, preserve_unit_loops=True)

    @T.prim_func
    def expected(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        C = T.match_buffer(c, (32, 32))
        B = T.alloc_buffer((32, 32))
        for i, j in T.grid(32, 32):
            for ax0, ax1 in T.grid(1, 1):
                with T.block("B"):
                    vi = T.axis.spatial(32, i + ax0)
                    vj = T.axis.spatial(32, j + ax1)
                    B[vi, vj] = A[vi, vj] * 2.0
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0

    verified(sch, chain, expected)


def test_reverse_compute_at_of_a_split_that_leaves_a_rest():
    sch = tir.Schedule(chain)
    i, j = sch.get_loops("B")
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 5])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.reverse_compute_at("C", j_0)

    @T.prim_func
    def expected(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (32, 32))
        C = T.match_buffer(c, (32, 32))
        B = T.alloc_buffer((32, 32))
        for i_0, j_0 in T.grid(4, 7):
            for i_1, j_1 in T.grid(8, 5):
                with T.block("B"):
                    vi = T.axis.spatial(32, i_0 * 8 + i_1)
                    vj = T.axis.spatial(32, j_0 * 5 + j_1)
                    T.where(j_0 * 5 + j_1 < 32)
                    B[vi, vj] = A[vi, vj] * 2.0
            for ax0, ax1 in T.grid(8, 5):
                with T.block("C"):
                    vi = T.axis.spatial(32, i_0 * 8 + ax0)
                    vj = T.axis.spatial(32, j_0 * 5 + ax1)
                    T.where(j_0 * 5 + ax1 < 32)
                    C[vi, vj] = B[vi, vj] + 1.0

    verified(sch, chain, expected)


@T.prim_func
def pooling(x: T.handle, y: T.handle):
    X = T.match_buffer(x, (32, 32))
    Y = T.match_buffer(y, (32, 32))
    cache = T.alloc_buffer((32, 32))
    for h, w in T.grid(32, 32):
        with T.block("cache"):
            vh, vw = T.axis.remap("SS", [h, w])
            cache[vh, vw] = X[vh, vw]
    for h_o, w_o, h_i, w_i, kh, kw in T.grid(4, 4, 8, 8, 3, 3):
        with T.block("compute"):
            vh = T.axis.spatial(32, h_o * 8 + h_i)
            vw = T.axis.spatial(32, w_o * 8 + w_i)
            vkh, vkw = T.axis.remap("RR", [kh, kw])
            with T.init():
                Y[vh, vw] = 0.0
            Y[vh, vw] = T.max(
                Y[vh, vw],
                T.if_then_else(
                    T.likely(1 <= vh + vkh and vh + vkh < 33 and 1 <= vw + vkw and vw + vkw < 33),
                    cache[vh + vkh - 1, vw + vkw - 1],
                    0.0,
                    dtype="float32",
                ),
            )


def test_compute_at_with_a_halo():
    sch = tir.Schedule(pooling)
    sch.compute_at("cache", sch.get_loops("compute")[1])
    text = sch.mod.script()
    assert "for ax0, ax1 in T.grid(10, 10):" in text
    assert "vh = T.axis.spatial(32, h_o * 8 - 1 + ax0)" in text
    assert "1 <= h_o * 8 + ax0 and h_o * 8 + ax0 < 33" in text
    verified(sch, pooling)


@T.prim_func
def flattened(x: T.handle, y: T.handle):
    X = T.match_buffer(x, (16, 16))
    Y = T.match_buffer(y, (256,))
    temp = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("A"):
            vi, vj = T.axis.remap("SS", [i, j])
            temp[vi, vj] = X[vj, vi] + 1.0
    for i in range(256):
        with T.block("B"):
            vi = T.axis.remap("S", [i])
            Y[vi] = temp[vi // 16, vi % 16]


def test_quotients_and_remainders():
    sch = tir.Schedule(flattened)
    i, _ = sch.get_loops("A")
    sch.reverse_compute_at("B", i)

    @T.prim_func
    def expected(x: T.handle, y: T.handle):
        X = T.match_buffer(x, (16, 16))
        Y = T.match_buffer(y, (256,))
        temp = T.alloc_buffer((16, 16))
        for i in range(16):
            for j in range(16):
                with T.block("A"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    temp[vi, vj] = X[vj, vi] + 1.0
            for ax0 in range(16):
                with T.block("B"):
                    vi = T.axis.spatial(256, i * 16 + ax0)
                    Y[vi] = temp[vi // 16, vi % 16]

    verified(sch, flattened, expected)


@T.prim_func
def repeat(x: T.Buffer((4,), "float32"), y: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((4,))
    for i in range(4):
        with T.block("B"):
            vi = T.axis.spatial(4, i)
            B[vi] = x[vi] + 1.0
    for i_0, i_1 in T.grid(8, 8):
        with T.block("C"):
            vi = T.axis.spatial(64, i_0 * 8 + i_1)
            y[vi] = B[vi // 16]


def test_what_many_iterations_need_in_common():
    sch = tir.Schedule(repeat)
    sch.compute_at("B", sch.get_loops("C")[0])

    @T.prim_func
    def expected(x: T.Buffer((4,), "float32"), y: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((4,))
        for i_0 in range(8):
            with T.block("B"):
                vi = T.axis.spatial(4, i_0 // 2)
                B[vi] = x[vi] + 1.0
            for i_1 in range(8):
                with T.block("C"):
                    vi = T.axis.spatial(64, i_0 * 8 + i_1)
                    y[vi] = B[vi // 16]

    verified(sch, repeat, expected)
    again = tir.Schedule(repeat)
    again.reverse_compute_at("C", again.get_loops("B")[0])
    assert "vi = T.axis.spatial(64, i * 16 + ax0)" in again.mod.script()
    verified(again, repeat)


@T.prim_func
def matmul_relu(a: T.handle, b: T.handle, d: T.handle):
    A = T.match_buffer(a, (32, 16))
    B = T.match_buffer(b, (16, 32))
    D = T.match_buffer(d, (32, 32))
    C = T.alloc_buffer((32, 32))
    for i, j, k in T.grid(32, 32, 16):
        with T.block("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
    for i, j in T.grid(32, 32):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = T.max(C[vi, vj], 0.0)


def test_a_reduction_under_a_tile():
    sch = tir.Schedule(matmul_relu)
    i, j = sch.get_loops("D")
    i_0, i_1 = sch.split(i, [None, 8])
    j_0, j_1 = sch.split(j, [None, 8])
    sch.reorder(i_0, j_0, i_1, j_1)
    sch.compute_at("C", j_0)
    assert "for ax0, ax1, k in T.grid(8, 8, 16)" not in sch.mod.script()
    assert "for ax0, ax1, ax2 in T.grid(8, 8, 16):" in sch.mod.script()
    verified(sch, matmul_relu)


def test_memory_that_threads_share():
    sch = tir.Schedule(chain)
    sch.set_scope("B", 0, "shared")
    i, j = sch.get_loops("C")
    sch.bind(i, "blockIdx.x")
    j_0, j_1 = sch.split(j, [None, 8])
    sch.bind(j_0, "threadIdx.x")
    sch.compute_at("B", j_0)
    text = sch.mod.script()
    assert "for ax0 in range(32):" in text  # each thread fills what all of the group read
    local = tir.Schedule(chain)
    local.set_scope("B", 0, "local")
    i, j = local.get_loops("C")
    j_0, j_1 = local.split(j, [None, 8])
    local.bind(j_0, "threadIdx.x")
    local.compute_at("B", j_0)
    assert "for ax0 in range(8):" in local.mod.script()


@T.prim_func
def three(a: T.handle, d: T.handle):
    A = T.match_buffer(a, (16,))
    D = T.match_buffer(d, (16,))
    B = T.alloc_buffer((16,))
    C = T.alloc_buffer((16,))
    for i in range(16):
        with T.block("B"):
            vi = T.axis.remap("S", [i])
            B[vi] = A[vi] + 1.0
    for i in range(16):
        with T.block("C"):
            vi = T.axis.remap("S", [i])
            C[vi] = A[vi] + 2.0
    for i in range(16):
        with T.block("D"):
            vi = T.axis.remap("S", [i])
            D[vi] = B[vi] * C[vi]


@pytest.mark.parametrize("index, order", [(-1, "CBD"), (-2, "BCD"), (0, "BCD"), (1, "CBD")])
def test_places_below_the_loop(index, order):
    sch = tir.Schedule(three)
    (loop,) = sch.get_loops("D")
    sch.compute_at("C", loop)
    sch.compute_at("B", loop, index=index)
    text = sch.mod.script()
    assert sorted("BCD", key=lambda name: text.index(f'T.block("{name}")')) == list(order)
    verified(sch, three)


def test_a_place_that_is_none():
    sch = tir.Schedule(three)
    (loop,) = sch.get_loops("D")
    assert "Valid index below the loop" in failure(sch.compute_at, "C", loop, index=3)


def test_symbolic_shapes():
    @T.prim_func
    def program(a: T.handle, c: T.handle, n: T.int32):
        A = T.match_buffer(a, (n, 64))
        C = T.match_buffer(c, (n, 64))
        B = T.alloc_buffer((n, 64))
        for i, j in T.grid(n, 64):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i, j in T.grid(n, 64):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0

    sch = tir.Schedule(program)
    i, j = sch.get_loops("C")
    i_0, i_1 = sch.split(i, [None, 32])
    sch.compute_at("B", i_0)
    text = sch.mod.script()
    assert "vi = T.axis.spatial(n, i_0 * 32 + ax0)" in text
    assert "T.where(i_0 * 32 + ax0 < n)" in text
    verified(sch, program, run=False)


# ---- what is refused ----


def test_output_blocks_stay():
    sch = tir.Schedule(chain)
    i, _ = sch.get_loops("B")
    assert "tir.Block#0 is an output block" in failure(sch.compute_at, "C", i)


def test_loops_around_the_block():
    sch = tir.Schedule(chain)
    i, _ = sch.get_loops("B")
    assert "ancestor of block" in failure(sch.compute_at, "B", i)
    i, _ = sch.get_loops("C")
    assert "ancestor of block" in failure(sch.reverse_compute_at, "C", i)


def test_another_scope():
    @T.prim_func
    def program(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 16))
        C = T.match_buffer(c, (16, 16))
        B = T.alloc_buffer((16, 16))
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for i in range(16):
            with T.block("outer"):
                vi = T.axis.remap("S", [i])
                for j in range(16):
                    with T.block("C"):
                        vj = T.axis.remap("S", [j])
                        C[vi, vj] = B[vi, vj] + 1.0

    sch = tir.Schedule(program)
    (j,) = sch.get_loops("C")
    assert "same block scope" in failure(sch.compute_at, "B", j)
    (i,) = sch.get_loops("outer")
    sch.compute_at("B", i)
    verified(sch, program)


def test_all_users_must_be_below_the_loop():
    sch = tir.Schedule(three)
    (b,), (c,) = sch.get_loops("B"), sch.get_loops("C")
    assert "requires all the consumer" in failure(sch.compute_at, "B", c)
    assert "requires all the producer" in failure(sch.reverse_compute_at, "D", b)
    # no user of what it makes, and nothing to come after
    assert "uses no result" in failure(sch.reverse_compute_at, "B", c)
    fast = tir.Schedule(three, error_render_level="fast")
    (c,) = fast.get_loops("C")
    assert failure(fast.compute_at, "B", c).startswith(
        "ScheduleError: The primitive requires all the consumer(s)"
    )


def test_blocks_that_are_neither_complete_nor_reductions():
    sch = tir.Schedule(matmul_relu)
    i, _, _ = sch.get_loops("C")
    sch.decompose_reduction("C", i)
    loop, _ = sch.get_loops("D")
    assert "not a complete block" in failure(sch.compute_at, "C_update", loop)


def test_scopes_that_are_no_pipeline():
    @T.prim_func
    def half(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16,))
        C = T.match_buffer(c, (16,))
        B = T.alloc_buffer((16,))
        for i in range(8):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi] * 2.0
        for i in range(16):
            with T.block("C"):
                vi = T.axis.remap("S", [i])
                C[vi] = B[vi] + 1.0

    sch = tir.Schedule(half)
    (i,) = sch.get_loops("C")
    assert "not a stage pipeline" in failure(sch.compute_at, "B", i)
    assert "root block" in failure(sch.compute_at, "root", i)


def test_the_only_block_of_a_scope():
    @T.prim_func
    def program(a: T.handle, c: T.handle):
        A = T.match_buffer(a, (16,))
        C = T.match_buffer(c, (16,))
        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] * 2.0
            for u in range(1):
                with T.block("C"):
                    vi = T.axis.spatial(16, i + u)
                    C[vi] = B[vi] + 1.0

    sch = tir.Schedule(program)
    _, j = sch.get_loops("C")
    sch.compute_at("B", j)
    verified(sch, program)
    assert len(sch.get_loops("B")) == 2


def test_reverse_compute_at_of_a_block_that_reads_beyond_the_buffer():
    """No iteration of the producer stands for the last three of the consumer."""

    @T.prim_func
    def padded(A: T.Buffer((5,), "float32"), C: T.Buffer((2, 4), "float32")):
        B = T.alloc_buffer((5,))
        for i in range(5):
            with T.block("B"):
                vi = T.axis.spatial(5, i)
                B[vi] = A[vi] + 1.0
        for i, j in T.grid(2, 4):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = T.if_then_else(vi * 4 + vj < 5, B[vi * 4 + vj], 0.0)

    sch = tir.Schedule(padded, debug_mask="all")
    said = failure(sch.reverse_compute_at, "C", sch.get_loops("B")[0])
    assert "at which block tir.Block#0 reads B may lie outside of it" in said
    whole = tir.Schedule(padded, debug_mask="all")
    assert whole.mod == sch.mod or tenon.ir.structural_equal(whole.mod, sch.mod)


def test_compute_at_of_digits_of_an_index():
    """Of 0 to 4 the digits are not those between (0, 0) and (1, 0)."""

    @T.prim_func
    def digits(A: T.Buffer((8,), "float32"), C: T.Buffer((4,), "float32")):
        B = T.alloc_buffer((8,))
        for i, j in T.grid(2, 4):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi * 4 + vj] = A[vi * 4 + vj] + 1.0
        for i in range(4):
            with T.block("C"):
                vi = T.axis.spatial(4, i)
                C[vi] = B[vi] + B[vi + 1] + B[vi + 2] + B[vi + 3] + B[vi + 4]

    sch = tir.Schedule(digits, debug_mask="all")
    sch.compute_at(sch.get_block("B"), sch.get_loops(sch.get_block("C"))[0])
    a, out = np.arange(8, dtype="float32"), tenon.nd.empty((4,))
    tenon.build(sch.mod["main"], target="stackvm", name="main")["main"](tenon.nd.array(a), out)
    np.testing.assert_array_equal(out.numpy(), [sum(a[i : i + 5] + 1) for i in range(4)])


@T.prim_func
def dynamic_rows(A: T.handle, C: T.handle):
    n = T.int32()
    a = T.match_buffer(A, (8, n))
    c = T.match_buffer(C, (8, n))
    b = T.alloc_buffer((8, n))
    for i in range(n * 8):
        with T.block("B"):
            vi = T.axis.spatial(8, i // n)
            vj = T.axis.spatial(n, i % n)
            b[vi, vj] = a[vi, vj] * 2.0
    for i, j in T.grid(8, n):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            c[vi, vj] = b[vi, vj] + 1.0


def test_iterators_stay_in_their_domains():
    sch = tir.Schedule(dynamic_rows, debug_mask="all")
    loop = sch.get_loops("B")[0]
    sch.reverse_compute_at("C", loop)
    assert sch.get(loop).body[1].predicate == 1


@T.prim_func
def rows_in_part(A: T.handle, C: T.handle):
    n = T.int32()
    m = T.int32()
    a = T.match_buffer(A, (8, n))
    c = T.match_buffer(C, (8, n, m))
    b = T.alloc_buffer((8, n))
    for i, j in T.grid(8, n):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            b[vi, vj] = a[vi, vj] * 2.0
    for i in range(n * 8):
        for k in range(m):
            with T.block("C"):
                vi = T.axis.spatial(8, i // n)
                vj = T.axis.spatial(n, i % n)
                vk = T.axis.spatial(m, k)
                c[vi, vj, vk] = b[vi, vj] + 1.0


def test_nothing_is_known_of_a_block_that_may_not_run():
    """Of no k: then the values at i are not those of the iterators of C."""
    sch = tir.Schedule(rows_in_part)
    loop = sch.get_loops("C")[0]
    sch.compute_at("B", loop)
    assert "// n < 8" in str(sch.get(loop).body[0].predicate)
