"""Numbers of shapes, and schedules of what comes before."""

import re

from .. import arith, tir
from ..te.tensor import ComputeOp
from .tag import is_broadcast


def simplify(expr):
    """The expression simplified; numbers as they are."""
    return arith.Analyzer().simplify(expr) if isinstance(expr, tir.PrimExpr) else expr


def get_const_int(expr):
    """The int that an expression is.

    Raises
    ------
    ValueError
        It is not constant.
    """
    if isinstance(expr, int):
        return expr
    expr = simplify(expr)
    if not isinstance(expr, tir.IntImm):
        raise ValueError("Expect value to be constant int")
    return int(expr)


def get_const_float(expr):
    """The float that an expression is; ValueError if it is not constant."""
    if isinstance(expr, float):
        return expr
    expr = simplify(expr)
    if not isinstance(expr, tir.FloatImm):
        raise ValueError("Expect value to be constant float")
    return float(expr.value)


def get_const_tuple(in_tuple):
    """Constants among extents as ints, the others as they are."""
    out = []
    for item in in_tuple:
        value = item if isinstance(item, tir.Var | tir.Any) else simplify(item)
        out.append(int(value) if isinstance(value, int | tir.IntImm) else value)
    return tuple(out)


def equal_const_int(expr, value):
    """Is an expression the constant?"""
    expr = simplify(expr)
    return isinstance(expr, int | tir.IntImm) and int(expr) == value


def nchw_pack_layout(layout_info):
    """Is it NCHW with blocks of images and channels, as ``NCHW1n16c``?"""
    return layout_info.startswith("NCHW") and {"n", "c"} <= set(layout_info)


def nchw_xc_layout(layout_info):
    """Is it NCHW with blocks of channels, as ``NCHW16c``?"""
    return re.fullmatch(r"NCHW[0-9]+c", layout_info) is not None


def get_shape(src_shape, src_layout, dst_layout):
    """The shape of data in another layout of the same axes.

    Parameters
    ----------
    src_shape : tuple of int
        The shape.
    src_layout, dst_layout : str
        Layouts, such as ``"NCHW16c"``; both have the same axes.

    Returns
    -------
    tuple
        An extent for each axis of `dst_layout`.

    Raises
    ------
    ValueError
        The layouts have other axes.
    """
    places = {axis: i for i, axis in enumerate(_axes_of(src_layout))}
    wanted = _axes_of(dst_layout)
    if sorted(places) != sorted(wanted):
        raise ValueError(f"get_shape: {src_layout} and {dst_layout} differ in their axes")
    return get_const_tuple([src_shape[places[axis]] for axis in wanted])


def _axes_of(layout):
    return re.findall(r"\d*[A-Za-z]", layout)


def traverse_inline(s, final_op, callback):
    """Put the computes before `final_op` that only broadcast into their users, and call `callback`
    on every operation.

    Parameters
    ----------
    s : Schedule
        The schedule.
    final_op : Operation
        Where to begin.
    callback : function
        Called with each operation, users before what they use.
    """
    visited = []

    def visit(op):
        if any(op.same_as(seen) for seen in visited):
            return
        visited.append(op)
        if is_broadcast(op.tag):
            if op not in s.outputs:
                s[op].compute_inline()
            for tensor in op.input_tensors:
                if isinstance(tensor.op, ComputeOp):
                    visit(tensor.op)
        callback(op)

    visit(final_op)


__all__ = [
    "equal_const_int",
    "get_const_float",
    "get_const_int",
    "get_const_tuple",
    "get_shape",
    "nchw_pack_layout",
    "nchw_xc_layout",
    "simplify",
    "traverse_inline",
]
