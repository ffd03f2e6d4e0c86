"""Steps of schedules that change how buffers and blocks are indexed."""

import numpy as np
import pytest
import tenon
from schedule_programs import chain, check, failure, func, matmul, scale
from tenon import tir
from tenon.script import tir as T
from test_schedule_trace import round_trip

rng = np.random.default_rng(3)


def run(sch, *arrays):
    """What all arrays hold after the program; the interpreter runs it."""
    built = tenon.build(sch.mod, target="stackvm")
    tensors = [tenon.nd.array(a) for a in arrays]
    built["main"](*tensors)
    return [t.numpy() for t in tensors]


# ---- transform_layout ----


def test_of_an_argument():
    sch = tir.Schedule(scale(16, 16))
    sch.transform_layout("B", ("write", 0), lambda i, j: (i // 4, j, i % 4))
    expected = func(
        ["A:16,16", "B:4,16,4"],
        """
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi // 4, vj, vi % 4] = A[vi, vj] * 2.0
""",
    )
    check(sch, expected)
    round_trip(sch, scale(16, 16))
    a = rng.random((16, 16)).astype("float32")
    got = run(sch, a, np.zeros((4, 16, 4), "float32"))[1]
    np.testing.assert_allclose(got, (a * 2).reshape(4, 4, 16).transpose(0, 2, 1))


def test_of_an_intermediate_buffer():
    sch = tir.Schedule(chain())
    sch.transform_layout("B", "B", lambda i, j: (i // 4, j // 4, i % 4, j % 4))
    text = sch.mod["main"].script()
    assert "B = T.alloc_buffer((4, 4, 4, 4))" in text
    assert "B[vi // 4, vj // 4, vi % 4, vj % 4] + T.float32(1" in text
    assert "T.reads(B[vi // 4, vj // 4, vi % 4, vj % 4])" in text or "T.reads" not in text
    round_trip(sch, chain())
    a = rng.random((16, 16)).astype("float32")
    np.testing.assert_allclose(run(sch, a, np.zeros_like(a))[1], a * 2 + 1)


def test_buffer_by_name_and_by_itself():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    sch.transform_layout(block, "A", lambda i, k: [k, i])
    sch.transform_layout(block, sch.get(block).reads[1].buffer, lambda *i: i[::-1])
    assert [int(x) for x in sch.mod["main"].buffer_map.values()[0].shape] == [32, 16]
    a, b = rng.random((32, 16)).astype("float32"), rng.random((32, 16)).astype("float32")
    got = run(sch, a, b, np.zeros((16, 16), "float32"))[2]
    np.testing.assert_allclose(got, a.T @ b, rtol=1e-5)
    lines = sch.trace.as_python()
    assert lines[1] == (
        'sch.transform_layout(block=b0, buffer=("read", 0), index_map=lambda i, k: (k, i), '
        "pad_value=None, assume_injective_transform=False)"
    )
    round_trip(sch, matmul())


def test_simplified_by_ranges():
    program = func(
        ["A:16,16", "B:256"],
        """
for i, j in T.grid(16, 16):
    with T.block("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi * 16 + vj] = A[vi, vj] * 2.0
""",
    )
    sch = tir.Schedule(program)
    sch.transform_layout("B", "B", lambda n: [n // 16, n % 16])
    assert "B[vi, vj] = A[vi, vj]" in sch.mod["main"].script()


@pytest.mark.parametrize("pad", [0.0, 3.5, "index", "map"])
def test_padding_of_a_result(pad):
    program = func(
        ["A:14", "B:14"],
        """
for i in range(14):
    with T.block("B"):
        vi = T.axis.spatial(14, i)
        B[vi] = A[vi] * 2.0
""",
    )
    value = pad
    if pad == "index":
        value = lambda io, ii: tir.Cast("float32", io * 10 + ii)  # noqa: E731
    elif pad == "map":
        value = tir.IndexMap.from_func(lambda io, ii: [tir.const(9.0, "float32")])
    sch = tir.Schedule(program)
    sch.transform_layout("B", ("write", 0), lambda i: [i // 4, i % 4], pad_value=value)
    a = rng.random(14).astype("float32")
    got = run(sch, a, np.full((4, 4), 77, "float32"))[1]
    np.testing.assert_allclose(got.ravel()[:14], a * 2)
    want = {"index": [32, 33], "map": [9, 9]}.get(pad, [pad, pad])
    np.testing.assert_allclose(got.ravel()[14:], want)
    if not isinstance(pad, str):
        round_trip(sch, program)


def test_padding_of_an_argument_is_assumed():
    sch = tir.Schedule(scale(14, 4))
    sch.transform_layout("B", ("read", 0), lambda i, j: [i // 4, i % 4, j], pad_value=0.0)
    assert "T.assume" in sch.mod["main"].script()


def test_padding_must_be_wanted():
    sch = tir.Schedule(scale(14, 4))
    split = lambda i, j: [i // 4, i % 4, j]  # noqa: E731
    assert "introduce padding" in failure(sch.transform_layout, "B", "B", split)
    sch.transform_layout("B", "B", split, assume_injective_transform=True)
    assert [int(x) for x in sch.mod["main"].buffer_map.values()[1].shape] == [4, 4, 4]
    assert "cannot be inverted" in failure(sch.transform_layout, "B", "A", lambda i, j: [i * i, j])
    with pytest.raises(ValueError, match="takes 1 indices, expected 2"):
        sch.transform_layout("B", "A", lambda i: [i])
    assert "number 3 is out of range" in failure(
        sch.transform_layout, "B", ("read", 3), tir.IndexMap.from_func(lambda i: [i])
    )
    with pytest.raises(ValueError, match="neither reads nor writes"):
        sch.transform_layout("B", "Z", lambda i: [i])


def test_axis_separators():
    sch = tir.Schedule(scale(16, 16))
    sep = tir.IndexMap.AXIS_SEPARATOR
    sch.transform_layout("B", ("write", 0), lambda i, j: [i, sep, j])
    buffer = sch.mod["main"].buffer_map.values()[1]
    assert [int(x) for x in buffer.axis_separators] == [1]
    sch.set_axis_separator("B", "A", [1])
    assert [int(x) for x in sch.mod["main"].buffer_map.values()[0].axis_separators] == [1]
    assert 'sch.set_axis_separator(block=b0, buffer=("write", 0), axis_separators=[1])' in (
        sch.trace.as_python()
    )
    round_trip(sch, scale(16, 16))
    assert "must be an axis" in failure(sch.set_axis_separator, "B", "A", [5])
    assert "must be an axis" in failure(sch.set_axis_separator, "B", "A", [2, 1])


# ---- unsafe_set_dtype ----


def test_unsafe_set_dtype():
    sch = tir.Schedule(chain())
    sch.unsafe_set_dtype("B", 0, "float16")
    text = sch.mod["main"].script()
    assert 'B = T.alloc_buffer((16, 16), "float16")' in text
    assert 'T.Cast("float16", A[vi, vj] * T.float32(2' in text
    assert 'T.Cast("float32", B[vi, vj])' in text
    round_trip(sch, chain())
    a = rng.random((16, 16)).astype("float32")
    want = (a * 2).astype("float16").astype("float32") + 1
    np.testing.assert_allclose(run(sch, a, np.zeros_like(a))[1], want)
    assert "arguments keep their type" in failure(sch.unsafe_set_dtype, "C", 0, "float16")


# ---- transform_block_layout, reorder_block_iter_var ----


def test_transform_block_layout():
    sch = tir.Schedule(scale(8, 16))
    sch.transform_block_layout("B", lambda i, j: (i * 16 + j,))
    expected = func(
        ["A:8,16", "B:8,16"],
        """
for ax0 in range(128):
    with T.block("B"):
        v0 = T.axis.spatial(128, ax0)
        B[v0 // 16, v0 % 16] = A[v0 // 16, v0 % 16] * 2.0
""",
    )
    check(sch, expected)
    round_trip(sch, scale(8, 16))
    assert sch.get(sch.get_block("B")).name_hint == "B"


def test_transform_block_layout_of_a_reduction():
    sch = tir.Schedule(matmul())
    sch.transform_block_layout("C", lambda i, j, k: (i, j, k // 4, k % 4))
    types = [iv.iter_type for iv in sch.get(sch.get_block("C")).iter_vars]
    assert types == [0, 0, 2, 2]
    a, b = rng.random((16, 32)).astype("float32"), rng.random((16, 32)).astype("float32")
    got = run(sch, a, b, np.zeros((16, 16), "float32"))[2]
    np.testing.assert_allclose(got, a @ b.T, rtol=1e-5)


def test_a_scan_keeps_its_order():
    sch = tir.Schedule(
        func(
            ["A:16"],
            """
for i in range(1, 16):
    with T.block("A"):
        vi = T.axis.scan((1, 16), i)
        A[vi] = A[vi] + A[vi - 1]
""",
        )
    )
    error = failure(sch.transform_block_layout, "A", lambda i: [14 - i])
    assert "its values must keep their order" in error


def test_what_transform_block_layout_refuses():
    sch = tir.Schedule(matmul())
    refuse = lambda f: failure(sch.transform_block_layout, "C", f)  # noqa: E731
    assert "not bijective affine" in refuse(lambda i, j, k: (i, j, k // 3, k % 3))
    assert "mixes kinds" in refuse(lambda i, j, k: (i, j * 32 + k))
    sch.split(sch.get_loops("C")[0], [None, 4])
    assert "a loop for each iterator" in refuse(lambda i, j, k: (k, j, i))


def test_reorder_block_iter_var():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    sch.reorder_block_iter_var(block, [2, 0, 1])
    assert [str(iv.var.name) for iv in sch.get(block).iter_vars] == ["vk", "vi", "vj"]
    assert "sch.reorder_block_iter_var(block=b0, new_order=[2, 0, 1])" in sch.trace.as_python()
    round_trip(sch, matmul())
    for order in ([0, 1], [0, 0, 1], [0, 1, 3]):
        assert "permutation" in failure(sch.reorder_block_iter_var, block, order) or len(order) < 3


# ---- storage_align, unsafe_hide_buffer_access ----


def test_storage_align():
    sch = tir.Schedule(chain())
    block = sch.get_block("B")
    sch.storage_align(block, 0, axis=0, factor=128, offset=127)
    sch.storage_align(block, 0, axis=-1, factor=16, offset=1)
    sch.storage_align(block, 0, axis=0, factor=32, offset=8)
    found = sch.get(block).annotations["buffer_dim_align"]
    assert [[int(x) for x in row] for row in found] == [[0, 1, 16, 1], [0, 0, 32, 8]]
    round_trip(sch, chain())
    a = rng.random((16, 16)).astype("float32")
    np.testing.assert_allclose(run(sch, a, np.zeros_like(a))[1], a * 2 + 1)
    assert "must be positive" in failure(sch.storage_align, block, 0, 0, 0, 0)
    assert "axis 2 is out of range" in failure(sch.storage_align, block, 0, 2, 4, 0)
    assert "number 1 is out of range" in failure(sch.storage_align, block, 1, 0, 4, 0)


def test_unsafe_hide_buffer_access():
    sch = tir.Schedule(matmul())
    block = sch.get_block("C")
    sch.unsafe_hide_buffer_access(block, "read", [1])
    assert [str(r.buffer.name) for r in sch.get(block).reads] == ["A"]
    sch.unsafe_hide_buffer_access(block, "write", [0])
    assert len(sch.get(block).writes) == 0
    round_trip(sch, matmul())
    verified = tir.Schedule(matmul(), debug_mask="all")
    verified.unsafe_hide_buffer_access(verified.get_block("C"), "read", [1])
    verified.split(verified.get_loops("C")[0], [None, 4])  # what is hidden stays so
    assert "different buffers" in failure(sch.unsafe_hide_buffer_access, block, "read", [4])
    with pytest.raises(ValueError, match="Unrecognized buffer type"):
        sch.unsafe_hide_buffer_access(block, "opaque", [0])


@T.prim_func
def dynamic_copy(A: T.handle, B: T.handle):
    n = T.int32()
    a = T.match_buffer(A, (4, 8, n))
    b = T.match_buffer(B, (4, n * 8))
    for i, j, k in T.grid(4, 8, n):
        with T.block("B"):
            vi, vj, vk = T.axis.remap("SSS", [i, j, k])
            b[vi, vj * n + vk] = a[vi, vj, vk]


def test_transform_block_layout_of_dynamic_extents():
    sch = tir.Schedule(dynamic_copy, debug_mask="all")
    n = dynamic_copy.buffer_map[dynamic_copy.params[0]].shape[2]
    sch.transform_block_layout("B", lambda i, j, k: [i, j * n + k])
    store = sch.get(sch.get_block("B")).body
    assert str(store.indices) == "[v0, v1]" and str(store.value.indices) == "[v0, v1 // n, v1 % n]"
