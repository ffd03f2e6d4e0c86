"""Passes, sequences of passes, and the context they run in."""

import functools
import inspect
import sys

from .._ffi.registry import register_object
from ..runtime.object import Object
from . import _ffi_transform_api

_own_passes = set()  # names of passes that are made in Python


@register_object("transform.PassInfo")
class PassInfo(Object):
    """Name, level and needs of a pass.

    Parameters
    ----------
    opt_level : int
        Level from which sequences run the pass.
    name : str
        Its name.
    required : list of str, optional
        Passes that a sequence runs before it.
    traceable : bool
        Kept for programs that set it.
    """

    __slots__ = ()

    def __init__(self, opt_level, name, required=None, traceable=False):
        self.__init_handle_by_constructor__(
            _ffi_transform_api.PassInfo, opt_level, name, required or [], traceable
        )
        _own_passes.add(str(name))

    def __repr__(self):
        required = ", ".join(str(name) for name in self.required)
        return (
            f"The meta data of the pass - pass name: {self.name}, "
            f"opt_level: {self.opt_level}, required passes: [{required}]"
        )


@register_object("transform.PassContext")
class PassContext(Object):
    """Level, options and instruments of passes, for the time of a ``with`` statement.

    Parameters
    ----------
    opt_level : int
        Sequences run passes up to this level; builds run those of level 3 from level 2 on.
    required_pass, disabled_pass : list, tuple or set of str, optional
        Passes that run at any level, and passes that do not run, in sequences. A name that no
        pass has is a warning when the context is entered.
    instruments : list of PassInstrument, optional
        Instruments, called in order.
    config : dict of str to Any, optional
        Options; `list_configs` tells which there are. An option that is a node may be given as a
        dictionary of its fields.

    Raises
    ------
    AttributeError
        There is no such option (the text lists those there are), or its value has a wrong type.

    Examples
    --------
    >>> with tenon.transform.PassContext(opt_level=3, config={"tir.disable_vectorize": True}):
    ...     lib = tenon.build(mod, "llvm")
    """

    __slots__ = ()

    def __init__(
        self,
        opt_level=2,
        required_pass=None,
        disabled_pass=None,
        instruments=None,
        config=None,
    ):
        self.__init_handle_by_constructor__(
            _ffi_transform_api.PassContext,
            opt_level,
            _names(required_pass, "required_pass"),
            _names(disabled_pass, "disabled_pass"),
            _list(instruments, "instruments"),
            dict(config) if config else {},
        )

    def check_names(self, strict=False):
        """Look for unknown passes in `required_pass` and `disabled_pass`.

        Parameters
        ----------
        strict : bool
            They are an error, not a warning.

        Raises
        ------
        ValueError
            A pass is unknown, and `strict` is set.
        """
        named = {*map(str, self.required_pass), *map(str, self.disabled_pass)}
        if not named - _own_passes:
            return
        import difflib  # most programs never need them
        import logging

        known = {*map(str, _ffi_transform_api.ListPasses()), *_own_passes}
        for name in sorted(named - known):
            near = difflib.get_close_matches(name, known, 3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            text = f"PassContext: unknown pass {name}{hint}"
            if strict:
                raise ValueError(text)
            logging.getLogger("tenon.ir").warning(text)

    def __enter__(self):
        self.check_names()
        _ffi_transform_api.EnterPassContext(self)
        return self

    def __exit__(self, ptype, value, trace):
        _ffi_transform_api.ExitPassContext(self)

    def override_instruments(self, instruments):
        """Replace the instruments: the old ones are left and the new ones entered.

        Parameters
        ----------
        instruments : list of PassInstrument or None
            The new ones.
        """
        _ffi_transform_api.OverrideInstruments(self, list(instruments or ()))

    @staticmethod
    def current():
        """The innermost context of this thread; PassContext."""
        return _ffi_transform_api.GetCurrentPassContext()

    @staticmethod
    def list_configs():
        """The options: dict of key to a dict with ``"type"`` and ``"doc"``."""
        configs = _ffi_transform_api.ListConfigs()
        return {str(key): {str(k): str(v) for k, v in row.items()} for key, row in configs.items()}


def _list(value, what):
    if value is None:
        return []
    if not isinstance(value, list | tuple | set):
        raise TypeError(f"{what} is expected to be the type of list/tuple/set.")
    return list(value)


def _names(value, what):
    names = _list(value, what)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what}: expected names of passes, got {type(name).__name__}")
    return names


@register_object("transform.Pass")
class Pass(Object):
    """A function from modules to modules; call it with a module."""

    __slots__ = ()

    @property
    def info(self):
        """Name, level and needs; PassInfo."""
        return _ffi_transform_api.Info(self)

    def __call__(self, mod):
        """Run the pass, with the instruments of the current context around it.

        Parameters
        ----------
        mod : IRModule
            The module; it stays as it is.

        Returns
        -------
        IRModule
        """
        return _ffi_transform_api.RunPass(self, mod)


@register_object("transform.ModulePass")
class ModulePass(Pass):
    """A pass over a whole module; made by `module_pass`."""

    __slots__ = ()


