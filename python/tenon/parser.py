"""Relay's text form, read."""

from ._ffi import get_global_func


def parse(source, source_name="from_string", init_module=None, init_meta_table=None):
    """Read a module, or an expression, which becomes its function ``main``.

    Parameters
    ----------
    source : str or bytes
        Text of version 0.0.5.
    source_name : str
        Name of the text, for messages.
    init_module : IRModule, optional
        Module whose definitions the text may use and which the result holds too.
    init_meta_table : dict of str to list, optional
        Objects that ``meta[type key][number]`` refers to, when the text has no metadata section.

    Returns
    -------
    IRModule

    Raises
    ------
    DiagnosticError
        The text is wrong; all errors are shown with their places.
    """
    function = get_global_func("parser.ParseModuleInContext")
    return function(source_name, source, init_module, init_meta_table)


def parse_expr(source):
    """Read a single expression.

    Parameters
    ----------
    source : str or bytes
        Text of version 0.0.5.

    Returns
    -------
    Expr

    Raises
    ------
    DiagnosticError
        The text is wrong.
    """
    return get_global_func("parser.ParseExprInContext")("string", source, None, None)


def fromtext(source, source_name="from_string"):
    """Read a module; the same as `parse`."""
    return parse(source, source_name)
