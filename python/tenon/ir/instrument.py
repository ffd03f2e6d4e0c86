"""Instruments: what watches passes."""

import functools
import inspect

from .._ffi.files import write_file
from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_instrument_api

_METHODS = (
    "enter_pass_ctx",
    "exit_pass_ctx",
    "should_run",
    "run_before_pass",
    "run_after_pass",
)


@register_object("instrument.PassInstrument")
class PassInstrument(Object):
    """Base of instruments. A subclass overrides the methods it needs; `pass_instrument` makes an
    instrument of a plain class."""

    def __init__(self):
        # The library calls the methods of a stand-in that shares the attributes: if it held the
        # instrument itself, that would hold itself alive.
        stand_in = type(self).__new__(type(self))
        stand_in.__dict__ = self.__dict__
        _connect(self, type(self), stand_in, PassInstrument)

    def enter_pass_ctx(self):
        """Called when the context is entered."""

    def exit_pass_ctx(self):
        """Called when the context is left."""

    def should_run(self, mod, info):
        """Should the pass run? Asked before each pass that the context does not require.

        Parameters
        ----------
        mod : IRModule
            The module.
        info : PassInfo
            The pass.

        Returns
        -------
        bool
        """
        return True

    def run_before_pass(self, mod, info):
        """Called before a pass; parameters as in `should_run`."""

    def run_after_pass(self, mod, info):
        """Called after a pass, with its result; parameters as in `should_run`."""


def _connect(instrument, cls, inst, base):
    """Makes the native object of an instrument from the methods that a class has of its own."""
    functions = []
    for name in _METHODS:
        method = getattr(cls, name, None)
        inherited = base is not None and method is getattr(base, name)
        functions.append(None if method is None or inherited else getattr(inst, name))
    instrument.__init_handle_by_constructor__(
        _ffi_instrument_api.PassInstrument, cls.__name__, *functions
    )


def pass_instrument(pi_cls=None):
    """Class decorator: instances become instruments.

    The class may have the methods ``enter_pass_ctx()``, ``exit_pass_ctx()``,
    ``should_run(mod, info)``, ``run_before_pass(mod, info)`` and ``run_after_pass(mod, info)``.

    Parameters
    ----------
    pi_cls : class
        The class.

    Returns
    -------
    class

    Examples
    --------
    >>> @tenon.instrument.pass_instrument
    ... class Log:
    ...     def run_after_pass(self, mod, info):
    ...         print(info.name)
    >>> with tenon.transform.PassContext(instruments=[Log()]):
    ...     mod = run(mod)
    """

    def create(cls):
        if not inspect.isclass(cls):
            raise TypeError("pi_cls must be a class")

        class PyPassInstrument(PassInstrument):
            def __init__(self, *args, **kwargs):
                inst = cls(*args, **kwargs)
                _connect(self, cls, inst, None)
                self._inst = inst

            def __getattr__(self, name):
                if name == "_inst":
                    raise AttributeError(name)
                return getattr(self._inst, name)

        functools.update_wrapper(PyPassInstrument.__init__, cls.__init__)
        PyPassInstrument.__name__ = cls.__name__
        PyPassInstrument.__qualname__ = cls.__qualname__
        PyPassInstrument.__doc__ = cls.__doc__
        PyPassInstrument.__module__ = cls.__module__
        return PyPassInstrument

    return create(pi_cls) if pi_cls is not None else create


class PassTimingInstrument(PassInstrument):
    """Measures passes.

    Examples
    --------
    >>> timing = tenon.instrument.PassTimingInstrument()
    >>> with tenon.transform.PassContext(instruments=[timing]):
    ...     mod = run(mod)
    ...     print(timing.render())
    """

    def __init__(self):
        self.__init_handle_by_constructor__(_ffi_instrument_api.MakePassTimingInstrument)

    def render(self):
        """The times since the context was entered, a line for each pass, inner passes indented:
        time, time without inner passes, percent of all, percent of the outer pass.

        Returns
        -------
        str
            Empty when no pass was measured.
        """
        return str(_ffi_instrument_api.RenderTimePassProfiles(self))


PassesTimeInstrument = PassTimingInstrument


@pass_instrument
class PassPrintingInstrument:
    """Prints modules before and after the passes of given names.

    Parameters
    ----------
    print_before_pass_names, print_after_pass_names : list of str
        Names of passes.
    """

    def __init__(self, print_before_pass_names, print_after_pass_names):
        self.print_before_pass_names = print_before_pass_names
        self.print_after_pass_names = print_after_pass_names

    def run_before_pass(self, mod, pass_info):
        if pass_info.name in self.print_before_pass_names:
            print(f"Print IR before: {pass_info.name}\n{mod}\n\n")

    def run_after_pass(self, mod, pass_info):
        if pass_info.name in self.print_after_pass_names:
            print(f"Print IR after: {pass_info.name}\n{mod}\n\n")


@pass_instrument
class PrintAfterAll:
    """Prints the module after every pass."""

    def __init__(self, *args, **kwargs):
        self.args = args
        self.kwargs = kwargs

    def run_after_pass(self, mod, info):
        print("After Running Pass:", info)
        print(mod)


@pass_instrument
class PrintBeforeAll:
    """Prints the module before every pass."""

    def __init__(self, *args, **kwargs):
        self.args = args
        self.kwargs = kwargs

    def run_before_pass(self, mod, info):
        print("Before Running Pass:", info)
        print(mod)


@pass_instrument
class DumpIR:
    """Writes the module after every pass into files ``NUMBER_PASS.py``.

    Parameters
    ----------
    dump_dir : str
        Folder, made if there is none.
    refresh : bool
        Remove the files that are there.
    """

    def __init__(self, dump_dir, refresh=False):
        import os

        os.makedirs(dump_dir, exist_ok=True)
        if refresh:
            for entry in os.scandir(dump_dir):
                if entry.is_file():
                    os.remove(entry.path)
        self.dump_dir = dump_dir
        self.counter = 0

    def run_after_pass(self, mod, info):
        import os

        name = info.name.replace("/", "_")
        path = os.path.join(self.dump_dir, f"{self.counter:03d}_{name}.py")
        write_file(path, str(mod))
        self.counter += 1
