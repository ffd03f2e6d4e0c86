"""Names that are fit to be identifiers of C."""

import re

from .._ffi.base import TVMError


def sanitize_name(original_name):
    """Replace every character that an identifier cannot have by an underscore.

    Parameters
    ----------
    original_name : str
        Any name that is not empty.

    Returns
    -------
    str

    Raises
    ------
    TVMError
        The name is empty.
    """
    if not original_name:
        raise TVMError("Name is empty")
    return re.sub(r"[^A-Za-z0-9_]", "_", original_name)
