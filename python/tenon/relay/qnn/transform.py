"""Passes over quantized operators."""

from ..transform import Legalize as _Legalize
from ..transform import _ffi_api


def CanonicalizeOps():  # noqa: N802  named as the other passes
    """Quantized operators become the arithmetic of integers that they are.

    Returns
    -------
    Pass
    """
    return _ffi_api.QnnCanonicalizeOps()


def Legalize():  # noqa: N802  named as the other passes
    """Calls become what their attribute ``FTVMQnnLegalize`` says.

    Returns
    -------
    Pass
    """
    return _Legalize("FTVMQnnLegalize")
