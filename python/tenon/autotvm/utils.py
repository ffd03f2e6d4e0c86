"""Small helpers."""

import contextlib


class EmptyContext(contextlib.AbstractContextManager):
    """A ``with`` block that changes nothing."""

    def __exit__(self, exc_type, exc, trace):
        return None
