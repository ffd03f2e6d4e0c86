"""Convolutions and matrix products against torch and numpy."""

import inspect

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.relay import TensorType

torch = pytest.importorskip("torch")
F = torch.nn.functional
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
CONVS = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}
TRANSPOSED = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}


def by_torch(function):
    return lambda *arrays: function(*map(torch.from_numpy, arrays)).numpy()


@pytest.mark.parametrize("n", [1, 3])
@pytest.mark.parametrize(
    "stride, pad, dilation, groups", [(1, 0, 1, 1), (2, 1, 1, 2), (1, 1, 2, 4)]
)
def test_conv(n, stride, pad, dilation, groups):
    x, w = rand(2, 4, *[7, 6, 5][:n]), rand(8, 4 // groups, *[3, 2, 2][:n], seed=1)
    conv = getattr(relay.nn, f"conv{n}d")
    args = {"strides": stride, "padding": pad, "dilation": dilation, "groups": groups}
    check(
        lambda d, k: conv(d, k, **args, channels=8, kernel_size=[3, 2, 2][:n]),
        by_torch(lambda d, k: CONVS[n](d, k, None, stride, pad, dilation, groups)),
        x,
        w,
        **CLOSE,
    )


def test_conv_layouts():
    x, w = rand(1, 4, 6), rand(5, 4, 3, seed=1)
    want = by_torch(lambda d, k: F.conv1d(d, k, padding=1))(x, w)
    check(
        lambda d, k: relay.nn.conv1d(d, k, padding=1, data_layout="NWC", kernel_layout="WIO"),
        lambda d, k: want.transpose(0, 2, 1),
        np.ascontiguousarray(x.transpose(0, 2, 1)),
        np.ascontiguousarray(w.transpose(2, 1, 0)),
        **CLOSE,
    )
    x, w = rand(1, 4, 5, 4, 3), rand(5, 4, 2, 2, 2, seed=1)
    want = by_torch(F.conv3d)(x, w)
    check(
        lambda d, k: relay.nn.conv3d(d, k, data_layout="NDHWC", kernel_layout="DHWIO"),
        lambda d, k: want.transpose(0, 2, 3, 4, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 4, 1)),
        np.ascontiguousarray(w.transpose(2, 3, 4, 1, 0)),
        **CLOSE,
    )


def test_depthwise_multiplier():
    """Weights (height, width, channels, results of each) of a depthwise convolution."""
    x, w = rand(1, 3, 5, 5), rand(6, 1, 3, 3, seed=1)
    want = by_torch(lambda d, k: F.conv2d(d, k, groups=3))(x, w)
    check(
        lambda d, k: relay.nn.conv2d(
            d, k, groups=3, channels=6, data_layout="NHWC", kernel_layout="HWOI"
        ),
        lambda d, k: want.transpose(0, 2, 3, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.reshape(3, 2, 3, 3).transpose(2, 3, 0, 1)),
        **CLOSE,
    )


def test_conv2d_of_integers():
    x = np.full((1, 8, 3, 3), 200, "uint8")
    w = np.full((1, 8, 3, 3), -100, "int8")
    check(
        lambda d, k: relay.nn.conv2d(d, k, out_dtype="int32"),
        lambda d, k: np.full((1, 1, 1, 1), -200 * 100 * 72),
        x,
        w,
    )


