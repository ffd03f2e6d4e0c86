"""Linear expressions."""

from . import _ffi_api


def detect_linear_equation(expr, var_list):
    """Factors of variables in a linear expression.

    Parameters
    ----------
    expr : PrimExpr
        The expression.
    var_list : list of Var
        The variables.

    Returns
    -------
    coeff : list of PrimExpr
        A factor for each variable and, last, the rest; empty when it is not linear in them.
    """
    return _ffi_api.DetectLinearEquation(expr, var_list)


def detect_clip_bound(expr, var_list):
    """Limits of variables in a conjunction of comparisons.

    Parameters
    ----------
    expr : PrimExpr
        The condition.
    var_list : list of Var
        The variables.

    Returns
    -------
    bounds : list of PrimExpr
        Minimum and maximum of each variable, None where there is none; empty when the condition
        does not limit each variable by itself.
    """
    return _ffi_api.DetectClipBound(expr, var_list)


def detect_common_subexpr(expr, threshold):
    """Expressions that occur several times within one.

    Parameters
    ----------
    expr : PrimExpr
        The expression.
    threshold : int
        How often at least.

    Returns
    -------
    dict of PrimExpr to int
        How often each occurs; constants and variables do not count.
    """
    return _ffi_api.DetectCommonSubExpr(expr, threshold)
