"""Names of built modules."""


def mangle_module_name(mod_name):
    """The prefix of the functions of a model: ``tvmgen_NAME``, ``tvmgen`` without a name.

    Parameters
    ----------
    mod_name : str or None
        Name of the model.

    Raises
    ------
    ValueError
        The name has letters that no name in C has.
    """
    if mod_name and not mod_name.isascii():
        raise ValueError(f"the name of a model: expected letters of ASCII, got {mod_name!r}")
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"
