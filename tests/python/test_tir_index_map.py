"""Maps from one index space to another."""

import numpy as np
import pytest
import tenon
from tenon import tir
from tenon.tir import IndexMap


def assert_equal_map(a, b):
    b = b if isinstance(b, IndexMap) else IndexMap.from_func(b)
    assert a.is_equivalent_to(b), f"{a} is not {b}"


def test_map_indices():
    index_map = IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert [int(i) for i in index_map.map_indices([0])] == [0, 0]
    assert [int(i) for i in index_map.map_indices([7])] == [1, 3]
    assert [int(i) for i in index_map(42)] == [10, 2]
    i = tir.Var("i", "int32")
    out = index_map.map_indices([i])
    assert [str(e.dtype) for e in out] == ["int32", "int32"]
    tenon.ir.assert_structural_equal(list(out), [i // 4, i % 4])


def test_map_shape_with_padding():
    index_map = IndexMap.from_func(lambda i: [i // 4, i % 4])
    for n, expected in [(4, [1, 4]), (16, [4, 4]), (14, [4, 4]), (3, [1, 4])]:
        assert [int(i) for i in index_map.map_shape([n])] == expected
    ranges = index_map.map_ranges([tenon.ir.Range(0, 15)])
    assert [(int(r.min), int(r.extent)) for r in ranges] == [(0, 4), (0, 4)]


def test_inverse():
    index_map = IndexMap.from_func(lambda i: [i // 4, i % 4])
    assert_equal_map(index_map.inverse([16]), lambda i, j: [4 * i + j])
    with pytest.raises(tenon.TVMError):
        index_map.inverse([14])
    with pytest.raises(tenon.TVMError):
        IndexMap.from_func(lambda i: [i * i]).inverse([16])
    swap = IndexMap.from_func(lambda n, h, w, c: [n, c // 4, h, w, c % 4])
    assert_equal_map(swap.inverse([2, 8, 8, 16]), lambda n, co, h, w, ci: [n, h, w, co * 4 + ci])


@pytest.mark.parametrize(
    "forward,inverse,shape,tested_over",
    [
        (lambda i: [i // 4, i % 4], lambda i, j: [i * 4 + j], [16], 16),
        (lambda i: [i // 4, i % 4], lambda i, j: [i * 4 + j], [14], 14),
        (lambda i: [(i + 2) // 4, (i + 2) % 4], lambda i, j: [i * 4 + j - 2], [14], 14),
        (lambda i: [i // 9, i // 3 % 3, i % 3], lambda i, j, k: [i * 9 + j * 3 + k], [25], 25),
    ],
)
def test_inverse_with_padding(forward, inverse, shape, tested_over):
    index_map = IndexMap.from_func(forward)
    back, padding = index_map.non_surjective_inverse(shape)
    assert_equal_map(back, inverse)
    # padding is where no old index is, element by element
    extents = [int(e) for e in index_map.map_shape(shape)]
    hit = {tuple(int(x) for x in index_map.map_indices([i])) for i in range(tested_over)}
    for at in np.ndindex(*extents):
        values = dict(
            zip(back.initial_indices, [tir.IntImm("int64", int(a)) for a in at], strict=True)
        )
        cond = tir.stmt_functor.substitute(padding, values)
        cond = tenon.arith.Analyzer().simplify(cond)
        assert bool(cond) == (at not in hit), at


def test_padding_of_one_element():
    """The last remainder of a divisor is named as such."""
    for shape, text in [(15, "axis0 == 3 and axis1 == 3"), (14, "axis0 == 3 and 2 <= axis1")]:
        _, padding = IndexMap.from_func(lambda i: [i // 4, i % 4]).non_surjective_inverse([shape])
        assert str(padding) == text


def test_given_inverse():
    index_map = IndexMap.from_func(
        lambda i: [i ^ 1], inverse_index_map=lambda i: [i ^ 1], index_dtype="int32"
    )
    back = index_map.inverse([16])
    assert int(back.map_indices([5])[0]) == 4


def test_equivalence():
    a = IndexMap.from_func(lambda i, j: [i * 4 + j, i])
    assert a.is_equivalent_to(IndexMap.from_func(lambda x, y: [y + 4 * x, x], index_dtype="int32"))
    assert not a.is_equivalent_to(IndexMap.from_func(lambda x, y: [y + 4 * x, y]))
    assert not a.is_equivalent_to(IndexMap.from_func(lambda x, y: [y + 4 * x]))


@pytest.mark.parametrize("dtype", ["float32", "int8", "float16"])
def test_map_ndarray(dtype):
    index_map = IndexMap.from_func(lambda n, h, w, c: [n, c // 4, h, w, c % 4])
    src = np.random.default_rng(0).integers(0, 100, (1, 5, 5, 10)).astype(dtype)
    padded = np.pad(src, [(0, 0)] * 3 + [(0, 2)])
    want = padded.reshape(1, 5, 5, 3, 4).transpose(0, 3, 1, 2, 4)
    got = index_map.map_ndarray(tenon.nd.array(src)).numpy()
    np.testing.assert_array_equal(got, want)


def test_from_func():
    sep = IndexMap.AXIS_SEPARATOR
    index_map, separators = IndexMap.from_func_with_separators(lambda *i: [i[0], sep, *i[1:]], 3)
    assert separators == [1] and len(index_map.final_indices) == 3
    assert tenon.te.AXIS_SEPARATOR == sep
    with pytest.raises(ValueError, match="AXIS_SEPARATOR"):
        IndexMap.from_func(lambda i, j: [i, sep, j])
    with pytest.raises(TypeError, match="Expected mapping function"):
        IndexMap.from_func(lambda i: [i, "x"])
    with pytest.raises(ValueError, match="ndim must be specified"):
        IndexMap.from_func(lambda *i: i)
    with pytest.raises(ValueError, match="takes 1 indices, expected 2"):
        IndexMap.from_func(lambda i: [i], ndim=2)
    with pytest.raises(ValueError, match="expected 1 indices, got 2"):
        IndexMap.from_func(lambda i: [i]).map_indices([1, 2])
    assert str(IndexMap.from_func(lambda i: i + 1, index_dtype="int32")).endswith("(i + 1,))")
