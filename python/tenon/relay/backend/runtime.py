"""What a built program runs on."""

from ..._ffi.registry import register_object
from . import _backend
from .executor import _Options


@register_object("Runtime")
class Runtime(_Options):
    """A runtime and its options.

    Parameters
    ----------
    name : str
        ``"cpp"`` (this library) or ``"crt"`` (microcontrollers).
    options : dict, optional
        Options by name, see `list_registered_options`.

    Raises
    ------
    TVMError
        There is no such runtime or option, or a value is of another type.
    """

    __slots__ = ()

    def __init__(self, name, options=None):
        self.__init_handle_by_constructor__(_backend.CreateRuntime, name, options or {})

    @staticmethod
    def list_registered():
        """Names of all runtimes."""
        return [str(name) for name in _backend.ListRuntimes()]

    @staticmethod
    def list_registered_options(runtime):
        """Options of a runtime and the keys of their types.

        Parameters
        ----------
        runtime : str
            Its name.
        """
        options = _backend.ListRuntimeOptions(str(runtime))
        return {str(name): str(kind) for name, kind in options.items()}
