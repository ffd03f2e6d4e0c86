"""Computes of operators of neural networks as functions of te tensors."""

from .. import _calls

__getattr__ = _calls.attach(__name__, "nn.", (".layout", ".nn", ".norm", ".qnn", ".recurrent"))
