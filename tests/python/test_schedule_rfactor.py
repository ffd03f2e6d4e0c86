"""Schedules: reductions made in parts."""

import numpy as np
import pytest
import tenon
from schedule_programs import failure, func
from schedule_run import verified
from tenon import te, tir
from tenon.script import tir as T


@T.prim_func
def matmul(a: T.handle, b: T.handle, c: T.handle):
    A = T.match_buffer(a, (16, 32))
    B = T.match_buffer(b, (16, 32))
    C = T.match_buffer(c, (16, 16))
    for i, j, k in T.grid(16, 16, 32):
        with T.block("update"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = 0.0
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vj, vk]


def test_a_part_of_a_split_reduction():
    sch = tir.Schedule(matmul)
    block = sch.get_block("update")
    i, _, k = sch.get_loops(block)
    k_0, k_1 = sch.split(k, [None, 8])
    k_1_0, k_1_1 = sch.split(k_1, [None, 4])
    rf = sch.rfactor(k_1_1, 0)

    @T.prim_func
    def expected(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (16, 32))
        B = T.match_buffer(b, (16, 32))
        C = T.match_buffer(c, (16, 16))
        C_rf = T.alloc_buffer((4, 16, 16))
        for i, j, k_0, k_1_0, k_1_1 in T.grid(16, 16, 4, 2, 4):
            with T.block("update_rf"):
                vk_1_1, vi, vj, vk_0, vk_1_0 = T.axis.remap("SSSRR", [k_1_1, i, j, k_0, k_1_0])
                with T.init():
                    C_rf[vk_1_1, vi, vj] = 0.0
                C_rf[vk_1_1, vi, vj] = (
                    C_rf[vk_1_1, vi, vj]
                    + A[vi, vk_0 * 8 + vk_1_0 * 4 + vk_1_1] * B[vj, vk_0 * 8 + vk_1_0 * 4 + vk_1_1]
                )
        for i, j, k_1_1 in T.grid(16, 16, 4):
            with T.block("update"):
                vk_1_1, vi, vj = T.axis.remap("RSS", [k_1_1, i, j])
                with T.init():
                    C[vi, vj] = 0.0
                C[vi, vj] = C[vi, vj] + C_rf[vk_1_1, vi, vj]

    verified(sch, matmul, expected)
    assert sch.get(rf).name_hint == "update_rf" and sch.get(block).name_hint == "update"
    assert [str(sch.get(x).loop_var.name) for x in sch.get_loops(block)] == ["i", "j", "k_1_1"]
    assert sch.get(i).loop_var.same_as(sch.get(sch.get_loops(block)[0]).loop_var)
    with pytest.raises(IndexError):
        sch.get(k_0)
    assert sch.trace.as_json()[0][4] == ["RFactor", ["l7"], [0], ["b8"]]


@pytest.mark.parametrize("axis, shape", [(0, [32, 16, 16]), (-1, [16, 16, 32]), (1, [16, 32, 16])])
def test_the_new_axis(axis, shape):
    sch = tir.Schedule(matmul)
    rf = sch.rfactor(sch.get_loops("update")[2], axis)
    assert [int(n) for n in sch.get(rf).writes[0].buffer.shape] == shape
    verified(sch, matmul)


def test_parts_that_are_values():
    @T.prim_func
    def total(a: T.Buffer((64,), "float32"), b: T.Buffer((), "float32")):
        for i in range(64):
            with T.block("B"):
                vi = T.axis.reduce(64, i)
                with T.init():
                    b[()] = 0.0
                b[()] = b[()] + a[vi]

    sch = tir.Schedule(total)
    sch.rfactor(sch.get_loops("B")[0], 0)

    @T.prim_func
    def expected(a: T.Buffer((64,), "float32"), b: T.Buffer((), "float32")):
        b_rf = T.alloc_buffer((64,))
        for i in range(64):
            with T.block("B_rf"):
                vi = T.axis.spatial(64, i)
                b_rf[vi] = a[vi]
        for i in range(64):
            with T.block("B"):
                vi = T.axis.reduce(64, i)
                with T.init():
                    b[()] = 0.0
                b[()] = b[()] + b_rf[vi]

    verified(sch, total, expected)


