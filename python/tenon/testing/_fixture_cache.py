"""Fixtures whose results are kept: the function runs once for each set of arguments."""

import copy
import ctypes
import functools
import inspect
import pickle

_PLAIN_MODULES = ("builtins", "numpy", "ml_dtypes", "tenon", "collections")
_COPY_METHODS = ("__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__")


def cached(func):
    """Wrap a fixture function so that equal arguments get deep copies of one result.

    Parameters
    ----------
    func : function
        The fixture; as a method it may not depend on its instance (each test has a fresh one).

    Returns
    -------
    function
        Raises TypeError where an argument can be neither hashed nor pickled, or where the result
        holds an object whose class does not say how it is copied.
    """
    results = {}
    is_method = next(iter(inspect.signature(func).parameters), None) == "self"

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        seen = (type(args[0]).__qualname__, *args[1:]) if is_method and args else args
        if is_method and "self" in kwargs:
            rest = {**kwargs, "self": type(kwargs["self"]).__qualname__}
        else:
            rest = kwargs
        key = _key(func, seen, rest)
        if key not in results:
            results[key] = func(*args, **kwargs)
        return copy.deepcopy(results[key], _CheckedMemo())

    return wrapper


def _key(func, args, kwargs):
    key = (args, tuple(sorted(kwargs.items())))
    try:
        return pickle.dumps(key)
    except Exception:
        pass
    try:
        hash(key)
    except TypeError as err:
        raise TypeError(
            f"{func.__name__}: the arguments of a cached fixture must be hashable or picklable"
        ) from err
    return key


class _CheckedMemo(dict):
    """Memo of ``copy.deepcopy`` that refuses classes which do not say how they are copied.

    ``deepcopy`` asks the memo for every object before it copies it.
    """

    def get(self, key, default=None):
        _check_class(type(ctypes.cast(key, ctypes.py_object).value))
        return super().get(key, default)


def _check_class(cls):
    if cls.__module__.split(".")[0] in _PLAIN_MODULES or issubclass(cls, type):
        return
    for name in _COPY_METHODS:
        if getattr(cls, name, None) is not getattr(object, name, None):
            return
    raise TypeError(
        f"cannot cache a fixture that holds a {cls.__qualname__}: its class has none of "
        f"{', '.join(_COPY_METHODS)}, so it is not known to survive a deep copy"
    )
