"""Clang, for C and C++ sources that are to become LLVM IR."""

import shutil
import subprocess

from .._ffi import files as _files
from . import utils as _utils


def find_clang(required=True):
    """Paths of the installed clang compilers, those of newer releases first.

    Parameters
    ----------
    required : bool
        Raise when there is none.

    Returns
    -------
    list of str
        Full paths; empty when there is none and `required` is False.
    """
    names = ["clang", *(f"clang-{version}" for version in range(25, 9, -1))]
    found = [path for path in map(shutil.which, names) if path]
    if required and not found:
        raise RuntimeError(
            "cannot find clang: install it (Debian and Ubuntu: apt install clang), searched for "
            + ", ".join(names)
        )
    return found


def create_llvm(inputs, output=None, options=None, cc=None):
    """Compile C or C++ to LLVM text.

    Parameters
    ----------
    inputs : str or list of str
        Paths, or source code itself (anything with a line break or that does not look like a path).
    output : str, optional
        Also write the text here.
    options : list of str, optional
        More arguments for clang.
    cc : str, optional
        The clang to use; default the first found.

    Returns
    -------
    str
        LLVM IR.
    """
    cc = cc or find_clang()[0]
    with _utils.tempdir() as temp:
        result = temp.relpath("output.ll")
        files = []
        for i, item in enumerate([inputs] if isinstance(inputs, str) else inputs):
            if _utils.is_source_path(item) and "\n" not in item:
                files.append(item)
                continue
            path = temp.relpath(f"input{i}.cc")
            with open(path, "w", encoding="utf-8") as out:
                out.write(item)
            files.append(path)
        command = [cc, "-S", "-emit-llvm", *(options or ()), "-o", result, *files]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode != 0:
            raise RuntimeError("Compilation error:\n" + done.stdout.decode("utf-8", "replace"))
        with open(result, encoding="utf-8") as inp:
            text = inp.read()
    if output:
        _files.write_file(output, text)
    return text