def test_the_rest_of_the_outer_loop_follows():
    @T.prim_func
    def program(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (8, 16, 16))
        D = T.match_buffer(d, (8,))
        C = T.alloc_buffer((8,))
        for b in range(8):
            for i, j in T.grid(16, 16):
                with T.block("C"):
                    vb, vi, vj = T.axis.remap("SRR", [b, i, j])
                    with T.init():
                        C[vb] = 0.0
                    C[vb] = C[vb] + A[vb, vi, vj] * A[vb, vi, vj]
            with T.block("D"):
                vb = T.axis.spatial(8, b)
                D[vb] = C[vb] * 2.0

    sch = tir.Schedule(program)
    sch.rfactor(sch.get_loops("C")[2], 1)

    @T.prim_func
    def expected(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (8, 16, 16))
        D = T.match_buffer(d, (8,))
        C = T.alloc_buffer((8,))
        C_rf = T.alloc_buffer((8, 16))
        for b, i, j in T.grid(8, 16, 16):
            with T.block("C_rf"):
                vj, vb, vi = T.axis.remap("SSR", [j, b, i])
                with T.init():
                    C_rf[vb, vj] = 0.0
                C_rf[vb, vj] = C_rf[vb, vj] + A[vb, vi, vj] * A[vb, vi, vj]
        for b in range(8):
            for j in range(16):
                with T.block("C"):
                    vj, vb = T.axis.remap("RS", [j, b])
                    with T.init():
                        C[vb] = 0.0
                    C[vb] = C[vb] + C_rf[vb, vj]
            with T.block("D"):
                vb = T.axis.spatial(8, b)
                D[vb] = C[vb] * 2.0

    verified(sch, program, expected)


@T.prim_func
def argmax(
    idx: T.Buffer((8, 32), "int32"),
    val: T.Buffer((8, 32), "float32"),
    argmax_v0: T.Buffer((8,), "int32"),
    argmax_v1: T.Buffer((8,), "float32"),
):
    for i0, i1 in T.grid(8, 32):
        with T.block("argmax"):
            i = T.axis.spatial(8, i0)
            k = T.axis.reduce(32, i1)
            T.reads(idx[i, k], val[i, k])
            T.writes(argmax_v0[i], argmax_v1[i])
            with T.init():
                argmax_v0[i] = -1
                argmax_v1[i] = T.min_value("float32")
            v_v0: T.int32 = T.Select(argmax_v1[i] >= val[i, k], argmax_v0[i], idx[i, k])
            v_v1: T.float32 = T.Select(argmax_v1[i] >= val[i, k], argmax_v1[i], val[i, k])
            argmax_v0[i] = v_v0
            argmax_v1[i] = v_v1


