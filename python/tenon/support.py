"""How the library was built, and a module made of Python functions."""

from ._ffi.registry import get_global_func
from .runtime.module import Module


def libinfo():
    """Options and facts of the build.

    Returns
    -------
    dict of str to str
        ``USE_LLVM``, ``USE_RPC``, ``USE_PROFILER``, ``USE_CUDA``, ... are ``"ON"`` or ``"OFF"``;
        ``TENON_VERSION``, ``LLVM_VERSION`` and the like are texts.
    """
    found = get_global_func("support.GetLibInfo")()
    return {str(key): str(value) for key, value in found.items()}


def describe():
    """Print what a report of a problem should hold: versions, platform, build options."""
    import platform
    import sys

    from ._ffi.base import __version__

    print(f"tenon {__version__}")
    print(f"Python {sys.version.split()[0]} on {platform.platform()}")
    for key, value in sorted(libinfo().items()):
        print(f"{key}: {value}")


class FrontendTestModule(Module):
    """A module into which Python functions are put: ``mod["name"] = f``.

    Parameters
    ----------
    entry_name : str, optional
        Function that calling the module calls.
    """

    __slots__ = ()

    def __init__(self, entry_name=None):
        self.__init_handle_by_constructor__(get_global_func("testing.FrontendTestModule"))
        if entry_name is not None:
            self.entry_name = entry_name

    def add_function(self, name, func):
        """Put a function into the module, replacing one of that name.

        Parameters
        ----------
        name : str
            Its name.
        func : function
            The function.
        """
        self.get_function("__add_function")(name, func)

    def __setitem__(self, key, value):
        self.add_function(key, value)
