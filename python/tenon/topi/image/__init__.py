"""Computes of operators of images as functions of te tensors."""

from .. import _calls

__getattr__ = _calls.attach(__name__, "image.", (".image",))
