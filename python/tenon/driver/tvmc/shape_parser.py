"""Extents of inputs from text."""

import argparse
import re

# name, perhaps behind one folder, with dots and colons inside; extents
_INPUT = re.compile(r"((?:\w+/)?\w[:\w.]*?)\s*:\s*\[\s*([^\[\]]*?)\s*\]\s*,?\s*")


def parse_shape_string(inputs_string):
    """Extents of inputs from text.

    Parameters
    ----------
    inputs_string : str
        ``data:[1,3,224,224] mask:[1,-1]``; a number below 1, or ``?``, is a dynamic extent.

    Returns
    -------
    dict of str to list

    Raises
    ------
    argparse.ArgumentTypeError
        The text is of another form.
    """
    from ...tir import Any

    out, at = {}, 0
    while at < len(inputs_string):
        found = _INPUT.match(inputs_string, at)
        extents = re.split(r"\s*,\s*", found[2]) if found else []
        if not extents or not all(re.fullmatch(r"-?\d+|\?", extent) for extent in extents):
            break
        given = [0 if extent == "?" else int(extent) for extent in extents]
        out[found[1]] = [n if n > 0 else Any() for n in given]
        at = found.end()
    if at < len(inputs_string) or not out:
        raise argparse.ArgumentTypeError(
            f'{inputs_string!r}: expected "name:[1,3,224,224] other:[1,2]"'
        )
    return out