def test_argmax():
    sch = tir.Schedule(argmax)
    _, k = sch.get_loops("argmax")
    _, k_1 = sch.split(k, [None, 8])
    sch.rfactor(k_1, 1)

    @T.prim_func
    def expected(
        idx: T.Buffer((8, 32), "int32"),
        val: T.Buffer((8, 32), "float32"),
        argmax_v0: T.Buffer((8,), "int32"),
        argmax_v1: T.Buffer((8,), "float32"),
    ):
        v0_rf = T.alloc_buffer((8, 8), "int32")
        v1_rf = T.alloc_buffer((8, 8))
        for i0, i1_0, i1_1 in T.grid(8, 4, 8):
            with T.block("argmax_rf"):
                vi1_1, i, vi1_0 = T.axis.remap("SSR", [i1_1, i0, i1_0])
                T.reads(idx[i, vi1_0 * 8 + vi1_1], val[i, vi1_0 * 8 + vi1_1])
                T.writes(v0_rf[i, vi1_1], v1_rf[i, vi1_1])
                with T.init():
                    v0_rf[i, vi1_1] = -1
                    v1_rf[i, vi1_1] = T.min_value("float32")
                v_v0: T.int32 = T.Select(
                    v1_rf[i, vi1_1] >= val[i, vi1_0 * 8 + vi1_1],
                    v0_rf[i, vi1_1],
                    idx[i, vi1_0 * 8 + vi1_1],
                )
                v_v1: T.float32 = T.Select(
                    v1_rf[i, vi1_1] >= val[i, vi1_0 * 8 + vi1_1],
                    v1_rf[i, vi1_1],
                    val[i, vi1_0 * 8 + vi1_1],
                )
                v0_rf[i, vi1_1] = v_v0
                v1_rf[i, vi1_1] = v_v1
        for i0, i1_1 in T.grid(8, 8):
            with T.block("argmax"):
                vi1_1, i = T.axis.remap("RS", [i1_1, i0])
                T.reads(v0_rf[i, vi1_1], v1_rf[i, vi1_1])
                T.writes(argmax_v0[i], argmax_v1[i])
                with T.init():
                    argmax_v0[i] = -1
                    argmax_v1[i] = T.min_value("float32")
                w_v0: T.int32 = T.Select(
                    argmax_v1[i] >= v1_rf[i, vi1_1], argmax_v0[i], v0_rf[i, vi1_1]
                )
                w_v1: T.float32 = T.Select(
                    argmax_v1[i] >= v1_rf[i, vi1_1], argmax_v1[i], v1_rf[i, vi1_1]
                )
                argmax_v0[i] = w_v0
                argmax_v1[i] = w_v1

    verified(sch, argmax, expected, run=False)
    named = sch.mod["main"].with_attr("global_symbol", "main")
    built = tenon.build(tenon.IRModule({"main": named}), target="llvm")
    values = np.random.default_rng(3).permutation(8 * 32).reshape(8, 32).astype("float32")
    numbers = np.tile(np.arange(32, dtype="int32"), (8, 1))
    out = [tenon.nd.array(np.zeros(8, "int32")), tenon.nd.array(np.zeros(8, "float32"))]
    built["main"](tenon.nd.array(numbers), tenon.nd.array(values), *out)
    np.testing.assert_array_equal(out[0].numpy(), values.argmax(axis=1))
    np.testing.assert_array_equal(out[1].numpy(), values.max(axis=1))


def test_argmin_of_a_tensor_expression():
    first = lambda x, y: (  # noqa: E731
        tir.Select(tir.any(x[1] < y[1], tir.all(x[1] == y[1], x[0] < y[0])), x[0], y[0]),
        tir.Select(x[1] < y[1], x[1], y[1]),
    )
    none = lambda i, v: (tir.const(-1, i), te.max_value(v))  # noqa: E731
    argmin = te.comm_reducer(first, none, name="argmin")
    numbers = te.placeholder((4, 16), "int32", name="idx")
    values = te.placeholder((4, 16), "float32", name="val")
    k = te.reduce_axis((0, 16), "k")
    out = te.compute((4,), lambda i: argmin((numbers[i, k], values[i, k]), axis=k), name="O")
    func = te.create_prim_func([numbers, values, *out])
    sch = tir.Schedule(func)
    sch.rfactor(sch.get_loops("O")[1], 0)
    verified(sch, func)


@pytest.mark.parametrize(
    "init, update",
    [
        ("T.float32(1)", "C[vi] * A[vi, vk]"),
        ("T.float32(9)", "T.min(C[vi], A[vi, vk])"),
        ('T.min_value("float32")', "T.max(A[vi, vk], C[vi])"),
        ("T.float32(0)", "A[vi, vk] + C[vi]"),
    ],
)
def test_reducers(init, update):
    func = tenon.script.from_source(
        f"""
@T.prim_func
def main(A: T.Buffer((8, 4), "float32"), C: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 4):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = {init}
            C[vi] = {update}
""",
        {"T": T},
    )
    sch = tir.Schedule(func)
    sch.rfactor(sch.get_loops("C")[1], 0)
    verified(sch, func)


# ---- what is refused ----


def refused(body, loop, axis=0):
    func = tenon.script.from_source(
        'from tenon.script import tir as T\n@T.prim_func\ndef main(A: T.Buffer((8, 16), "float32"),'
        ' C: T.Buffer((8,), "float32")):\n' + body
    )
    sch = tir.Schedule(func)
    return failure(sch.rfactor, sch.get_loops("C")[loop], axis)


SUM = """
    for i, k in T.grid(8, 16):
        with T.block("C"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = {}
            C[vi] = {}
"""


