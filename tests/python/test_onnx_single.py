"""Group normalisation, masks of dropout, remainders from ONNX, against numpy."""

import numpy as np
import pytest
from onnx_cases import check, model, run

rng = np.random.default_rng(5)


@pytest.mark.parametrize("opset", [18, 21])
def test_group_normalization(opset):
    """Scale and bias are those of the groups, or of the channels."""
    x = rng.normal(size=(2, 4, 3, 3)).astype("float32")
    scale, bias = rng.normal(size=(2, 4 if opset >= 21 else 2)).astype("float32")
    groups = x.reshape(2, 2, -1)
    deviation = groups - groups.mean(2, keepdims=True)
    normed = (deviation / np.sqrt(groups.var(2, keepdims=True) + 0.01)).reshape(x.shape)
    each = [np.repeat(v, 4 // len(v)).reshape(4, 1, 1) for v in (scale, bias)]
    wanted = normed * each[0] + each[1]
    check("GroupNormalization", [x, scale, bias], [wanted], opset=opset, num_groups=2, epsilon=0.01)


def test_the_mask_of_a_dropout():
    x = rng.normal(size=(2, 3)).astype("float32")
    check("Dropout", [x], [x, np.ones((2, 3), "bool")], outputs=2)


def test_remainders_of_floats_have_the_sign_of_the_divisor():
    a = np.float32([5, -5, 5, -5, 0, 0, 5, -5, -5, 5])
    b = np.float32([3, 3, -3, -3, -3, 3, np.inf, np.inf, -np.inf, -np.inf])
    m = model("Mod", [a, b], fmod=0, opset=13)
    got = run(m, {"x0": a, "x1": b})[0]
    np.testing.assert_array_equal(got, np.mod(a, b))
    np.testing.assert_array_equal(np.signbit(got), np.signbit(np.mod(a, b)))
