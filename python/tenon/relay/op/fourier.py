"""Fourier transforms."""

import numpy as np

from ..expr import TupleWrapper, const
from . import _make


def stft(
    data, n_fft, hop_length=None, win_length=None, window=None, normalized=False, onesided=True
):
    """Fourier transforms of windows that move along the last axis.

    Parameters
    ----------
    data : RelayExpr
        Signal (length,) or signals (batch, length).
    n_fft : int
        Elements of a transform.
    hop_length : int, optional
        Distance of windows; default: a quarter of `n_fft`.
    win_length : int, optional
        Elements of a window, which stands in the middle of those of a transform; default: `n_fft`.
    window : RelayExpr, optional
        Weights of the elements (win_length,); default: ones.
    normalized : bool
        Divide by the root of `n_fft`.
    onesided : bool
        Only the frequencies up to half of `n_fft`, which say all for real signals.

    Returns
    -------
    Call
        (batch, frequencies, windows, 2), real and imaginary parts.
    """
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    if window is None:
        window = const(np.ones(win_length, "int32"))
    return _make.stft(data, window, n_fft, hop_length, win_length, normalized, onesided)


def dft(re_data, im_data, inverse=False):
    """Discrete Fourier transform along the last axis.

    Parameters
    ----------
    re_data, im_data : RelayExpr
        Real and imaginary parts.
    inverse : bool
        Back from frequencies, divided by how many there are.

    Returns
    -------
    TupleWrapper
        Real and imaginary parts.
    """
    return TupleWrapper(_make.dft(re_data, im_data, bool(inverse)), 2)


__all__ = ["dft", "stft"]
