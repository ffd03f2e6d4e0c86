"""The builder of programs and what its ``with`` statements open."""

import threading

from . import _ffi_api

_local = threading.local()


def _builders():
    if not hasattr(_local, "stack"):
        _local.stack = []
    return _local.stack


class IRBuilder:
    """Collects what the frames inside of its ``with`` statement make."""

    def __init__(self):
        self.frames = []
        self.result = None

    def __enter__(self):
        _builders().append(self)
        return self

    def __exit__(self, kind, value, trace):
        _builders().pop()

    @staticmethod
    def current():
        """The innermost builder.

        Returns
        -------
        IRBuilder

        Raises
        ------
        ValueError
            Outside of every ``with IRBuilder()``.
        """
        if not _builders():
            raise ValueError("No builder in current scope")
        return _builders()[-1]

    @staticmethod
    def is_in_scope():
        """Is there a builder?"""
        return bool(_builders())

    def get(self):
        """What was built: PrimFunc, IRModule or Stmt."""
        if self.result is None:
            raise ValueError("No result in IRBuilder: has a frame been left?")
        return self.result

    @staticmethod
    def name(s, v):
        """Give a variable or buffer a name, and return it."""
        _ffi_api.Name(s, v)
        return v

    @staticmethod
    def name_many(s, vs):
        """Give variables or buffers names, and return them."""
        if len(s) != len(vs):
            raise ValueError(f"expected {len(s)} values to name, got {len(vs)}")
        return [IRBuilder.name(name, value) for name, value in zip(s, vs, strict=True)]

    def find(self, *kinds):
        """The innermost open frame of some kinds, or None."""
        return next((f for f in reversed(self.frames) if isinstance(f, kinds)), None)


class IRBuilderFrame:
    """What a ``with`` statement opens; ``finish`` makes something of what was collected."""

    def __init__(self):
        self.callbacks = []

    def __enter__(self):
        IRBuilder.current().frames.append(self)
        return self.value()

    def __exit__(self, kind, value, trace):
        for callback in reversed(self.callbacks):
            callback()
        frames = IRBuilder.current().frames
        if frames[-1] is not self:
            raise ValueError("frames are left in the order in which they were entered")
        frames.pop()
        if kind is None:
            self.finish()

    def add_callback(self, callback):
        """Call a function when the frame is left."""
        self.callbacks.append(callback)

    def value(self):
        """What ``as`` binds."""
        return self

    def finish(self):
        """Put what was collected where it belongs."""
        raise NotImplementedError


def set_result(value):
    """Make a value the result of the builder."""
    builder = IRBuilder.current()
    if builder.result is not None:
        raise ValueError("the builder has a result already")
    builder.result = value
