"""Fourier transforms, correlation, transposed convolution of quantized images, against numpy."""

import numpy as np
import pytest
import tenon
from op_cases import check, rand, result_type
from tenon import relay
from tenon.topi import testing


@pytest.mark.parametrize("inverse", [False, True])
def test_dft(inverse):
    def reference(re, im):
        z = (np.fft.ifft if inverse else np.fft.fft)(re + 1j * im)
        return [z.real, z.imag]

    check(
        lambda a, b: relay.op.dft(a, b, inverse).tuple_value,
        reference,
        rand(2, 3, 10),
        rand(2, 3, 10, seed=1),
        rtol=1e-4,
        atol=1e-5,
    )


@pytest.mark.parametrize("shape", [(40,), (3, 37)])
@pytest.mark.parametrize("win_length, onesided, normalized", [(16, True, False), (11, False, True)])
def test_stft(shape, win_length, onesided, normalized):
    window = rand(win_length, low=0.5, high=1, seed=4)

    def reference(x, w):
        wide = np.zeros(16)
        begin = (16 - win_length) // 2
        wide[begin : begin + win_length] = w
        view = np.lib.stride_tricks.sliding_window_view(x, 16, -1)[..., ::5, :] * wide
        z = np.swapaxes((np.fft.rfft if onesided else np.fft.fft)(view), -1, -2)
        return np.stack([z.real, z.imag], -1) / (4 if normalized else 1)

    check(
        lambda a, w: relay.op.stft(a, 16, 5, win_length, w, normalized, onesided),
        reference,
        rand(*shape),
        window,
        rtol=1e-4,
        atol=1e-4,
    )


def test_stft_takes_windows_of_integers():
    """They count as floats: a window of ones changes nothing."""
    x, window = rand(2, 30), np.array([1, 0, 2, 1], "int32")

    def reference(a, w):
        view = np.lib.stride_tricks.sliding_window_view(a, 4, -1)[..., ::3, :] * w
        z = np.swapaxes(np.fft.rfft(view), -1, -2)
        return np.stack([z.real, z.imag], -1)

    check(lambda a, w: relay.op.stft(a, 4, 3, 4, w), reference, x, window, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_stft_without_a_window(dtype):
    x = rand(2, 9).astype(dtype)
    got = relay.create_executor("debug").evaluate(relay.op.stft(relay.const(x), 4, 5)).numpy()
    want = np.fft.rfft(np.stack([x[:, :4], x[:, 5:]], 1)).transpose(0, 2, 1)
    assert got.dtype == dtype
    np.testing.assert_allclose(got[..., 0] + 1j * got[..., 1], want, rtol=1e-5, atol=1e-5)


def test_stft_of_long_signals_keeps_its_angles():
    x = rand(1, 5000)
    want = np.fft.rfft(x[0, :4096])
    got = relay.create_executor("debug").evaluate(relay.op.stft(relay.const(x), 4096, 4096)).numpy()
    np.testing.assert_allclose(got[0, :, 0, 0] + 1j * got[0, :, 0, 1], want, atol=2e-2)


def test_stft_says_what_does_not_fit():
    with pytest.raises(tenon.TVMError, match="shorter than n_fft"):
        result_type(
            lambda a, w: relay.op.stft(a, 16, 4, 16, w),
            relay.TensorType((9,)),
            relay.TensorType((16,)),
        )
    with pytest.raises(tenon.TVMError, match="win_length <= n_fft"):
        result_type(
            lambda a, w: relay.op.stft(a, 16, 4, 20, w),
            relay.TensorType((90,)),
            relay.TensorType((20,)),
        )


@pytest.mark.parametrize("args", [(1, 2, 1, 1, 2, True), (3, 4, 2, 2, (3, 4), False)])
def test_correlation(args):
    a, b = rand(2, 3, 9, 10), rand(2, 3, 9, 10, seed=1)
    check(
        lambda x, y: relay.nn.correlation(x, y, *args, "NCHW"),
        lambda x, y: testing.correlation_nchw_python(
            x, y, args[0], args[1], args[2], args[3], args[4], args[5]
        ),
        a,
        b,
        rtol=1e-4,
        atol=1e-5,
    )


def test_correlation_needs_patches_with_a_middle():
    kind = relay.TensorType((1, 1, 8, 8))
    with pytest.raises(tenon.TVMError, match="kernel_size must be odd"):
        result_type(
            lambda a, b: relay.nn.correlation(a, b, 2, 1, 1, 1, 0, True, "NCHW"), kind, kind
        )


@pytest.mark.parametrize("zeros", [(0, 0), (3, -2)])
def test_transposed_convolution_of_quantized_images(zeros):
    rng = np.random.default_rng(1)
    x = rng.integers(-128, 128, (1, 3, 5, 4)).astype("int8")
    w = rng.integers(-128, 128, (3, 2, 3, 3)).astype("int8")
    numbers = [relay.const(z, "int32") for z in zeros] + [relay.const(0.5), relay.const(0.25)]
    v = relay.var("x", shape=x.shape, dtype="int8")
    body = relay.qnn.op.conv2d_transpose(
        v,
        relay.const(w),
        *numbers,
        strides=(2, 1),
        padding=(1, 0),
        channels=2,
        kernel_size=(3, 3),
        output_padding=(1, 0),
    )
    mod = tenon.IRModule.from_expr(relay.Function([v], body))
    wide = [a.astype("int32") - z for a, z in zip((x, w), zeros, strict=True)]
    want = testing.conv2d_transpose_nchw_python(*wide, (2, 1), (1, 0), (1, 0))
    for kind in ("graph", "vm"):
        run = relay.create_executor(kind, mod, tenon.cpu(), "llvm").evaluate()
        got = run(tenon.nd.array(x)).numpy()
        assert got.dtype == np.int32
        np.testing.assert_array_equal(got, want)
