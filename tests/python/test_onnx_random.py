"""Random numbers of ONNX models: seeds, distributions, types."""

import numpy as np
import pytest
from onnx_cases import model, run
from tenon import relay


def draw(op, inputs=(), **attrs):
    m = model(op, list(inputs), opset=22, **attrs)
    return run(m, {f"x{i}": a for i, a in enumerate(inputs)})[0]


def test_a_seed_gives_known_numbers_and_each_build_the_same():
    known = [0.0439762, 0.9665604, 0.2921988, 0.9042973, 0.25167]
    np.testing.assert_allclose(draw("RandomUniform", shape=[8], seed=5.0)[:5], known, rtol=1e-5)
    for attrs in ({}, {"seed": 3.0}, {"seed": -3.0}):
        a, b = (draw("RandomUniform", shape=[9], **attrs) for _ in range(2))
        np.testing.assert_array_equal(a, b)
    assert not (draw("RandomUniform", shape=[9], seed=3.0) == a).any()


def test_distributions():
    x = draw("RandomUniform", shape=[100, 50], low=-2.0, high=6.0, seed=1.0)
    assert x.min() >= -2 and x.max() <= 6 and abs(x.mean() - 2) < 0.1
    like = np.zeros((100, 50), "float64")
    y = draw("RandomNormalLike", [like], mean=2.0, scale=3.0)
    assert y.dtype == "float64" and abs(y.mean() - 2) < 0.15 and abs(y.std() - 3) < 0.15
    assert draw("RandomUniformLike", [like], dtype=10).dtype == "float16"
    assert draw("RandomNormal", shape=[0, 2]).shape == (0, 2)
    chances = np.full(10000, 0.3, "float32")
    assert abs(draw("Bernoulli", [chances], dtype=6).mean() - 0.3) < 0.02
    assert draw("Bernoulli", [chances]).dtype == "float32"


def test_multinomial_takes_logarithms():
    weights = np.array([[1, 3, 0], [1, 1, 2]], "float32")
    with np.errstate(divide="ignore"):
        logs = np.log(weights) + 100
    got = draw("Multinomial", [logs], sample_size=10000, dtype=7, seed=2.0)
    assert got.shape == (2, 10000) and got.dtype == "int64"
    counts = np.array([np.bincount(row, minlength=3) for row in got]) / 10000
    np.testing.assert_allclose(counts, weights / 4, atol=0.03)


REFUSED = {
    "dtype: expected floats, got int32": ("RandomUniform", [], {"shape": [2], "dtype": 6}),
    "shape is missing": ("RandomNormal", [], {}),
    "seed: .* is out of range": ("RandomUniform", [], {"shape": [2], "seed": float("nan")}),
    "expected floats, got int32": ("Bernoulli", [np.ones(2, "int32")], {}),
    "dtype: expected integers, got float32": (
        "Multinomial", [np.ones((2, 3), "float32")], {"dtype": 1}),
    "num_samples: -1": ("Multinomial", [np.ones((2, 3), "float32")], {"sample_size": -1}),
    "extent -2 is negative": ("RandomUniform", [], {"shape": [-2]}),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(message):
    op, inputs, attrs = REFUSED[message]
    with pytest.raises(Exception, match=message):
        relay.frontend.from_onnx(model(op, inputs, opset=22, **attrs))
