"""Names of built modules."""


def mangle_module_name(mod_name):
    """The prefix of the functions of a model: ``tvmgen_NAME``, ``tvmgen`` without a name.

    Parameters
    ----------
    mod_name : str or None
        Name of the model.
    """
    return f"tvmgen_{mod_name}" if mod_name else "tvmgen"