def test_what_rfactor_refuses():
    plain = SUM.format("T.float32(0)", "C[vi] + A[vi, vk]")
    assert "data parallel block iter" in refused(plain, 0)
    assert "is required to be in [-(2), 1]" in refused(plain, 1, 2)
    assert "is required to be in [-(2), 1]" in refused(plain, 1, -3)
    assert "No matched reducer" in refused(SUM.format("T.float32(1)", "C[vi] + A[vi, vk]"), 1)
    assert "No matched reducer" in refused(SUM.format("T.float32(0)", "C[vi] - A[vi, vk]"), 1)
    grows = SUM.format("T.float32(0)", "C[vi] + A[vi, vk] * C[vi]")
    assert "No matched reducer" in refused(grows, 1)
    twice = plain.replace("C[vi] = C[vi] +", "C[vi] = A[vi, 0]\n            C[vi] = C[vi] +")
    assert "store each" in refused(twice, 1)
    sch = tir.Schedule(argmax)
    sch.decompose_reduction("argmax", sch.get_loops("argmax")[0])
    k = sch.get_loops("argmax_update")[1]
    assert "not a reduction block" in failure(sch.rfactor, k, 0)


def test_predicates_on_the_reduction():
    sch = tir.Schedule(matmul)
    _, k_1 = sch.split(sch.get_loops("update")[2], [None, 5])
    assert "limits a loop that is reduced over" in failure(sch.rfactor, k_1, 0)


