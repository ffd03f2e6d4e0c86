"""Models for microcontrollers: archives of C source that firmware is made from."""

from .._ffi.libinfo import find_include_path
from .model_library_format import (
    UnsupportedInModelLibraryFormatError,
    export_model_library_format,
)


def get_include_dirs():
    """Folders with the headers that the C source of archives includes, for ``-I``; list of str."""
    return find_include_path()


__all__ = [
    "UnsupportedInModelLibraryFormatError",
    "export_model_library_format",
    "get_include_dirs",
]
