"""Resizing, layouts, arg reductions and moments against torch and numpy."""

import inspect

import numpy as np
import pytest
import tenon
from op_cases import check, compute, rand, result_type
from tenon import relay
from tenon.relay import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def interpolate(size, mode, align=None):
    return lambda x: F.interpolate(
        torch.from_numpy(x), size=size, mode=mode, align_corners=align
    ).numpy()


@pytest.mark.parametrize("n, mode", [(1, "linear"), (2, "bilinear"), (3, "trilinear")])
@pytest.mark.parametrize("size", [(3, 4, 5), (9, 11, 7), (1, 1, 1)])
def test_resize_linear(n, mode, size):
    x, size = rand(1, 2, *[6, 5, 4][:n]), size[:n]
    resize = getattr(relay.image, f"resize{n}d")
    for transform, align in ("align_corners", True), ("half_pixel", False):
        check(
            lambda d, t=transform: resize(d, size, coordinate_transformation_mode=t),
            interpolate(size, mode, align),
            x,
            **CLOSE,
        )
    check(
        lambda d: resize(
            d, size, method="nearest_neighbor", coordinate_transformation_mode="asymmetric"
        ),
        interpolate(size, "nearest"),
        x,
    )
    check(
        lambda d: resize(
            d,
            size,
            method="nearest_neighbor",
            coordinate_transformation_mode="half_pixel",
            rounding_method="round_prefer_ceil",
        ),
        interpolate(size, "nearest-exact"),
        x,
    )


@pytest.mark.parametrize("size", [(3, 4), (9, 11)])
def test_resize_cubic(size):
    x = rand(1, 2, 6, 5)
    for transform, align in ("align_corners", True), ("half_pixel", False):
        check(
            lambda d, t=transform: relay.image.resize2d(
                d, size, method="cubic", coordinate_transformation_mode=t, cubic_alpha=-0.75
            ),
            interpolate(size, "bicubic", align),
            x,
            **CLOSE,
        )


def test_resize_cubic_without_what_is_outside():
    """Weights of elements inside of data sum to 1, so that constant data stays."""
    x = np.full((1, 1, 4, 4), 3, "float32")
    got = compute(lambda d: relay.image.resize2d(d, (9, 7), method="cubic", cubic_exclude=1), x)
    np.testing.assert_allclose(got, 3, rtol=1e-5)


def test_resize_crops():
    x = rand(1, 1, 5, 5)

    def make(d):
        return relay.image.resize2d(
            d,
            (3, 3),
            roi=[0.25, 0.25, 1.5, 0.75],
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
        )

    def reference(d):
        out = np.full((1, 1, 3, 3), 7, "float32")
        for i, y in enumerate((1.0, 3.5, 6.0)):
            for j, z in enumerate((1, 2, 3)):
                low = int(y)
                if y <= 4:
                    out[0, 0, i, j] = d[0, 0, low, z] * (low + 1 - y) + d[
                        0, 0, min(low + 1, 4), z
                    ] * (y - low)
        return out

    check(make, reference, x, **CLOSE)


