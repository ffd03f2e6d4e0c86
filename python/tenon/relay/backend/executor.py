"""What runs a built program."""

from ..._ffi.registry import register_object
from ...runtime.object import Object
from . import _backend


class _Options(Object):
    """A choice with options."""

    __slots__ = ()

    def __contains__(self, name):
        return name in self.attrs

    def __getitem__(self, name):
        return self.attrs[name]

    def __eq__(self, other):
        return (
            isinstance(other, type(self))
            and str(self.name) == str(other.name)
            and dict(self.attrs.items()) == dict(other.attrs.items())
        )

    def __hash__(self):
        return hash(str(self.name))

    def __str__(self):
        return str(self.name)


@register_object("Executor")
class Executor(_Options):
    """An executor and its options.

    Parameters
    ----------
    name : str
        ``"graph"`` or ``"aot"``.
    options : dict, optional
        Options by name, see `list_registered_options`; others have their defaults.

    Raises
    ------
    TVMError
        There is no such executor or option, or a value is of another type.
    """

    __slots__ = ()

    def __init__(self, name, options=None):
        self.__init_handle_by_constructor__(_backend.CreateExecutor, name, options or {})

    @staticmethod
    def list_registered():
        """Names of all executors."""
        return [str(name) for name in _backend.ListExecutors()]

    @staticmethod
    def list_registered_options(executor):
        """Options of an executor and the keys of their types.

        Parameters
        ----------
        executor : str
            Its name.
        """
        options = _backend.ListExecutorOptions(str(executor))
        return {str(name): str(kind) for name, kind in options.items()}
