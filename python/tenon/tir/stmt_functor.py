"""Walking and rewriting tensor programs.

Seen are the expressions and statements that a program computes with; variables at their
definitions, buffers and annotations are not shown.
"""

from . import _ffi_api


def post_order_visit(stmt, fvisit):
    """Call a function with every part of a program, operands first, each object once.

    Parameters
    ----------
    stmt : Stmt, PrimExpr or PrimFunc
        The program.
    fvisit : function
        ``node -> None``.
    """
    _ffi_api.PostOrderVisit(stmt, fvisit)


def pre_order_visit(stmt, fvisit):
    """Call a function with every part of a program before its operands, each object once.

    Parameters
    ----------
    stmt : Stmt, PrimExpr or PrimFunc
        The program.
    fvisit : function
        ``node -> bool``: whether to go on below the node.
    """
    _ffi_api.PreOrderVisit(stmt, fvisit)


def ir_transform(stmt, preorder, postorder, only_enable=None):
    """Rewrite a program.

    Parameters
    ----------
    stmt : Stmt or PrimExpr
        The program; it stays as it is.
    preorder : function or None
        ``node -> replacement``, before what is below; None goes on below the node.
    postorder : function or None
        ``node -> replacement``, after what is below was rewritten; None keeps the node.
    only_enable : list of str, optional
        Keys of the types for which the functions are called, such as ``"tir.Call"``.

    Returns
    -------
    Stmt or PrimExpr
    """
    return _ffi_api.IRTransform(stmt, preorder, postorder, only_enable)


def substitute(node, vmap):
    """Replace variables.

    Parameters
    ----------
    node : Stmt or PrimExpr
        The program; it stays as it is.
    vmap : dict of Var to PrimExpr
        What replaces them, of the same types. Buffers follow: data pointer (which only another
        variable can replace), extents, strides, offset.

    Returns
    -------
    Stmt or PrimExpr
    """
    return _ffi_api.Substitute(node, vmap)


def renew_defs(func):
    """A copy of a function with new variables and buffers at every definition.

    Parameters
    ----------
    func : PrimFunc
        The function.

    Returns
    -------
    PrimFunc
    """
    return _ffi_api.renew_defs(func)
