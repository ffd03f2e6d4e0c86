"""Names at the bottom of the package: version, error class, the native library through ctypes."""

import os

from ..error import TenonError, TVMError, register_error  # noqa: F401

__version__ = "0.1.0"

string_types = (str,)


def __getattr__(name):
    """What costs an import: `_LIB` (ctypes), `integer_types` and `numeric_types` (numpy)."""
    if name == "_LIB":
        import ctypes

        value = ctypes.CDLL(find_runtime(), ctypes.RTLD_GLOBAL)
    elif name in ("integer_types", "numeric_types"):
        import numpy

        value = (int, numpy.int32) if name == "integer_types" else (int, float, numpy.generic)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def find_runtime():
    """Path of the runtime library that is loaded."""
    from .libinfo import find_lib_path

    return find_lib_path()[0]


def py_str(x):
    """Decode a C string (bytes) of the library."""
    return x.decode("utf-8")


def c_str(string):
    """A ctypes string of a Python one."""
    import ctypes

    return ctypes.c_char_p(string.encode("utf-8"))


def c_array(ctype, values):
    """A ctypes array of `values`."""
    return (ctype * len(values))(*values)


def get_last_ffi_error():
    """The error that the C interface (``TVMGetLastError``) holds, as an exception."""
    import ctypes

    lib = __getattr__("_LIB")
    lib.TVMGetLastError.restype = ctypes.c_char_p
    from ..error import ERROR_TYPE

    text = py_str(lib.TVMGetLastError() or b"")
    return ERROR_TYPE.get(text.partition(":")[0].strip(), TVMError)(text)


def check_call(ret):
    """Raise what a C function reported with a non-zero return value."""
    if ret != 0:
        raise get_last_ffi_error()


_FFI_MODE = os.environ.get("TVM_FFI", "auto")
