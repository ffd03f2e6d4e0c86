"""Resize and GridSample from ONNX against numpy and the operator's definition."""

import numpy as np
import pytest
from onnx_cases import check

rng = np.random.default_rng(8)
X = rng.normal(0, 1, (1, 2, 4, 5)).astype("float32")


def places(n, m, scale, mode):
    i = np.arange(m)
    if mode == "asymmetric":
        return i / scale
    if mode == "align_corners":
        return i * (n - 1) / (n * scale - 1) if m > 1 else i * 0.0
    if mode == "pytorch_half_pixel" and m == 1:
        return i * 0.0
    return (i + 0.5) / scale - 0.5


def kernel(d, method, a=-0.75):
    d = abs(d)
    if method == "linear":
        return np.maximum(1 - d, 0)
    inner = (a + 2) * d**3 - (a + 3) * d**2 + 1
    outer = a * d**3 - 5 * a * d**2 + 8 * a * d - 4 * a
    return np.where(d <= 1, inner, np.where(d < 2, outer, 0))


def matrix(n, m, scale, method, place, antialias=False, exclude=False):
    """The weight of each element of n for each of m."""
    c = places(n, m, scale, place)[:, None]
    k = np.arange(-40, n + 40)[None]
    if method == "nearest":
        w = (np.ceil(c - 0.5) == k).astype("float64")
    else:
        w = kernel((k - c) * (min(scale, 1) if antialias else 1), method)
    if exclude:
        w = w * ((k >= 0) & (k < n))
    if exclude or antialias:
        w = w / w.sum(1, keepdims=True)
    r = np.zeros((m, n))
    for j, at in enumerate(np.clip(k[0], 0, n - 1)):
        r[:, at] += w[:, j]
    return r


def resized(x, scales, sizes, method, place, **how):
    for axis in (2, 3):
        w = matrix(x.shape[axis], sizes[axis - 2], scales[axis - 2], method, place, **how)
        x = np.moveaxis(np.moveaxis(x, axis, -1) @ w.T, -1, axis)
    return x.astype("float32")


@pytest.mark.parametrize("method", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize(
    "place", ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
)
@pytest.mark.parametrize("scales", [(2, 3), (0.6, 0.8), (1.3, 0.5)])
@pytest.mark.parametrize("known", [True, False])
def test_scales(method, place, scales, known):
    factors = np.array([1, 1, *scales], "float32")
    real = [float(s) for s in factors[2:]]
    sizes = [int(np.floor(n * s)) for n, s in zip(X.shape[2:], real, strict=True)]
    wanted = resized(X, real, sizes, method, place)
    how = {"mode": method, "coordinate_transformation_mode": place, "opset": 19}
    how["shapes"] = None if known else [wanted.shape]
    check("Resize", [X, None, factors], [wanted], {2} if known else (), **how)


@pytest.mark.parametrize("method", ["linear", "cubic"])
@pytest.mark.parametrize("exclude", [0, 1])
def test_antialias_and_sizes(method, exclude):
    sizes = (2, 3)
    scales = [m / n for m, n in zip(sizes, X.shape[2:], strict=True)]
    wanted = resized(X, scales, sizes, method, "half_pixel", antialias=True, exclude=exclude)
    how = {"mode": method, "antialias": 1, "exclude_outside": exclude, "axes": [2, 3], "opset": 19}
    check("Resize", [X, None, None, np.array(sizes)], [wanted], {3}, **how)


def test_policies():
    for policy, scale in [("not_larger", 7 / 5), ("not_smaller", 2)]:
        sizes = [int(np.floor(scale * n + 0.5)) for n in X.shape[2:]]
        wanted = resized(X, [scale] * 2, sizes, "linear", "half_pixel")
        how = {"mode": "linear", "axes": [2, 3], "keep_aspect_ratio_policy": policy, "opset": 19}
        check("Resize", [X, None, None, np.array([8, 7])], [wanted], {3}, **how)


def test_upsample_of_old_operator_sets():
    factors = np.array([1, 1, 2, 3], "float32")
    wanted = X.repeat(2, 2).repeat(3, 3)
    check("Upsample", [X, factors], [wanted], {1}, opset=9)
    check("Upsample", [X], [wanted], opset=7, scales=[1.0, 1.0, 2.0, 3.0])
    check("Resize", [X, factors], [wanted], {1}, opset=10)


def test_wrong_factors_are_refused():
    for factors in ([1, 1, np.nan, 2], [1, 1, -2, 2], [1, 1, 1e30, 1]):
        with pytest.raises(ValueError, match="scales: .* is not a positive number"):
            check("Resize", [X, None, np.array(factors, "float32")], [], {2}, opset=19)
    with pytest.raises(ValueError, match="expected 4 numbers"):
        check("Resize", [X, None, np.ones(3, "float32")], [], {2}, opset=19)


@pytest.mark.parametrize("align", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(align, padding, method):
    torch = pytest.importorskip("torch")
    grid = rng.uniform(-1.8, 1.8, (1, 3, 6, 2)).astype("float32")
    wanted = torch.nn.functional.grid_sample(
        torch.from_numpy(X), torch.from_numpy(grid), method, padding, bool(align)
    ).numpy()
    how = {"mode": method, "padding_mode": padding, "align_corners": align, "opset": 16}
    check("GridSample", [X, grid], [wanted], **how)


def test_grid_sample_in_three_axes():
    """The grid of the identity gives the data itself."""
    x = rng.normal(0, 1, (2, 2, 3, 4, 5)).astype("float32")
    axes = [np.linspace(-1, 1, n) for n in x.shape[2:]]
    z, y, w = np.meshgrid(*axes, indexing="ij")
    grid = np.broadcast_to(np.stack([w, y, z], -1), (2, 3, 4, 5, 3)).astype("float32")
    check("GridSample", [x, grid.copy()], [x], align_corners=1, mode="linear", opset=20)
