"""Results of slow functions, kept for the process and, if asked, for later ones."""

import atexit
import functools
import os
import pickle

from .._ffi.files import write_file


class Cache:
    """The kept results of one key.

    Parameters
    ----------
    key : str
        Names the file in ``.pkl_memoize_py3`` of the working directory.
    save_at_exit : bool
        Write the file when the process ends.
    """

    cache_by_key = {}

    def __init__(self, key, save_at_exit):
        self.path = os.path.join(".pkl_memoize_py3", key)
        self.save_at_exit = save_at_exit
        self.dirty = False
        self.cache = {}
        if os.path.isfile(self.path):
            try:
                with open(self.path, "rb") as inp:
                    self.cache = pickle.load(inp)
            except (OSError, ValueError, EOFError, pickle.UnpicklingError, AttributeError):
                self.cache = {}  # written by another version: computed anew

    def save(self):
        """Write the file if something was added."""
        if self.dirty:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            write_file(self.path, pickle.dumps(self.cache, pickle.HIGHEST_PROTOCOL))


@atexit.register
def _at_exit():
    for cache in Cache.cache_by_key.values():
        if cache.save_at_exit:
            cache.save()


def memoize(key, save_at_exit=False):
    """Decorator: keep the results of a function by its arguments (and captured values).

    Parameters
    ----------
    key : str
        Functions of one key share the results; must be unique to the function.
    save_at_exit : bool
        Keep the results on disk for later processes.
    """

    def decorate(f):
        cache_key = f"{key}.{f.__name__}"
        if cache_key not in Cache.cache_by_key:
            Cache.cache_by_key[cache_key] = Cache(cache_key, save_at_exit)
        cache = Cache.cache_by_key[cache_key]
        captured = tuple(str(cell.cell_contents) for cell in f.__closure__ or ())
        defaults = tuple(str(value) for value in f.__defaults__ or ())

        @functools.wraps(f)
        def _memoized_f(*args, **kwargs):
            arguments = (captured, defaults, args, tuple(sorted(kwargs.items())))
            if arguments not in cache.cache:
                cache.cache[arguments] = f(*args, **kwargs)
                cache.dirty = True
            return cache.cache[arguments]

        return _memoized_f

    return decorate