def test_resize_layouts_and_types():
    x = rand(1, 4, 3, 2)
    check(
        lambda d: relay.image.resize2d(d, (8, 6), layout="NHWC"),
        lambda d: interpolate((8, 6), "bilinear", False)(
            np.ascontiguousarray(d.transpose(0, 3, 1, 2))
        ).transpose(0, 2, 3, 1),
        x,
        **CLOSE,
    )
    n = tenon.tir.Var("n", "int32")
    t = result_type(
        lambda d: relay.image.resize2d(d, (7, 9), out_dtype="float16"), TensorType((n, 3, 4, 4))
    )
    assert t == TensorType((n, 3, 7, 9), "float16")
    attrs = relay.image.resize2d(relay.var("x"), (7, 9)).attrs
    assert attrs.method == "linear" and attrs.cubic_alpha == -0.5
    assert str(inspect.signature(relay.image.resize2d)) == (
        "(data, size, roi=None, layout='NCHW', method='linear', "
        "coordinate_transformation_mode='half_pixel', rounding_method='', cubic_alpha=-0.5, "
        "cubic_exclude=0, extrapolation_value=0.0, out_dtype=None)"
    )
    for args, message in [
        ({"method": "best"}, "no method"),
        ({"coordinate_transformation_mode": "best"}, "coordinate_transformation_mode"),
        ({"layout": "NCXY"}, "layout"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            result_type(
                lambda d, args=args: relay.image.resize2d(d, (2, 2), **args),
                TensorType((1, 1, 4, 4)),
            )


def test_upsampling():
    x = rand(1, 2, 3, 4)
    check(
        lambda d: relay.nn.upsampling(d, 2, 3),
        lambda d: d.repeat(2, axis=2).repeat(3, axis=3),
        x,
    )
    check(
        lambda d: relay.nn.upsampling(d, 2, 2, method="bilinear", align_corners=True),
        interpolate((6, 8), "bilinear", True),
        x,
        **CLOSE,
    )
    x = rand(1, 2, 2, 3, 2)
    check(
        lambda d: relay.nn.upsampling3d(d, 2, 2, 2, method="trilinear"),
        interpolate((4, 6, 4), "trilinear", False),
        x,
        **CLOSE,
    )
    t = result_type(
        lambda d: relay.nn.upsampling(d, 2.5, 1.5, layout="NHWC"),
        TensorType((1, relay.Any(), 4, 3)),
    )
    assert t.shape[2] == 6 and isinstance(t.shape[1], tenon.tir.Any)


# ---- layouts ----


def test_depth_to_space():
    x = rand(2, 12, 3, 2)
    check(
        lambda d: relay.nn.depth_to_space(d, 2, mode="CRD"),
        lambda d: F.pixel_shuffle(torch.from_numpy(d), 2).numpy(),
        x,
    )
    check(
        lambda d: relay.nn.depth_to_space(d, 2),
        lambda d: d.reshape(2, 2, 2, 3, 3, 2).transpose(0, 3, 4, 1, 5, 2).reshape(2, 3, 6, 4),
        x,
    )
    x = rand(2, 3, 4, 6)
    check(
        lambda d: relay.nn.space_to_depth(d, 2),
        lambda d: d.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3),
        x,
    )
    t = result_type(lambda d: relay.nn.space_to_depth(d, 2, "NHWC"), TensorType((1, 4, 6, 3)))
    assert t == TensorType((1, 2, 3, 12))


def test_layout_transform():
    x = rand(2, 8, 3, 4)
    check(
        lambda d: relay.layout_transform(d, "NCHW", "NHWC"),
        lambda d: d.transpose(0, 2, 3, 1),
        x,
    )

    def blocked(d):
        return d.reshape(2, 2, 4, 3, 4).transpose(0, 1, 3, 4, 2)

    check(lambda d: relay.layout_transform(d, "NCHW", "NCHW4c"), blocked, x)
    check(
        lambda d: relay.layout_transform(d, "NCHW4c", "NCHW2c"),
        lambda d: x.reshape(2, 4, 2, 3, 4).transpose(0, 1, 3, 4, 2),
        np.ascontiguousarray(blocked(x)),
    )
    with pytest.raises(tenon.error.DiagnosticError, match="does not"):
        result_type(lambda d: relay.layout_transform(d, "NCHW", "NHW"), TensorType((1, 2, 3, 4)))


# ---- arg reductions ----


@pytest.mark.parametrize("name", ["argmax", "argmin"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (0, 2)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("last", [False, True])
def test_arg_reduce(name, axis, keepdims, last):
    x = np.random.default_rng(0).integers(0, 3, (3, 4, 5)).astype("float32")

    def reference(d):
        axes = range(3) if axis is None else [a % 3 for a in np.atleast_1d(axis)]
        kept = [a for a in range(3) if a not in axes]
        flat = d.transpose(*kept, *axes).reshape([d.shape[a] for a in kept] + [-1])
        found = getattr(np, name)(flat[..., ::-1] if last else flat, axis=-1)
        found = flat.shape[-1] - 1 - found if last else found
        if keepdims:
            found = found.reshape([d.shape[a] if a in kept else 1 for a in range(3)])
        return found.astype("int32")

    check(lambda d: getattr(relay, name)(d, axis, keepdims, select_last_index=last), reference, x)


def test_arg_reduce_types():
    t = result_type(lambda d: relay.argmax(d, axis=1), TensorType((2, 3, 4)))
    assert t == TensorType((2, 4), "int32")
    low = np.full((2, 3), -np.inf, "float32")
    assert compute(lambda d: relay.argmax(d, axis=1), low).tolist() == [0, 0]
    check(lambda d: relay.argmin(d, axis=1), lambda d: d.argmin(1), rand(2, 3, dtype="int8"))
    assert str(inspect.signature(relay.argmax)) == (
        "(data, axis=None, keepdims=False, exclude=False, select_last_index=False)"
    )


# ---- moments ----


@pytest.mark.parametrize("axis", [None, (1,), (0, 2)])
@pytest.mark.parametrize("unbiased", [False, True])
def test_variance(axis, unbiased):
    x = rand(2, 3, 4)
    mean = x.mean(axis=axis, keepdims=True)
    for keepdims in False, True:
        check(
            lambda d, m, k=keepdims: relay.variance(d, axis, k, unbiased=unbiased, with_mean=m),
            lambda d, m, k=keepdims: d.var(axis=axis, keepdims=k, ddof=int(unbiased)),
            x,
            mean,
            **CLOSE,
        )


def test_moments_are_made_of_operators():
    x = relay.var("x", shape=(2, 3))
    assert relay.variance(x, 1).args[1].op.name == "mean"
    assert relay.std(x, 1).op.name == "sqrt"
    mean, variance = relay.mean_variance(x, axis=1)
    assert variance.tuple_value.fields[1].op.name == "variance"
    assert relay.mean_std(x)[0].tuple_value.fields[0].attrs.keepdims == 0
    assert relay.logsumexp(x, 1, keepdims=True).op.name == "add"