def test_loops_with_several_blocks():
    @T.prim_func
    def program(a: T.handle, d: T.handle):
        A = T.match_buffer(a, (8, 16))
        D = T.match_buffer(d, (8,))
        B = T.alloc_buffer((8, 16))
        for i in range(8):
            for j in range(16):
                with T.block("B"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    B[vi, vj] = A[vi, vj] * 2.0
            for k in range(16):
                with T.block("C"):
                    vi, vk = T.axis.remap("SR", [i, k])
                    with T.init():
                        D[vi] = 0.0
                    D[vi] = D[vi] + B[vi, vk]

    sch = tir.Schedule(program)
    i, k = sch.get_loops("C")
    assert "should be the first child block" in failure(sch.rfactor, k, 0)
    assert "only one child block" in failure(sch.rfactor, i, 0)


@pytest.mark.parametrize("step", ["rfactor", "decompose_reduction"])
def test_later_parts_of_a_reduction(step):
    """They have no first value of their own: setting one loses what the part before has summed."""
    rows = """
for i, j in T.grid(4, 20):
    with T.block("S"):
        vi, vj = T.axis.remap("SR", [i, j])
        with T.init():
            S[vi] = 0.0
        S[vi] = S[vi] + A[vi, vj]
"""
    sch = tir.Schedule(func(["A:4,20", "S:4"], rows))
    sch.loop_partition(sch.get_loops(sch.get_block("S"))[1], [3])
    block = sch.get_block("S_j1")
    loop = sch.get_loops(block)[0]
    with pytest.raises(tir.ScheduleError, match="goes on with a reduction"):
        sch.rfactor(loop, 0) if step == "rfactor" else sch.decompose_reduction(block, loop)


@pytest.mark.parametrize("kind", ["parallel", "vectorized", "unroll"])
def test_loops_that_are_not_serial(kind):
    """Sums whose iterations run at once have no parts that come one after the other."""
    rows = f"""
for i in range(4):
    for j in T.{kind}(20):
        with T.block("S"):
            vi, vj = T.axis.remap("SR", [i, j])
            with T.init():
                S[vi] = 0.0
            S[vi] = S[vi] + A[vi, vj]
"""
    sch = tir.Schedule(func(["A:4,20", "S:4"], rows))
    with pytest.raises(tir.ScheduleError, match="required to be serial"):
        sch.rfactor(sch.get_loops("S")[1], 0)


@T.prim_func
def two_sums(
    A: T.Buffer((8, 32), "float32"), S: T.Buffer((8,), "float32"), Q: T.Buffer((8,), "float32")
):
    for i, k in T.grid(8, 32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
                Q[vi] = T.float32(0)
            s: T.float32 = S[vi] + A[vi, vk]
            q: T.float32 = Q[vi] + A[vi, vk] * A[vi, vk]
            S[vi] = s
            Q[vi] = q


@T.prim_func
def value_first(
    A: T.Buffer((8, 32), "float32"), N: T.Buffer((8,), "int32"), V: T.Buffer((8,), "float32")
):
    for i, k in T.grid(8, 32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.max_value("float32")
                N[vi] = -1
            n: T.int32 = T.Select(V[vi] <= A[vi, vk], N[vi], vk)
            v: T.float32 = T.Select(V[vi] <= A[vi, vk], V[vi], A[vi, vk])
            V[vi] = v
            N[vi] = n


@pytest.mark.parametrize("func", [two_sums, value_first], ids=["two_sums", "value_first"])
def test_pairs_give_the_same(func):
    sch = tir.Schedule(func)
    _, k = sch.get_loops("S")
    sch.rfactor(sch.split(k, [None, 8])[1], 1)
    values = np.random.default_rng(3).permutation(8 * 32).reshape(8, 32).astype("float32")
    results = []
    for program in (func, sch.mod["main"]):
        named = program.with_attr("global_symbol", "main")
        built = tenon.build(tenon.IRModule({"main": named}), target="llvm")
        out = [tenon.nd.array(np.zeros(8, func.buffer_map[p].dtype)) for p in func.params[1:]]
        built["main"](tenon.nd.array(values), *out)
        results.append([x.numpy() for x in out])
    np.testing.assert_array_equal(results[0], results[1])


@pytest.mark.parametrize("added", ["s", "S[vi] * A[vi, vk]"])
def test_a_sum_of_sums(added):
    """Parts of the first sum are not what the second one adds up."""
    sums = f"""
    for i, k in T.grid(8, 32):
        with T.block("S"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                S[vi] = T.float32(0)
                Q[vi] = T.float32(0)
            s: T.float32 = S[vi] + A[vi, vk]
            q: T.float32 = Q[vi] + {added}
            S[vi] = s
            Q[vi] = q
"""
    sch = tir.Schedule(func(["A:8,32", "S:8", "Q:8"], sums))
    assert "No matched reducer" in failure(sch.rfactor, sch.get_loops("S")[1], 0)


@T.prim_func
def named_sum(A: T.Buffer((8, 12), "float32"), B: T.Buffer((8,), "float32")):
    for i, k in T.grid(8, 12):
        with T.block("B"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                B[vi] = 0.0
            total: T.float32 = B[vi] + A[vi, vk]
            B[vi] = total


def test_a_sum_by_a_variable():
    sch = tir.Schedule(named_sum)
    sch.rfactor(sch.split(sch.get_loops("B")[1], [None, 4])[1], 1)
    verified(sch, named_sum)
    assert "total" not in str(sch.mod)


@pytest.mark.parametrize("inside", [True, False])
def test_a_loop_that_runs_once(inside):
    sch = tir.Schedule(named_sum)
    i, k = sch.get_loops("B")
    once = sch.add_unit_loop("B" if inside else k)
    block = sch.rfactor(once, 0)
    verified(sch, named_sum)
    assert [int(n) for n in sch.get(block).writes[0].buffer.shape] == [1, 8]


def test_a_loop_that_is_not_reduced_over():
    sch = tir.Schedule(named_sum)
    assert "required not to be touched" in failure(lambda: sch.rfactor(sch.get_loops("B")[0], 0))


@T.prim_func
def last_of_best(
    A: T.Buffer((4, 8), "float32"), N: T.Buffer((4,), "int32"), V: T.Buffer((4,), "float32")
):
    for i, k in T.grid(4, 8):
        with T.block("best"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                V[vi] = T.min_value("float32")
                N[vi] = -1
            index: T.int32 = T.Select(V[vi] >= A[vi, vk], N[vi], vk)
            value: T.float32 = T.Select(V[vi] >= A[vi, vk], V[vi], A[vi, vk])
            V[vi] = value
            N[vi] = index


def test_results_stored_in_the_other_order():
    sch = tir.Schedule(last_of_best)
    block = sch.rfactor(sch.split(sch.get_loops("best")[1], [None, 4])[0], 1)
    verified(sch, last_of_best)
    stores = sch.get(block).body.body.body.seq
    assert [str(s.buffer.name) for s in stores] == ["N_rf", "V_rf"]
