"""Models for microcontrollers: archives of C source that firmware is made from."""

import os

from .._ffi.libinfo import find_include_path
from .c_file import CModel, HostTwin, export_c
from .model_library_format import (
    UnsupportedInModelLibraryFormatError,
    export_model_library_format,
    load_model_library_format,
)


def get_include_dirs():
    """Folders with the headers that the C source of archives includes, for ``-I``; list of str."""
    return find_include_path()


def get_standalone_crt_dir():
    """The folder with the C source of the runtime that runs archives on a microcontroller: compile
    its ``micro/*.c`` with ``-I`` of this folder and of `get_include_dirs`; str.

    Raises
    ------
    RuntimeError
        The package was installed without it.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(package, "csrc")
    if not os.path.isdir(os.path.join(folder, "micro")):
        raise RuntimeError(f"the source of the micro runtime is missing: no {folder}/micro")
    return folder


__all__ = [
    "CModel",
    "HostTwin",
    "UnsupportedInModelLibraryFormatError",
    "export_c",
    "export_model_library_format",
    "get_include_dirs",
    "get_standalone_crt_dir",
    "load_model_library_format",
]
