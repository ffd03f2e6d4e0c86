"""Layouts of tensors and mappings between them."""

import itertools

import numpy as np
import pytest
import tenon
from tenon import tir


def ints(values):
    return tuple(int(v) for v in values)


def test_layout():
    layout = tir.layout("NCHW16c")
    assert isinstance(layout, tir.Layout) and len(layout) == 5
    assert layout.factor_of("c") == layout.factor_of("C") == 16
    assert layout.factor_of("N") == -1
    assert [layout.index_of(a) for a in "NCHWcO"] == [0, 1, 2, 3, 4, -1]
    assert [layout[i] for i in range(5)] == list("NCHWc") and layout[-1] == "c"
    assert "c" in layout and "O" not in layout
    with pytest.raises(IndexError, match="Layout index out of range"):
        layout[5]
    assert layout.axes[4].dom.extent == 16
    assert tir.layout("__undef__") is None and len(tir.layout("")) == 0


@pytest.mark.parametrize(
    "text, why",
    [
        ("NCHWc", "missing factor before dimension c"),
        ("NCHWC", "duplicate axis C"),
        ("NHW16c", "missing axis C"),
        ("N4CHW", "there is a factor before dimension C"),
        ("NCHW16", "ends with a factor"),
        ("NC-HW", "unexpected -"),
        ("NC99999999999999999999c", "a factor is too large"),
    ],
)
def test_texts_that_are_no_layouts(text, why):
    with pytest.raises(ValueError, match=f"Invalid layout {text}: .*{why}"):
        tir.layout(text)


@pytest.mark.parametrize("dtype", ["float32", "bool", "int32x4", None])
def test_types_that_no_axis_has(dtype):
    with pytest.raises(TypeError):
        tir.layout("NCHW", dtype=dtype)


def test_layouts_without_a_mapping():
    for src, dst in [
        ("NCHW", "ABCD"),
        ("NCHW", "NHW"),
        ("NHW", "NCHW"),
        ("__undef__", "NCHW"),
        ("NCHW", "__undef__"),
        ("", "NCHW"),
        ("NCHW", ""),
        ("", ""),
    ]:
        assert tir.bijective_layout(src, dst) is None
    assert isinstance(tir.bijective_layout("NCHW", "NHWC"), tir.BijectiveLayout)


def test_shapes():
    layout = tir.bijective_layout("NCHW", "NCHW16c")
    assert ints(layout.forward_shape((1, 32, 7, 7))) == (1, 2, 7, 7, 16)
    assert ints(layout.backward_shape((1, 2, 7, 7, 16))) == (1, 32, 7, 7)
    assert ints(layout.forward_shape((1, 20, 7, 7))) == (1, 2, 7, 7, 16)
    assert ints(tir.bijective_layout("NCHW8c", "NCHW32c").forward_shape((1, 8, 7, 7, 8))) == (
        1,
        2,
        7,
        7,
        32,
    )
    with pytest.raises(ValueError, match="Input shape mismatch at index 4. Expected 16, get 8"):
        layout.backward_shape((1, 2, 7, 7, 8))
    with pytest.raises(ValueError, match="expected 4 values, got 3"):
        layout.forward_shape((1, 32, 7))
    n = tir.Var("n", "int32")
    assert layout.forward_shape((n, 32, 7, 7))[0].same_as(n)
    assert isinstance(layout.forward_shape((tir.Any(), 32, 7, 7))[0], tir.Any)


@pytest.mark.parametrize(
    "src, dst",
    [
        ("NCHW", "NCHW16c"),
        ("NCHW", "NHWC"),
        ("OIHW", "OIHW4i8o"),
        ("NCHW4c", "NCHW16c"),
        ("HW", "WH2w"),
    ],
)
def test_indices_go_there_and_back(src, dst):
    layout = tir.bijective_layout(src, dst)
    shape = [
        {"N": 2, "C": 32, "H": 2, "W": 4, "O": 16, "I": 8}.get(a, 0) for a in src if a.isupper()
    ]
    factor = tir.layout(src).factor_of("C")
    if factor > 0:
        shape = [s // factor if a == "C" else s for s, a in zip(shape, "NCHW", strict=True)] + [
            factor
        ]
    out = ints(layout.forward_shape(shape))
    assert np.prod(out) == np.prod(shape)
    seen = set()
    for index in itertools.islice(itertools.product(*map(range, shape)), 0, None, 7):
        there = ints(layout.forward_index(index))
        assert all(0 <= i < n for i, n in zip(there, out, strict=True))
        assert ints(layout.backward_index(there)) == index
        seen.add(there)
    assert len(seen) == len(range(0, int(np.prod(shape)), 7))


def test_known_index():
    layout = tir.bijective_layout("NCHW", "NCHW16c")
    assert ints(layout.forward_index([0, 18, 6, 6])) == (0, 1, 6, 6, 2)
    c = tir.Var("c", "int32")
    out = layout.forward_index([0, c, 6, 6])
    tenon.ir.assert_structural_equal(out[1], c // 16)
    tenon.ir.assert_structural_equal(out[4], c % 16)