@register_object("transform.Sequential")
class Sequential(Pass):
    """Passes run in order, as far as level and the lists of the context let them.

    Parameters
    ----------
    passes : list of Pass, optional
        The passes.
    opt_level : int
        Level of the sequence itself.
    name : str
        Its name.
    required : list of str, optional
        Passes that another sequence runs before this one.
    """

    __slots__ = ()

    def __init__(self, passes=None, opt_level=0, name="sequential", required=None):
        self.__init_handle_by_constructor__(
            _ffi_transform_api.Sequential,
            _list(passes, "passes"),
            opt_level,
            name,
            _names(required, "required"),
        )


def wrap_pass_class(base, make, method, pass_cls, pass_info):
    """A pass class that runs a method of instances of a plain class.

    Parameters
    ----------
    base : class
        The kind of pass, such as `ModulePass`.
    make : function
        ``(function, info) -> pass``.
    method : str
        Name of the method that transforms.
    pass_cls : class
        The plain class.
    pass_info : PassInfo
        Name and level.

    Returns
    -------
    class
        Constructed as `pass_cls` is; attributes that the pass has not are the instance's.
    """

    class PyPass(base):
        def __init__(self, *args, **kwargs):
            inst = pass_cls(*args, **kwargs)
            transform = getattr(inst, method)

            # holds the instance, not the pass: no cycle through the library
            def run(*given):
                return transform(*given)

            self.__init_handle_by_constructor__(make, run, pass_info)
            self._inst = inst

        def __getattr__(self, name):
            if name == "_inst":
                raise AttributeError(name)
            return getattr(self._inst, name)

    functools.update_wrapper(PyPass.__init__, pass_cls.__init__)
    PyPass.__name__ = pass_cls.__name__
    PyPass.__qualname__ = pass_cls.__qualname__
    PyPass.__doc__ = pass_cls.__doc__
    PyPass.__module__ = pass_cls.__module__
    return PyPass


def pass_decorator(base, make, method, pass_func, opt_level, name, required):
    """What `module_pass` and the like do; for the parameters see there and `wrap_pass_class`."""
    if opt_level is None:
        raise ValueError("Please provide opt_level for the pass.")
    if not isinstance(required, list | tuple | None):
        raise TypeError("Required is expected to be the type of list/tuple.")
    required = list(required or ())

    def create(arg):
        info = PassInfo(opt_level, name or arg.__name__, required)
        if inspect.isclass(arg):
            return wrap_pass_class(base, make, method, arg, info)
        if not callable(arg):
            raise TypeError("pass_func must be a callable for a pass")
        return make(arg, info)

    return create(pass_func) if pass_func is not None else create


def module_pass(pass_func=None, opt_level=None, name=None, required=None, traceable=False):
    """Make a pass of a function or class. Can be used as a decorator.

    Parameters
    ----------
    pass_func : function or class, optional
        ``(module, context) -> module``, or a class with the method
        ``transform_module(module, context)``.
    opt_level : int
        Level of the pass; it must be given.
    name : str, optional
        Its name; default: the function's.
    required : list of str, optional
        Passes that a sequence runs before it.
    traceable : bool
        Kept for programs that set it.

    Returns
    -------
    ModulePass, class or decorator
        A pass for a function, a class of passes for a class.

    Examples
    --------
    >>> @tenon.transform.module_pass(opt_level=2)
    ... def rename(mod, ctx):
    ...     return tenon.IRModule({"f": mod["main"]})
    """
    make = _ffi_transform_api.MakeModulePass
    return pass_decorator(
        ModulePass, make, "transform_module", pass_func, opt_level, name, required
    )


def PrintIR(header="", show_meta_data=False):  # noqa: N802  named as the other passes
    """A pass that prints the module, to the standard error stream.

    Parameters
    ----------
    header : str
        Text to print before it.
    show_meta_data : bool
        Print metadata too.

    Returns
    -------
    Pass
    """

    def show(mod, _):
        print(f"PrintIR({header}):", file=sys.stderr)
        print(mod.astext(show_meta_data) if show_meta_data else mod, file=sys.stderr)
        return mod

    return module_pass(show, opt_level=0, name="PrintIR")


def ApplyPassToFunction(transform, func_name_regex, error_if_no_function_matches_regex=False):  # noqa: N802
    """A pass that runs another on the functions whose whole names match a pattern.

    Parameters
    ----------
    transform : Pass
        The other pass.
    func_name_regex : str
        The pattern.
    error_if_no_function_matches_regex : bool
        Raise ValueError when there is no such function.

    Returns
    -------
    Pass
    """
    import re

    pattern = re.compile(func_name_regex)

    def apply(mod, _):
        from .module import IRModule

        chosen = {v: f for v, f in mod.functions.items() if pattern.fullmatch(str(v.name_hint))}
        if not chosen:
            if error_if_no_function_matches_regex:
                raise ValueError(f"No function matched regex '{func_name_regex}'")
            return mod
        result = mod.clone()
        part = transform(IRModule(chosen, attrs=mod.attrs))
        for var in chosen:
            if var not in part:
                del result[var]
        result.update(part)
        return result

    return module_pass(apply, opt_level=0, name=f"ApplyPassToFunction({transform.info.name})")