def test_conv2d_in_blocks():
    x, w = rand(1, 4, 5, 5), rand(8, 4, 3, 3, seed=1)
    want = by_torch(lambda d, k: F.conv2d(d, k, padding=1))(x, w)

    def blocked(a, factor):
        n, c, h, width = a.shape
        a = a.reshape(n, c // factor, factor, h, width).transpose(0, 1, 3, 4, 2)
        return np.ascontiguousarray(a)

    packed = w.reshape(2, 4, 2, 2, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    check(
        lambda d, k: relay.nn.contrib_conv2d_nchwc(
            d,
            k,
            padding=1,
            channels=8,
            kernel_size=3,
            data_layout="NCHW2c",
            kernel_layout="OIHW2i4o",
            out_layout="NCHW4c",
        ),
        lambda d, k: blocked(want, 4),
        blocked(x, 2),
        np.ascontiguousarray(packed),
        **CLOSE,
    )
    assert relay.nn.contrib_conv2d_nchwc(relay.var("x"), relay.var("w")).op.name == (
        "nn.contrib_conv2d_NCHWc"
    )


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "stride, pad, more, dilation, groups",
    [(1, 0, 0, 1, 1), (2, 1, 1, 1, 1), (3, 0, 2, 1, 2), (2, 1, 0, 2, 2), (1, 3, 0, 1, 1)],
)
def test_conv_transpose(n, stride, pad, more, dilation, groups):
    x, w = rand(2, 4, *[5, 6, 4][:n]), rand(4, 6 // groups, *[3, 4, 3][:n], seed=1)
    conv = getattr(relay.nn, f"conv{n}d_transpose")
    check(
        lambda d, k: conv(
            d, k, stride, pad, dilation, groups, 6, [3, 4, 3][:n], output_padding=more
        ),
        by_torch(lambda d, k: TRANSPOSED[n](d, k, None, stride, pad, more, groups, dilation)),
        x,
        w,
        **CLOSE,
    )


def test_conv_transpose_layouts_and_types():
    x, w = rand(1, 3, 4, 4), rand(3, 5, 3, 3, seed=1)
    want = by_torch(lambda d, k: F.conv_transpose2d(d, k, stride=2))(x, w)
    check(
        lambda d, k: relay.nn.conv2d_transpose(
            d, k, strides=2, data_layout="NHWC", kernel_layout="HWOI"
        ),
        lambda d, k: want.transpose(0, 2, 3, 1),
        np.ascontiguousarray(x.transpose(0, 2, 3, 1)),
        np.ascontiguousarray(w.transpose(2, 3, 1, 0)),
        **CLOSE,
    )
    n = tenon.tir.Var("n", "int32")
    t = result_type(
        lambda d, k: relay.nn.conv2d_transpose(
            d, k, kernel_size=(3, 3), channels=15, padding=(1, 1)
        ),
        TensorType((n, 10, 10, 12)),
        relay.IncompleteType(),
    )
    assert t == TensorType((n, 15, 10, 12))
    with pytest.raises(tenon.error.DiagnosticError, match="another number of channels"):
        result_type(relay.nn.conv2d_transpose, TensorType((1, 2, 5, 5)), TensorType((3, 1, 2, 2)))


def test_signatures():
    assert str(inspect.signature(relay.nn.conv2d)) == (
        "(data, weight, strides=(1, 1), padding=(0, 0), dilation=(1, 1), groups=1, channels=None, "
        "kernel_size=None, data_layout='NCHW', kernel_layout='OIHW', out_layout='', out_dtype='')"
    )
    assert str(inspect.signature(relay.nn.conv1d_transpose)) == (
        "(data, weight, strides=(1,), padding=(0,), dilation=(1,), groups=1, channels=None, "
        "kernel_size=None, data_layout='NCW', kernel_layout='IOW', out_layout='', "
        "output_padding=(0,), out_dtype='')"
    )
    assert str(inspect.signature(relay.nn.dense)) == "(data, weight, units=None, out_dtype='')"
    assert str(inspect.signature(relay.nn.batch_matmul)) == (
        "(tensor_a, tensor_b, out_dtype='', transpose_a=False, transpose_b=True)"
    )
    attrs = relay.nn.conv2d(relay.var("x"), relay.var("w"), kernel_size=3, padding=(1, 2)).attrs
    assert list(attrs.kernel_size) == [3, 3] and list(attrs.padding) == [1, 2, 1, 2]


# ---- matrix products ----


@pytest.mark.parametrize("ta", [False, True])
@pytest.mark.parametrize("tb", [False, True])
def test_matmul(ta, tb):
    a, b = rand(2, 3, 4), rand(4, 5, seed=1)
    x = np.ascontiguousarray(a.transpose(0, 2, 1)) if ta else a
    y = np.ascontiguousarray(b.T) if tb else b
    check(
        lambda p, q: relay.nn.matmul(p, q, units=5, transpose_a=ta, transpose_b=tb),
        lambda p, q: a @ b,
        x,
        y,
        **CLOSE,
    )
    b = rand(2, 4, 5, seed=1)
    y = np.ascontiguousarray(b.transpose(0, 2, 1)) if tb else b
    check(
        lambda p, q: relay.nn.batch_matmul(p, q, transpose_a=ta, transpose_b=tb),
        lambda p, q: a @ b,
        x,
        y,
        **CLOSE,
    )
    one = rand(1, 5, 4, seed=2)
    check(
        relay.nn.batch_matmul,
        lambda p, q: p @ q.transpose(0, 2, 1),
        a,
        one,
        **CLOSE,
    )


def test_matmul_types():
    n, any_ = tenon.tir.Var("n", "int32"), relay.Any()

    def batch(a, b, **args):
        return result_type(
            lambda x, y: relay.nn.batch_matmul(x, y, **args), TensorType(a), TensorType(b)
        )

    assert batch((n, 2, 3), (n, 4, 3)) == TensorType((n, 2, 4))
    assert batch((1, 2, 3), (n, 4, 3)) == TensorType((n, 2, 4))
    assert batch((any_, 2, 3), (7, 4, 3)) == TensorType((7, 2, 4))
    assert batch((2, 2, 3), (2, 4, 3), out_dtype="float64").dtype == "float64"
    for a, b, message in [
        ((2, 2, 3), (2, 4, 5), "do not fit"),
        ((2, 2, 3), (3, 4, 3), "batch dimensions don't match"),
        ((2, 3), (2, 4, 3), "expected 3 dimensions"),
    ]:
        with pytest.raises(tenon.error.DiagnosticError, match=message):
            batch(a, b)
    t = result_type(
        lambda x, y: relay.nn.matmul(x, y, units=7), TensorType((n, 3)), relay.IncompleteType()
    )
    assert t == TensorType((n, 7))


def test_dense_pack():
    x, w = rand(3, 6), rand(8, 6, seed=1)
    packed = np.ascontiguousarray(w.reshape(2, 4, 6).transpose(0, 2, 1))
    check(
        lambda d, k: relay.nn.contrib_dense_pack(d, k, "NC4n"),
        lambda d, k: x @ w.T,
        x,
        packed,
        **CLOSE,
    )


def test_dense_pack_of_padded_weights():
    """Units that do not fill the last block; data of more dimensions."""
    x, w = rand(2, 3, 6), rand(10, 6, seed=1)
    packed = np.zeros((12, 6), "float32")
    packed[:10] = w
    packed = np.ascontiguousarray(packed.reshape(3, 4, 6).transpose(0, 2, 1))

    def call(d, k, units=10):
        return relay.nn.contrib_dense_pack(d, k, "NC4n", units=units)

    check(call, lambda d, k: x @ w.T, x, packed, **CLOSE)
    with pytest.raises(tenon.error.DiagnosticError, match="units=13, but weight .* has 12 rows"):
        result_type(lambda d, k: call(d, k, 13), TensorType((2, 3, 6)), TensorType((3, 6, 4)))
