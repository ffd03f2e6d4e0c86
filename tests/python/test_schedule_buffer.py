"""Steps on buffers: where padding is stored, and buffers that stand for parts of others."""

import numpy as np
import pytest
import tenon
from schedule_programs import check, failure, func
from schedule_run import same_results, verified
from tenon import tir

COPY = """
for i in range({n}):
    with T.block("B"):
        vi = T.axis.spatial({n}, i)
        {store}
for i in range({n}):
    with T.block("C"):
        vi = T.axis.spatial({n}, i)
        C[vi] = B[vi] + 1.0
"""
ALLOC = "B = T.alloc_buffer((14,))\n"


def copy(store="B[vi] = A[vi] * 2.0"):
    return func(["A:14", "C:14"], COPY.format(n=14, store=store), ALLOC)


def tiled(sch, **how):
    how.setdefault("pad_value", 0.0)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], **how)


# ---- padding ----


def test_the_writer_stores_the_padding():
    sch = tir.Schedule(copy(), debug_mask="all")
    block = sch.get_block("B")
    tiled(sch)
    body = """
for io, ii in T.grid(4, 4):
    with T.block("B"):
        vo, vi = T.axis.remap("SS", [io, ii])
        B[vo, vi] = T.if_then_else(vo == 3 and 2 <= vi, T.float32(0.0), A[vo * 4 + vi] * 2.0)
for i in range(14):
    with T.block("C"):
        vi = T.axis.spatial(14, i)
        C[vi] = B[vi // 4, vi % 4] + 1.0
"""
    check(sch, func(["A:14", "C:14"], body, "B = T.alloc_buffer((4, 4))\n"))
    assert sch.get(block).name_hint == "B" and len(sch.get_loops(block)) == 2
    verified(sch, copy())


SUM = """
for i, j, k in T.grid(6, 5, 8):
    with T.block("B"):
        vi, vj, vk = T.axis.remap("SSR", [i, j, k])
        with T.init():
            B[vi, vj] = 0.0
        B[vi, vj] = B[vi, vj] + A[vi, vk] * A[vj, vk]
for i, j in T.grid(6, 5):
    with T.block("C"):
        vi, vj = T.axis.remap("SS", [i, j])
        C[vi, vj] = B[vi, vj]
"""


def sums(body=SUM):
    return func(["A:6,8", "C:6,5"], body, "B = T.alloc_buffer((6, 5))\n")


