"""What debug_mask checks after each step. ScheduleState.replace puts in what a wrong step makes."""

import pytest
import tenon
from schedule_programs import func
from tenon import tir

ROWS = """
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2.0
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        T.reads({reads})
        T.writes({writes})
        C[vi] = {value}
"""


def program(value="B[vi] + 1.0", reads="B[vi]", writes="C[vi]"):
    rows = ROWS.format(value=value, reads=reads, writes=writes)
    return func(["A:8", "C:8"], rows, "B = T.alloc_buffer((8,))\n")


def replaced(what, mask="all"):
    """Puts the root block of a wrong program into a schedule of the right one."""
    sch = tir.Schedule(program(), debug_mask=mask)
    before = sch.mod
    root = sch.get_sref(sch.get_block("root"))
    old = before["main"]
    params = dict(zip(what.params, old.params, strict=True))
    body = tir.stmt_functor.substitute(what.body, params)
    buffers = {
        what.buffer_map[a]: old.buffer_map[b] for a, b in zip(what.params, old.params, strict=True)
    }
    body = with_buffers(body, buffers)
    try:
        sch.state.replace(root, body.block)
    finally:
        if mask == "all":
            assert sch.mod.same_as(before)
    return sch


def with_buffers(stmt, buffers):
    def change(node):
        if isinstance(node, tir.BufferLoad) and node.buffer in buffers:
            return tir.BufferLoad(buffers[node.buffer], node.indices)
        if isinstance(node, tir.BufferStore) and node.buffer in buffers:
            return tir.BufferStore(buffers[node.buffer], node.value, node.indices)
        if isinstance(node, tir.Block):

            def regions(all_of):
                return [tir.BufferRegion(buffers.get(r.buffer, r.buffer), r.region) for r in all_of]

            return tir.Block(
                node.iter_vars,
                regions(node.reads),
                regions(node.writes),
                node.name_hint,
                node.body,
                node.init,
                node.alloc_buffers,
            )
        return None

    kinds = ["tir.BufferLoad", "tir.BufferStore", "tir.Block"]
    return tir.stmt_functor.ir_transform(stmt, None, change, kinds)


@pytest.mark.parametrize(
    "what, text",
    [
        (program("B[vi + 1]", "B[vi + 1]"), "an index of B lies outside of its shape"),
        (program("B[0]", "B[vi]"), "block C uses elements of B that it does not declare"),
        (program("A[vi]", "B[vi]"), "block C uses A, which it does not declare"),
        (program(writes="C[0]"), "block C uses elements of C that it does not declare"),
    ],
)
def test_faults(what, text):
    with pytest.raises(tenon.error.InternalError, match=f"replace gave a program in which {text}"):
        replaced(what)
    replaced(what, "none")
    replaced(what, "verify_sref_tree")


def test_read_before_written():
    wrong = func(
        ["A:8", "C:8"],
        """
for i in range(8):
    with T.block("C"):
        vi = T.axis.spatial(8, i)
        C[vi] = B[vi] + 1.0
for i in range(8):
    with T.block("B"):
        vi = T.axis.spatial(8, i)
        B[vi] = A[vi] * 2.0
""",
        "B = T.alloc_buffer((8,))\n",
    )
    with pytest.raises(tenon.error.InternalError, match="B is read before it is written"):
        replaced(wrong)


def test_faults_of_the_program_itself_are_not_the_steps():
    sch = tir.Schedule(program("B[vi + 1]", "B[vi + 1]"), debug_mask="all")
    sch.split(sch.get_loops(sch.get_block("B"))[0], [None, 2])


def test_what_is_right_but_hard_to_prove():
    sch = tir.Schedule(program(), debug_mask="all")
    for size in (3, 5):
        sch.split(sch.get_loops(sch.get_block("C"))[-1], [None, size])
    sch.transform_layout("B", ("write", 0), lambda i: [i // 3, i % 3], pad_value=0.0)


def test_a_block_that_names_the_loop_around_it_stays():
    rows = """
for i, j in T.grid(5, 11):
    with T.block("S"):
        vi, vj = T.axis.remap("SS", [i, j])
        S[vi, vj] = A[vi, vj] * 2.0
for i, j in T.grid(5, 11):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = S[vi, vj] + 1.0
"""
    sch = tir.Schedule(
        func(["A:5,11", "B:5,11"], rows, "S = T.alloc_buffer((5, 11))\n"), debug_mask="all"
    )
    sch.loop_partition(sch.get_loops(sch.get_block("B"))[1], [11])
    with pytest.raises(tir.ScheduleError, match="uses the variable of the loop"):
        sch.reverse_compute_at(sch.get_block("B_j_common"), sch.get_loops(sch.get_block("S"))[0])
    with pytest.raises(tir.ScheduleError, match="uses the variable of the loop"):
        sch.blockize(sch.get_loops(sch.get_block("B_j_common"))[0])
