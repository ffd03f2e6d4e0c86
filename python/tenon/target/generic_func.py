"""Functions with a variant for each kind of target."""

import functools

from .._ffi.registry import register_object
from ..runtime import convert
from ..runtime.object import Object
from . import _ffi_api
from .target import Target


@register_object("GenericFunc")
class GenericFunc(Object):
    """A function whose calls go to the variant of the current target.

    The first of the target's keys that has a variant counts, else the default.
    """

    __slots__ = ()

    def __call__(self, *args):
        return _ffi_api.GenericFuncCallFunc(self, *args)

    def set_default(self, func, allow_override=False):
        """Set the variant of targets that have none of their own.

        Parameters
        ----------
        func : callable
            The function.
        allow_override : bool
            Replace the one there is, which is a ValueError otherwise.
        """
        _ffi_api.GenericFuncSetDefault(self, func, allow_override)

    def register(self, func, key_list, allow_override=False):
        """Set the variant for keys.

        Parameters
        ----------
        func : callable
            The function.
        key_list : str or list of str
            Keys of targets.
        allow_override : bool
            Replace those there are, which is a ValueError otherwise.
        """
        keys = [str(key_list)] if isinstance(key_list, str) else key_list
        _ffi_api.GenericFuncRegisterFunc(self, func, keys, allow_override)

    def get_packed_func(self):
        """The variant of the current target, or the default."""
        return _ffi_api.GenericFuncGetPackedFunc(self)


def get_native_generic_func(name):
    """The generic function of that name; made when there is none.

    Parameters
    ----------
    name : str
        Its name in the process.

    Returns
    -------
    GenericFunc
    """
    return _ffi_api.GenericFuncGetGlobal(name)


def _generic(fdefault, node=None):
    """Make `fdefault` dispatch on the current target. Variants are given to `node` too, which
    then answers calls: others may have changed what it has."""
    variants = {}

    @functools.wraps(fdefault)
    def call(*args, **kwargs):
        if node is not None:
            if kwargs:
                raise TypeError(f"{call.__name__}: a native generic function takes no keywords")
            return node(*args)
        target = Target.current()
        keys = () if target is None else (str(key) for key in target.keys)
        func = next((variants[key] for key in keys if key in variants), fdefault)
        return func(*args, **kwargs)

    def register(key, func=None, override=False):
        """Register a variant for a key or a list of keys; a decorator without `func`."""

        def put(variant):
            names = [key] if isinstance(key, str) else list(key)
            for name in names:
                if name in variants and not override:
                    raise ValueError(f"Key {name} is already registered for {call.__name__}")
                variants[name] = variant
            if node is not None:
                node.register(variant, names, override)
            return variant

        return put if func is None else put(func)

    call.fdefault = fdefault
    call.dispatch_dict = variants
    call.register = register
    if node is not None:
        call.generic_func_node = node
    call.get_packed_func = node.get_packed_func if node is not None else lambda: convert(call)
    return call


def generic_func(fdefault):
    """Decorator: a function that dispatches on the keys of the current target.

    Parameters
    ----------
    fdefault : callable
        The variant of targets that have none of their own.

    Returns
    -------
    func : callable
        With ``register(key, func=None, override=False)``, which adds a variant for a key or a list
        of keys.

    Examples
    --------
    >>> @generic_func
    ... def width():
    ...     return 1
    >>> @width.register("cuda")
    ... def _():
    ...     return 32
    >>> with Target("cuda"):
    ...     print(width())
    32
    """
    return _generic(fdefault)


def override_native_generic_func(func_name):
    """Decorator: the same for a generic function that others find by its name.

    Parameters
    ----------
    func_name : str
        Name in the process.

    Returns
    -------
    decorator : callable
        The decorated function becomes the default.
    """

    def decorate(fdefault):
        node = get_native_generic_func(func_name)
        node.set_default(fdefault, allow_override=True)
        return _generic(fdefault, node)

    return decorate
