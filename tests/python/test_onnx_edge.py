"""Values and extents at the ends: NaN and infinities, no elements, defaults of attributes."""

import numpy as np
import pytest
import tenon
from onnx_cases import check, model, run

NAN, INF = np.nan, np.inf
EDGES = np.float32([NAN, INF, -INF, -0.0, 0.0, 1.5, -1.5, 100, -100])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    "op, wanted",
    [
        ("Relu", lambda x: np.maximum(x, 0)),
        ("Elu", lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0)))),
        (
            "Selu",
            lambda x: (
                1.05070102214813232421875
                * np.where(x > 0, x, 1.67326319217681884765625 * np.expm1(np.minimum(x, 0)))
            ),
        ),
        ("LeakyRelu", lambda x: np.where(x < 0, np.float32(0.01) * x, x)),
        ("ThresholdedRelu", lambda x: np.where(x > 1, x, 0)),
    ],
)
def test_activations(op, wanted, dtype):
    x = EDGES.astype(dtype)
    tight = {"rtol": 1e-12, "atol": 1e-12} if dtype == "float64" else {}
    check(op, [x], [wanted(x).astype(dtype)], **tight)


def test_celu_and_prelu():
    check("Celu", [EDGES], [np.where(EDGES > 0, EDGES, np.expm1(np.minimum(EDGES, 0)))])
    slope = np.float32([0.5])
    check("PRelu", [EDGES, slope], [np.where(EDGES < 0, EDGES * slope, EDGES)])


def test_largest_and_smallest_of_nan():
    other = EDGES[::-1].copy()
    check("Max", [EDGES, other], [np.maximum(EDGES, other)])
    check("Min", [EDGES, other], [np.minimum(EDGES, other)])
    low, high = np.float32(-1), np.float32(1)
    check("Clip", [EDGES, low, high], [np.clip(EDGES, -1, 1)])
    check("MaxPool", [EDGES[None, None]], [np.maximum(EDGES[:-1], EDGES[1:])[None, None]],
          kernel_shape=[2])  # fmt: skip


X = np.float32([[3, 1, 2], [4, 6, 5]])


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("how", ["weight", "stated"])
def test_the_largest_none(axis, how):
    shape = [2, 3]
    shape[axis] = 0
    wanted = [np.zeros(shape, "float32"), np.zeros(shape, "int64")]
    more = {"constants": (1,)} if how == "weight" else {"shapes": [shape, shape]}
    check("TopK", [X, np.int64([0])], wanted, axis=axis, outputs=2, **more)


@pytest.mark.parametrize("k", [0, 1, 2])
def test_as_many_of_the_largest_as_run_time_says(k):
    compiled = tenon.compile(model("TopK", [X, np.int64([k])], outputs=2, axis=-1))
    got = compiled(X, np.int64([k]))
    np.testing.assert_array_equal(got[0], np.sort(X)[:, ::-1][:, :k])
    np.testing.assert_array_equal(got[1], np.argsort(-X)[:, :k])


@pytest.mark.parametrize("k", [-1, 4])
def test_a_number_of_the_largest_that_there_is_not(k):
    with pytest.raises(ValueError, match=r"TopK \(node y0\): k: expected one number from 0"):
        run(model("TopK", [X, np.int64([k])], constants=(1,), outputs=2), {"x0": X})


def test_defaults_of_attributes_are_of_32_bits():
    x = np.float64([-1.5, 2.5])
    tight = {"rtol": 1e-14, "atol": 0}
    check("HardSigmoid", [x], [np.clip(x * np.float32(0.2) + 0.5, 0, 1)], **tight)
    check("HardSwish", [x], [x * np.clip(x * np.float64(np.float32(1 / 6)) + 0.5, 0, 1)], **tight)


@pytest.mark.parametrize("op", ["Relu", "Exp", "Neg", "Identity"])
def test_no_elements(op):
    check(op, [np.zeros((0, 3), "float32")], [np.zeros((0, 3), "float32")])


@pytest.mark.parametrize("axis", [0, -1])
def test_indices_for_a_first_part_of_the_data(axis):
    index = np.int64([[1, -1]])
    along = [[X[1, 0], X[-1, 1]]] if axis == 0 else [[X[0, 1], X[0, -1]]]
    check("GatherElements", [X, index], [np.float32(along)], axis=axis)


@pytest.mark.parametrize("kind", ["int32", "int64"])
@pytest.mark.parametrize("exponent", ["float32", "float64"])
def test_an_integer_to_the_power_of_a_float(kind, exponent):
    x, e = np.array([4, 9, 2, 27], kind), np.array([0.5, 1.5, -1, 2], exponent)
    check("Pow", [x, e], [np.power(x, e.astype("float64")).astype(kind)])


@pytest.mark.parametrize("axis", [0, 1, -2])
@pytest.mark.parametrize("op", [np.add, np.subtract, np.multiply, np.divide, np.power, np.greater])
def test_operands_by_axis_before_operator_set_7(op, axis):
    names = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "power": "Pow"}
    a = np.arange(1, 28, dtype="float32").reshape(3, 3, 3)
    b = np.float32([1, 2, 3])
    along = b.reshape([3 if i == axis % 3 else 1 for i in range(3)])
    check(
        names.get(op.__name__, "Greater"), [a, b], [op(a, along)], opset=6, broadcast=1, axis=axis
    )


def test_axis_of_concat_before_operator_set_4():
    check("Concat", [X, X], [np.concatenate([X, X], 1)], opset=1)


@pytest.mark.parametrize("shape", [(2, 0), (0, 3), (1, 0, 0), (0, 2, 3)])
@pytest.mark.parametrize("op, attrs", [("Trilu", {}), ("EyeLike", {}), ("Hardmax", {"axis": -1})])
def test_places_among_no_elements(op, attrs, shape):
    if op == "EyeLike" and len(shape) != 2:
        pytest.skip("EyeLike is for matrices")
    check(op, [np.zeros(shape, "float32")], [np.zeros(shape, "float32")], **attrs)


@pytest.mark.parametrize("periodic", [0, 1])
@pytest.mark.parametrize("op", ["HannWindow", "HammingWindow", "BlackmanWindow"])
def test_windows_of_one_element(op, periodic):
    """Symmetric ones divide 0 by 0, as the reference evaluator does."""
    first = {"HannWindow": 0.0, "HammingWindow": 25 / 46 - 21 / 46, "BlackmanWindow": 0.0}[op]
    wanted = np.float32([first if periodic else NAN])
    check(op, [np.array(1)], [wanted], {0}, periodic=periodic, opset=17)
