"""Schedules: copies of buffers in other memories."""

import pytest
from schedule_programs import chain, failure, matmul
from schedule_run import verified
from tenon import tir
from tenon.script import tir as T


@T.prim_func
def one_for_two(a: T.handle, c: T.handle, d: T.handle):
    A = T.match_buffer(a, (16, 16))
    C = T.match_buffer(c, (16, 16))
    D = T.match_buffer(d, (16, 16))
    B = T.alloc_buffer((16, 16))
    for i, j in T.grid(16, 16):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] * 2.0
    for i, j in T.grid(16, 16):
        with T.block("C"):
            vi, vj = T.axis.remap("SS", [i, j])
            C[vi, vj] = B[vi, vj] + 1.0
    for i, j in T.grid(16, 16):
        with T.block("D"):
            vi, vj = T.axis.remap("SS", [i, j])
            D[vi, vj] = B[vi, vj] + 2.0


def test_all_users_read_the_copy():
    sch = tir.Schedule(one_for_two)
    copy = sch.cache_read("C", 0, "global")

    @T.prim_func
    def expected(a: T.handle, c: T.handle, d: T.handle):
        A = T.match_buffer(a, (16, 16))
        C = T.match_buffer(c, (16, 16))
        D = T.match_buffer(d, (16, 16))
        B = T.alloc_buffer((16, 16))
        B_global = T.alloc_buffer((16, 16))
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for ax0, ax1 in T.grid(16, 16):
            with T.block("B_global"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B_global[v0, v1] = B[v0, v1]
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B_global[vi, vj] + 1.0
        for i, j in T.grid(16, 16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B_global[vi, vj] + 2.0

    verified(sch, one_for_two, expected)
    assert sch.get(copy).name_hint == "B_global"
    consumers = [sch.get(b).name_hint for b in sch.get_consumers(copy)]
    assert consumers == ["C", "D"]


def test_some_users_read_the_copy():
    sch = tir.Schedule(one_for_two)
    sch.cache_read("C", "B", "global", consumer_blocks=["D"])
    text = sch.mod.script()
    assert "C[vi, vj] = B[vi, vj]" in text and "D[vi, vj] = B_global[vi, vj]" in text
    assert sch.trace.as_python()[-1] == (
        'b2 = sch.cache_read(block=b0, read_buffer_index=0, storage_scope="global", '
        "consumer_blocks=[b1])"
    )
    assert sch.trace.as_json()[0][-1] == ["CacheRead", ["b0", ["b1"]], [0, "global"], ["b2"]]
    verified(sch, one_for_two)


def test_traces_without_consumers():
    sch = tir.Schedule(one_for_two)
    steps = [["GetBlock", [], ["C", "main"], ["b0"]]]
    for inputs in (["b0"], ["b0", []]):
        again = tir.Schedule(one_for_two)
        json = [steps + [["CacheRead", inputs, [0, "global"], ["b1"]]], []]
        tir.schedule.Trace.apply_json_to_schedule(json, again)
        assert again.trace.as_json()[0][-1] == ["CacheRead", ["b0", []], [0, "global"], ["b1"]]
    assert sch.trace.as_python() == []


def test_some_users_read_the_memory_that_is_written():
    sch = tir.Schedule(one_for_two)
    sch.cache_write("B", 0, "global", consumer_blocks=["C"])

    @T.prim_func
    def expected(a: T.handle, c: T.handle, d: T.handle):
        A = T.match_buffer(a, (16, 16))
        C = T.match_buffer(c, (16, 16))
        D = T.match_buffer(d, (16, 16))
        B = T.alloc_buffer((16, 16))
        B_global = T.alloc_buffer((16, 16))
        for i, j in T.grid(16, 16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B_global[vi, vj] = A[vi, vj] * 2.0
        for ax0, ax1 in T.grid(16, 16):
            with T.block("B_global"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[v0, v1] = B_global[v0, v1]
        for i, j in T.grid(16, 16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B_global[vi, vj] + 1.0
        for i, j in T.grid(16, 16):
            with T.block("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = B[vi, vj] + 2.0

    verified(sch, one_for_two, expected)


@T.prim_func
def rows(a: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 16))
    C = T.match_buffer(c, (16, 16))
    B = T.alloc_buffer((16, 16))
    for i in range(16):
        for j in range(16):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * 2.0
        for j in range(16):
            with T.block("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] + 1.0


@pytest.mark.parametrize("write", [False, True])
def test_copies_within_loops(write):
    sch = tir.Schedule(rows)
    copy = sch.cache_write("B", 0, "local") if write else sch.cache_read("C", 0, "local")
    loops = [sch.get(loop) for loop in sch.get_loops(copy)]
    assert [str(f.loop_var.name) for f in loops] == ["i", "ax0", "ax1"]
    assert [int(f.extent) for f in loops] == [16, 1, 16]
    assert "v0 = T.axis.spatial(16, i + ax0)" in sch.mod.script()
    assert "B_local = T.alloc_buffer((16, 16), scope=" in sch.mod.script()
    verified(sch, rows)


def test_only_what_is_written_is_copied():
    @T.prim_func
    def middle(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (16, 16))
        B = T.match_buffer(b, (16, 16))
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(16, j)
                B[vi + 4, vj] = A[vi, vj] * 2.0

    sch = tir.Schedule(middle)
    sch.cache_write("B", 0, "global")

    @T.prim_func
    def expected(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (16, 16))
        B = T.match_buffer(b, (16, 16))
        B_global = T.alloc_buffer((8, 16))
        for i, j in T.grid(8, 16):
            with T.block("B"):
                vi = T.axis.spatial(8, i)
                vj = T.axis.spatial(16, j)
                B_global[vi, vj] = A[vi, vj] * 2.0
        for ax0, ax1 in T.grid(8, 16):
            with T.block("B_global"):
                v0, v1 = T.axis.remap("SS", [ax0, ax1])
                B[4 + v0, v1] = B_global[v0, v1]

    verified(sch, middle, expected)


def test_only_what_a_block_reads_is_copied():
    @T.prim_func
    def tiles(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (16, 16))
        B = T.match_buffer(b, (16, 16))
        for i in range(4):
            with T.block("tile"):
                vi = T.axis.spatial(4, i)
                T.reads(A[vi * 4 : vi * 4 + 4, 0:16])
                T.writes(B[vi * 4 : vi * 4 + 4, 0:16])
                for k, j in T.grid(4, 16):
                    with T.block("B"):
                        vk, vj = T.axis.remap("SS", [k, j])
                        B[vi * 4 + vk, vj] = A[vi * 4 + vk, vj] * 2.0

    sch = tir.Schedule(tiles)
    sch.cache_read("B", 0, "global")
    text = sch.mod.script()
    assert "A_global = T.alloc_buffer((4, 16))" in text
    assert "A_global[vk, vj] * T.float32(2.0)" in text
    verified(sch, tiles)


def test_predicates_limit_what_is_copied():
    @T.prim_func
    def program(c: T.Buffer((120,), "float32")):
        A = T.alloc_buffer((120,))
        for i, j in T.grid(16, 8):
            with T.block("producer"):
                T.where(i * 8 + j < 120)
                ax = T.axis.spatial(120, i * 8 + j)
                A[ax] = T.Cast("float32", ax)
        for i, j in T.grid(16, 8):
            with T.block("consumer"):
                T.where(i * 8 + j < 120)
                ax = T.axis.spatial(120, i * 8 + j)
                c[ax] = A[ax] + 1.0

    for write in (False, True):
        sch = tir.Schedule(program)
        step, block = (sch.cache_write, "producer") if write else (sch.cache_read, "consumer")
        step(block, 0, "shared")
        assert "for ax0 in range(120):" in sch.mod.script()
        assert 'A_shared = T.alloc_buffer((120,), scope="shared")' in sch.mod.script()
        verified(sch, program)


def test_opaque_uses_follow():
    @T.prim_func
    def program(a: T.Buffer((16,), "float32"), c: T.Buffer((16,), "float32")):
        B = T.alloc_buffer((16,))
        for i in range(16):
            with T.block("B"):
                vi = T.axis.remap("S", [i])
                B[vi] = a[vi]
        with T.block("call"):
            T.reads(B[0:16])
            T.writes(c[0:16])
            view = T.match_buffer(B[0:16], (16,), "float32")
            T.evaluate(T.call_extern("int32", "copy", c.data, B.data, view.data))

    sch = tir.Schedule(program)
    sch.cache_read("call", 0, "global")
    text = sch.mod.script()
    assert "c.data, B_global.data, view.data" in text
    assert "T.reads(B_global[0:16])" in text and "T.match_buffer(B_global[0:16]" in text


@T.prim_func
def in_place(io: T.Buffer((64,), "float32")):
    B = T.alloc_buffer((64,))
    for i in range(64):
        with T.block("in"):
            vi = T.axis.remap("S", [i])
            B[vi] = io[vi]
    for _u in range(1):
        with T.block("work"):
            T.reads(B[0:64])
            T.writes(B[0:64])
            for i in range(64):
                B[i] = B[i] * 2.0
    for i in range(64):
        with T.block("out"):
            vi = T.axis.remap("S", [i])
            io[vi] = B[vi]


def test_cache_inplace():
    sch = tir.Schedule(in_place)
    before, after = sch.cache_inplace("work", 0, "local")

    @T.prim_func
    def expected(io: T.Buffer((64,), "float32")):
        B = T.alloc_buffer((64,))
        B_local = T.alloc_buffer((64,), scope="local")
        for i in range(64):
            with T.block("in"):
                vi = T.axis.remap("S", [i])
                B[vi] = io[vi]
        for _u in range(1):
            for ax0 in range(64):
                with T.block("B_local"):
                    v0 = T.axis.remap("S", [ax0])
                    B_local[v0] = B[v0]
            with T.block("work"):
                T.reads(B_local[0:64])
                T.writes(B_local[0:64])
                for i in range(64):
                    B_local[i] = B_local[i] * 2.0
            for ax0 in range(64):
                with T.block("B_local"):
                    v0 = T.axis.remap("S", [ax0])
                    B[v0] = B_local[v0]
        for i in range(64):
            with T.block("out"):
                vi = T.axis.remap("S", [i])
                io[vi] = B[vi]

    verified(sch, in_place, expected)
    assert sch.get(before).writes[0].buffer.name == "B_local"
    assert sch.get(after).reads[0].buffer.name == "B_local"


def test_cache_inplace_copies_what_is_written():
    @T.prim_func
    def shift(A: T.Buffer((64,), "float32")):
        for i in range(2, 31):
            with T.block("work"):
                vi = T.axis.spatial((2, 31), i)
                T.reads(A[vi])
                T.writes(A[vi + 32 : vi + 34])
                A[vi + 32] = A[vi] * 2.0

    sch = tir.Schedule(shift)
    before, after = sch.cache_inplace("work", 0, "local")
    verified(sch, shift)
    assert sch.get(after).writes[0].buffer.name == "A"


def test_cache_write_of_what_init_writes():
    sch = tir.Schedule(matmul())
    outer, inner = sch.split(sch.get_loops("C")[2], [None, 8])
    sch.blockize(inner)
    assert "The init of" in failure(sch.cache_write, "C", 0, "local")
    assert "The init of" in failure(sch.reindex, "C", ("write", 0))
    start = matmul()
    sch = tir.Schedule(start)
    outer = sch.blockize(sch.split(sch.get_loops("C")[2], [None, 8])[1])
    sch.cache_write(outer, 0, "global")
    verified(sch, start)


def test_what_cannot_be_cached():
    sch = tir.Schedule(chain())
    assert "out of the expected range" in failure(sch.cache_read, "B", 1, "shared")
    assert "has 1 write buffers" in failure(sch.cache_write, "B", -1, "shared")
    assert '"elsewhere" is invalid' in failure(sch.cache_read, "B", 0, "elsewhere")
    assert "does not both read and write" in failure(sch.cache_inplace, "B", 0, "local")
    sch = tir.Schedule(matmul())
    sch.decompose_reduction("C", sch.get_loops("C")[2])
    assert "by single block" in failure(sch.cache_write, "C_update", 0, "local")


def test_regions_that_nobody_wrote():
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
    assert "region cover is not complete" in failure(sch.cache_read, "C", 0, "local")


def test_a_copy_stays_within_the_buffer():
    @T.prim_func
    def program(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (33,))
        B = T.match_buffer(b, (33,))
        for i_0, i_1 in T.grid(8, 8):
            with T.block("B"):
                vi = T.axis.spatial(33, i_0 * 5 + i_1)
                T.where(i_0 * 5 + i_1 < 33 and i_1 < 5)
                B[vi] = A[vi] * 2.0

    sch = tir.Schedule(program)
    sch.cache_write("B", 0, "local")
    assert int(sch.get(sch.get_loops(sch.get_block("B_local"))[0]).extent) == 33
