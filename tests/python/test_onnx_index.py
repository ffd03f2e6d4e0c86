"""ONNX operators that move elements by index or along axes, and pooling, against numpy."""

import numpy as np
import pytest
import tenon
from onnx_cases import check

rng = np.random.default_rng(7)
X = rng.normal(0, 1, (3, 4)).astype("float32")


def test_scatter():
    index = np.array([[0, -1, 2, 1]], "int64")
    updates = np.ones((1, 4), "float32")
    wanted = X.copy()
    np.put_along_axis(wanted, index % 3, updates, 0)
    check("ScatterElements", [X, index, updates], [wanted], axis=0, opset=18)
    check("Scatter", [X, index, updates], [wanted], axis=0, opset=10)
    places = np.array([[0, 1], [-1, -1]], "int64")
    wanted = X.copy()
    wanted[[0, 2], [1, 3]] += [5, 6]
    given = [X, places, np.array([5, 6], "float32")]
    check("ScatterND", given, [wanted], reduction="add", opset=18)
    check("GatherND", [X, places], [X[[0, 2], [1, 3]]])


@pytest.mark.parametrize("known", [True, False])
def test_running_sum(known):
    how = {"exclusive": 1, "reverse": 1, "opset": 14}
    wanted = np.cumsum(X[:, ::-1], 1)[:, ::-1] - X
    check("CumSum", [X, np.array(-1)], [wanted], {1} if known else (), **how)


def test_reverse_sequence():
    wanted = X.copy()
    wanted[:2, 1] = X[1::-1, 1]
    wanted[:, 2] = X[::-1, 2]
    check("ReverseSequence", [X, np.array([1, 2, 3, 0])], [wanted], time_axis=0, batch_axis=1)


def test_einsum():
    check("Einsum", [X, X], [X @ X.T], equation="ij,kj->ik")
    with pytest.raises(tenon.error.DiagnosticError, match="different extents"):
        check("Einsum", [X, X], [], equation="ij,jk->ik")


def test_eye_like():
    check("EyeLike", [X], [np.eye(3, 4, 1, "float32")], k=1)
    check("EyeLike", [X], [np.eye(3, 4, -1, "int32")], k=-1, dtype=6)


def test_windows_that_begin_behind_the_data_are_dropped():
    x = np.array([[[1, 2, 3, 4]]], "float32")
    how = {"kernel_shape": [1], "strides": [2], "ceil_mode": 1, "opset": 22}
    check("MaxPool", [x], [x[:, :, ::2]], **how)
    check("MaxPool", [x[..., :3]], [x[:, :, :3:2]], **how)


def test_p_norm_pooling():
    x = rng.normal(0, 1, (1, 2, 5, 5)).astype("float32")
    how = {"kernel_shape": [2, 2], "strides": [2, 2], "p": 3, "opset": 18}
    padded = np.pad(abs(x) ** 3, ((0, 0), (0, 0), (0, 1), (0, 1)))
    blocks = padded.reshape(1, 2, 3, 2, 3, 2).sum((3, 5)) ** (1 / 3)
    check("LpPool", [x], [blocks[..., :2, :2]], **how)
    check("LpPool", [x], [blocks], ceil_mode=1, **how)
    total = np.sqrt((x * x).sum((2, 3), keepdims=True))
    check("GlobalLpPool", [x], [total])


def test_global_pools_of_any_rank():
    for shape in [(2, 3, 5), (2, 3, 4, 5), (1, 3, 2, 4, 5)]:
        x = rng.normal(0, 1, shape).astype("float32")
        axes = tuple(range(2, len(shape)))
        check("GlobalAveragePool", [x], [x.mean(axes, keepdims=True)])
        check("GlobalMaxPool", [x], [x.max(axes, keepdims=True)])


def test_products_of_any_rank():
    cases = [
        ((4,), (4,)),
        ((4,), (4, 2)),
        ((3, 4), (4,)),
        ((2, 1, 3, 4), (5, 4, 2)),
        ((5, 3, 4), (4, 2)),
    ]
    for s, t in cases:
        a, b = (rng.normal(0, 1, v).astype("float32") for v in (s, t))
        check("MatMul", [a, b], [np.asarray(a @ b)])
