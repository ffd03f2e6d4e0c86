"""Operators in other types, to see how long they take."""

from ...ir.module import IRModule
from . import _ffi_api


def recast(expr, dtype, out_dtype, ops=None, skip_layers=None):
    """Let operators compute in another type, with casts before and behind.

    Numbers are cast without scales: on the way to integers most are lost. It is for measuring
    time, and for tuning; `ToMixedPrecision` and quantized models keep what they compute.

    Parameters
    ----------
    expr : RelayExpr or IRModule
        The program; of a module its function ``main``.
    dtype : str
        The type of operands: of all that have the first one's type.
    out_dtype : str
        The type of results of operators that let it be chosen; results are cast back.
    ops : list of str, optional
        Names of operators, by default ``nn.conv2d``.
    skip_layers : list of int, optional
        Which of their calls stay as they are: 0 is the first in the order of evaluation, -1 the
        last.

    Returns
    -------
    RelayExpr or IRModule
        As `expr`.
    """
    ops, skip = ["nn.conv2d"] if ops is None else list(ops), list(skip_layers or [])
    if not isinstance(expr, IRModule):
        return _ffi_api.recast(expr, dtype, out_dtype, ops, skip, None)
    mod = expr.clone()
    mod["main"] = _ffi_api.recast(expr["main"], dtype, out_dtype, ops, skip, expr)
    return mod
