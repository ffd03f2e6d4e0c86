"""Passes that take arguments, with their names and defaults."""

import enum

from . import _ffi_api


class HoistedConditionals(enum.Flag):
    """Which conditions `HoistExpression` moves in front of loops."""

    Never = 0
    """None."""

    IfElseStmt = 1
    """Those of conditional statements."""

    IfElseExpr = 2
    """Those of choices in expressions."""

    BooleanExpression = 4
    """Parts of conjunctions."""

    UsingBlockVar = 8
    """Those with the index of a thread too."""

    All = 15
    """All."""


class HoistedLetBindings(enum.Flag):
    """Which bindings `HoistExpression` moves in front of loops."""

    Never = 0
    """None."""

    RequiredByConditional = 1
    """Those that a condition that moves needs."""

    LetStmt = 2
    """Those of statements."""

    LetExpr = 4
    """Those in expressions."""

    All = 7
    """All."""


def NarrowDataType(target_bits):
    """Compute indices that fit in narrower integers.

    Parameters
    ----------
    target_bits : int
        Bits of these: 8, 16, 32 or 64.

    Returns
    -------
    Pass
    """
    return _ffi_api.NarrowDataType(target_bits)


def CommonSubexprElimTIR(enable_cse_tir=True, identify_equiv_terms=False):
    """Compute expressions that occur several times once.

    Parameters
    ----------
    enable_cse_tir : bool
        Otherwise nothing is done.
    identify_equiv_terms : bool
        Whether expressions that simplify to the same one count as equal.

    Returns
    -------
    Pass
    """
    return _ffi_api.CommonSubexprElimTIR(enable_cse_tir, identify_equiv_terms)


def StorageFlatten(cache_line_size, create_bound_attribute=False):
    """Make allocations of realized regions, and flat accesses.

    Parameters
    ----------
    cache_line_size : int
        Bytes of a cache line.
    create_bound_attribute : bool
        Whether attributes tell the extents of buffers.

    Returns
    -------
    Pass
    """
    return _ffi_api.StorageFlatten(cache_line_size, create_bound_attribute)


def LiftAttrScope(attr_key):
    """Put an attribute that statements share around them once.

    Parameters
    ----------
    attr_key : str
        Name of the attribute.

    Returns
    -------
    Pass
    """
    return _ffi_api.LiftAttrScope(attr_key)


def HoistIfThenElse(variant=None):
    """Decide conditions that do not depend on their loop in front of it.

    Parameters
    ----------
    variant : str, optional
        None or "basic"; "threads" moves conditions with indices of threads too, as builds do.

    Returns
    -------
    Pass
    """
    if variant not in (None, "basic", "threads"):
        raise ValueError(
            f'HoistIfThenElse: expected the variant None, "basic" or "threads", got {variant!r}'
        )
    return _ffi_api.HoistIfThenElse(*(["threads"] if variant == "threads" else []))


def InjectCopyIntrin(pragma_key, fintrin):
    """Make calls of copies that a pragma marks.

    Parameters
    ----------
    pragma_key : str
        Name of the pragma without ``pragma_``.
    fintrin : function
        ``(src, dst, pad_before, pad_after, pad_value) -> Stmt``, of buffers, numbers of elements
        that are filled up along each axis, and the value that fills.

    Returns
    -------
    Pass
    """
    return _ffi_api.InjectCopyIntrin(pragma_key, fintrin)


def FP8ComputeLegalize(promote_dtype_str="float32"):
    """Compute 8-bit floats in a wider type.

    Parameters
    ----------
    promote_dtype_str : str
        float16 or float32.

    Returns
    -------
    Pass
    """
    return _ffi_api.FP8ComputeLegalize(promote_dtype_str)


def CompactBufferAllocation(is_strict=True):
    """Shrink buffers to what is accessed where they live.

    Parameters
    ----------
    is_strict : bool
        Whether buffers only shrink. Otherwise one that is accessed beyond its extents grows.

    Returns
    -------
    Pass
    """
    return _ffi_api.CompactBufferAllocation(is_strict)


def BindTarget(target):
    """Say for which target functions are.

    Parameters
    ----------
    target : Target
        The target.

    Returns
    -------
    Pass
    """
    return _ffi_api.BindTarget(target)


def ThreadSync(storage_scope):
    """Put barriers between accesses of memory that threads share.

    Parameters
    ----------
    storage_scope : str
        The memory: "shared", "global" and the like.

    Returns
    -------
    Pass
    """
    return _ffi_api.ThreadSync(storage_scope)


def RemoveWeightLayoutRewriteBlock(skip_ndarray_rewrite=False):
    """Drop blocks that bring parameters into the layout that a schedule chose.

    Parameters
    ----------
    skip_ndarray_rewrite : bool
        Whether constants stay as they are. They do in any case: blocks that rearrange them stay.

    Returns
    -------
    Pass
    """
    return _ffi_api.RemoveWeightLayoutRewriteBlock(skip_ndarray_rewrite)
