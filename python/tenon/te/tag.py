"""Tags of operations by scope."""

import functools


class TagScope:
    """``with te.tag_scope(tag="..."):`` gives the tag to the operations made inside."""

    _current = None

    def __init__(self, tag):
        self._old = None
        self.tag = tag

    def __enter__(self):
        if TagScope._current is not None:
            raise ValueError("nested op_tag is not allowed for now")
        TagScope._current = self
        return self

    def __exit__(self, exc_type, exc, trace):
        TagScope._current = None

    def __call__(self, function):
        @functools.wraps(function)
        def tagged(*args, **kwargs):
            with TagScope(self.tag):
                return function(*args, **kwargs)

        return tagged


def tag_scope(tag):
    """Scope, or decorator of a function, whose operations get `tag`."""
    return TagScope(tag)


def current_tag(tag):
    """The tag of the scope, or the one that is given; both are an error."""
    if TagScope._current is None:
        return tag
    if tag:
        raise ValueError("nested tag is not allowed for now")
    return TagScope._current.tag
