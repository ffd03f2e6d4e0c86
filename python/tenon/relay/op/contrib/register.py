"""Tables of patterns that a code generator takes, by its name."""

from importlib import import_module

LIBRARIES = ("cublas", "cudnn", "cutlass")  # modules here that register a table when imported
_PATTERN_TABLES = {}


def register_pattern_table(compiler, table=None):
    """Register a function that gives the patterns of a code generator.

    Parameters
    ----------
    compiler : str
        Name of the code generator.
    table : function () -> list of (str, DFPattern) or (str, DFPattern, function), optional
        What `tenon.relay.transform.MergeComposite` takes. Without it the result is a decorator.

    Returns
    -------
    function
        `table`, or a decorator.
    """

    def keep(t):
        _PATTERN_TABLES[compiler] = t()
        return t

    return keep if table is None else keep(table)


def get_pattern_table(compiler):
    """The patterns of a code generator.

    Parameters
    ----------
    compiler : str
        Name of the code generator.

    Returns
    -------
    list or None
        None where none are registered.
    """
    if compiler in LIBRARIES:
        import_module(f".{compiler}", __package__)
    return _PATTERN_TABLES.get(compiler)
