"""Resize with dynamic extents, sizes and factors computed at run time, against ONNX Runtime."""

import numpy as np
import pytest
from onnx_cases import helper, numpy_helper
from tenon import relay
from test_onnx_dynamic_shape import check, ints, node

rng = np.random.default_rng(9)


def image(*shape):
    return rng.normal(0, 1, shape).astype("float32")


SHAPES = [(1, 2, 4, 5), (2, 1, 7, 3), (1, 1, 1, 6)]
PLACES = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
@pytest.mark.parametrize("place", PLACES)
def test_known_factors(mode, place):
    nodes = node("Resize", ["x", "", "f"], ["y0"], mode=mode, coordinate_transformation_mode=place)
    f = np.float32([1, 1, 2, 3 if place == "align_corners" else 1.5])
    check(nodes, *({"x": image(*s)} for s in SHAPES), weights={"f": f})


@pytest.mark.parametrize(
    "mode, place",
    [("nearest", "asymmetric"), ("linear", "pytorch_half_pixel"), ("cubic", "align_corners")],
)
def test_sizes_of_another_value(mode, place):
    """As exported models have it: batch and channels stay, the image gets another's extents."""
    nodes = [
        node("Shape", ["x"], ["all"]),
        node("Slice", ["all", "zero", "two"], ["same"]),
        node("Shape", ["other"], ["others"]),
        node("Slice", ["others", "two", "four"], ["image"]),
        node("Concat", ["same", "image"], ["sizes"], axis=0),
        node(
            "Resize",
            ["x", "", "", "sizes"],
            ["y0"],
            mode=mode,
            coordinate_transformation_mode=place,
        ),
    ]
    feeds = [
        {"x": image(*s), "other": image(1, 1, *size)}
        for s, size in zip(SHAPES, [(8, 3), (1, 9), (5, 5)], strict=True)
    ]
    check(nodes, *feeds, weights={"zero": ints(0), "two": ints(2), "four": ints(4)})


def test_factors_at_run_time():
    nodes = [
        node("Reshape", ["f", "two"], ["g"]),
        node("Resize", ["x", "", "g"], ["y0"], mode="linear", axes=[2, 3]),
    ]
    factors = [(2, 0.7), (0.6, 1.3), (3, 1)]
    feeds = [{"x": image(*s), "f": np.float32(f)} for s, f in zip(SHAPES, factors, strict=True)]
    check(nodes, *feeds, weights={"two": ints(2)})


@pytest.mark.parametrize("policy", ["stretch", "not_larger", "not_smaller"])
def test_sizes_at_run_time(policy):
    nodes = node(
        "Resize",
        ["x", "", "", "sizes"],
        ["y0"],
        mode="linear",
        axes=[2, 3],
        keep_aspect_ratio_policy=policy,
    )
    feeds = [
        {"x": image(*s), "sizes": ints(*size)}
        for s, size in zip(SHAPES, [(8, 5), (3, 9), (4, 12)], strict=True)
    ]
    check(nodes, *feeds)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_antialias(mode):
    nodes = node("Resize", ["x", "", "", "sizes"], ["y0"], mode=mode, axes=[2, 3], antialias=1)
    feeds = [
        {"x": image(1, 1, *s), "sizes": ints(*size)}
        for s, size in [((12, 9), (4, 5)), ((8, 8), (3, 11)), ((5, 7), (5, 2))]
    ]
    check(nodes, *feeds)


def test_an_open_batch_stays_an_image():
    x = [helper.make_tensor_value_info("x", 1, [None, 3, 8, 8])]
    y = [helper.make_tensor_value_info("y", 1, [None, 3, 16, 16])]
    f = numpy_helper.from_array(np.float32([1, 1, 2, 2]), "f")
    n = node("Resize", ["x", "", "f"], ["y"], mode="linear")
    graph = helper.make_graph([n], "g", x, y, [f])
    m = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    assert "image.resize2d" in relay.frontend.from_onnx(m)[0].astext(show_meta_data=False)
