"""Regions that a script leaves out: of matched buffers, the elements of their sources."""

from tenon.script import tir as T


def _regions(func):
    block = func.body.block
    while not block.match_buffers:
        block = block.body.body.block
    return [str(r) for r in block.reads], [str(r) for r in block.writes]


def test_elements_of_a_matched_buffer():
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("rows"):
                vi = T.axis.spatial(8, i)
                row = T.match_buffer(A[vi, 4:12], (8,), offset_factor=1)
                out = T.match_buffer(B[vi], (), offset_factor=1)
                out[()] = row[2] + row[3]

    assert _regions(main) == (["A[vi, 6:8]"], ["B[vi]"])


def test_inner_loops_and_matches_of_matches():
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 4), "float32")):
        for i in range(8):
            with T.block("rows"):
                vi = T.axis.spatial(8, i)
                row = T.match_buffer(A[vi, 4:12], (8,), offset_factor=1)
                part = T.match_buffer(row[2:6], (4,), offset_factor=1)
                for k in range(3):
                    B[vi, k] = part[k + 1]

    assert _regions(main) == (["A[vi, 7:10]"], ["B[vi, 0:3]"])


def test_a_pointer_may_reach_all():
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        for i in range(8):
            with T.block("rows"):
                vi = T.axis.spatial(8, i)
                row = T.match_buffer(A[vi, 4:12], (8,), offset_factor=1)
                out = T.match_buffer(B[vi, 0:8], (8,), offset_factor=1)
                out[0] = row[2]
                T.call_extern("int32", "f", row.data, out.data)

    assert _regions(main) == (["A[vi, 4:12]"], ["B[vi, 0:8]"])


def test_a_pointer_that_is_only_written_through():
    @T.prim_func
    def main(A: T.Buffer((8, 16), "float32"), B: T.Buffer((8, 16), "float32")):
        for i in range(8):
            with T.block("rows"):
                vi = T.axis.spatial(8, i)
                row = T.match_buffer(A[vi, 4:12], (8,), offset_factor=1)
                out = T.match_buffer(B[vi, 0:8], (8,), offset_factor=1)
                T.call_extern("int32", "f", row.access_ptr("r"), out.access_ptr("w"))

    assert _regions(main) == (["A[vi, 4:12]"], ["B[vi, 0:8]"])