@pytest.mark.parametrize("first", ["", "decompose"])
def test_of_a_reduction(first):
    sch = tir.Schedule(sums(), debug_mask="all")
    if first:
        sch.decompose_reduction("B", sch.get_loops("B")[0])
    block = sch.get_block("B_update" if first else "B")
    sch.transform_layout(block, "B", lambda i, j: [j // 4, i, j % 4], pad_value=5.0)
    text = sch.mod.script()
    assert "T.if_then_else(v_axis0 == 1 and 1 <= v_axis2, T.float32(5.0)" in text
    assert "_padding" not in text
    assert not first or "T.reads(B[v_axis0, v_axis1, v_axis2], A[" in text
    verified(sch, sums())


def test_of_loops_without_iterators():
    body = """
for i in range(14):
    B[i] = 0.0
    for k in range(3):
        with T.block("B"):
            T.reads(B[i], A[i])
            T.writes(B[i])
            B[i] = B[i] + A[i]
for i in range(14):
    with T.block("C"):
        vi = T.axis.spatial(14, i)
        C[vi] = B[vi]
"""
    start = func(["A:14", "C:14"], body, ALLOC)
    sch = tir.Schedule(start, debug_mask="all")
    tiled(sch)
    assert "B[axis0, axis1] = T.if_then_else(" in sch.mod.script()
    verified(sch, start)


APART = {
    "a condition": copy("if vi % 2 == 0:\n            B[vi] = A[vi]"),
    "another store": func(
        ["A:14", "E:14", "C:14"],
        COPY.format(n=14, store="B[vi] = A[vi]\n        E[vi] = 3.0"),
        ALLOC,
    ),
    "backwards": copy("B[13 - vi] = A[vi]"),
    "a neighbour": func(
        ["A:14", "C:14"],
        COPY.format(n=14, store="B[vi] = A[vi]")
        + """
for i in range(14):
    with T.block("D"):
        T.where(i > 0)
        vi = T.axis.opaque(14, i)
        B[vi] = B[vi - 1] + 1.0
for i in range(14):
    with T.block("E"):
        vi = T.axis.spatial(14, i)
        A[vi] = B[vi]
""",
        ALLOC,
    ),
    "a parallel loop": func(
        ["A:14", "C:14"],
        COPY.format(n=14, store="B[vi] = A[vi]").replace("in range(14)", "in T.parallel(14)", 1),
        ALLOC,
    ),
}


@pytest.mark.parametrize("what", APART)
def test_a_block_of_its_own_stores_the_padding(what):
    sch = tir.Schedule(APART[what])
    tiled(sch)
    assert "T.where(axis0 == 3 and 2 <= axis1)" in sch.mod.script()
    assert "if_then_else" not in sch.mod.script()
    if what != "a condition":  # it reads what nobody set
        same_results(sch, APART[what])


def test_the_padding_holds_its_value():
    start = func(["A:14", "B:14"], COPY.split("for i in range({n}):\n    with T.block(\"C\")")[0]
                 .format(n=14, store="B[vi] = A[vi] * 2.0"))  # fmt: skip
    sch = tir.Schedule(start)
    tiled(sch, pad_value=lambda io, ii: tir.Cast("float32", io * 10 + ii))
    a, b = tenon.nd.array(np.arange(14, dtype="float32")), tenon.nd.empty((4, 4))
    tenon.build(sch.mod, target="llvm", name="main")["main"](a, b)
    np.testing.assert_array_equal(b.numpy().ravel(), [*(np.arange(14) * 2.0), 32, 33])


def test_what_is_no_padding():
    sch = tir.Schedule(copy())
    for value, given in [(0, "int32"), (tir.IntImm("int8", 0), "int8"), (lambda i, j: i, "int32")]:
        assert f"must be float32, its value is {given}" in failure(tiled, sch, pad_value=value)
    other = tir.decl_buffer((1,), "float32", name="other")
    assert "reads a buffer" in failure(tiled, sch, pad_value=lambda i, j: other[0])
    tenon.ir.assert_structural_equal(sch.mod["main"], copy())


# ---- maps ----


def test_a_map_of_drawn_numbers():
    sch = tir.Schedule(copy())
    _, size = sch.sample_perfect_tile(sch.get_loops("B")[0], 2, decision=[2, 7])
    sch.transform_layout("B", ("write", 0), lambda i: [i // size, i % size])
    assert "B[vi // 7, vi % 7]" in sch.mod.script()
    verified(sch, copy())


def test_unit_axes_that_are_passed_on():
    row = """
for i, j in T.grid(1, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[vi, vj]
"""
    start = func(["A:1,8", "B:1,8"], row)
    sch = tir.Schedule(start)
    sch.transform_layout("B", "B", lambda i, j: [i, j])
    check(sch, start)
    sch.transform_block_layout("B", lambda i, j: [j, i])
    assert "B[v1, v0] = A[v1, v0]" in sch.mod.script()


def test_indices_of_a_new_block_layout_are_simplified():
    start = func(
        ["A:4,8", "B:4,8"],
        """
for i, j in T.grid(4, 8):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = A[(vi * 8 + vj) // 8, vj]
""",
    )
    sch = tir.Schedule(start)
    sch.transform_block_layout("B", lambda i, j: [i * 8 + j])
    assert "B[v0 // 8, v0 % 8] = A[v0 // 8, v0 % 8]" in sch.mod.script()
    verified(sch, start)


# ---- parts ----

PARTS = """
for i in range(14):
    with T.block("B"):
        vi = T.axis.spatial(14, i)
        P = T.match_buffer(B[vi], (), offset_factor=1)
        P[()] = A[vi] * 2.0
for i in range(14):
    with T.block("C"):
        vi = T.axis.spatial(14, i)
        Q = T.match_buffer(B[vi], (), offset_factor=1)
        C[vi] = Q[()] + 1.0
"""


def parts(body=PARTS):
    return func(["A:14", "C:14"], body, ALLOC)


def matched(sch):
    """The buffers that stand for parts."""
    found = []
    tir.stmt_functor.post_order_visit(
        sch.mod["main"].body,
        lambda node: (
            found.extend(m.buffer for m in node.match_buffers)
            if isinstance(node, tir.Block)
            else None
        ),
    )
    return found


def test_parts_follow():
    sch = tir.Schedule(parts(), debug_mask="all")
    sch.set_scope("B", 0, "local")
    assert [str(b.scope()) for b in matched(sch)] == ["local", "local"]
    verified(sch, parts())
    sch.unsafe_set_dtype("B", 0, "float16")
    assert [str(b.dtype) for b in matched(sch)] == ["float16", "float16"]
    assert 'T.Cast("float32", Q[()])' in sch.mod.script()
    verified(sch, parts())
    sch.set_axis_separator("B", ("write", 0), [0])
    assert [[int(x) for x in b.axis_separators] for b in matched(sch)] == [[0], [0]]


def test_places_of_parts():
    sch = tir.Schedule(parts())
    sch.transform_layout("B", ("write", 0), lambda i: [i // 7, i % 7])
    verified(sch, parts())
    one = "Q = T.match_buffer(B[vi], (), offset_factor=1)"
    all_of_it = (
        "T.reads(B[0:14])\n        T.writes(C[vi])\n        Q = T.match_buffer(B[0:14], (14,))"
    )
    wide = PARTS.replace(one, all_of_it).replace("Q[()]", "Q[vi]")
    sch = tir.Schedule(parts(wide))
    text = failure(sch.transform_layout, "B", ("write", 0), lambda i: [i // 7, i % 7])
    assert "against several elements of B" in text


# ---- errors ----


def test_what_is_refused():
    sch = tir.Schedule(copy())
    assert 'storage scope "nowhere" is invalid' in failure(sch.set_scope, "B", 0, "nowhere")
    assert "arguments keep their strides" in failure(sch.storage_align, "C", 0, 0, 8, 1)


def test_a_replaced_writer():
    """What a caller replaces may leave a buffer without its writer."""
    sch = tir.Schedule(copy(), debug_mask="all")
    block = tir.Block([], [], [], "new", tir.Evaluate(tir.const(0, "int32")))
    sch.state.replace(sch.get_sref(sch.get_loops("B")[0]), tir.BlockRealize([], True, block))
    assert 'T.block("new")' in sch.mod.script()
