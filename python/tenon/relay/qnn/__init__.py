"""Operators of quantized tensors: an integer q stands for (q - zero point) * scale."""

from ..._lazy import attach as _attach

_own, _listing = _attach(__name__, ("op", "transform"), {})


def __getattr__(name):
    """Parts of the package; anything else is an operator."""
    try:
        return _own(name)
    except AttributeError:
        from . import op

        value = None if name.startswith("__") else getattr(op, name, None)
        if value is None:
            raise
        return value


def __dir__():
    from . import op

    return sorted({*_listing(), *dir(op)})
