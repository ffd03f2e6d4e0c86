"""Names of passes from text."""

import argparse


def parse_pass_list_str(input_string):
    """Names with commas between.

    Parameters
    ----------
    input_string : str
        The text.

    Returns
    -------
    list of str

    Raises
    ------
    argparse.ArgumentTypeError
        There is no such pass; the text has all that are known.
    """
    from ..._ffi.registry import list_global_func_names

    known = set()
    for name in list_global_func_names():
        start, _, rest = str(name).partition("._transform.")
        if start in ("relay", "tir", "relax") and "." not in rest:
            known |= {rest, f"{start}.{rest}"}
    names = [name.strip() for name in input_string.split(",")]
    wrong = [name for name in names if name and name not in known]
    if wrong:
        raise argparse.ArgumentTypeError(
            f"no such passes: {', '.join(wrong)}; there are {', '.join(sorted(known))}"
        )
    return names
